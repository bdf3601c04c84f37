"""Rules of payouts: who gets what for certain, caps that hold, and the hourly floor."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Assignment, AuditEntry, LedgerEntry, PayoutBatch, PayoutRule, Task
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.bonus_rule import set_rule
from annotation.payouts.actions.proposals import ProposedLine
from annotation.work.selectors.log import LogSummary
from crowdqc.errors import Invalid, NotAllowed
from evaluation.models import Run, RunState, WorkerScore
from evaluation.payouts.bonus import Frame, Payee, apply_rule
from evaluation.payouts.wage import CAPPED, LEASED, LOGGED, OPENED, worked_time
from tests.evaluation.corpora.official_runs import make_official
from tests.support import factories
from tests.support.factories import World

STEPS = [{"at": 0.8, "bonus": "1.00"}, {"at": 0.5, "bonus": "0.40"}]
FLOOR = Decimal("12.00")


def evidence(
    worker: int = 1,
    low: float | None = None,
    ranks: tuple[int, int] | None = None,
    seconds: float | None = None,
    component: int = 1,
    **log: Any,
) -> Any:
    """One person's work, as far as a rule looks at it."""
    score = SimpleNamespace(
        estimate=None if low is None and ranks is None else 0.9,
        low=low,
        component=component,
        rank_low=ranks and ranks[0],
        rank_high=ranks and ranks[1],
    )
    version = SimpleNamespace(lease_minutes=60)
    return SimpleNamespace(
        score=score,
        seconds=seconds,
        log=LogSummary(**log),
        assignment=SimpleNamespace(worker_id=worker, version=version),
    )


def rule(bonus_by: str = "score", steps: Any = STEPS, **more: Any) -> PayoutRule:
    return PayoutRule(bonus_by=bonus_by, steps=steps if bonus_by != "none" else [], **more)


def payee(one: Any, base: str = "1.00", usual: float | None = None) -> Payee:
    return Payee(one, Decimal(base), worked_time(one, usual))


def frame(**more: Any) -> Frame:
    return Frame(**{"currency": "EUR", "floor": FLOOR, "run": 3, **more})


def test_the_lower_end_and_the_whole_range_of_ranks_decide() -> None:
    by_score = apply_rule(
        rule(), [payee(evidence(low=low)) for low in (0.81, 0.8, 0.79, 0.2, None)], frame()
    )
    assert [one.amount for one in by_score] == [
        Decimal("1.00"),
        Decimal("1.00"),
        Decimal("0.40"),
        0,
        0,
    ]
    assert by_score[0].note == "lower end .810 reaches .800 in run 3"
    assert by_score[4].note == "no bonus: not scored in run 3"
    ranks = [{"at": 2, "bonus": "1.00"}, {"at": 5, "bonus": "0.40"}]
    found = apply_rule(
        rule("rank", ranks),
        [payee(evidence(ranks=one)) for one in ((1, 2), (1, 3), (4, 6))]
        + [payee(evidence(ranks=(1, 1), component=2))],
        frame(),
    )
    assert [one.amount for one in found] == [Decimal("1.00"), Decimal("0.40"), 0, 0]
    assert "ranks 1–3 within the first 5" in found[1].note
    assert "ranks do not compare" in found[3].note
    assert apply_rule(rule(), [payee(evidence(low=0.9))], frame(run=None))[0].note == (
        "no bonus: no run is finished yet"
    )


def test_a_person_and_the_task_have_their_caps_with_what_was_given_before() -> None:
    twice = [payee(evidence(worker=1, low=0.9)) for _ in range(2)]
    found = apply_rule(rule(cap_each=Decimal("1.50")), twice, frame(given={1: Decimal("0.20")}))
    assert [one.amount for one in found] == [Decimal("1.00"), Decimal("0.30")]
    assert "cut by the cap of €1.50 a person" in found[1].note
    three = [payee(evidence(worker=n, low=0.9)) for n in range(3)]
    found = apply_rule(rule(cap_total=Decimal("2.00")), three, frame(given={9: Decimal("0.50")}))
    assert [one.amount for one in found] == [Decimal("0.50")] * 3
    assert "cut to its share of €2.00 in total" in found[0].note


