# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The doctor: checks of any `PreTrainedModel` for what goes wrong with custom models.

>>> from modeling_scratch import doctor
>>> diagnosis = doctor.check(model, tokenizer=tokenizer)
>>> print(diagnosis)
"""

from .examination import check
from .findings import Diagnosis, Finding, Verdict
from .folders import check_folder

__all__ = ["Diagnosis", "Finding", "Verdict", "check", "check_folder"]
