"""The worker's page of a response: its parts in their order, what a plain form does, and claims."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.models import Answer, Assignment, Task
from annotation.work.actions import assignments, leases
from crowdqc.errors import Conflict
from tests.annotation.work.test_concurrency import at_once, books_are_right
from tests.annotation.work.test_worker_views import item_url, post_json, signed_in
from tests.support import factories
from tests.support.pages import html_of
from tests.support.studies import writing

pytestmark = pytest.mark.django_db
WRITE_QUERIES = 6
STICKS = "large nests of sticks"  # in the first passage


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(1)


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(writing.make_writing(world.project), world.worker)


@pytest.fixture
def client(world: factories.World) -> Client:
    return signed_in(world.worker)


def page(client: Client, held: Assignment, part: str = "", number: int = 1) -> str:
    answer = client.get(item_url(held, number), {"part": part} if part else {})
    assert answer.status_code == 200
    return html_of(answer)


def post(client: Client, held: Assignment, part: str, go: str = "next", **draft: str) -> Any:
    """What a plain form of this part sends: its own fields and those it carries."""
    address = f"{item_url(held, 1)}?part={part}"
    carried = {
        name: value
        for name, value in held.entries.get(position=0).draft.items()
        if name != "skipped"
    }
    return client.post(address, {**carried, **draft, "part": part, "go": go}, follow=True)


# Parts -------------------------------------------------------------------------------------------


def test_passages_and_editor_come_once_the_first_questions_are_answered(
    client: Client, held: Assignment
) -> None:
    for part in ("", "write", "exit", "entry"):
        html = page(client, held, part)
        assert "How much do you know about the topic?" in html
        assert writing.QUERY in html
        assert STICKS not in html
        assert "<textarea" not in html
    html = html_of(post(client, held, "entry", **writing.ENTRY))
    assert STICKS in html
    assert 'id="answer"' in html
    assert html.count("data-passage=") == 4
    assert "Bulleted list." in html
    assert "Tools are forbidden." in html
    assert "5 to 60" in html


def test_questions_that_are_open_are_named_beside_themselves(
    client: Client, held: Assignment
) -> None:
    given = {"entry.knowledge": "3", "entry.answerable": "1"}
    shown = post(client, held, "entry", **given)
    assert shown.redirect_chain[0][0].endswith("?part=entry&check=1")
    html = html_of(shown)
    assert "2 questions are not answered yet." in html
    assert html.count("Choose one.") == 2
    for name, wrong in (("Knowledge", False), ("Expertise", True), ("Controversial", True)):
        ask = html.split(f"<b>{name}</b>")[0].rsplit("<fieldset", 1)[1]
        assert ("wrong" in ask) == wrong
    assert 'name="entry.knowledge" value="3" checked' in html  # nothing chosen is lost


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Nests last for many years [9].", "[9] is cited, and there is no such passage"),
        ("Nests last [1].", "2 words; write at least 5."),
        ("Nests last for many years.", "Passages cited: 0; at least 1 needed."),
    ],
)
def test_a_text_that_is_not_complete_is_shown_again_with_the_reason(
    client: Client, held: Assignment, text: str, problem: str
) -> None:
    post(client, held, "entry", **writing.ENTRY)
    html = post(client, held, "write", text=text).content.decode()
    assert problem in html
    assert f"{text}</textarea>" in html
    assert "Are you satisfied" not in page(client, held, "exit")


def test_a_response_is_written_with_plain_forms_and_stored_with_all_its_values(
    client: Client, held: Assignment
) -> None:
    text = "Nests last for years [1, 3].\n\nThe male “comes” first [2]."
    post(client, held, "entry", **writing.ENTRY)
    after = post(client, held, "write", text=text).content.decode()
    assert "Are you satisfied with what you wrote?" in after
    assert STICKS not in after
    assert "Nests last for years [1, 3].\n\nThe male" in after  # carried along
    back = post(client, held, "exit", go="back", **{"exit.sources": "4"}).content.decode()
    assert f"{text}</textarea>" in back
    post(client, held, "write")
    review = post(client, held, "exit", **writing.EXIT)
    html = review.content.decode()
    assert "Ready to submit" in html
    assert "8 words, 3 passages cited: Nests last" in html
    assert "Submit 1 response" in html
    key = review.context["key"]
    done = client.post(reverse("work_submit", args=[held.pk]), {"key": key}, follow=True)
    assert "1 response" in done.content.decode()
    answer = held.answers.get()
    assert [(row.field, row.text) for row in answer.texts.all()] == [("answer", text)]
    spans = answer.spans.order_by("index").values_list("field", "target", "start", "end")
    assert list(spans) == [
        ("citation", "1", 21, 27),
        ("citation", "3", 21, 27),
        ("citation", "2", 53, 56),
    ]
    assert {row.field: row.code for row in answer.choices.all()} == writing.ENTRY | writing.EXIT


def test_a_response_without_questions_is_one_page(world: factories.World, client: Client) -> None:
    task = writing.make_writing(world.project, settings={"entry": [], "exit": []})
    held = factories.claim(task, world.worker)
    html = page(client, held)
    assert STICKS in html
    assert "Review and submit" in html
    assert 'value="back"' not in html
    assert "Ready to submit" in post(client, held, "write", text=writing.SENTENCE).content.decode()


def test_the_review_says_what_a_response_lacks(client: Client, held: Assignment) -> None:
    post(client, held, "entry", **writing.ENTRY)
    post(client, held, "write", text=writing.SENTENCE)
    review = client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    assert "1 response still to complete" in review
    assert "After you wrote: “Satisfaction” is not answered yet." in review
    assert "Response 1, the text, complete" in review
    body = {"key": str(uuid.uuid4()), "drafts": {}}
    refused = post_json(client, "work_submit", held, body)
    assert refused.status_code == 422
    assert "“Satisfaction”" in refused.json()["detail"]


def test_passages_cannot_harm_who_reads_them(world: factories.World, client: Client) -> None:
    harm = {"key": "x", "title": "<b onclick=x>bold</b>", "text": "<script>alert(1)</script> [3]"}
    task = writing.make_writing(world.project, passages=[harm], settings={"entry": []})
    html = page(client, factories.claim(task, world.worker))
    assert "<script>alert" not in html
    assert "<b onclick" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_nothing_of_other_writers_is_on_the_page(world: factories.World, client: Client) -> None:
    task = writing.make_writing(world.project, settings={"entry": []})
    other = factories.make_worker(world.project, pseudonym="quiet-heron")
    writing.submit(factories.claim(task, other), "Words of somebody else, five at least [1].")
    held = factories.claim(task, world.worker)
    for html in (page(client, held), page(client, held, "exit")):
        assert "somebody else" not in html
        assert "quiet-heron" not in html


def test_the_page_asks_as_much_of_the_database_for_many_responses_as_for_few(
    world: factories.World, client: Client
) -> None:
    for topics in (1, 4):
        task = writing.make_writing(
            world.project, topics, items_per_assignment=topics, settings={"entry": []}
        )
        held = factories.claim(task, world.worker)
        page(client, held)
        with CaptureQueriesContext(connection) as asked:
            page(client, held)
        assert len(asked) == WRITE_QUERIES, [query["sql"][:120] for query in asked]


# The API -----------------------------------------------------------------------------------------


def test_a_script_gets_passages_after_the_first_questions_and_can_submit(
    world: factories.World, held: Assignment
) -> None:
    script = APIClient()
    script.force_authenticate(world.worker.user)
    address = f"/api/work/assignments/{held.pk}/"
    entry = script.get(address).json()["entries"][0]
    assert entry["passages"] is None
    assert entry["style"]["label"] == "Bulleted list"
    assert [row["name"] for row in entry["settings"]["entry"]] == [
        name.removeprefix("entry.") for name in writing.ENTRY
    ]
    body = {"draft": writing.ENTRY, "seq": 1}
    assert script.put(f"{address}drafts/{entry['item']}/", body, format="json").status_code == 200
    passages = script.get(address).json()["entries"][0]["passages"]
    assert [row["number"] for row in passages] == [1, 2, 3, 4]
    assert STICKS in passages[0]["text"]
    draft = {**writing.ENTRY, **writing.EXIT, "text": writing.SENTENCE}
    key = str(uuid.uuid4())
    sent = {"key": key, "answers": {str(entry["item"]): draft}}
    done = script.post(f"{address}submit/", sent, format="json")
    assert done.json()["state"] == "submitted"
    assert Answer.objects.get().spans.get().target == "1"


# Once a topic ------------------------------------------------------------------------------------


def topics_of(worker: Any) -> list[str]:
    rows = Assignment.objects.filter(worker=worker, state__in=("leased", "submitted"))
    return list(rows.values_list("entries__item__group__key", flat=True))


def offered(client: Client, task: Task) -> bool:
    home = client.get(reverse("work_home")).context["home"]
    return any(offer.task.pk == task.pk for offer in home.offers)


def test_a_worker_is_never_asked_for_a_second_style_of_a_topic(
    world: factories.World, client: Client
) -> None:
    task = writing.make_writing(world.project, 4, items_per_assignment=3)
    first = factories.claim(task, world.worker)
    assert len(set(topics_of(world.worker))) == first.entries.count() == 3
    writing.submit(first)
    assert offered(client, task)
    writing.submit(factories.claim(task, world.worker))
    assert Counter(topics_of(world.worker)) == Counter(f"storks-{n}" for n in (1, 2, 3, 4))
    assert not offered(client, task)  # eight items are open, and none of them is for this worker
    with pytest.raises(Conflict):
        factories.claim(task, world.worker)


def test_without_that_rule_all_styles_may_go_to_one_worker(world: factories.World) -> None:
    task = writing.make_writing(
        world.project, items_per_assignment=3, settings={"once_a_topic": False}
    )
    held = factories.claim(task, world.worker)
    assert sorted(held.entries.values_list("item__settings__style", flat=True)) == [
        "bullet",
        "essay",
        "news",
    ]


@pytest.mark.django_db(transaction=True)
def test_twenty_people_at_once_each_write_once_a_topic_and_fill_the_task() -> None:
    task = writing.make_writing(
        factories.make_project(), 6, redundancy=3, items_per_assignment=3, order="random"
    )
    workers = [factories.make_worker(task.project) for _ in range(20)]

    def work(index: int) -> None:
        rng = random.Random(index)
        while True:
            try:
                held = assignments.claim_assignment(
                    by=workers[index].user, task=task, worker=workers[index]
                )
            except Conflict:
                return
            held = Assignment.objects.select_related("worker__user", "task").get(pk=held.pk)
            if rng.random() < 0.2:
                leases.return_assignment(by=held.worker.user, assignment=held)
            else:
                writing.submit(held)

    at_once(work, 20)
    books_are_right()
    for worker in workers:
        assert max(Counter(topics_of(worker)).values(), default=0) <= 1
    # Whoever stopped while others still held something may have left some: they can be taken.
    for _ in range(9):
        late = factories.make_worker(task.project)
        try:
            while True:
                writing.submit(factories.claim(task, late))
        except Conflict:
            pass
        assert max(Counter(topics_of(late)).values(), default=0) <= 1
    assert Answer.objects.filter(counts=True).count() == 6 * 3 * 3
    books_are_right()
