# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serve a model over HTTP: labels at /classify, words at /tag, translations at /translate, answers at /answer.

    modeling-scratch serve --model runs/demo --port 8000
    curl -s 127.0.0.1:8000/classify -H "Content-Type: application/json" -d '{"inputs": ["Loved it.", "Dull."]}'

A response is {"outputs": pipeline output, "truncated": whether a text was truncated}, an error {"error": message}.
Besides "inputs", /classify accepts "top_k" and "threshold", /translate "num_beams" and "max_new_tokens", and /answer
"top_k"; its inputs are objects with "question" and "context". GET /openapi.json describes the interface, and
GET /health returns 200 while the server accepts requests.
Concurrent requests are batched. On SIGTERM or SIGINT, the server completes the accepted requests and exits.

There is no encryption or authentication. By default, the server listens on the local host only (--host).
"""

import signal
import sys
from collections.abc import Sequence

from modeling_scratch.serving.server import ServeArguments, serve
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> int:
    run_program(serve, ServeArguments, __doc__, arguments)
    return 0


if __name__ == "__main__":
    quiet_libraries("modeling_scratch")  # pipelines advise on lengths, text by text
    for number in (signal.SIGTERM, signal.SIGINT):  # while it loads, and once the server has stopped by itself
        signal.signal(number, lambda *_: sys.exit(0))
    sys.exit(main())
