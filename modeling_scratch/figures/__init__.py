# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures of tutorials, drawn from the code and the models of this package."""