def test_the_floor_is_met_before_anything_is_a_reward() -> None:
    slow = payee(evidence(worker=1, seconds=1200))  # 12.00 an hour need 4.00
    quick = payee(evidence(worker=2, low=0.9, seconds=100))
    found = apply_rule(rule(top_up=True), [slow, quick], frame())
    assert [one.amount for one in found] == [Decimal("3.00"), Decimal("1.00")]
    assert "raised to €12.00 an hour (20 min, from opening to submitting)" in found[0].note.replace(
        "\u00a0", " "
    )
    found = apply_rule(rule(top_up=True, cap_total=Decimal("3.50")), [slow, quick], frame())
    assert [one.amount for one in found] == [Decimal("3.00"), Decimal("0.50")]


def test_a_flat_bonus_is_a_share_of_the_base_beside_a_step_and_within_caps() -> None:
    sure, unsure = payee(evidence(1, low=0.9), "2.00"), payee(evidence(2), "0.33")
    out = Payee(evidence(3), Decimal("2.00"), None, takes_part=False)
    found = apply_rule(rule(flat_percent=Decimal(20)), [sure, unsure, out], frame(floor=None))
    assert [one.amount for one in found] == [Decimal("1.40"), Decimal("0.07"), 0]
    assert found[1].note == "20% of the base" and "reaches" in found[0].note
    no_steps = rule("none", flat_percent=Decimal("12.5"), cap_each=Decimal("0.10"))
    assert [one.amount for one in apply_rule(no_steps, [sure, unsure], frame())] == [
        Decimal("0.10"),
        Decimal("0.04"),
    ]
    # What the hourly floor needs is not paid on top of it.
    slow = payee(evidence(1, seconds=1200), "2.00")
    both = rule("none", flat_percent=Decimal(20), top_up=True)
    assert apply_rule(both, [slow], frame())[0].amount == Decimal("2.00")


CENTS = st.integers(0, 500).map(lambda n: Decimal(n) / 100)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    people=st.lists(
        st.tuples(st.integers(0, 4), st.none() | st.floats(0, 1), st.floats(1, 5000)), max_size=12
    ),
    cap_each=st.none() | CENTS,
    cap_total=st.none() | CENTS,
    before=CENTS,
    top_up=st.booleans(),
    flat=st.none() | st.integers(1, 10_000).map(lambda n: Decimal(n) / 100),
)
def test_no_rule_ever_gives_more_than_its_caps(
    people: list[tuple[int, float | None, float]],
    cap_each: Decimal | None,
    cap_total: Decimal | None,
    before: Decimal,
    *,
    top_up: bool,
    flat: Decimal | None,
) -> None:
    payees = [payee(evidence(w, low, seconds=seconds)) for w, low, seconds in people]
    told = {0: before} if before else {}
    one = rule(cap_each=cap_each, cap_total=cap_total, top_up=top_up, flat_percent=flat)
    found = apply_rule(one, payees, frame(given=told))
    free = apply_rule(rule(top_up=top_up, flat_percent=flat), payees, frame(given=told))
    assert all(0 <= a.amount <= b.amount for a, b in zip(found, free, strict=True))
    assert all(a.amount == a.amount.quantize(Decimal("0.01")) for a in found)
    total = sum((a.amount for a in found), Decimal(0))
    if cap_total is not None:
        assert total <= max(Decimal(0), cap_total - before)
    for worker in {w for w, *_ in people}:
        own = sum(a.amount for a, p in zip(found, people, strict=True) if p[0] == worker)
        if cap_each is not None:
            assert own <= max(Decimal(0), cap_each - told.get(worker, Decimal(0)))
    assert found == apply_rule(one, payees, frame(given=told))


def test_a_page_left_open_overnight_is_not_paid_as_work() -> None:
    night = 9 * 3600.0
    logged = evidence(seconds=night, events=9, seconds_total=night, seconds_away=night - 600)
    idle = evidence(seconds=night, events=9, seconds_total=night, seconds_idle=night - 500)
    assert [
        (one.seconds, one.how) for one in map(lambda e: worked_time(e, 300), (logged, idle))
    ] == [
        (600, LOGGED),
        (500, LOGGED),
    ]
    bare = evidence(seconds=night)
    assert (worked_time(bare, 300).seconds, worked_time(bare, 300).how) == (900, CAPPED)
    assert (worked_time(bare, None).seconds, worked_time(bare, None).how) == (3600, LEASED)
    assert worked_time(evidence(seconds=200), 300).how == OPENED
    assert worked_time(evidence(), 300) is None


# In the application ------------------------------------------------------------------------------


@pytest.fixture
def world() -> World:
    cache.clear()
    return factories.make_world(1, redundancy=30)


