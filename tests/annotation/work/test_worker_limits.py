"""One rule of what is complete, what is promised, and two versions of one draft."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.urls import reverse

from annotation.models import Assignment
from annotation.work.actions import answers
from annotation.work.selectors import work
from crowdqc.errors import Invalid
from tests.annotation.work.test_worker_views import item_url, post_json, signed_in
from tests.support import factories
from tests.support.studies import judging

pytestmark = pytest.mark.django_db
BOTH = "left right"
LONG = "word " * 9
VOTE = {"d-quality_overall": "left"}


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(2, settings={"min_words": 2, "max_words": 5})


@pytest.fixture
def held(world: factories.World) -> Assignment:
    return factories.claim(world.task, world.worker)


@pytest.fixture
def pairs(world: factories.World) -> Assignment:
    return factories.claim(judging.make_pairs(world.project, 2), world.worker)


def kept(held: Assignment, number: int = 1) -> Any:
    return held.entries.get(position=number - 1).draft


# One rule ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, why", [(LONG, "9 words; write at most 5."), ("one", "1 word; write at least 2")]
)
def test_next_review_and_submit_say_the_same_of_a_text_that_is_too_long_or_too_short(
    world: factories.World, held: Assignment, text: str, why: str
) -> None:
    client = signed_in(world.worker)
    stays = client.post(item_url(held, 1), {"text": text, "go": "next"})
    assert stays.url == item_url(held, 1) + "?check=1"
    shown = client.get(stays.url).content.decode()
    assert why in shown and text.strip() in shown
    assert kept(held)["text"].strip() == text.strip()
    client.post(item_url(held, 2), {"text": "long enough now", "go": "next"})
    review = client.get(reverse("work_assignment", args=[held.pk])).content.decode()
    assert "1 question still to answer" in review
    assert "1 of 2 answered" in review
    assert why in review
    assert work.in_work([world.worker])[0].answered == 1  # the list of tasks says so, too
    refused = post_json(client, "work_submit", held, {"key": str(uuid.uuid4())})
    assert refused.status_code == 422 and why in refused.json()["fields"]["1"]


def test_a_question_left_open_may_be_passed_over_for_now(
    world: factories.World, held: Assignment
) -> None:
    answer = signed_in(world.worker).post(item_url(held, 1), {"text": "", "go": "next"})
    assert answer.url == item_url(held, 2)


# Both in view ------------------------------------------------------------------------------------


def test_a_pair_counts_once_both_responses_have_been_on_screen(
    world: factories.World, pairs: Assignment
) -> None:
    client = signed_in(world.worker)
    why = "The right response has not been on your screen. Open it, then go on."
    stays = client.post(item_url(pairs, 1), {**VOTE, "seen": "left", "go": "next"})
    assert stays.url == item_url(pairs, 1) + "?check=1"
    assert why in client.get(stays.url).content.decode()
    review = client.get(reverse("work_assignment", args=[pairs.pk])).content.decode()
    assert why in review and "0 of 2 judged" in review
    drafts = {number: {"draft": {**VOTE, "seen": "left"}, "seq": 10**14} for number in "12"}
    body = {"key": str(uuid.uuid4()), "drafts": drafts}
    refused = post_json(client, "work_submit", pairs, body)
    assert refused.status_code == 422 and refused.json()["fields"] == {"1": why, "2": why}
    for held in drafts.values():
        held["draft"]["seen"] = BOTH
        held["seq"] += 1
    assert post_json(client, "work_submit", pairs, body).status_code == 200
    pairs.refresh_from_db()
    assert pairs.state == "submitted" and "seen" not in judging.stored_votes(pairs)[0]


def test_a_program_has_no_screen_but_cannot_finish_what_was_begun_in_a_browser(
    world: factories.World, pairs: Assignment
) -> None:
    drafts = {entry.item_id: VOTE for entry in pairs.entries.all()}
    by = world.worker.user
    with pytest.raises(Invalid, match="Neither response has been on your screen"):
        answers.submit(by=by, assignment=pairs, key=uuid.uuid4(), drafts=drafts, on_page=True)
    answers.submit(by=by, assignment=pairs, key=uuid.uuid4(), drafts=drafts)


# What is promised --------------------------------------------------------------------------------


def test_the_list_promises_as_many_pairs_as_the_assignment_holds(world: factories.World) -> None:
    task = judging.make_pairs(
        world.project,
        4,
        settings={"gold_per_assignment": 1},
        attention=True,
        items_per_assignment=2,
    )
    promised = next(
        offer
        for offer in work.list_offers(work.memberships_with_consent(world.worker.user))
        if offer.task.pk == task.pk
    )
    held = factories.claim(task, world.worker)
    assert (promised.fewest, promised.questions) == (3, 3) == (held.entries.count(),) * 2
    factories_votes = {entry.item_id: VOTE for entry in held.entries.all()}
    answers.submit(by=world.worker.user, assignment=held, key=uuid.uuid4(), drafts=factories_votes)
    again = next(
        offer
        for offer in work.list_offers(work.memberships_with_consent(world.worker.user))
        if offer.task.pk == task.pk
    )
    assert again.questions == factories.claim(task, world.worker).entries.count()


# Two versions ------------------------------------------------------------------------------------


def save(client: Any, held: Assignment, text: str, seq: int, after: list[int] | None) -> Any:
    body = {"item": 1, "draft": {"text": text}, "seq": seq}
    return post_json(
        client, "work_draft", held, body if after is None else {**body, "after": after}
    )


def test_a_second_device_is_told_what_the_first_one_saved_and_overwrites_nothing(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    assert save(client, held, "from the first tab", 100, [0]).status_code == 200
    told = save(client, held, "from the second tab", 200, [0])
    assert told.status_code == 409
    found = told.json()
    assert (found["code"], found["seq"]) == ("draft-changed", 100)
    assert found["draft"]["text"] == kept(held)["text"] == "from the first tab"
    # Also where the clock of the second one is behind.
    assert save(client, held, "from the second tab", 50, [0]).status_code == 409
    # Once its person has chosen, the second one knows the state that it replaces.
    assert save(client, held, "from the second tab", 300, [0, 100, 200]).status_code == 200
    assert kept(held)["text"] == "from the second tab"


def test_a_save_whose_answer_was_lost_is_no_second_version(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    assert save(client, held, "They come", 100, [0, 100]).status_code == 200  # never heard of
    assert save(client, held, "They come back", 110, [0, 100, 110]).status_code == 200
    assert save(client, held, "They come back", 110, [0]).status_code == 200  # sent twice


def test_a_submit_with_an_unknown_version_names_the_question(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    save(client, held, "from the first tab", 100, [0])
    drafts = {
        number: {"draft": {"text": "from the second"}, "seq": 10**14, "after": [0]}
        for number in "12"
    }
    told = post_json(client, "work_submit", held, {"key": str(uuid.uuid4()), "drafts": drafts})
    assert told.status_code == 409
    assert told.json()["detail"].startswith("Number 1 was changed in another tab")
    held.refresh_from_db()
    assert held.state == "leased" and kept(held)["text"] == "from the first tab"
