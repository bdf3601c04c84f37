"""One rule of what is complete, what is promised, and two versions of one draft."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.urls import reverse

from annotation.models import Assignment
from annotation.work.actions import answers, drafts, leases
from annotation.work.actions.drafts import other_versions
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
    assert work.list_in_work([world.worker])[0].answered == 1  # the list of tasks says so, too
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
        answers.submit_assignment(
            by=by, assignment=pairs, key=uuid.uuid4(), drafts=drafts, on_page=True
        )
    answers.submit_assignment(by=by, assignment=pairs, key=uuid.uuid4(), drafts=drafts)


# What is promised --------------------------------------------------------------------------------


@pytest.mark.parametrize("taken_by_others", [False, True])
def test_offer_after_a_return_has_the_size_of_the_next_assignment(
    world: factories.World, taken_by_others: bool
) -> None:
    """The known item of a returned bundle comes again with the whole bundle only."""
    task = judging.make_pairs(
        world.project,
        4,
        settings={"gold_per_assignment": 1},
        attention=True,
        items_per_assignment=2,
        redundancy=1,
    )
    by, other = world.worker.user, factories.make_worker(world.project)
    assert by is not None
    held = factories.claim(task, world.worker)
    leases.return_assignment(by=by, assignment=held)
    if taken_by_others:
        factories.claim(task, other)
    offer = work.find_offer(by, task)
    assert offer is not None
    size = factories.claim(task, world.worker).entries.count()
    assert (offer.fewest, offer.questions) == (size, size)
    assert size == (1 if taken_by_others else 3)


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
    answers.submit_assignment(
        by=world.worker.user, assignment=held, key=uuid.uuid4(), drafts=factories_votes
    )
    again = next(
        offer
        for offer in work.list_offers(work.memberships_with_consent(world.worker.user))
        if offer.task.pk == task.pk
    )
    assert again.questions == factories.claim(task, world.worker).entries.count()


# Two versions ------------------------------------------------------------------------------------


def save(
    client: Any, held: Assignment, text: str, version: str, *seen: str, chosen: bool = False
) -> Any:
    """Save as the tab of this version ("a2": the second save of tab a), which has seen others."""
    known = {one[:1]: int(one[1:]) for one in (*seen, version)}
    body = {"item": 1, "draft": {"text": text}, "tab": version[:1], "seq": int(version[1:])}
    return post_json(client, "work_draft", held, {**body, "seen": known, "chosen": chosen})


def waiting(held: Assignment) -> list[str]:
    return [one["draft"]["text"] for one in other_versions(held.entries.get(position=0))]


def test_a_second_tab_overwrites_nothing_and_both_texts_are_kept_until_one_is_chosen(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    assert save(client, held, "from the first", "a100").status_code == 200
    told = save(client, held, "from the second", "b200")
    assert told.status_code == 409
    found = told.json()
    assert (found["code"], found["tab"], found["seq"]) == ("draft-changed", "a", 100)
    assert found["draft"]["text"] == kept(held)["text"] == "from the first"
    # Also where the clock of the second one is behind; of one tab the last version waits.
    assert save(client, held, "from the second, longer", "b250").status_code == 409
    assert waiting(held) == ["from the second, longer"]
    # The first one goes on, and is told of the other text; a third device is, too.
    assert save(client, held, "on", "a110").json()["others"][0]["tab"] == "b"
    page = client.get(item_url(held, 1)).content.decode()
    assert "from the second, longer" in page
    # Once its person has chosen, the second one knows what it replaces.
    assert save(client, held, "mine", "b300", "a110", chosen=True).json()["others"] == []
    assert (kept(held)["text"], waiting(held)) == ("mine", [])


def test_the_version_that_is_chosen_wins_at_once_and_what_came_meanwhile_is_kept(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    save(client, held, "first", "a100")
    assert save(client, held, "second", "b100").status_code == 409
    save(client, held, "first, longer", "a110")
    assert save(client, held, "second", "b120", "a100", chosen=True).status_code == 200
    assert (kept(held)["text"], waiting(held)) == ("second", ["first, longer"])
    # The first tab did not see that: its next save is not lost either, nor is the second's.
    assert save(client, held, "first, longest", "a130").status_code == 409
    assert (kept(held)["text"], waiting(held)) == ("second", ["first, longest"])


def test_a_lost_reply_or_a_late_request_is_no_second_version(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    for version, text in (("a100", "They"), ("a110", "They come back"), ("a110", "They come back")):
        assert save(client, held, text, version).status_code == 200
    late = save(client, held, "They come", "a105")
    assert (late.status_code, late.json()["draft"]["text"]) == (200, "They come back")
    # Another tab goes on from what it saw; what the first one sent before that comes after it.
    assert save(client, held, "They come back soon", "b50", "a110").status_code == 200
    assert save(client, held, "They come", "a107").status_code == 200
    assert (kept(held)["text"], waiting(held)) == ("They come back soon", [])
    # Equal texts are one version.
    assert save(client, held, "They come back soon", "c10").status_code == 200


def test_a_submit_with_an_unknown_version_names_the_question(
    world: factories.World, held: Assignment
) -> None:
    client = signed_in(world.worker)
    save(client, held, "from the first tab", "a100")
    drafts = {
        number: {"draft": {"text": "from the second"}, "seq": 10**14, "tab": "b"} for number in "12"
    }
    told = post_json(client, "work_submit", held, {"key": str(uuid.uuid4()), "drafts": drafts})
    assert told.status_code == 409
    assert told.json()["detail"].startswith("Number 1 was changed in another tab")
    held.refresh_from_db()
    assert held.state == "leased" and kept(held)["text"] == "from the first tab"


def test_versions_that_wait_are_bounded_in_bytes_and_the_latest_stays(
    monkeypatch: pytest.MonkeyPatch, world: factories.World, held: Assignment
) -> None:
    monkeypatch.setattr(drafts, "MAX_OTHERS_BYTES", 1000)
    client = signed_in(world.worker)
    save(client, held, "first", "a100")
    for tab in "bcdef":
        assert save(client, held, f"{tab} " + "word " * 50, f"{tab}200").status_code == 409
    assert [text[0] for text in waiting(held)] == ["d", "e", "f"]
    assert save(client, held, "g " + "word " * 300, "g200").status_code == 409
    assert [text[0] for text in waiting(held)] == ["g"]


def test_a_draft_that_alone_is_too_large_is_refused_and_what_was_kept_stays(
    monkeypatch: pytest.MonkeyPatch, world: factories.World, held: Assignment
) -> None:
    assert drafts.MAX_OTHERS_BYTES >= drafts.MAX_DRAFT_BYTES  # the latest one always fits
    monkeypatch.setattr(drafts, "MAX_DRAFT_BYTES", 1000)
    client = signed_in(world.worker)
    save(client, held, "kept", "a100")
    refused = save(client, held, "ü" * 600, "a110")
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["draft"])
    submit = {"key": str(uuid.uuid4()), "drafts": {"1": {"draft": {"text": "ü" * 600}, "seq": 1}}}
    assert post_json(client, "work_submit", held, submit).status_code == 422
    by = world.worker.user
    with pytest.raises(Invalid, match="too long"):
        entry = held.entries.get(position=0)
        sent = {entry.item_id: {"text": "ü" * 600}}
        answers.submit_assignment(by=by, assignment=held, key=uuid.uuid4(), drafts=sent)
    assert (kept(held)["text"], waiting(held)) == ("kept", [])
