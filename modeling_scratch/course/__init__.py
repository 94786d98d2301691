# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The course: lessons in docs/course/, whose exercises are checked.

from modeling_scratch import course

course.check("attention", attention)
"""

from .checking import check as check
