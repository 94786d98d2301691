# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training runs: arguments, models, the resumable trainer, and the folder of a run."""
