# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Speed and memory beside Hugging Face's own classes."""
