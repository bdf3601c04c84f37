"""A requester asks which models may replace a person, and reads a model's people."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, expect

from evaluation.models import Run, RunState
from evaluation.runs import engine as runs
from tests.browser.sign_in import sign_in
from tests.support.crawl import overflows, violations, watch
from tests.support.demo import make_demo_labels

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_of_three_models_one_may_one_may_not_and_one_cannot_be_decided(
    context: BrowserContext, live_server: Any
) -> None:
    task = make_demo_labels()
    sign_in(context, task.project.owner, live_server.url)
    page, errors = context.new_page(), list[str]()
    watch(page, errors)
    address = live_server.url + reverse("replacement", args=[task.project_id, task.pk])
    page.goto(address)
    page.get_by_role("link", name="Test the models").click()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run 1")
    assert runs.execute(Run.objects.get(task=task).pk) == RunState.DONE
    page.goto(address)
    expect(page.get_by_text("Halcyon-7B can replace one of your annotators")).to_be_visible()
    expect(page.get_by_text("Pellet-3B cannot replace one")).to_be_visible()
    expect(page.get_by_text("It is not shown whether Orrery-M can replace one")).to_be_visible()
    expect(page.locator("#advice li")).to_have_count(3)
    expect(page.locator("#advice")).to_contain_text("Can take the place of one annotator")
    rows = page.locator("#models tbody tr")
    expect(rows.filter(has_text="Halcyon-7B")).to_contain_text("Yes")
    expect(rows.filter(has_text="Pellet-3B")).to_contain_text("No")
    expect(rows.filter(has_text="Orrery-M")).to_contain_text("Not shown")
    page.locator("#models").get_by_role("link", name="Orrery-M", exact=True).click()
    expect(page.get_by_role("heading", name="Orrery-M against each annotator")).to_be_visible()
    found = overflows(page) + violations(page)  # the crawl of the demo has been elsewhere
    page.goto(address)
    # People are asked about items that the model is unsure of.
    page.get_by_role("link", name=re.compile("Label .* more items")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Label more items")
    page.get_by_label("Items", exact=True).fill("40")
    page.get_by_label("Items", exact=True).press("Enter")
    expect(page.get_by_text("After 40 items")).to_be_visible()
    page.get_by_role("button", name="Ask people about 40 items").click()
    expect(page.get_by_text("40 items will be handed out first.")).to_be_visible()
    assert task.items.filter(priority=1).count() == 40
    assert errors == [] and found == []
