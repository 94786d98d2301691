# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The programs of the command modeling-scratch. Each also runs from a clone as a script of this folder."""
