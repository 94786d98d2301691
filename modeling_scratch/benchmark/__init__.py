# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Benchmarks of speed and memory against Hugging Face's equivalent classes."""
