# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Convert native Hugging Face checkpoints to scratch ones and back, by tables of fields and weights."""
