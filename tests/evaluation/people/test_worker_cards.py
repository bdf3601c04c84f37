"""The card of a worker: every figure with what it rests on; and what a worker sees of their own."""

from __future__ import annotations

import uuid
from decimal import Decimal

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.access import Access
from annotation.authoring.actions import tasks
from annotation.authoring.actions.known import set_known
from annotation.models import (
    ChoiceValue,
    Item,
    Membership,
    Panel,
    PanelMember,
    Role,
    Task,
    User,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.work.actions import exclusions
from evaluation.models import Run, RunState, WorkerScore
from evaluation.payouts.selectors.review import read_answers
from evaluation.people.selectors.card import WorkerCard, worker_card
from evaluation.people.selectors.own_card import own_card
from evaluation.people.selectors.scores import correlation_of, share_of
from evaluation.rescaling.selectors import rating_boards
from evaluation.runs import engine as runs
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.official_runs import make_official
from tests.evaluation.corpora.pair_study import scored, text_of
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db


def run_of(task: Task, method: str = "aqer", number: int = 1) -> Run:
    run = Run.objects.create(
        project=task.project,
        task=task,
        number=number,
        method=method,
        version="1",
        state=RunState.DONE,
    )
    return make_official(run)


def card_of(worker: Membership) -> WorkerCard:
    return worker_card(worker, page=None, work_page=None)


def opened(user: User, name: str, *args: object) -> str:
    client = Client()
    client.force_login(user)
    response = client.get(reverse(name, args=args))
    assert response.status_code == 200
    return text_of(response.content.decode().replace("\u00a0", " "))


def test_shares_and_correlations_have_intervals_or_say_why_not() -> None:
    assert share_of(0, 0).why == "none so far"
    few = share_of(3, 4, noun="pair")
    assert (few.value, few.low, few.why) == (0.75, None, "4 pairs; an interval needs 5")
    one, bound = share_of(30, 40), share_of(30, 40, per=4)
    assert bound.low is not None and one.low is not None and bound.low < one.low < 0.75
    assert correlation_of(None, 3).why.startswith("3 texts shared")
    sure = correlation_of(0.8, 30)
    assert sure.low == pytest.approx(0.617, abs=0.01) and sure.high == pytest.approx(
        0.901, abs=0.01
    )


def test_competence_stands_by_dimension_with_its_agreement_and_its_limits() -> None:
    task = pair_corpus.make_judged()
    run = scored(task)
    worker = run.workerscore_rows.filter(dimension="").order_by("pk")[0].worker
    shown = card_of(worker)
    [study] = shown.scores.pairs
    assert [line["label"] for line in study.lines] == ["All together", "Clarity", "Overall"]
    pooled, clarity, _ = study.lines
    assert clarity["score"].low is not None and clarity["others"].low is not None
    # Two dimensions of a pair are one look at it: no more certain than one dimension alone.
    width = [line["others"].high - line["others"].low for line in (pooled, clarity)]
    assert pooled["others"].n > clarity["others"].n and width[0] > 0.8 * width[1]
    assert any("careless" in text for text in shown.cannot)
    WorkerScore.objects.filter(run=run, worker=worker, dimension="overall").update(component=2)
    text = opened(task.project.owner, "worker_card", task.project_id, worker.pk)
    assert "part 2" in text and "figures of different parts are not compared" in text
    assert "Agreement with others" in text and "Cannot be concluded" in text
    assert "First text better: Clarity" in text and "View pair" in text


def test_a_competence_that_the_votes_leave_open_is_not_on_the_card() -> None:
    task = pair_corpus.make_judged()
    run = scored(task)
    row = run.workerscore_rows.filter(dimension="").order_by("pk")[0]
    WorkerScore.objects.filter(pk=row.pk).update(estimate=0.951, low=0.004, high=0.997)
    [study] = card_of(row.worker).scores.pairs
    withheld = next(line for line in study.lines if not line["score"].dimension)
    assert withheld["score"].estimate is None and withheld["withheld"]
    text = opened(task.project.owner, "worker_card", task.project_id, row.worker_id)
    assert withheld["withheld"] in text


def test_attention_pairs_are_told_passed_and_failed_and_never_to_the_worker() -> None:
    study = pair_corpus.make_judged(
        workers=3, task=pair_corpus.make_task(topics=1, sources=3, redundancy=3)
    )
    judge = study.assignments.order_by("pk")[0].worker
    first, second = Item.objects.filter(answers__worker=judge).order_by("pk")[:2]
    for item, right in ((first, True), (second, False)):
        given = ChoiceValue.objects.get(answer__worker=judge, answer__item=item, field="clarity")
        other = "second" if given.code == "first" else "first"
        Item.objects.filter(pk=item.pk).update(expected={"clarity": given.code if right else other})
    [row] = card_of(judge).attention
    assert (row.right, row.failed, row.passed.why) == (
        1,
        1,
        "2 attention pairs; an interval needs 5",
    )
    assert "ttention" not in opened(judge.user, "work_card", study.project_id)


def test_known_answers_are_counted_with_their_interval_on_both_cards() -> None:
    """The worker reads of them where the task told after each; the interval is Wilson's."""
    task = factories.make_task(factories.make_project(), 21, publish=False)
    by = task.project.owner
    for number in range(1, 21):
        given = {"answer": {"value": "7", "within": "1"}}
        set_known(by=by, task=task, key=f"q-{number:03d}", given=given)
    rules = {"gold_per_assignment": 20, "known_feedback": "1"}
    tasks.edit_draft(by=by, task=task, fields={"settings": rules})
    tasks.publish(by=by, task=task)
    worker = factories.make_worker(task.project)
    wrong = {"q-001": "9", "q-002": ""}  # too far off, and "I don't know"
    said = {f"q-{number:03d}": "8" for number in range(3, 22)} | wrong
    done = factories.submit(factories.claim(task, worker), said)
    marks = {one.answer.item.key: one.right for one in read_answers(done.pk, None)}
    right = {key: True for key in said} | {"q-001": False, "q-002": False}
    assert marks == right | {"q-021": None}
    [row] = card_of(worker).attention
    assert (row.right, row.seen, row.passed.value) == (18, 20, 0.9)
    assert (round(row.passed.low, 3), round(row.passed.high, 3)) == (0.699, 0.972)
    for user, *at in ((by, "worker_card", task.project_id, worker.pk),
                      (worker.user, "work_card", task.project_id)):  # fmt: skip
        text = opened(user, *at)
        assert "Known answers" in text and "18 of 20" in text and "70% to 97%" in text


def test_times_and_money_stand_beside_what_is_usual_and_what_is_owed() -> None:
    world = factories.make_world(2, redundancy=30, pay="2.00")
    done = [factories.claim_and_submit(world.task) for _ in range(5)]
    mine = factories.claim_and_submit(world.task, world.worker)
    factories.claim_and_submit(factories.make_task(world.project, 2), world.worker)
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(mine.pk, bonus=Decimal("0.50")), ProposedLine(done[0].pk)],
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("4.50"))
    panel = Panel.objects.create(project=world.project, name="Storks", created_by=world.requester)
    PanelMember.objects.create(panel=panel, worker=world.worker, run_number=3, why="top 5")
    exclusions.exclude(by=world.requester, task=world.task, worker=world.worker, reason="a test")
    shown = card_of(world.worker)
    first = next(row for row in shown.times if row.task == world.task)
    assert first.usual is not None and (first.n, first.everyone) == (1, 6)
    assert next(row for row in shown.times if row.task != world.task).usual is None
    money = shown.money
    assert (money.approved, money.owed, money.waiting) == (
        Decimal("2.50"),
        Decimal("2.50"),
        Decimal("1.80"),
    )
    text = opened(world.manager, "worker_card", world.project.pk, world.worker.pk)
    for words in ("Storks", "top 5", "Left out of the results"):
        assert words in text
    assert "Remove from task…" not in text  # that is a requester's
    client = Client()
    client.force_login(world.requester)
    page = client.get(reverse("worker_card", args=[world.project.pk, world.worker.pk]))
    for task in shown.task_list:
        url = reverse("task_exclude", args=[world.project.pk, task.pk, world.worker.pk])
        assert page.content.decode().count(f'href="{url}"') == 1
    own = opened(world.worker.user, "work_card", world.project.pk)
    assert "Storks" in own and "Left out" not in own and "top 5" not in own
    assert "€2.50" in own and "Middle 50% of all" not in own


