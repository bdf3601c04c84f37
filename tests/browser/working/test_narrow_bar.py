"""The bar of a worker's answering page on the narrowest phones, in every language."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from annotation.models import Assignment, User
from tests.support import factories
from tests.support.studies import judging, labels, thinking, writing

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# The buttons that reach beyond the screen or lie one over another.
MISPLACED = """() => {
  const bar = document.querySelector(".work-actions");
  const shown = [...bar.querySelectorAll("button, .button")].filter((one) => one.offsetWidth);
  const boxes = shown.map((one) => [one.innerText, one.getBoundingClientRect()]);
  const beyond = boxes.filter(([, box]) => box.left < 0 || box.right > innerWidth
    || box.bottom > innerHeight);
  const clash = boxes.filter(([, a], i) => boxes.slice(i + 1).some(([, b]) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
  const cut = shown.filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => [one.innerText]);
  const wide = document.documentElement.scrollWidth > innerWidth ? [["page"]] : [];
  return [...beyond, ...clash, ...cut, ...wide].map(([text]) => text);
}"""


@pytest.fixture
def world() -> factories.World:
    settings = {"min_words": 2, "max_words": 60, "dont_know": True}
    return factories.make_world(3, redundancy=5, settings=settings)


def _claim_each_type(world: factories.World) -> list[Assignment]:
    """Return an assignment of each type of task, with every button that the type offers."""
    skippable = {"skippable": True}
    tasks = [
        world.task,
        judging.make_pairs(world.project, 4, settings=skippable, items_per_assignment=3),
        judging.make_ratings(world.project, 3, settings=skippable),
        labels.make_labels(world.project, settings=skippable),
        writing.make_writing(world.project, 3, settings=skippable, items_per_assignment=3),
        thinking.make_think(world.project, settings=skippable),
    ]
    return [factories.claim(task, world.worker) for task in tasks]


@pytest.mark.parametrize("language", ["en-gb", "de", "es"])
def test_bar_keeps_every_button_on_a_narrow_screen(
    page: Page, live_server: Any, world: factories.World, language: str
) -> None:
    user = world.worker.user
    assert user is not None
    User.objects.filter(pk=user.pk).update(language=language)
    found = []
    for held in _claim_each_type(world):
        number = min(2, held.entries.count())
        for width, part in itertools.product((320, 360), ("", "?part=write")):
            if part and held.task.type != "writing":
                continue
            page.set_viewport_size({"width": width, "height": 740})
            page.goto(live_server.url + reverse("work_item", args=[held.pk, number]) + part)
            wrong = page.evaluate(MISPLACED)
            found += [f"{held.task.type}{part} at {width}: {one}" for one in wrong]
    assert found == []
