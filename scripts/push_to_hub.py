# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Upload a trained model, its tokenizer, its code and its results to the Hugging Face Hub.

    hf auth login                                                        # once, or set HF_TOKEN
    python scripts/push_to_hub.py --folder runs/mine --repo_id user/name --dry_run     # check, and show what would go
    python scripts/push_to_hub.py --folder runs/mine --repo_id user/name --private

Before anything is uploaded, the files that are going to be are loaded, alone. All of them become one commit: the
repository never holds half a model, and an upload that was interrupted is repeated by the same command, which sends
only what the Hub does not have yet. Checkpoints, optimizers, pickles, logs and hidden files stay where they are. What
the repository holds of another model (weights, code, tokenizers) is deleted by that commit, and named. The model card
of a run names the repository from then on, unless it was edited.
"""

import sys
from collections.abc import Sequence

from modeling_scratch.sharing.push import LOG_IN, TOKEN, PushArguments, push
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    if any(TOKEN.search(argument) for argument in arguments or sys.argv[1:]):
        print(f"push_to_hub.py: error: an access token is no argument, as shells remember: {LOG_IN}", file=sys.stderr)
        sys.exit(2)
    run_program(push, PushArguments, __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    main()
