"""Floors that no hurrying crowd lowers: reading time, and what the requester expects."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest

from annotation.access import Access
from annotation.models import Assignment, Role, Task
from annotation.payouts.actions import proposals as payouts
from annotation.work.actions import answers, reading
from annotation.work.selectors import speed
from evaluation.overview import selectors as overview
from evaluation.overview.todo import todos
from evaluation.payouts.selectors.review import evidence_of_waiting
from tests.support import factories
from tests.support.factories import World
from tests.support.studies import judging, thinking

pytestmark = pytest.mark.django_db
VOTE = {"d-quality_overall": "left"}
OF_A_PAIR = sum(len(text.split()) for text in judging.TEXTS)
ASKED = len(judging.QUERY.split())


@pytest.fixture
def world() -> World:
    return factories.make_world(1)


def took(done: Assignment, seconds: float) -> Assignment:
    return factories.took(done, seconds / 60)


def judged(task: Task, seconds: float) -> Assignment:
    held = factories.claim(task, factories.make_worker(task.project))
    votes = {entry.item_id: VOTE for entry in held.entries.all()}
    answers.submit_assignment(by=held.worker.user, assignment=held, key=uuid.uuid4(), drafts=votes)
    return took(held, seconds)


def notes(task: Task) -> dict[int, list[str]]:
    rows, _ = evidence_of_waiting(task)
    return {row.assignment.pk: [note.text for note in row.notes] for row in rows}


def test_a_whole_crowd_that_hurries_is_flagged_for_review(world: World) -> None:
    task = judging.make_pairs(world.project, 8, redundancy=20)
    crowd = [judged(task, 7) for _ in range(6)]
    found = notes(task)
    for done in crowd:
        [text] = found[done.pk]
        words = 8 * OF_A_PAIR + ASKED  # every pair is read, the query they share once
        assert text.startswith(f"took 7\u00a0s; reading {words:,} words takes ")
        assert text.endswith("at 400 a minute")
    rows, _ = evidence_of_waiting(task)
    assert all(row.look_first for row in rows)
    assert {row.assignment.state for row in rows} == {"submitted"}  # a flag decides nothing


def test_five_answers_in_nine_seconds_are_flagged_and_a_minute_is_not(world: World) -> None:
    task = factories.make_task(world.project, 5, redundancy=9, passage="word " * 300)
    quick = took(factories.claim_and_submit(task), 9)
    calm = took(factories.claim_and_submit(task), 90)
    found = notes(task)
    assert "reading 325 words takes" in found[quick.pk][0]  # the text once, and five questions
    assert found[calm.pk] == []


def test_texts_without_spaces_take_time_to_read_too(world: World) -> None:
    task = factories.make_task(world.project, 5, redundancy=9, passage="鳥は巣を作る。" * 60)
    quick = took(factories.claim_and_submit(task), 9)
    assert "reading 266 words takes" in notes(task)[quick.pk][0]


def test_what_was_submitted_without_being_opened_is_timed_from_its_claim(world: World) -> None:
    """As a program does it: nothing opens the pages."""
    task = factories.make_task(world.project, 5, redundancy=9, passage="word " * 300)
    held = factories.claim(task, world.worker, opened=False)
    drafts = {entry.item_id: {"text": "They build nests."} for entry in held.entries.all()}
    done = answers.submit_assignment(
        by=world.worker.user, assignment=held, key=uuid.uuid4(), drafts=drafts
    )
    assert done.opened_at is None
    assert "reading 325 words takes" in notes(task)[done.pk][0]


def test_what_the_requester_expects_is_a_floor_of_its_own(world: World) -> None:
    task = factories.make_task(world.project, 1, redundancy=9, expected_minutes=10)
    quick = took(factories.claim_and_submit(task), 199)
    calm = took(factories.claim_and_submit(task), 201)
    found = notes(task)
    assert found[quick.pk] == ["took 3\u00a0min 19\u00a0s; the requester expects 10\u00a0min"]
    assert found[calm.pk] == []


def test_only_what_stood_open_of_what_was_answered_has_to_be_read(world: World) -> None:
    hidden = judging.make_pairs(world.project, 1, redundancy=9, sources="[1] " + "word " * 900)
    done = judged(hidden, 60)
    pace = speed.paces_by_assignment([hidden.pk])[done.pk]
    assert pace.words == OF_A_PAIR + ASKED
    task = factories.make_task(
        world.project,
        2,
        redundancy=9,
        passage="word " * 300,
        groups=2,
        settings={"skippable": True},
    )
    held = factories.claim(task, world.worker)
    first, second = (entry.item_id for entry in held.entries.all())
    answers.submit_assignment(
        by=world.worker.user,
        assignment=held,
        key=uuid.uuid4(),
        drafts={first: {"text": "They build nests."}, second: {"skipped": True}},
    )
    assert speed.paces_by_assignment([task.pk])[held.pk].words == 305  # one text, one question


def test_a_think_aloud_is_read_with_its_rubric_and_samples(world: World) -> None:
    held = factories.claim(thinking.make_think(world.project), world.worker)
    done = thinking.submit(held, thinking.thought())
    groups = {entry.item.group for entry in done.entries.select_related("item__group")}
    there = [group.passage for group in groups]
    there += [one["text"] for group in groups for one in group.passages]
    asked = {entry.item.question for entry in done.entries.select_related("item")}
    words = sum(len(text.split()) for text in (*there, *asked))
    assert speed.paces_by_assignment([done.task_id])[done.pk].words == words > 50


def test_the_overview_warns_of_an_hourly_pay_that_nobody_who_reads_can_reach(
    world: World,
) -> None:
    task = judging.make_pairs(world.project, 8, redundancy=20, pay="1.16")
    for _ in range(2):
        judged(task, 7)
    judged(task, 600)
    done = judged(task, 0)  # too short to be measured: flagged, and without a rate
    access = Access(world.project, world.manager, frozenset({Role.MANAGER}))
    [warned] = [
        todo for todo in todos(overview.facts(access)) if "less time than reading" in todo.text
    ]
    assert (warned.mark, warned.head, warned.link) == ("warn", "3 assignments", "Fastest first")
    assert warned.url.endswith("?sort=time")
    assert warned.text.endswith("3 people, up to €596.57 an hour.")
    figure = next(
        one
        for one in overview.figures(overview.facts(access))
        if one["label"] == "Median hourly pay"
    )
    assert figure["note"].endswith("3 people faster than reading time")
    assert speed.paces_by_assignment([task.pk])[done.pk].hourly is None
    batch = payouts.propose_payout(
        by=world.requester,
        task=task,
        key=uuid.uuid4(),
        lines=[payouts.ProposedLine(row.pk) for row in task.assignments.all()],
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("4.64"))
    later = todos(overview.facts(access))
    assert not [todo for todo in later if "less time than reading" in todo.text]  # decided


def test_paces_take_two_queries_for_any_number_of_tasks(
    world: World, django_assert_num_queries: object
) -> None:
    tasks = [judging.make_pairs(world.project, 2, redundancy=5) for _ in range(3)]
    for task in tasks:
        judged(task, 5)
    for some in (tasks[:1], tasks):
        with django_assert_num_queries(2):  # type: ignore[operator]
            assert len(speed.paces_by_assignment([task.pk for task in some])) == len(some)


def test_words_are_counted_once_and_stay_what_was_shown(world: World) -> None:
    """A project of 5,000 assignments counted its words for each look: half a second a look."""
    task = judging.make_pairs(world.project, 8, redundancy=3)
    crowd = [judged(task, 7) for _ in range(3)]
    before = speed.paces_by_assignment([task.pk])
    assert reading.count_words_shown() == 3 and reading.count_words_shown() == 0
    assert speed.paces_by_assignment([task.pk]) == before
    kept = dict(Assignment.objects.values_list("pk", "words_shown"))
    assert kept == {pk: pace.words for pk, pace in before.items()}
    assert {pace.worker_id for pace in speed.list_too_fast(task.project)} == {
        done.worker_id for done in crowd
    }
