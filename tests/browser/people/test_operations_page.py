"""The operations page in a browser: it keeps itself up to date while somebody works on it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from annotation.models import User
from crowdqc.jobs.broker import default_conninfo, install_queue
from evaluation.operations import actions
from tests.browser.polling import polls_often
from tests.browser.sign_in import sign_in
from tests.browser.traffic import traffic
from tests.support.crawl import overflows, violations, watch

pytestmark = [
    pytest.mark.db,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.long,
]


def note(job: str) -> None:
    actions.note_failure(
        job=f"annotation.jobs.{job}", error="OSError", queue_role="default", args=[]
    )


def test_a_new_failure_comes_in_below_and_takes_nobody_out_of_a_button(
    context: BrowserContext, live_server: Any
) -> None:
    install_queue(default_conninfo())
    owner = User.objects.create_superuser("owner", "owner@example.org", "a long password 1")
    note("send_mail")
    sign_in(context, owner, live_server.url)
    polls_often(context)
    page, errors = context.new_page(), []
    watch(page, errors)
    page.goto(f"{live_server.url}/operations/")
    rows = page.locator("#failed tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Retry Job send_mail").focus()
    note("sweep")
    expect(rows).to_have_count(2, timeout=30_000)
    expect(rows.first).to_contain_text("send_mail")
    expect(page.locator("#rail")).to_contain_text("2 jobs failed.")
    expect(page.get_by_role("button", name="Retry Job send_mail")).to_be_focused()
    assert violations(page) == [] and overflows(page) == []
    page.get_by_role("button", name="Discard Job sweep").click()
    expect(rows).to_have_count(1)
    assert errors == []
    page.goto("about:blank")
    traffic.wait_for_calm()
