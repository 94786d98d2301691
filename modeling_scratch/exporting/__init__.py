# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Files for other runtimes, in ONNX, each compared with PyTorch before it appears."""
