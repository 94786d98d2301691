# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What shows a model's inside: bridges to interpretability libraries."""
