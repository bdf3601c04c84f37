"""Evidence beside a person's work: numbers and words, and no verdict."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from uuid import uuid4

import numpy as np
import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Membership, Task
from annotation.payouts.actions.proposals import ProposedLine, propose_payout
from annotation.payouts.selectors.proposals import WorkFacts
from annotation.work.selectors.log import LogSummary
from annotation.work.selectors.speed import Pace
from crowdqc.numbers import interval, score
from evaluation.models import AnswerScore, Run, RunState, WorkerScore
from evaluation.payouts.selectors import evidence
from evaluation.payouts.selectors.card import card, paste_sources
from evaluation.payouts.selectors.likeness import likenesses
from evaluation.payouts.selectors.review import evidence_of_waiting
from evaluation.people.selectors.evidence import WorkerEvidence
from tests.evaluation.corpora import labels as corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.labels.test_runs import scored
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db
NOTHING = WorkFacts(answers=4, items=4)


@pytest.fixture
def world() -> World:
    cache.clear()
    return factories.make_world(4, redundancy=30)


def timed(world: World, worker: Membership | None = None, minutes: float = 10) -> Assignment:
    return factories.took(factories.claim_and_submit(world.task, worker), minutes)


def paste(world: World, worker: Membership) -> Assignment:
    """An assignment whose text was pasted, from outside and from the worker's own text."""
    lease = factories.claim(world.task, worker)
    log = []
    for number, entry in enumerate(lease.entries.order_by("position")):
        target, ms = f"item-{entry.item_id}", 1000 * number
        source = "outside" if number else "own"
        log += [
            {"method": "paste", "time": ms, "target": target, "comment": source},
            {
                "method": "input",
                "time": ms + 1,
                "target": target,
                "name": "insertFromPaste",
                "delta": [ms + 1, 0, 0, "They build nests on chimneys."],
            },
        ]
    factories.make_log(lease, log)
    return factories.submit(lease)


def test_pasting_is_noted_with_its_numbers_and_asks_for_a_look(world: World) -> None:
    done = factories.took(paste(world, world.worker))
    timed(world)
    [first, second] = evidence_of_waiting(world.task)[0]
    assert first.assignment.pk == done.pk
    assert [note.text for note in first.notes] == ["4 pastes, 100% of the text"]
    assert first.look_first and not second.look_first
    assert second.pasted is None  # nothing was recorded, which is not the same as 0%


def test_a_quick_assignment_is_noted_once_there_are_five_to_compare_with(world: World) -> None:
    quick = timed(world, world.worker, minutes=2)
    for _ in range(3):
        timed(world)
    assert not any(row.notes for row in evidence_of_waiting(world.task)[0])
    timed(world)
    rows = {row.assignment.pk: row for row in evidence_of_waiting(world.task)[0]}
    assert [note.kind for note in rows.pop(quick.pk).notes] == ["Time"]
    assert not any(row.notes for row in rows.values())


def test_i_dont_know_is_paid_like_any_answer_and_is_no_flag() -> None:
    assert not evidence.notes(WorkFacts(answers=16, declined=16), LogSummary(), None, None)


@pytest.mark.parametrize(("seconds", "unread"), [(43.0, False), (34.0, False), (31.0, True)])
def test_a_time_is_flagged_clearly_below_reading_time_only(seconds: float, unread: bool) -> None:
    pace = Pace(1, 1, seconds, 289, 0, Decimal(1), True)  # 43.35 s at 400 words a minute
    found = evidence.notes(NOTHING, LogSummary(), seconds, None, pace=pace)
    assert [note.kind for note in found] == ["Time"] * unread


LONG = "A stork builds its nest high up on chimneys, poles and old towers, item {}."


def answer_as(world: World, said: str) -> Assignment:
    lease = factories.claim(world.task, factories.make_worker(world.project))
    entries = enumerate(lease.entries.order_by("position"))
    texts = {entry.item.key: said.format(at) for at, entry in entries}
    return factories.took(factories.submit(lease, texts), 10)