def score(task: Task, low: dict[int, float]) -> Run:
    """A finished run of the task with these lower ends."""
    run = Run.objects.create(
        project=task.project, task=task, number=1, method="aqer", version="1", state=RunState.DONE
    )
    WorkerScore.objects.bulk_create(
        WorkerScore(
            run=run,
            worker_id=pk,
            component=1,
            estimate=at + 0.05,
            low=at,
            high=at + 0.1,
            n=6,
            rank_low=1,
            rank_high=2,
        )
        for pk, at in low.items()
    )
    return make_official(run)


def last(done: Assignment, minutes: float) -> Assignment:
    end = timezone.now()
    Assignment.objects.filter(pk=done.pk).update(
        opened_at=end - dt.timedelta(minutes=minutes), submitted_at=end
    )
    return done


@pytest.mark.django_db
def test_a_proposal_begins_with_the_rule_and_a_person_may_change_it(world: World) -> None:
    world.project.hourly_floor = FLOOR
    world.project.save()
    good, slow, plain = (
        last(factories.claim_and_submit(world.task), minutes) for minutes in (5, 15, 5)
    )
    score(world.task, {good.worker_id: 0.85, slow.worker_id: 0.1, plain.worker_id: 0.6})
    set_rule(by=world.requester, task=world.task, bonus_by="score", steps=STEPS, top_up=True)
    client = Client()
    client.force_login(world.requester)
    ids = [good.pk, slow.pk, plain.pk]
    new = reverse("payout_new", args=[world.project.pk, world.task.pk])
    page = client.get(new, {"assignment": ids, "decision": "approve"}).content.decode()
    assert "bonus by the lower end of the score’s interval" in page
    assert "lower end .850 reaches .800 in run 1" in page
    for pk, bonus in zip(ids, ("1.00", "1.20", "0.40"), strict=True):
        assert f'name="bonus_{pk}" value="{bonus}"' in page
    sent: dict[str, Any] = {"key": str(uuid.uuid4()), "assignment": ids}
    for pk, bonus in zip(ids, ("1.00", "0.10", "0.40"), strict=True):
        sent |= {f"decision_{pk}": "approve", f"base_{pk}": "1.80", f"bonus_{pk}": bonus}
    sent[f"base_{plain.pk}"] = "1.50"
    totals = client.post(new, sent).content.decode()
    assert f"Under the hourly floor: {slow.worker.pseudonym} €7.60" in totals
    refused = client.post(new, {**sent, "do": "propose"})
    assert refused.status_code == 422 and "at least 20 characters" in refused.content.decode()
    again = client.post(new, {**sent, "do": "rule"}).content.decode()
    assert f'name="bonus_{slow.pk}" value="1.20"' in again
    sent[f"less_{plain.pk}"] = "The second text was left out."
    assert client.post(new, {**sent, "do": "propose"}).status_code == 302
    batch = PayoutBatch.objects.get()
    lines = {line.assignment_id: line for line in batch.lines.all()}
    assert lines[good.pk].bonus_note == "lower end .850 reaches .800 in run 1"
    assert lines[slow.pk].bonus_note == "written by hand; the rule gives €1.20"
    assert lines[plain.pk].reason == "The second text was left out."
    client.force_login(world.manager)
    shown = client.get(reverse("payout", args=[world.project.pk, batch.number])).content.decode()
    assert f"1 of 3 lines under €12.00 an hour: {slow.worker.pseudonym} €7.60" in shown
    assert "bonus by rule for 2, by hand for 1" in shown and "left out." in shown


@pytest.mark.django_db
def test_a_flat_bonus_set_on_the_page_is_proposed_and_booked_once(world: World) -> None:
    first, second = (factories.claim_and_submit(world.task) for _ in range(2))
    client = Client()
    client.force_login(world.requester)
    url = reverse("payout_rule", args=[world.project.pk, world.task.pk])
    for wrong in ("101", "-1", "12.345", "a"):
        answer = client.post(url, {"bonus_by": "none", "flat_percent": wrong})
        assert answer.status_code == 422 and 'id="flat_percent"' in answer.content.decode()
    assert client.post(url, {"bonus_by": "none", "flat_percent": "20"}).status_code == 302
    assert 'value="20"' in client.get(url).content.decode()
    new = reverse("payout_new", args=[world.project.pk, world.task.pk])
    ids = [first.pk, second.pk]
    page = client.get(new, {"assignment": ids, "decision": "approve"}).content.decode()
    bonus = (first.pay / 5).quantize(Decimal("0.01"))
    assert f'name="bonus_{first.pk}" value="{bonus}"' in page
    sent: dict[str, Any] = {"key": str(uuid.uuid4()), "assignment": ids, "do": "propose"}
    for pk in ids:
        sent |= {f"decision_{pk}": "approve", f"base_{pk}": str(first.pay), f"bonus_{pk}": bonus}
    for _ in range(2):  # a double click
        assert client.post(new, sent).status_code == 302
    batch = PayoutBatch.objects.get()
    assert {line.bonus_note for line in batch.lines.all()} == {"20% of the base"}
    total = payouts.total(batch)
    with pytest.raises(NotAllowed):
        payouts.approve_payout(by=world.requester, batch=batch, expected_total=total)
    for _ in range(2):
        payouts.approve_payout(by=world.manager, batch=batch, expected_total=total)
    booked = LedgerEntry.objects.filter(kind=LedgerEntry.Kind.BONUS)
    assert [row.amount for row in booked] == [bonus, bonus]


