# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One choreography for all tasks: train a model, and answer a file with it."""
