"""A task of images from the builder to its results: uploaded, labeled on a phone, seen again."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import BrowserContext, expect

from annotation.models import EventBatch, Item, Task
from annotation.work.actions import answers
from tests.browser.sign_in import fits, goes_to, log_is_sent, sign_in
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.crawl import watch
from tests.support.studies import labels

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_images_are_uploaded_labeled_on_a_phone_and_seen_in_the_results(
    context: BrowserContext, live_server: Any
) -> None:
    project = factories.make_project(also_manager=True)
    task = labels.make_labels(project, [], publish=False, redundancy=4, items_per_assignment=2)
    sign_in(context, project.owner, live_server.url)
    errors: list[str] = []
    page = context.new_page()
    watch(page, errors)
    here = live_server.url + reverse("task_build", args=[project.pk, task.pk])
    page.goto(f"{here}?part=text")
    page.get_by_role("radio", name="Image").check(force=True)
    files: list[Any] = [
        {"name": f"leaf-{color}.png", "mimeType": "image/png", "buffer": labels.png(color)}
        for color in ("green", "brown")
    ]
    page.get_by_label("Files", exact=True).set_input_files(files)
    page.get_by_role("button", name="Upload files").click()
    expect(page.locator("#items img")).to_have_count(2)
    expect(page.get_by_text("No description")).to_have_count(2)
    page.get_by_role("link", name="Edit item leaf-green").click()
    with page.expect_response("**/build/**"):
        page.get_by_label("Description").fill("A leaf on white paper.")
    fits(page, "an open image")
    expect(page.locator("#preview img")).to_have_attribute("alt", "A leaf on white paper.")
    goes_to(page, "Fields")
    page.goto(live_server.url + reverse("task_preview", args=[project.pk, task.pk]))
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator("[data-zoom-said]")).to_have_text("150%")
    page.goto(here)
    page.get_by_role("link", name="Publish…").click()
    page.locator("dialog").get_by_role("button", name="Publish").click()
    page.wait_for_url("**/tasks/*/")
    assert not errors, errors

    answered_on_a_phone(context, live_server.url, task)
    task.refresh_from_db()
    for _ in range(3):
        factories_answer(task)
    scored(task)
    sign_in(context, project.owner, live_server.url)
    tab = context.new_page()
    tab.goto(live_server.url + reverse("label_items", args=[project.pk, task.pk]))
    thumbs = tab.locator(".label-items .thumb img")
    expect(thumbs).to_have_count(2)
    thumbs.first.scroll_into_view_if_needed()
    assert thumbs.first.evaluate("async image => (await image.decode(), image.naturalWidth)") == 320
    fits(tab, "results of images")


def answered_on_a_phone(context: BrowserContext, root: str, task: Task) -> None:
    """Both images, the second field where it is asked; what was zoomed is in the log."""
    worker = factories.make_worker(task.project)
    assert worker.user is not None
    held = factories.claim(task, worker)
    sign_in(context, worker.user, root)
    tab = context.new_page()
    tab.set_viewport_size({"width": 360, "height": 740})
    tab.goto(root + reverse("work_item", args=[held.pk, 1]))
    image = tab.locator("[data-zoom-frame] img")
    assert image.evaluate("async one => (await one.decode(), one.naturalWidth)") == 400
    fitted = image.bounding_box()
    tab.get_by_role("button", name="Zoom in").click()
    tab.keyboard.press("+")
    grown = image.bounding_box()
    assert fitted and grown and round(grown["width"] / fitted["width"], 2) == 2.25
    fits(tab, "a zoomed image")
    tab.keyboard.press("z")
    expect(tab.locator("[data-zoom-said]")).to_have_text("")
    tab.keyboard.press("b")
    assert "brightness(1.5)" in str(image.get_attribute("style"))
    tab.wait_for_timeout(500)  # a zoom that has come to rest is told
    tab.get_by_text("Brown spots").click()
    more = tab.locator('[data-field="more"]')
    expect(more).to_contain_text("asked because you chose “Brown spots”")
    more.get_by_text("Curled edges").click()
    tab.get_by_role("button", name="Next item").click()
    expect(tab.locator("#question")).to_contain_text("Item 2 of 2")
    tab.get_by_text("None of these").click()
    tab.get_by_role("button", name="Finish").click()
    expect(tab.locator(".review img")).to_have_count(2)
    fits(tab, "review of images")
    log_is_sent(tab)
    tab.get_by_role("button", name="Submit 2").click()
    expect(tab.get_by_role("heading", name="Submitted")).to_be_visible()
    batches = EventBatch.objects.filter(stream__assignment=held).values_list("events", flat=True)
    zooms = [one for events in batches for one in events if one["method"] == "zoom"]
    assert zooms[-1]["comment"] == "100"  # where it came to rest
    tab.close()


def factories_answer(task: Task) -> None:
    """A worker of programs labels both images."""
    held = factories.claim(task, factories.make_worker(task.project))
    drafts = {
        item.pk: {"l-damage": "spots" if "brown" in item.key else "none", "l-more.curled": "yes"}
        for item in Item.objects.filter(task=task)
    }
    by = held.worker.user
    assert by is not None
    answers.submit_assignment(by=by, assignment=held, key=uuid.uuid4(), drafts=drafts)
