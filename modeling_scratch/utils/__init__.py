# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What every room uses: errors, files, the command line, and where models come from."""
