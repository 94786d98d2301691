# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Measure what a switch of the architecture brings: equal parameters, equal tokens, several seeds."""
