# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serve a model over HTTP: labels at /classify, words at /tag, translations at /translate, answers at /answer.

    modeling-scratch serve --model runs/demo --port 8000
    curl -s 127.0.0.1:8000/classify -H "Content-Type: application/json" -d '{"inputs": ["Loved it.", "Dull."]}'

GET /openapi.json describes the interface. On SIGTERM or SIGINT, the server completes the accepted requests and exits.
There is no encryption or authentication. By default, the server listens on the local host only (--host).
"""

import signal
import sys

from modeling_scratch.serving.server import ServeArguments, serve
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(serve, ServeArguments, __doc__)

if __name__ == "__main__":
    quiet_libraries("modeling_scratch")  # pipelines advise on lengths, text by text
    for number in (signal.SIGTERM, signal.SIGINT):  # while it loads, and once the server has stopped by itself
        signal.signal(number, lambda *_: sys.exit(0))
    main()