@pytest.mark.django_db
def test_a_rule_that_cannot_be_is_refused_at_its_field(world: World) -> None:
    def refused(**more: Any) -> dict[str, str]:
        wanted = {"bonus_by": "score", "steps": STEPS, **more}
        with pytest.raises(Invalid) as error:
            set_rule(by=world.requester, task=world.task, **wanted)
        return error.value.fields

    assert "bonus_by" in refused(bonus_by="competence")
    assert "bonus_by" in refused(bonus_by="kindness")
    assert "top_up" in refused(top_up=True)  # the project has no floor
    assert "at_2" in refused(steps=STEPS[::-1])
    assert "bonus_2" in refused(steps=[STEPS[0], {"at": 0.5, "bonus": "1.00"}])
    assert "at_1" in refused(steps=[]) and "at_1" in refused(steps=[{"at": "x", "bonus": "1"}])
    assert "at_1" in refused(steps=[{"at": 1.5, "bonus": "1"}])
    assert "at_1" in refused(bonus_by="rank", steps=[{"at": 1.5, "bonus": "1"}])
    assert "bonus_1" in refused(steps=[{"at": 0.5, "bonus": "0.001"}])
    assert "cap_each" in refused(cap_each=Decimal(-1))
    for person in (world.worker.user, world.outsider):
        with pytest.raises(NotAllowed):
            set_rule(by=person, task=world.task, bonus_by="none")
    assert not PayoutRule.objects.exists()
    client = Client()
    client.force_login(world.requester)
    url = reverse("payout_rule", args=[world.project.pk, world.task.pk])
    sent = {"bonus_by": "score", "at_1": "0,9", "bonus_1": "1,00", "cap_total": "5"}
    wrong = client.post(url, {**sent, "at_2": "0.95", "bonus_2": "0.5"})
    assert wrong.status_code == 422 and "Write the best step first." in wrong.content.decode()
    assert client.post(url, sent).status_code == 302
    assert "from .900 €1.00" in client.get(url).content.decode()
    assert AuditEntry.objects.filter(action="payout.rule").count() == 1


@pytest.mark.django_db
def test_a_task_without_scores_offers_no_such_bonus_and_shows_no_such_column(
    world: World,
) -> None:
    Task.objects.filter(pk=world.task.pk).update(type="writing")
    done = factories.claim(world.task, world.worker)
    Assignment.objects.filter(pk=done.pk).update(state="submitted", submitted_at=timezone.now())
    client = Client()
    client.force_login(world.requester)
    task = Task.objects.get(pk=world.task.pk)
    rule_page = client.get(reverse("payout_rule", args=[world.project.pk, task.pk]))
    assert "there is no score of its workers to pay by" in rule_page.content.decode()
    new = reverse("payout_new", args=[world.project.pk, task.pk])
    page = client.get(new, {"assignment": done.pk}).content.decode()
    assert "Score</th>" not in page and "0 responses" in page
    batch = payouts.propose_payout(
        by=world.requester, task=task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    page = client.get(reverse("payout", args=[world.project.pk, batch.number])).content.decode()
    assert "Score</th>" not in page


@pytest.mark.django_db
def test_the_form_asks_as_much_of_the_database_at_two_sizes(world: World) -> None:
    set_rule(by=world.requester, task=world.task, bonus_by="score", steps=STEPS)
    client, counted = Client(), []
    client.force_login(world.requester)
    new = reverse("payout_new", args=[world.project.pk, world.task.pk])
    for size in (2, 7):
        for _ in range(size):
            factories.claim_and_submit(world.task)
        client.get(new, {"pick": "all"})
        with CaptureQueriesContext(connection) as queries:
            assert client.get(new, {"pick": "all"}).status_code == 200
        counted.append(len(queries))
    assert counted[0] == counted[1] <= 27
