# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serving: a trained model over HTTP, with dynamic batching."""
