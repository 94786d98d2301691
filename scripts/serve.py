# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer over HTTP what a pipeline would: labels of texts at /classify, translations at /translate.

    python scripts/serve.py --model runs/demo --port 8000
    curl -s 127.0.0.1:8000/classify -H "Content-Type: application/json" -d '{"inputs": ["Loved it.", "Dull."]}'

An answer is {"outputs": what the pipeline gives, "truncated": whether a text was longer than the model reads}; a
refusal is {"error": what is wrong}. /classify takes "top_k", /translate "num_beams" and "max_new_tokens" beside
"inputs". GET /health answers 200 while requests are taken, GET /metrics is for Prometheus. Texts of requests that come
at the same time go through the model together. SIGTERM and SIGINT: what was accepted is answered, then it ends.

There is neither encryption nor a password: it listens to this machine alone, unless --host says otherwise.
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
