# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A page in the browser that asks a saved model, made with Gradio."""
