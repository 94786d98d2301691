# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Inference: classify, continue and translate texts in files of any size."""
