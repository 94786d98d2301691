# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A browser of this machine, for PDF files and pictures of pages."""

import shutil

MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
BROWSERS = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", MAC


def chromium() -> str | None:
    """Return the path of Chromium or Chrome; None where there is neither."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
