# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Users' data: files, columns, splits, documents, collators, and the reviews of the demo."""
