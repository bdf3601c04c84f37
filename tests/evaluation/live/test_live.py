"""A live evaluation: outputs in, pairs out, and one end with one result."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import Assignment, AuditEntry, Candidate, HookDelivery, Item
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.notifications.actions import webhooks
from annotation.work.actions import assignments
from crowdqc.errors import Conflict, Invalid
from evaluation.live import actions as live
from evaluation.models import LiveEvaluation
from tests.support import factories
from tests.support.studies.live import judge, make_live, make_task, outputs

pytestmark = pytest.mark.django_db


def add(evaluation: LiveEvaluation, rows: list[dict[str, str]], key: str = "a") -> live.Batch:
    task = evaluation.task
    return live.add_outputs(by=task.project.owner, task=task, key=key, rows=rows)


def judge_until_it_ends(evaluation: LiveEvaluation, people: int = 12) -> LiveEvaluation:
    rng = random.Random(3)
    workers = [factories.make_worker(project=evaluation.task.project) for _ in range(people)]
    for turn in range(1000):
        going = judge(evaluation.task, workers[turn % people], rng)
        live.check_all()
        evaluation.refresh_from_db()
        if evaluation.state == LiveEvaluation.State.ENDED:
            return evaluation
        assert going
    raise AssertionError("it does not end")


def test_outputs_are_handed_out_at_once_and_it_ends_once_by_its_precision() -> None:
    evaluation = make_live(half_width=0.2, max_judgments=500, budget=Decimal("200.00"))
    task = evaluation.task
    webhooks.add_hook(by=task.project.owner, project=task.project, url="https://a.example/in")
    assert add(evaluation, outputs(200)) == live.Batch(200, 200, again=False)
    task.refresh_from_db()
    assert task.state == TaskState.OPEN
    ended = judge_until_it_ends(evaluation)
    assert ended.reason == "precise" and ended.result is not None
    assert ended.result["half_width"] <= 0.2 and 25 < ended.result["votes"] < 200
    ash, birch = ended.result["systems"]
    assert ash["low"] <= 0.8 <= ash["high"] and birch["share"] == pytest.approx(1 - ash["share"])
    task.refresh_from_db()
    assert task.state == TaskState.CLOSED
    assert not live.check(ended.pk)
    live.end(by=task.project.owner, task=task)
    [told] = HookDelivery.objects.filter(event="live.ended")
    assert told.payload["data"]["result"] == ended.result
    assert AuditEntry.objects.filter(action="live.end").count() == 1


def test_it_ends_when_all_judgments_are_given_and_never_asks_for_more() -> None:
    evaluation = make_live(half_width=0.02, max_judgments=31)
    add(evaluation, outputs(30))
    with pytest.raises(Conflict, match="1 of 31 are left, enough for 1 prompts"):
        add(evaluation, outputs(2, start=30), key="b")
    assert Item.objects.filter(task=evaluation.task).count() == 30
    add(evaluation, outputs(1, start=30), key="c")
    ended = judge_until_it_ends(evaluation)
    assert ended.reason == "judgments" and ended.result is not None
    assert ended.result["votes"] == 31


def test_claims_stop_at_the_budget_and_it_ends_when_what_is_in_work_is_in() -> None:
    evaluation = make_live(half_width=0.02, max_judgments=500, budget=Decimal("7.50"))
    add(evaluation, outputs(100))
    workers = [factories.make_worker(project=evaluation.task.project) for _ in range(8)]
    evaluation.task.refresh_from_db()
    for worker in workers[:7]:
        assert worker.user is not None
        assignments.claim_assignment(by=worker.user, task=evaluation.task, worker=worker)
    with pytest.raises(Conflict, match="money for this task is used up") as refused:
        assert workers[7].user is not None
        assignments.claim_assignment(by=workers[7].user, task=evaluation.task, worker=workers[7])
    assert refused.value.code == "budget-used"
    assert not live.check(evaluation.pk)  # seven are at work still
    Assignment.objects.filter(task=evaluation.task).update(
        state=AssignmentState.SUBMITTED, submitted_at=timezone.now()
    )
    assert live.check(evaluation.pk)
    evaluation.refresh_from_db()
    assert evaluation.reason == "budget" and evaluation.result is not None
    assert evaluation.result["money"] == "7.00"


def test_the_same_outputs_sent_again_add_nothing_and_others_under_their_key_are_refused() -> None:
    evaluation = make_live()
    add(evaluation, outputs(3))
    assert add(evaluation, outputs(3)) == live.Batch(3, 3, again=True)
    with pytest.raises(Conflict) as refused:
        add(evaluation, outputs(4))
    assert refused.value.code == "key-used"
    with pytest.raises(Conflict, match="p2 is in the task already"):
        add(evaluation, outputs(2, start=2), key="b")
    assert Item.objects.count() == 3 and Candidate.objects.count() == 6


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"system": "oak"}, "outputs.2.system", "Row 3, system: It is not compared here"),
        ({"text": " "}, "outputs.2.text", "Row 3, text: It is empty"),
        ({"prompt": ""}, "outputs.2.prompt", "Row 3, prompt: It is empty"),
        ({"question": ""}, "outputs.2.question", "Row 3, question: It is empty"),
        ({"prompt": "p0"}, "outputs.2.question", "differs from another row"),
        ({"prompt": "p7"}, "outputs.2.system", "no text of birch"),
    ],
)
def test_one_wrong_row_is_named_and_nothing_is_added(
    change: dict[str, str], field: str, words: str
) -> None:
    evaluation = make_live()
    rows = outputs(3)
    rows[2] |= change
    with pytest.raises(Invalid, match=words) as refused:
        add(evaluation, rows)
    assert field in refused.value.fields and refused.value.rows
    assert not Candidate.objects.exists() and not Item.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("half_width", 0.5),
        ("max_judgments", 0),
        ("budget", Decimal("0.001")),
        ("systems", ["ash"]),
        ("systems", ["ash", "ash"]),
        ("dimension", "height"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(field: str, value: object) -> None:
    task = make_task()
    chosen: dict[str, Any] = {"systems": ["ash", "birch"], field: value}
    with pytest.raises(Invalid) as refused:
        live.open_evaluation(by=task.project.owner, task=task, **chosen)
    assert list(refused.value.fields) == [field]


def test_a_new_version_cannot_ask_for_more_than_the_evaluation_allows() -> None:
    evaluation = make_live(max_judgments=20)
    add(evaluation, outputs(15))
    task, by = evaluation.task, evaluation.task.project.owner
    tasks.edit_draft(by=by, task=task, fields={"redundancy": 2})
    with pytest.raises(Conflict, match="would ask for 30 answers"):
        tasks.publish(by=by, task=task)
    items = dict.fromkeys(task.items.values_list("pk", flat=True), 3)
    with pytest.raises(Conflict, match="would ask for 45 answers"):
        tasks.set_wanted(by=by, task=task, wanted=items)


def test_the_database_keeps_no_end_without_reason_result_and_time() -> None:
    evaluation = make_live()
    for change in ({"state": "ended"}, {"reason": "precise"}, {"ended_at": timezone.now()}):
        with pytest.raises(IntegrityError, match="live_ended_says_why"), transaction.atomic():
            LiveEvaluation.objects.filter(pk=evaluation.pk).update(**change)


def test_three_systems_are_compared_in_every_pair_of_each_prompt() -> None:
    names = ("ash", "birch", "cedar")
    evaluation = make_live(systems=names, half_width=0.02, max_judgments=240)
    assert add(evaluation, outputs(80, names)).pairs == 240
    ended = judge_until_it_ends(evaluation)
    assert ended.result is not None
    shares = {row["system"]: row["share"] for row in ended.result["systems"]}
    assert shares["ash"] > shares["birch"]
    assert sum(shares.values()) == pytest.approx(1.5, abs=1e-5)
