"""What pages of results say of more work: its cost, whom to ask, and whether to wait."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db.models import F
from django.template.loader import get_template

from annotation.authoring.views.builder import parts
from annotation.models import Recruitment, Task
from annotation.models.tasks import TaskState
from annotation.task_types import TYPES, get_type
from annotation.task_types.base import part_of
from evaluation.models import Run
from evaluation.pairwise.selectors.resistance.advice import wait_for
from evaluation.runs.selectors import more_work, next_steps
from evaluation.runs.selectors.verdicts import Place
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def task() -> Task:
    """6 pairs of one topic, 5 judgments each, 6 of them for €1.20."""
    return pair_corpus.make_task(topics=1, sources=4)


def said_of_waiting(task: Task) -> str:
    return more_work.worth_waiting(more_work.still_out(task))


def test_what_is_still_to_come_is_counted_dated_and_priced(task: Task) -> None:
    assert said_of_waiting(task) == (
        "Nothing comes by itself: nobody works on it now and none came last week, and 6 of 6 pairs "
        "have no answer yet. If you do not need these, close the task and keep €6.00. If you "
        "do, tell workers that it waits: the 30 judgments still missing cost that much at most and "
        "take about 1 hour of work. How soon workers come is not known. Every item then "
        "needs 5 workers, and 0 workers can take this task: invite 5 people first."
    )
    factories.claim(task, factories.make_worker(project=task.project))
    said = said_of_waiting(task)
    assert said.startswith("Yes: 30 judgments of the 30 asked for can still change these results.")
    assert "In progress now: 6 judgments in 1 assignment, due by " in said
    assert said.endswith(
        "Workers can still take 24 judgments, which nobody works on now. How long that takes is "
        "not known: none came last week. In all they cost €6.00 at most, not spent yet. "
        "If you need no more, close the task to save €4.80 of that: work in progress is paid."
    )
    task.state = TaskState.PAUSED
    assert "The task is paused: open it again for 24 judgments" in said_of_waiting(task)
    task.state = TaskState.CLOSED
    assert said_of_waiting(task) == "No: the task is closed, so nothing more comes in."


def test_leaders_alike_are_chosen_by_cost_and_more_judgments_are_only_the_alternative(
    task: Task,
) -> None:
    step = next_steps.of_place(Place("A and B may both be the best.", open=True), task)
    assert step.sentence == "Stop here and choose between them by cost or another reason."
    assert step.instead is not None and step.instead.sentence.startswith(
        "If the choice is worth more than €1.20 to you: collect one more on each of 6 pairs"
    )
    assert "raise the number per pair from 5 to 6" in step.whom
    assert step.ask_url.endswith("build/?part=pairs")


@pytest.mark.parametrize("slug", sorted(TYPES))
def test_the_page_that_more_answers_are_asked_for_on_holds_their_number(slug: str) -> None:
    kind = get_type(slug)
    builder = part_of(kind, "builder_views", default=parts.__name__).BUILDER
    part = builder.parts[kind.redundancy_part]
    beside_pay = part.template.endswith("builder/_part_time.html")
    own = "redundancy" in get_template(part.template).template.source  # type: ignore[attr-defined]
    assert "redundancy" in builder.beside_pay if beside_pay else own


def test_few_judgments_still_to_come_are_not_worth_waiting_for(task: Task) -> None:
    task.items.update(held=F("redundancy"))
    assert said_of_waiting(task) == "No: all 30 judgments that were asked for are in."
    task.items.filter(pk=task.items.first().pk).update(held=4)
    assert said_of_waiting(task) == (
        "No: nobody works on it now and none came last week. "
        "Free to take: 1 judgment of the 30 asked for, for €1.20 (1 whole assignment) at most. "
        "If you need no more, close the task to save that."
    )
    factories.claim(task, factories.make_worker(project=task.project))
    assert said_of_waiting(task).startswith(
        "No: with 1 judgment still to come, these results get about 2% more exact at most."
    )


def test_nothing_is_said_of_work_where_no_item_asks_for_any(task: Task) -> None:
    task.items.update(expected={"quality": "left"}, redundancy=0, held=0)
    assert said_of_waiting(task) == ""
    assert more_work.one_more_each(task) == ""


def test_one_more_on_each_item_is_priced_with_the_fee_and_says_how_many_to_invite(
    task: Task,
) -> None:
    Recruitment.objects.create(
        task=task,
        kind=Recruitment.Kind.PANEL,
        name="Ours",
        currency="EUR",
        fee_percent=25,
        created_by=task.project.owner,
    )
    for _ in range(4):
        factories.make_worker(project=task.project)
    assert more_work.one_more_each(task) == (
        "One more on each of 6 pairs is 6 judgments, for €1.50 (with a fee of 25.0%) at most. "
        "Ranges get about 9% narrower at most; whether that is enough is not known."
    )
    assert more_work.whom(task, 6) == (
        "Every item then needs 6 workers, and 4 workers can take this task: invite 2 people first."
    )
    assert more_work.whom(task, 4) == "4 workers of this project can take this task."
    more = more_work.like_these(task, 2)
    assert more is not None and (more.items, more.answers) == (12, 60)
    assert more.cost == "€15.00 (with a fee of 25.0%)"


@pytest.mark.parametrize(
    ("sure", "times", "said"),
    [
        (True, 0.0, "No: the first place is sure without 30 judgments still to come."),
        (False, 1.1, "Yes: 30 judgments still to come may be enough to separate the first two."),
        (False, 9.0, "No: 30 judgments still to come are too few to separate the first two."),
    ],
)
def test_who_is_first_is_waited_for_only_where_that_can_change_it(
    task: Task, sure: bool, times: float, said: str
) -> None:
    factories.claim(task, factories.make_worker(project=task.project))
    run = cast("Run", SimpleNamespace(snapshot=SimpleNamespace(counts={"answers": 200})))
    found = cast("Any", SimpleNamespace(plan=not sure, times=times))
    out = more_work.still_out(task)
    assert wait_for(out, run, Place("", sure=sure, open=not sure), found).startswith(said)
