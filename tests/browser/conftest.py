"""A browser in which the worker of a test's ``world`` is signed in, and a page of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from playwright.sync_api import Error as PlaywrightError

from tests.browser.sign_in import sign_in
from tests.browser.traffic import traffic
from tests.support import factories
from tests.support.crawl import watch

# What is waited for is there at once on a quiet machine; a busy one is no fault of the page.
expect.set_options(timeout=15_000)


@pytest.fixture
def signed_in(world: factories.World, context: BrowserContext, live_server: Any) -> BrowserContext:
    """A browser in which the world's worker is signed in."""
    assert world.worker.user is not None
    sign_in(context, world.worker.user, live_server.url)
    context.set_default_timeout(10_000)
    return context


@pytest.fixture
def page(signed_in: BrowserContext) -> Iterator[Page]:
    """A page that reports every error of its scripts."""
    traffic.begin()
    page, errors = signed_in.new_page(), []
    watch(page, errors)
    yield page
    for left in signed_in.pages:
        with contextlib.suppress(PlaywrightError):
            left.goto("about:blank", timeout=2_000)
    traffic.wait_for_calm()  # what pages send as they go has been answered
    assert errors == []
