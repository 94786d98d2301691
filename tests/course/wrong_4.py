# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 4: exercise, answer, a part of the hint."""

from typing import Any

WRONG: list[tuple[str, Any, str]] = []
