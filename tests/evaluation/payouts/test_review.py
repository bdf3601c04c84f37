"""Reviewing and paying in the browser: what a requester and a manager can do, and nobody else."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import (
    Answer,
    Assignment,
    LedgerEntry,
    Membership,
    PayoutBatch,
    PayoutLine,
    Rejection,
    User,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from tests.support import factories
from tests.support.factories import World

pytestmark = [pytest.mark.django_db, pytest.mark.db]
REASON = factories.REJECTION


@pytest.fixture
def world() -> World:
    cache.clear()
    return factories.make_world(2, redundancy=30)


def client(user: User) -> Client:
    found = Client()
    found.force_login(user)
    return found


def url(name: str, world: World, *args: object) -> str:
    return reverse(name, args=[world.project.pk, *args])


def propose(world: World, n: int = 2, **line: object) -> PayoutBatch:
    done = [factories.claim_and_submit(world.task) for _ in range(n)]
    return payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(a.pk, **line) for a in done],
    )


def form_of(page: str) -> dict[str, str]:
    """Names and values of the inputs and chosen options of a page."""
    found = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page))
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', page, re.S):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else ""
    return found


def test_from_review_to_ledger_by_two_people(world: World) -> None:
    one, two = (factories.took(factories.claim_and_submit(world.task)) for _ in range(2))
    requester, manager = client(world.requester), client(world.manager)
    queue = requester.get(url("review", world, world.task.pk)).content.decode()
    assert "2 assignments wait" in queue
    assert one.worker.pseudonym in queue
    new = url("payout_new", world, world.task.pk)
    form = form_of(requester.get(f"{new}?assignment={one.pk}&assignment={two.pk}").content.decode())
    sent = {**form, "assignment": [one.pk, two.pk], f"bonus_{one.pk}": "0,50"}
    # htmx sends a button along as soon as Tab reaches it: counting proposes nothing even then.
    for button in ({}, {"do": "propose"}):
        totals = requester.post(new, {**sent, **button}, headers={"HX-Request": "true"})
        assert "Propose €4.10 for 2 people" in totals.content.decode()
    assert not PayoutBatch.objects.exists()
    for _ in range(2):  # a double click proposes once
        answer = requester.post(new, {**sent, "do": "propose"})
        assert answer.status_code == 302
    batch = PayoutBatch.objects.get()
    page = url("payout", world, batch.number)
    assert "You proposed it; somebody else" in requester.get(page).content.decode()
    shown = manager.get(page).content.decode()
    assert "Approve 2 people, €4.10" in shown
    lines = [str(pk) for pk in batch.lines.values_list("pk", flat=True)]
    for _ in range(2):  # and approves once
        approve = {"expected_total": "4.10", "pay": lines}
        assert manager.post(url("payout_approve", world, 1), approve).status_code == 302
    assert sum(LedgerEntry.objects.values_list("amount", flat=True)) == Decimal("4.10")
    assert LedgerEntry.objects.count() == 3
    ledger = b"".join(manager.get(url("ledger_export", world)).streaming_content).decode()
    assert ledger.count("\n") == 4
    assert one.worker.pseudonym in ledger and one.worker.user.username not in ledger
    assert "approved it" in manager.get(page).content.decode()


def test_the_button_that_names_all_proposes_all_once(world: World) -> None:
    """(162) 450 wait: three proposals hold each of them, whatever is clicked twice."""
    n = 450
    done = factories.took(factories.claim_and_submit(world.task))
    Assignment.objects.bulk_create(
        Assignment(
            task=world.task,
            version=done.version,
            worker=world.worker,
            state="submitted",
            pay=done.pay,
            leased_at=done.leased_at,
            expires_at=done.expires_at,
            opened_at=done.opened_at,
            submitted_at=done.submitted_at,
        )
        for _ in range(n - 1)
    )
    requester = client(world.requester)
    queue = requester.get(url("review", world, world.task.pk)).content.decode()
    assert "Propose all 450" in queue
    new = url("payout_new", world, world.task.pk)
    form = form_of(requester.get(f"{new}?pick=all").content.decode())
    assert form["lines"] == "450"
    late = requester.post(new, {**form, "lines": "449"})  # another came or went since
    assert late.status_code == 422 and not PayoutBatch.objects.exists()
    for _ in range(2):
        assert requester.post(new, form).status_code == 302
    lines = PayoutLine.objects.filter(batch__project=world.project, live=True)
    assert lines.count() == lines.values("assignment").distinct().count() == n
    assert sorted(b.lines.count() for b in PayoutBatch.objects.all()) == [50, 200, 200]


def test_a_requester_gets_403_on_approving(world: World) -> None:
    batch = propose(world)
    other = factories.make_member(world.project, "requester").user
    for person in (world.requester, other):
        answer = client(person).post(
            url("payout_approve", world, batch.number), {"expected_total": "3.60"}
        )
        assert answer.status_code == 403
    assert not LedgerEntry.objects.exists()


@pytest.mark.parametrize(
    "name",
    [
        "project",
        "review",
        "payout_list",
        "payout",
        "payout_new",
        "ledger",
        "rejection_list",
        "worker_card",
        "review_answers",
        "payout_export",
        "ledger_export",
    ],
)
def test_outsiders_find_nothing_and_workers_are_refused(world: World, name: str) -> None:
    batch = propose(world, 1)
    assignment = batch.lines.get().assignment
    args = {
        "review": [world.task.pk],
        "payout_new": [world.task.pk],
        "payout": [1],
        "payout_export": [1],
        "worker_card": [world.worker.pk],
        "review_answers": [world.task.pk, assignment.pk],
    }.get(name, [])
    page = url(name, world, *args)
    assert client(world.outsider).get(page).status_code == 404
    assert client(world.worker.user).get(page).status_code == 403
    assert Client().get(page).status_code == 302
    assert client(world.requester).get(page).status_code == 200
    assert client(world.manager).get(page).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "payout_approve",
        "payout_send_back",
        "payout_line_reject",
        "answer_counts",
        "rejection_decide",
    ],
)
def test_decisions_are_posts_of_staff(world: World, name: str) -> None:
    batch = propose(world, 1)
    line, answer = batch.lines.get(), Answer.objects.first()
    assert answer is not None
    args = {
        "payout_line_reject": [1, line.pk],
        "answer_counts": [answer.pk],
        "rejection_decide": [1],
    }.get(name, [1])
    page = url(name, world, *args)
    assert client(world.manager).get(page).status_code == 405
    assert client(world.worker.user).post(page).status_code == 403
    assert client(world.outsider).post(page).status_code == 404


def test_ticks_change_the_amount_of_the_button(world: World) -> None:
    batch = propose(world, 3)
    first = batch.lines.first()
    assert first is not None
    page = url("payout", world, batch.number)
    manager = client(world.manager)
    part = manager.get(
        page, {"counting": 1, "pay": first.pk}, headers={"HX-Request": "true"}
    ).content.decode()
    assert "Approve 1 person, €1.80" in part
    none = manager.get(page, {"counting": 1}, headers={"HX-Request": "true"}).content.decode()
    assert "Nothing is ticked" in none


def test_faults_stand_beside_their_line_and_nothing_is_proposed(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    new = url("payout_new", world, world.task.pk)
    sent = {
        "key": str(uuid.uuid4()),
        "assignment": done.pk,
        "do": "propose",
        f"decision_{done.pk}": "approve",
        f"base_{done.pk}": "1.81",
        f"bonus_{done.pk}": "x",
    }
    answer = client(world.requester).post(new, sent)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "1.80 at most; the rest is a bonus" in page and "An amount, as 1.80" in page
    sent |= {f"decision_{done.pk}": "reject", f"reason_{done.pk}": "Bad."}
    page = client(world.requester).post(new, sent).content.decode()
    assert "Choose a reason" in page and "at least 100 characters" in page
    assert not PayoutBatch.objects.exists()


def test_work_decided_meanwhile_is_named_not_skipped(world: World) -> None:
    batch = propose(world, 1)
    fresh = factories.claim_and_submit(world.task)
    busy = batch.lines.get().assignment
    sent = {
        "key": str(uuid.uuid4()),
        "assignment": [fresh.pk, busy.pk],
        "do": "propose",
        f"decision_{fresh.pk}": "approve",
        f"base_{fresh.pk}": "1.80",
        f"bonus_{fresh.pk}": "0",
    }
    answer = client(world.requester).post(url("payout_new", world, world.task.pk), sent)
    assert answer.status_code == 422
    assert "1 assignment was decided meanwhile" in answer.content.decode()


def test_an_answer_that_does_not_count_reopens_its_slot_and_is_still_paid(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    answer = done.answers.select_related("item").first()
    assert answer is not None
    page, requester = url("answer_counts", world, answer.pk), client(world.requester)
    refused = requester.post(page, {"counts": "no"}, headers={"HX-Request": "true"})
    assert refused.status_code == 422 and "Write a reason" in refused.content.decode()
    held = answer.item.held
    part = requester.post(
        page, {"counts": "no", "reason": "Off the topic."}, headers={"HX-Request": "true"}
    )
    assert "Does not count" in part.content.decode()
    answer.item.refresh_from_db()
    assert answer.item.held == held - 1
    assert (
        f"1 of {done.answers.count()} answers does not count"
        in requester.get(url("review", world, world.task.pk)).content.decode()
    )
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[ProposedLine(done.pk)]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal("1.80"))
    back = requester.post(page, {"counts": "yes", "next": "https://elsewhere.example/"})
    assert back["Location"].startswith("/projects/")
    answer.refresh_from_db()
    assert answer.counts


def test_a_reply_is_answered_on_the_page_of_rejections(world: World) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    line = ProposedLine(done.pk, decision="reject", reason_code="other", reason=REASON)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[line]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=Decimal(0), rejections=1)
    rejection = Rejection.objects.get()
    payouts.reply_to_rejection(by=world.worker.user, rejection=rejection, text="Please read q-1.")
    manager, page = client(world.manager), url("rejection_list", world)
    assert "Please read q-1." in manager.get(page).content.decode()
    decide = url("rejection_decide", world, rejection.pk)
    sent = {"outcome": "overturned", "note": "You are right."}
    assert client(world.requester).post(decide, sent).status_code == 403
    assert manager.post(decide, sent).status_code == 302
    assert manager.post(decide, sent).status_code == 409
    rejection.refresh_from_db()
    assert rejection.outcome == "overturned"
    assert "1 assignment waits" in manager.get(url("review", world, world.task.pk)).content.decode()


def test_cells_that_a_spreadsheet_would_run_are_made_harmless(world: World) -> None:
    reason = "=HYPERLINK(1) is what every answer says, and nothing else. " + REASON
    batch = propose(world, 1, decision="reject", reason_code="other", reason=reason)
    answer = client(world.manager).get(url("payout_export", world, batch.number))
    text = b"".join(answer.streaming_content).decode()
    assert "'=HYPERLINK" in text and ",=HYPERLINK" not in text


def grow(world: World, n: int) -> list[Membership]:
    return [factories.claim_and_submit(world.task).worker for _ in range(n)]


MOST_QUERIES = {"project": 37, "review": 32, "payout": 36, "worker_card": 47, "payout_list": 18}


@pytest.mark.parametrize("name", MOST_QUERIES)
def test_pages_ask_as_much_of_the_database_at_two_sizes(world: World, name: str) -> None:
    manager = client(world.manager)
    factories.claim_and_submit(world.task, world.worker)
    counted: list[int] = []
    for size in (2, 9):
        grow(world, size)
        batch = propose(world, size)
        args = {
            "review": [world.task.pk],
            "payout": [batch.number],
            "worker_card": [world.worker.pk],
        }.get(name, [])
        if name == "worker_card":
            for _ in range(size):
                task = factories.make_task(world.project, 3)
                factories.claim_and_submit(task, world.worker)
        manager.get(url(name, world, *args))
        with CaptureQueriesContext(connection) as queries:
            assert manager.get(url(name, world, *args)).status_code == 200
        counted.append(len(queries))
    assert counted[0] == counted[1]
    assert counted[0] <= MOST_QUERIES[name]
