# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training: arguments, models, the resumable trainer and run folders."""
