# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Shared utilities: errors, file output, Markdown and the command line."""
