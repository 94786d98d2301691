# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Explanations: a model's real computation as a static page, from the recorded tensors to the HTML."""