def test_the_same_texts_of_two_workers_are_told_wherever_their_work_is_decided(
    world: World,
) -> None:
    one, two = (answer_as(world, LONG) for _ in range(2))
    for name in ("Ada", "Bo", "Cy"):
        answer_as(world, f"{name} thinks otherwise of storks, nests and chimneys, item {{}}.")
    rows = {row.assignment.pk: row for row in evidence_of_waiting(world.task)[0]}
    assert {pk for pk, row in rows.items() if row.look_first} == {one.pk, two.pk}
    [note] = rows[one.pk].notes
    assert note.kind == "Alike" and two.worker.pseudonym in note.text and "4 of 4" in note.text
    client = Client()
    client.force_login(world.manager)
    shown = client.get(reverse("worker_card", args=[world.project.pk, one.worker_id]))
    assert [like.kind for like in shown.context["alike"]] == ["text"]
    queue = client.get(reverse("review", args=[world.project.pk, world.task.pk]))
    assert queue.context["queue"].look == 2
    lines = [ProposedLine(one.pk)]
    batch = propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=lines)
    page = client.get(reverse("payout", args=[world.project.pk, batch.number]))
    assert [note.kind for note in page.context["card"].notes] == ["Alike"]
    [person] = page.context["page"].people
    assert person.flagged  # although it was proposed to approve it


def test_answers_that_everybody_gives_are_no_likeness(world: World) -> None:
    for _ in range(5):
        answer_as(world, LONG)
    assert likenesses(world.project) == {}


def labelled(*people: Callable[[int], str], items: int = 20) -> tuple[Task, list[int]]:
    """A task whose items got a label of everybody; ``people`` name their label of an item."""
    task = corpus.make_task(items=items, redundancy=len(people))
    found, workers = list(task.items.order_by("position")), []
    for label in people:
        worker = factories.make_worker(project=task.project)
        given = [(item, label(at)) for at, item in enumerate(found)]
        for start in range(0, items, 5):
            corpus.add_labels(task, worker, given[start : start + 5])
        workers.append(worker.pk)
    return task, workers


def careful(*wrong: int) -> Callable[[int], str]:
    """Label as the items deserve, but for some."""
    return lambda at: corpus.truth(at + 1 if at in wrong else at)


def kinds_by_worker(task: Task) -> dict[int, set[str]]:
    rows = evidence_of_waiting(task)[0]
    found: dict[int, set[str]] = {row.assignment.worker_id: set() for row in rows}
    for row in rows:
        found[row.assignment.worker_id] |= {note.kind for note in row.notes}
        assert row.look_first == bool(row.notes)
    return found


def test_who_presses_one_option_is_flagged_and_not_the_careful_beside_them() -> None:
    task, (one, two, same) = labelled(
        careful(3, 7), careful(11), lambda at: corpus.CODES[0], items=20
    )
    assert kinds_by_worker(task) == {one: set(), two: set(), same: {"Same"}}
    assert WorkerEvidence(task.project).flagged == {same}


def test_one_usual_answer_and_unsure_ones_are_no_flag() -> None:
    def usual(at: int) -> str:
        return corpus.CODES[at in (4, 9)]

    task, _people = labelled(usual, usual, lambda at: corpus.CODES[0], lambda at: "unsure")
    assert not any(kinds_by_worker(task).values())


def test_equal_choices_are_held_against_three_others_who_do_not_guess() -> None:
    rng = np.random.default_rng(1)

    def guess() -> Callable[[int], str]:
        drawn = rng.integers(0, 3, 60)
        return lambda at: corpus.CODES[drawn[at]]

    others = [careful(*rng.integers(0, 60, 6)) for _ in range(4)]
    copied = guess()
    task, people = labelled(copied, copied, *others, items=60)
    assert {pk: one.worker for pk, [one] in likenesses(task.project).items()} == {
        people[0]: people[1],
        people[1]: people[0],
    }
    task, _people = labelled(*others[:2], guess(), guess(), guess(), items=60)
    assert likenesses(task.project) == {}