def test_the_card_takes_as_many_queries_for_much_work_as_for_little() -> None:
    world = factories.make_world(2, redundancy=30)
    seen = []
    for round_, more in ((0, 1), (1, 3)):
        for k in range(more):
            task = world.task if not round_ and not k else factories.make_task(world.project, 2)
            factories.claim_and_submit(task, world.worker)
            run = run_of(task, number=10 * round_ + k + 1)
            WorkerScore.objects.create(run=run, worker=world.worker, n=2, component=1, estimate=0.5)
        worker = Membership.objects.select_related("project").get(pk=world.worker.pk)
        cache.clear()
        with CaptureQueriesContext(connection) as count:
            shown = card_of(worker)
        with CaptureQueriesContext(connection) as own:
            own_card(worker)
        assert len(shown.scores.texts) == 1 + 3 * round_
        seen.append((len(count), len(own)))
    assert seen[0] == seen[1]


def test_workers_see_their_scores_only_where_the_project_shows_them_and_never_others() -> None:
    world: World = factories.make_world(2, redundancy=5)
    other = factories.claim_and_submit(world.task).worker
    factories.claim_and_submit(world.task, world.worker)
    run = run_of(world.task)
    for worker, value in ((world.worker, 0.871), (other, 0.412)):
        WorkerScore.objects.create(
            run=run,
            worker=worker,
            n=2,
            component=1,
            estimate=value,
            low=value - 0.1,
            high=value + 0.05,
            rank_low=1,
            rank_high=2,
            extra={"uniterated": value},
        )
    closed = opened(world.worker.user, "work_card", world.project.pk)
    assert "does not show workers their scores" in closed and ".871" not in closed
    client = Client()
    client.force_login(world.requester)
    settings = reverse("project_settings", args=[world.project.pk])
    form = client.get(settings).context["form"]
    sent = {name: value for name, value in form.initial.items() if value not in (None, False)}
    assert client.post(settings, {**sent, "show_scores": "on"}).status_code == 302
    shown = opened(world.worker.user, "work_card", world.project.pk)
    assert ".871" in shown and ".771–.921" in shown and "Cannot be concluded" in shown
    assert ".412" not in shown and other.pseudonym not in shown


