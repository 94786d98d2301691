# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Evaluation: metrics, baselines, confidence intervals, plots and reports."""
