"""A live evaluation in a browser: opened by a form, watched while people judge, ended by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from evaluation.live import actions as live
from evaluation.models import LiveEvaluation
from tests.browser.polling import polls_often
from tests.browser.sign_in import reporting, sign_in
from tests.support import factories
from tests.support.studies.live import judge, make_task, outputs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_a_requester_opens_it_sees_votes_come_in_and_ends_it(
    browser: Browser, live_server: Any
) -> None:
    task = make_task()
    context = browser.new_context()
    sign_in(context, task.project.owner, live_server.url)
    polls_often(context)
    for page in reporting(context):
        address = reverse("live_evaluation", args=[task.project_id, task.pk])
        page.goto(live_server.url + address)
        page.get_by_label("Systems").fill("ash\nbirch")
        page.get_by_role("button", name="Open live evaluation").click()
        expect(page.get_by_text("target ± .050")).to_be_visible()
        live.add_outputs(by=task.project.owner, task=task, key="a", rows=outputs(30))
        rng = random.Random(1)
        for _ in range(6):
            judge(task, factories.make_worker(task.project), rng)
        live.check_all()
        # The page asks again by itself.
        expect(page.get_by_role("row", name="ash")).to_be_visible(timeout=15_000)
        page.get_by_text("End live evaluation…").click()
        page.get_by_role("button", name="End live evaluation", exact=True).click()
        expect(page.get_by_text("Somebody ended it.")).to_be_visible()
    context.close()
    assert LiveEvaluation.objects.get().state == "ended"
