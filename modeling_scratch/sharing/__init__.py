# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sharing: model cards, run records, verification of copies, and uploads to the Hub."""