def test_ratings_agree_with_the_others_and_say_on_how_many_texts() -> None:
    task = pair_corpus.make_rated()
    run = runs.start(by=task.project.owner, task=task, params={"resamples": 100})
    assert runs.execute(run.pk) == RunState.DONE
    make_official(Run.objects.get(pk=run.pk))
    worker = task.assignments.order_by("pk")[0].worker
    card = card_of(worker)
    [row] = card.scores.agreements
    assert row.figure.n == 24 and row.figure.low is not None
    assert card.scores.intervals == 1
    Membership.objects.filter(pk=worker.pk).update(user=None, external_id="Rater 7")
    client, own = Client(), WorkerScore.objects.filter(run=run).select_related("run").first()
    assert own
    client.force_login(task.project.owner)
    page = client.get(reverse("worker_card", args=[task.project_id, worker.pk]))
    assert page.context["in_file"] == "Rater 7"
    roles = {Role.REQUESTER: "Rater 7", Role.MANAGER: ""}
    for role, name in roles.items():
        access = Access(task.project, task.project.owner, frozenset({role}))
        used = rating_boards.workers(own.run, own.dimension, access)
        assert {one.id: one.in_file for one in used}[worker.pk] == name
    values = dict(
        ChoiceValue.objects.filter(answer__worker=worker).values_list("answer__item", "ordinal")
    )
    others: dict[int, list[int]] = {}
    rest = ChoiceValue.objects.filter(answer__item__in=values).exclude(answer__worker=worker)
    for item, value in rest.values_list("answer__item", "ordinal"):
        others.setdefault(item, []).append(value or 0)
    keys = sorted(values)
    by_hand = np.corrcoef([values[k] or 0 for k in keys], [np.mean(others[k]) for k in keys])[0, 1]
    assert row.figure.value == pytest.approx(by_hand)
