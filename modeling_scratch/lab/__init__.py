# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Measure the effect of a switch of the architecture: equal parameters, equal tokens, several seeds."""
