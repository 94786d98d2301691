# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Upload a trained model, its tokenizer, its code and its results to the Hugging Face Hub.

    hf auth login                                                        # once, or set HF_TOKEN
    modeling-scratch push --folder runs/mine --repo_id user/name --dry_run     # check and list only

The files are first loaded in isolation, then uploaded in one commit, so that the repository always holds a whole model.
Repeating the command after an interruption uploads only the missing files.
"""

import sys
from collections.abc import Sequence

from modeling_scratch.sharing.hub import LOG_IN
from modeling_scratch.sharing.push import PushArguments, push
from modeling_scratch.sharing.uploads import has_token
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    if any(map(has_token, arguments or sys.argv[1:])):
        fault = "do not pass an access token on the command line, as the shell history keeps it"
        print(f"modeling-scratch push: error: {fault}: {LOG_IN}", file=sys.stderr)
        sys.exit(2)
    run_program(push, PushArguments, __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    main()