def test_who_a_run_cannot_tell_from_guessing_is_flagged_once_that_is_sure() -> None:
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, 3, 200)
    others = [careful(*rng.integers(0, 200, 20)) for _ in range(4)]
    task, people = labelled(*others, lambda at: corpus.CODES[drawn[at]], items=200)
    assert not any(kinds_by_worker(task).values())
    scored(task)
    flagged = {pk: kinds for pk, kinds in kinds_by_worker(task).items() if kinds}
    assert flagged == {people[-1]: {"Guessing"}}
    # The flag says what the column says.
    everything, _around = evidence_of_waiting(task)
    row = next(one for one in everything if one.assignment.worker_id == people[-1])
    [note] = row.notes
    assert row.score is not None
    figures = f"{score(row.score.estimate)} ({interval(row.score.low, row.score.high)})"
    assert f"competence {figures}" in note.text


def test_absence_is_told_as_a_share_of_the_time() -> None:
    log = LogSummary(seconds_total=100, seconds_away=60, events=9)
    [note] = evidence.notes(NOTHING, log, None, None)
    assert note.text == "page not in view 60% of the time"


def test_the_card_says_where_pastes_came_from_and_what_cannot_be_concluded(world: World) -> None:
    paste(world, world.worker)
    for _ in range(3):
        timed(world)
    rows, around = evidence_of_waiting(world.task)
    shown = card(world.task, world.worker, rows[:1], around)
    assert paste_sources(shown.log) == (
        "1 comes from their own earlier text. 3 come from outside this page."
    )
    assert any("somebody else" in text for text in shown.cannot)
    assert (shown.approved, shown.rejected) == (0, 0)


def test_where_passages_are_there_to_be_used_only_a_paste_from_elsewhere_stands_out() -> None:
    facts = WorkFacts(answers=1, uncounted=0, declined=0)
    used = LogSummary(typed_chars=20, pasted_chars=80, pastes_passage=2, events=9)
    brought = LogSummary(
        typed_chars=20, pasted_chars=80, outside_chars=80, pastes_outside=1, events=9
    )
    assert [note.kind for note in evidence.notes(facts, used, None, None)] == ["Paste"]
    assert evidence.notes(facts, used, None, None, cites=True) == []
    told = evidence.notes(facts, brought, None, None, cites=True)
    assert [note.text for note in told] == ["1 paste from elsewhere, 80% of the text"]


def test_bins_hold_everybody() -> None:
    counts = evidence.binned([0.0, 0.5, 1.0, 1.5, -2.0], 0.0, 1.0, 4)
    assert counts == [2, 0, 1, 2]


def test_the_workers_page_shows_scores_with_their_run_and_answers_with_theirs(
    world: World,
) -> None:
    done = timed(world, world.worker)
    run = Run.objects.create(
        project=world.project,
        task=world.task,
        number=7,
        method="aqer",
        version="1",
        state=RunState.DONE,
    )
    WorkerScore.objects.create(
        run=run,
        worker=world.worker,
        n=4,
        component=1,
        estimate=0.871,
        low=0.846,
        high=0.892,
        rank_low=1,
        rank_high=4,
        group=1,
        extra={"uniterated": 0.852},
    )
    answer = done.answers.first()
    AnswerScore.objects.create(run=run, answer=answer, n=1, estimate=0.333)
    make_official(run)
    client = Client()
    client.force_login(world.manager)
    page = client.get(reverse("worker_card", args=[world.project.pk, world.worker.pk]))
    text = page.content.decode()
    for expected in (".871", ".846–.892", ".852", "1–4", "run 7", "score .333", "version 1"):
        assert expected in text
    assert "Cannot be concluded" in text


def test_a_worker_without_work_or_score_has_a_page(world: World) -> None:
    client = Client()
    client.force_login(world.requester)
    page = client.get(reverse("worker_card", args=[world.project.pk, world.worker.pk]))
    assert "Nothing was submitted yet." in page.content.decode()
