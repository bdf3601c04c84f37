"""What each request of somebody who works costs the database, however much there is to do."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.accounts.tokens import actions as tokens
from annotation.models import Assignment
from tests.support import factories

pytestmark = [pytest.mark.django_db, pytest.mark.db]
TEXT = {"text": "They build nests on chimneys."}
KEYS = [{"method": "keydown", "time": n, "target": "item-1", "name": "letter"} for n in range(3)]
# Statements with the beginning and the end of each transaction (here savepoints).
API = {"claim": 13, "stream": 10, "events": 7, "draft": 7, "read": 4, "submit": 9}
BROWSER = {
    "claim": 14,
    "question": 6,
    "question again": 5,
    "stream": 11,
    "events": 8,
    "list": 5,
    "draft": 8,
    "submit": 10,
}
Ask = Callable[[str, Callable[[], Any]], Any]


def make_world(items: int, before: int) -> factories.World:
    """A task of one assignment more than were done ``before``, all of it ahead of its worker."""
    world = factories.make_world(items * (before + 1), items_per_assignment=items, instructions="")
    world.task.items.update(priority=1)  # else it depends on where the worker begins
    return world


@pytest.fixture
def counts() -> dict[str, int]:
    return {}


@pytest.fixture
def counted(counts: dict[str, int]) -> Iterator[Ask]:
    """Make a request, and note under its name what it asks the database."""
    connection.ensure_connection()

    def ask(name: str, request: Callable[[], Any]) -> Any:
        with CaptureQueriesContext(connection) as found:
            answer = request()
        assert answer.status_code in (200, 302), answer.content
        # A block of a token's requests is taken once in a while, whatever is asked.
        texts = [str(query["sql"]) for query in found.captured_queries]
        counts[name] = sum("SET last_used_at" not in text for text in texts)
        return answer

    yield ask
    tokens._held.clear()


@pytest.mark.parametrize(("items", "before"), [(2, 1), (12, 6)])
def test_a_program_works_at_one_price_however_many_items_and_answers_there_are(
    items: int, before: int, counts: dict[str, int], counted: Ask
) -> None:
    world = make_world(items, before)
    for _ in range(before):
        factories.claim_and_submit(world.task, world.worker)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(world.worker.user)}")

    def post(path: str, body: Any) -> Any:
        return client.post(path, body, format="json")

    claim = f"/api/work/tasks/{world.task.pk}/claim/"
    found = counted("claim", lambda: post(claim, {})).json()
    assert len(found["entries"]) == items
    at, key = f"/api/work/assignments/{found['id']}/", str(uuid.uuid4())
    first = found["entries"][0]["item"]
    counted("stream", lambda: post(f"{at}streams/", {"key": key}))
    batch = {"stream": key, "first_seq": 0, "events": KEYS}
    counted("events", lambda: post(f"{at}events/", batch))
    draft = {"draft": TEXT, "seq": 1}
    counted("draft", lambda: client.put(f"{at}drafts/{first}/", draft, format="json"))
    counted("read", lambda: client.get(at))
    answers = {str(entry["item"]): TEXT for entry in found["entries"]}
    body = {"key": str(uuid.uuid4()), "answers": answers}
    done = counted("submit", lambda: post(f"{at}submit/", body)).json()
    assert (done["state"], "entries" in done) == ("submitted", False)
    assert counts == API


@pytest.mark.parametrize(("items", "before"), [(2, 1), (12, 6)])
def test_a_person_works_at_one_price_however_many_items_and_answers_there_are(
    items: int, before: int, counts: dict[str, int], counted: Ask
) -> None:
    world = make_world(items, before)
    for _ in range(before):
        factories.claim_and_submit(world.task, world.worker)
    client = Client()
    client.force_login(world.worker.user)
    client.get(reverse("work_record"))  # notes that the session is in use

    counted("claim", lambda: client.post(reverse("work_claim", args=[world.task.pk])))
    held = Assignment.objects.get(worker=world.worker, state="leased")
    entries = list(range(1, held.entries.count() + 1))
    assert len(entries) == items

    def post(name: str, body: Any) -> Any:
        url = reverse(name, args=[held.pk])
        return client.post(
            url, body, content_type="application/json", headers={"accept": "application/json"}
        )

    counted("question", lambda: client.get(reverse("work_item", args=[held.pk, 1])))
    counted("question again", lambda: client.get(reverse("work_item", args=[held.pk, 1])))
    key = str(uuid.uuid4())
    counted("stream", lambda: post("work_stream", {"key": key}))
    batch = {"stream": key, "first_seq": 0, "events": KEYS}
    counted("events", lambda: post("work_events", batch))
    counted("list", lambda: client.get(reverse("work_assignment", args=[held.pk])))
    counted("draft", lambda: post("work_draft", {"item": entries[0], "draft": TEXT, "seq": 1}))
    drafts = {str(item): {"draft": TEXT, "seq": 2} for item in entries}
    counted("submit", lambda: post("work_submit", {"key": str(uuid.uuid4()), "drafts": drafts}))
    assert counts == BROWSER
