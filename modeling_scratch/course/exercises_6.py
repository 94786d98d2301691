# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 6."""

from .comparing import Check

CHECKS: dict[str, Check] = {}
