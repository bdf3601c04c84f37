"""The demo: loaded through the real actions, scored, and left alone by a second call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Count, F, Q, Sum
from django.utils import timezone

from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    EventBatch,
    Item,
    LedgerEntry,
    PayoutBatch,
    PayoutLine,
    Project,
    Rejection,
    Task,
    User,
)
from evaluation import demo_loader
from evaluation.models import Run, SystemScore, WorkerScore

pytestmark = [pytest.mark.db, pytest.mark.slow]


def load(**options: Any) -> str:
    out = StringIO()
    call_command("load_demo", encoder="char-svd", stdout=out, stderr=out, **options)
    return out.getvalue()


@pytest.fixture(scope="module")
def told(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """Loaded once for all of this module, and rolled back after it."""
    from django.db import transaction

    with django_db_blocker.unblock():
        outer = transaction.atomic()
        outer.__enter__()
        try:
            yield load()
        finally:
            transaction.set_rollback(True)
            outer.__exit__(None, None, None)


@pytest.mark.django_db
def test_the_four_accounts_sign_in_and_find_what_is_theirs(told: str, client: Any) -> None:
    project = Project.objects.get(name=demo_loader.TITLE)
    for name in demo_loader.ACCOUNTS:
        assert name in told and demo_loader.PASSWORD in told
        assert client.login(username=name, password=demo_loader.PASSWORD)
        path = "/work/" if name.startswith("worker") else f"/projects/{project.pk}/"
        page = client.get(path)
        assert page.status_code == 200, (name, path)
    for name in ("worker1", "worker2"):
        own = Assignment.objects.filter(worker__user__username=name, state="submitted")
        assert own.filter(settled_at__isnull=True).exists()
        client.login(username=name, password=demo_loader.PASSWORD)
        assert b"Tides, read once" in client.get("/work/").content
    assert LedgerEntry.objects.filter(worker__user__username="worker1").exists()
    rejection = Rejection.objects.get(assignment__worker__user__username="worker2")
    assert rejection.reply and not rejection.outcome


@pytest.mark.django_db
def test_slots_leases_and_money_add_up(told: str) -> None:
    held = Item.objects.annotate(n=Count("entries", filter=Q(entries__holds=True)))
    assert not held.exclude(held=F("n")).exists()
    assert not Item.objects.filter(held__gt=F("redundancy")).exists()
    assert not Assignment.objects.filter(submitted_at__gt=F("expires_at")).exists()
    first, second = PayoutBatch.objects.order_by("number")
    assert (first.state, second.state) == ("approved", "proposed")
    assert first.proposed_by.username == second.proposed_by.username == "requester"
    assert first.decided_by is not None and first.decided_by.username == "manager"
    going = PayoutLine.objects.filter(batch=first, decision="approve", live=True)
    amounts = going.aggregate(base=Sum("base"), bonus=Sum("bonus"))
    paid = LedgerEntry.objects.aggregate(s=Sum("amount"))["s"]
    assert paid == amounts["base"] + amounts["bonus"] > Decimal(30)
    settled = Assignment.objects.filter(settled_at__isnull=False)
    assert settled.count() == going.count() + Rejection.objects.count()


@pytest.mark.django_db
def test_there_is_a_history_with_logs_and_scores_that_recover_the_planted_order(
    told: str,
) -> None:
    from scipy.stats import spearmanr

    now = timezone.now()
    days = {a.submitted_at.date() for a in Assignment.objects.filter(state="submitted")
            if a.submitted_at}  # fmt: skip
    assert len(days) >= 8
    for model, name in ((Assignment, "leased_at"), (Answer, "answered_at"), (AuditEntry, "at")):
        assert not model.objects.filter(**{f"{name}__gt": now}).exists()  # type: ignore[attr-defined]
    events = EventBatch.objects.aggregate(n=Sum(F("last_seq") - F("first_seq") + 1))["n"]
    assert 40_000 < events < 120_000
    assert Answer.objects.filter(counts=False).exists()
    states = set(Task.objects.values_list("state", flat=True))
    assert states == {"open", "draft"} and Task.objects.count() == 3

    runs = list(Run.objects.order_by("number"))
    assert [run.params["leave_one_out"] for run in runs] == [True, False]
    assert {run.state for run in runs} == {"done"}
    for run in runs:
        assert SystemScore.objects.filter(run=run).count() == 6
        scores = dict(
            WorkerScore.objects.filter(run=run).values_list("worker__pseudonym", "estimate")
        )
        planted = {w.id: w.planted for w in demo_loader.demo.load().workers}
        order = sorted(set(scores) & set(planted))
        assert len(order) == 24
        rank = spearmanr([scores[w] for w in order], [planted[w] for w in order])
        assert rank.statistic > 0.6


@pytest.mark.django_db
def test_a_second_call_changes_nothing_and_takes_a_moment(told: str) -> None:
    project = Project.objects.get(name=demo_loader.TITLE)
    project.name = "Called something else by now"
    project.save(update_fields=["name"])
    before = (AuditEntry.objects.count(), Run.objects.count(), User.objects.count())
    began = time.monotonic()
    again = load()
    assert time.monotonic() - began < 2
    assert (AuditEntry.objects.count(), Run.objects.count(), User.objects.count()) == before
    assert "Called something else by now" in again
