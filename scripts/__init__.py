# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The programs, installed as the command modeling-scratch. Each also runs from a clone: python scripts/NAME.py."""
