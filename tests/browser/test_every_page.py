"""Every page of the demo, as every role, at every width, light and dark."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser

from tests import crawl

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_every_page_fits_every_window_is_clean_for_axe_and_logs_no_error(
    browser: Browser, live_server: Any
) -> None:
    call_command("load_demo", encoder="char-svd", stdout=StringIO(), stderr=StringIO())
    inspector = crawl.Inspector()
    crawl.everything(browser, live_server.url, inspector)
    print("\n".join(["The slowest answers:", *inspector.slowest()]))
    assert inspector.faults == []
    assert len(inspector.seen) > 200  # the links were followed, by every role
