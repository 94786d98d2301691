# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Native Hugging Face checkpoints in and out, by tables of fields and weights."""
