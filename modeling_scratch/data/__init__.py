# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Data loading: files, columns, splits, documents, collators, and generated demo reviews."""
