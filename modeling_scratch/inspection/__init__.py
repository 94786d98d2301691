# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Inspection: one text on its way through a model, recorded and shown."""
