"""A clock of the worker's pages that tests move: what is sent after seconds is sent at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext


@pytest.fixture
def signed_in(signed_in: BrowserContext) -> BrowserContext:
    """The browser of ``tests/browser/conftest.py``, whose clock ``keys.passes`` moves on."""
    signed_in.clock.install()
    return signed_in
