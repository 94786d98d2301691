# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trained models at work: texts classified, continued and translated, in files of any size."""
