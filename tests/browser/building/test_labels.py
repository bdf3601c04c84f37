"""Fields of labels in the builder: every kind open, every part, a second field that marks text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, Page, expect

from annotation.models import Project
from tests.browser.sign_in import fits, reporting, sign_in
from tests.support import factories
from tests.support.studies import labels

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def page(project: Project, context: BrowserContext, live_server: Any) -> Iterator[Page]:
    """The requester's browser, which reports every error of its scripts."""
    sign_in(context, project.owner, live_server.url)
    yield from reporting(context)


def test_parts_and_fields_of_every_form_fit_every_width_and_are_read_by_axe(
    page: Page, project: Project, live_server: Any
) -> None:
    options = labels.MORE["options"]
    others = [
        {"name": "area", "question": "How much of it?", "kind": "scale", "low": 0, "high": 4},
        {"name": "count", "question": "How many spots?", "kind": "number", "low": 0},
        {"name": "worst", "question": "Which is worse?", "kind": "rank", "options": options},
        {"name": "note", "question": "Anything else?", "kind": "long_text", "required": False},
    ]
    fields = [labels.DAMAGE, labels.MORE, labels.PLACES, *others]
    task = labels.make_labels(project, fields=fields, publish=False)
    here = live_server.url + reverse("task_build", args=[project.pk, task.pk])
    page.goto(f"{here}?part=known")
    fits(page, "known answers")
    page.goto(f"{here}?part=text&question=leaf-2")
    fits(page, "an open item")
    for row in (labels.MORE, labels.PLACES, others[0]):  # all parts that the form of a field has
        page.goto(f"{here}?part=fields&question={row['name']}")
        expect(page.locator(".label-field")).to_be_visible()
        fits(page, row["kind"])
    page.goto(live_server.url + reverse("task_preview", args=[project.pk, task.pk]))
    fits(page, "preview as worker")


def test_keys_work_in_a_preview_as_on_the_workers_page_and_keep_nothing(
    page: Page, project: Project, live_server: Any
) -> None:
    task = labels.make_labels(project, fields=(labels.DAMAGE, labels.MORE), publish=False)
    page.goto(live_server.url + reverse("task_preview", args=[project.pk, task.pk]))
    more = page.locator('[data-field="more"]')
    expect(more).to_be_hidden()  # asked only where there is damage
    page.keyboard.press("1")
    expect(page.get_by_role("radio", name="Brown spots")).to_be_checked()
    expect(more).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_role("radio", name="Unsure")).to_be_checked()
    page.keyboard.press("Enter")
    page.wait_for_url("**?n=2")
    expect(page.get_by_role("radio", name="Brown spots")).not_to_be_checked()
    assert not task.assignments.exists()


def test_a_label_gets_a_color_and_a_second_field_that_marks_text_is_refused(
    page: Page, project: Project, live_server: Any
) -> None:
    task = labels.make_labels(project, fields=[labels.PLACES, labels.DAMAGE], publish=False)
    here = live_server.url + reverse("task_build", args=[project.pk, task.pk])
    page.goto(f"{here}?part=fields&question=places")
    page.get_by_label("Color of option 2").select_option("Green")
    expect(page.locator("#preview .label-bar .sp-line").nth(1)).to_have_class(
        "sp-line green dashed"
    )
    expect(page.get_by_label("Color of option 2")).to_have_value("green")
    page.goto(f"{here}?part=fields&question=damage")
    page.get_by_role("radio", name="Text span").check()
    expect(page.locator(".label-field .error")).to_contain_text("“Places” marks text already.")
    page.reload()
    expect(page.get_by_role("radio", name="Choose one")).to_be_checked()
