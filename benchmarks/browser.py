"""Chromium, driven by Playwright, for what is measured and pictured in a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
VARIABLE = "ONEARENA_CHROMIUM"
"""The environment variable that names the browser."""


def find_chromium() -> str | None:
    """The browser named by the environment, else a usual one on the path; None without one."""
    named = os.environ.get(VARIABLE)
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def open_browser() -> Iterator[Any]:
    """A headless Chromium, as Playwright's `Browser`.

    Raises:
        RuntimeError: there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise RuntimeError(f"no Chromium on the path; name one in {VARIABLE}")
    # Chromium's sandbox refuses to work for root, which is who works in containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
