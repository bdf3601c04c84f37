"""Items and answers as lists, one item with all that is known of it, and a project's search."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Answer, Item, Membership, User
from evaluation.models import ItemLabel, OfficialRun, Run
from tests.evaluation.corpora.erasing import run_on
from tests.support import factories
from tests.support.factories import World
from tests.support.kept import kept
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def world() -> World:
    """Four questions; two workers answered all of them, and a run found labels for each."""
    world = factories.make_world(4, redundancy=3)
    for name, text in (("wren-1", "They nest on chimneys."), ("lark-1", "")):
        worker = factories.make_worker(world.project, pseudonym=name)
        factories.claim_and_submit(world.task, worker, text)
    run = run_on(world.task, "aqer", list(Answer.objects.order_by("pk")))
    OfficialRun.objects.create(
        task=world.task, method="aqer", run=run, how="first", since=timezone.now()
    )
    for place, item in enumerate(world.task.items.order_by("position")):
        ItemLabel.objects.create(run=run, item=item, label="yes", entropy=place / 4, n=2)
    return world


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def url(world: World, name: str, *args: Any) -> str:
    return reverse(name, args=[world.project.pk, *args])


def keys(html: str) -> list[str]:
    return re.findall(r'<small\s+class="mono">([^<]+)</small>', html)


def press(client: Client, address: str, do: str, **sent: Any) -> str:
    """Confirms a button under a list; what the page says then."""
    done = client.post(address, {"do": do, "confirmed": "1", **sent}, follow=True)
    assert done.status_code == 200
    return done.content.decode()


def test_items_are_sorted_by_disagreement_filtered_and_asked_first_or_no_more(world: World) -> None:
    items = list(world.task.items.order_by("position"))
    client, address = signed_in(world.requester), url(world, "task_items", world.task.pk)
    shown = client.get(f"{address}?sort=-apart").content.decode()
    assert keys(shown) == [item.key for item in reversed(items)]
    assert keys(client.get(f"{address}?apart=high&state=open").content.decode()) == [items[3].key]
    assert keys(client.get(f"{address}?q={items[1].key}").content.decode()) == [items[1].key]
    assert "Moved to the front: 2 items." in press(
        client, address, "first", pick=f"{items[2].pk},{items[3].pk}"
    )
    assert Item.objects.filter(priority=1).count() == 2
    press(client, address, "stop", every="1")
    assert not Item.objects.exclude(redundancy=2).exists()  # what was given stays wanted
    assert keys(client.get(f"{address}?state=open").content.decode()) == []
    by_manager = signed_in(world.manager).post(address, {"do": "stop", "every": "1"})
    assert by_manager.status_code == 422


def test_answers_are_found_by_their_text_and_stop_counting_with_a_reason(world: World) -> None:
    client, address = signed_in(world.manager), url(world, "task_answers", world.task.pk)
    found = client.get(f"{address}?q=chimneys&counts=yes").content.decode()
    assert found.count("They nest on chimneys.") == 4 and "lark-1" not in found
    assert client.post(f"{address}?q=chimneys", {
        "do": "uncount", "every": "1", "confirmed": "1", "reason": ""
    }).status_code == 422  # fmt: skip
    told = press(client, f"{address}?q=chimneys", "uncount", every="1", reason="Copied")
    assert "No longer counted: 4 answers." in told
    left = Answer.objects.filter(counts=False)
    assert {(one.worker.pseudonym, one.uncounted_reason) for one in left} == {("wren-1", "Copied")}
    again = press(client, address, "count", every="1")
    assert "Counted again: 4 answers. 4 skipped: It counts already." in again


def test_an_item_shows_answers_labels_and_what_was_decided(world: World) -> None:
    client, item = signed_in(world.manager), world.task.items.order_by("position")[1]
    answer = Answer.objects.get(item=item, worker__pseudonym="wren-1")
    press(client, url(world, "task_answers", world.task.pk), "uncount", pick=answer.pk, reason="X")
    page = html_of(client.get(url(world, "task_item", world.task.pk, item.pk)))
    for said in ("They nest on chimneys.", "wren-1", "lark-1", "I don’t know", "Does not count",
                 "decided that an answer does not count", "Estimated label", ".25"):  # fmt: skip
        assert said in page, said
    assert "They nest on chimneys." in page
    other = factories.make_task(world.project, 1)
    assert client.get(url(world, "task_item", other.pk, item.pk)).status_code == 404


def test_one_search_finds_tasks_items_people_and_runs(world: World) -> None:
    Membership.objects.filter(pseudonym="lark-1").update(user=None, external_id="A7XQ")
    requester, address = signed_in(world.requester), url(world, "project_search")
    item = world.task.items.order_by("position")[0]

    def found(client: Client, words: str) -> str:
        page = html_of(client.get(f"{address}?q={words}"))
        return page[page.index("<main") :]

    assert url(world, "task", world.task.pk) in found(requester, "storks do")
    assert url(world, "task_item", world.task.pk, item.pk) in found(requester, item.key)
    assert "wren-1" in found(requester, "WREN")
    assert str(world.manager) in found(requester, world.manager.username)
    run = Run.objects.get()
    assert url(world, "run", run.number) in found(requester, str(run.number))
    worker = Membership.objects.get(pseudonym="wren-1").user
    assert worker is not None
    assert "Nothing in this project matches" in found(requester, worker.username)
    assert "lark-1" in found(requester, "a7xq")
    assert "lark-1" not in found(signed_in(world.manager), "a7xq")
    assert signed_in(worker).get(f"{address}?q=wren").status_code == 403


def count_queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    return len(asked)


@pytest.mark.parametrize("name", ["task_items", "task_answers", "task_item"])
def test_as_many_queries_are_asked_of_much_as_of_little(world: World, name: str) -> None:
    first = [world.task.items.order_by("position")[0].pk] if name == "task_item" else []
    client, address = signed_in(world.manager), url(world, name, world.task.pk, *first)
    client.get(address)
    few = count_queries(client, address)
    factories.claim_and_submit(world.task, texts="Herons fish.")
    Item.objects.bulk_create(
        Item(
            task=world.task,
            group_id=world.task.groups.values_list("pk", flat=True)[0],
            key=f"more-{n}",
            question="What else?",
            position=1000 + n,
            since=1,
            redundancy=1,
        )
        for n in range(70)
    )
    client.get(address)
    assert count_queries(client, address) == few
