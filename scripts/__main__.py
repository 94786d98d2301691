# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The command modeling-scratch: dispatch to the programs, with help without heavy imports.

    modeling-scratch                            # list the programs
    modeling-scratch train-classifier --help    # show a program's options

`--help` prints the texts in help/, and help/options.json refuses wrong options at once. `python
scripts/maintenance/write_help.py` generates both from the parsers.
"""

import ast
import os
import runpy
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from threading import Timer

from modeling_scratch_cli.command_line_check import check_command_line

FOLDER = Path(__file__).parent
PROGRAMS = {
    "data": "data",
    "train-classifier": "train_classifier",
    "train-tokens": "train_tokens",
    "train-answers": "train_answers",
    "train-translation": "train_translation",
    "pretrain": "pretrain",
    "predict": "predict",
    "explain": "explain",
    "compare": "compare",
    "lab": "lab",
    "lesson": "lesson",
    "figures": "figures",
    "generate": "generate",
    "serve": "serve",
    "demo": "demo",
    "convert": "convert_checkpoint",
    "export": "export",
    "doctor": "doctor",
    "push": "push_to_hub",
    "benchmark": "benchmark",
}
RETIRED = {
    "completion": "`modeling-scratch` lists the programs, and `modeling-scratch PROGRAM --help` their options",
    "load-test": "start `modeling-scratch serve`, and use hey, wrk or locust",
    "train-tokenizer": "training programs train their tokenizers; tokenization.train_bpe_tokenizer does so in Python",
    "verify": "use `modeling-scratch doctor FOLDER --checks recorded_files`",
}
# The modules that each extra installs.
EXTRAS = {
    "train": ("accelerate", "datasets", "evaluate", "matplotlib", "sacrebleu", "seqeval", "sklearn"),
    "serve": ("fastapi", "httpx", "uvicorn"),
    "demo": ("gradio",),
    "search": ("optuna",),
    "report": ("tensorboard",),
}


def main(arguments: Sequence[str] | None = None) -> None:
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(overview())
    elif name == "--version":
        print(version("modeling-scratch"))
    elif name in RETIRED:
        print(f"modeling-scratch {name}: error: it is retired: {RETIRED[name]}", file=sys.stderr)
        sys.exit(2)
    elif name not in PROGRAMS:
        close = get_close_matches(name, PROGRAMS, 1)
        hint = f"did you mean {close[0]}?" if close else "modeling-scratch --help lists them"
        sys.exit(f"modeling-scratch: error: unknown program {name!r}; {hint}")
    elif {"-h", "--help"} & set(rest):
        print((FOLDER / "help" / f"{name}.txt").read_text(encoding="utf-8"), end="")
    else:
        if "--textbook" in rest:
            os.environ["MODELING_SCRATCH_TEXTBOOK"] = "1"  # which processes that the program starts read, too
            rest.remove("--textbook")
        check_command_line(name, rest)
        run(name, rest)


def run(name: str, arguments: Sequence[str]) -> None:
    """Run a program as its script. If a library is missing, exit with the extra to install; on Ctrl-C, with 130."""
    sys.argv = [f"modeling-scratch {name}", *arguments]
    waiting = Timer(2, print, ["loading PyTorch and Transformers ..."], {"file": sys.stderr, "flush": True})
    waiting.daemon = True
    waiting.start()
    try:
        import_module("modeling_scratch")  # which takes most of the time until a program begins
        waiting.cancel()
        runpy.run_module(f"modeling_scratch_cli.{PROGRAMS[name]}", run_name="__main__")
    except KeyboardInterrupt:  # while the program is imported
        print(f"modeling-scratch {name}: stopped", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extra = next((extra for extra, modules in EXTRAS.items() if missing in modules), None)
        if extra is None:
            raise
        message = f"it needs {missing}: pip install 'modeling-scratch[{extra}]'"
        print(f"modeling-scratch {name}: error: {message}", file=sys.stderr)
        sys.exit(2)


def overview() -> str:
    lines = [f"  {name:18} {summary(name)}" for name in PROGRAMS]
    notes = [
        "PROGRAM --help lists its options. Each program also takes --textbook: it runs the formulas of the files, such",
        "as eager_attention, in place of fused kernels and of the engine, so that an edit of them has its effect.",
    ]
    return "\n".join(["usage: modeling-scratch PROGRAM [options]", "", *lines, "", *notes])


def summary(name: str) -> str:
    """The first line of a program's docstring, which is read, not run."""
    text = (FOLDER / f"{PROGRAMS[name]}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
