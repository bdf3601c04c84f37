"""Key figures of a task: usable answers, time, and what each of them cost in all."""

from __future__ import annotations

import csv
import io
import uuid
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from annotation.authoring.selectors.progress import cost_by_day, progress_of
from annotation.models import Answer, ChoiceValue, Task
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.ledger import book_correction
from annotation.payouts.actions.proposals import ProposedLine
from evaluation.payouts.selectors.figures import key_figures
from tests.evaluation.corpora import pairs as pair_corpus
from tests.support import factories

pytestmark = pytest.mark.django_db


def test_cost_per_usable_answer_includes_what_was_paid_for_unused_work() -> None:
    world = factories.make_world(redundancy=9)
    assert key_figures(world.task) is None  # nothing was submitted
    good, unused, waits = (factories.claim_and_submit(world.task) for _ in range(3))
    for done, minutes in ((good, 6), (unused, 3), (waits, 12)):
        factories.took(done, minutes)
    Answer.objects.filter(assignment=unused).update(counts=False, uncounted_reason="copied")
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(good.pk, bonus=Decimal("0.40")), ProposedLine(unused.pk)],
    )
    payouts.approve_payout(batch=batch, expected_total=Decimal("4.00"), by=world.manager)
    found = key_figures(Task.objects.get(pk=world.task.pk))
    assert found is not None
    each = Answer.objects.filter(assignment=good).count()
    assert (found.workers, found.assignments, found.answers) == (3, 3, 2 * each)
    assert (found.booked, found.waiting, found.unused) == (
        *(Decimal("4.00"), Decimal("1.80"), Decimal("1.80")),
    )
    assert found.cost_per(found.answers) == Decimal("5.80") / (2 * each)
    assert found.seconds == pytest.approx(6 * 60 / each)
    assert found.hourly == Decimal("18.00")  # 1.80 in the median 6 minutes
    client = Client()
    client.force_login(world.requester)
    url = reverse("task_figures", args=[world.project.pk, world.task.pk])
    assert "€5.80" in client.get(url).content.decode()
    answer = client.get(url, {"format": "csv"}).content.decode()
    lines = {row["figure"]: row["value"] for row in csv.DictReader(io.StringIO(answer))}
    assert float(lines["cost_usable"]) == pytest.approx(5.80 / (2 * each))
    client.force_login(world.worker.user)
    assert client.get(url).status_code in (403, 404)


def test_judgments_and_the_labels_that_they_make_are_counted_apart() -> None:
    task = pair_corpus.make_judged()
    task.assignments.update(source="browser")
    found = key_figures(task)
    assert found is not None
    own = ChoiceValue.objects.filter(
        answer__item__task=task, answer__counts=True, answer__system=None, answer__stage="main"
    ).exclude(answer__item__expected__isnull=False)
    assert found.judgments == own.count()
    labels = set(own.filter(answer__item__repeat=False).values_list("answer__item", "field"))
    assert found.labels == len(labels) < found.judgments
    assert found.words is None


def test_every_page_counts_corrections_and_unapproved_pay_as_cost() -> None:
    world = factories.make_world(1, redundancy=40)
    work = factories.claim_and_submit(world.task)
    moves = (
        (f"work:{world.task.pk}", f"worker:{work.worker_id}", "0.40"),
        ("unknown:hand", "paid:hand", "1.50"),
        ("paid:hand", "fees:hand", "0.10"),
    )
    for debit, credit, amount in moves:
        book_correction(
            by=world.manager, task=world.task, debit=debit, credit=credit,
            amount=Decimal(amount), memo="Told by the platform.", key=uuid.uuid4(),
        )  # fmt: skip
    cost = work.pay + Decimal("1.80")
    found = key_figures(world.task)
    assert found is not None and found.cost == cost
    [row] = progress_of([world.task])
    assert row.spent == cost
    assert cost_by_day(world.project)[-1][1] == cost
