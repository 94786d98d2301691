# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Check any model of Hugging Face Transformers for what goes wrong with custom models.

    modeling-scratch doctor runs/demo
    modeling-scratch doctor user/name --trust_remote_code --format json

Exit status: 0 if no check falls short, 1 if one does, 2 if a check of --checks does not apply.
"""

from modeling_scratch.doctor.diagnosis import DoctorArguments, diagnose
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(diagnose, DoctorArguments, __doc__, first="--model")

if __name__ == "__main__":
    quiet_libraries()
    main()
