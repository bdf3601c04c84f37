"""What managers who pay by hand are told: before proposing, of rejections, and of what waits."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import (
    LedgerEntry,
    Membership,
    Notice,
    Payment,
    PayoutBatch,
    Rejection,
    Role,
    User,
)
from annotation.payouts.actions.proposals import (
    ProposedLine,
    approve_payout,
    count_rejections,
    decide_reply,
    propose_payout,
    reply_to_rejection,
    send_back,
    total,
)
from annotation.payouts.selectors.ledger import LedgerFilter
from tests.support import factories
from tests.support.factories import REJECTION, World
from tests.support.servers import prolific

pytestmark = [pytest.mark.django_db, pytest.mark.db]


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def client(user: User) -> Client:
    found = Client()
    found.force_login(user)
    return found


def page(user: User, name: str, *args: object, **query: Any) -> Any:
    answer = client(user).get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer


def propose(world: World, *ids: int, **line: Any) -> PayoutBatch:
    lines = [ProposedLine(pk, **line) for pk in ids]
    return propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)


def approve(world: World, *ids: int, **line: Any) -> PayoutBatch:
    batch = propose(world, *ids, **line)
    return approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=total(batch),
        rejections=count_rejections(batch),
    )


REJECT = {"decision": "reject", "reason_code": "not_followed", "reason": REJECTION}


def test_submissions_to_reject_are_counted_and_listed_until_they_are_done(world: World) -> None:
    study, pk = prolific.make_recruitment(world.task), world.project.pk
    one, two = prolific.make_visited(study, n=2)
    batch = approve(world, one.assignment_id, two.assignment_id, **REJECT)
    [row] = page(world.manager, "payout_list", pk).context["by_hand"]
    assert (row.way, row.n, row.is_rejection) == ("reject", 2, True)
    assert page(world.manager, "payment_list", pk, view="by_hand").status_code == 200
    file = page(world.manager, "payment_export", pk, "reject").content.decode()
    assert one.session in file and "FAILED_INSTRUCTIONS" in file and REJECTION in file
    assert len(file.splitlines()) == 3
    url = reverse("payment_by_hand_done", args=[pk, batch.number])
    first = Payment.objects.get(assignment=one.assignment_id)
    sent = {"way": "reject", "payment": first.pk, "expected_total": "0.00"}
    for _ in range(2):  # a double click
        assert client(world.manager).post(url, sent).status_code == 302
    [row] = page(world.manager, "payout_list", pk).context["by_hand"]
    assert row.n == 1 and not LedgerEntry.objects.exists()
    # What was overturned meanwhile is rejected nowhere.
    rejection = Rejection.objects.get(assignment=two.assignment_id)
    decide_reply(by=world.manager, rejection=rejection, overturn=True, note="It was right.")
    assert page(world.manager, "payout_list", pk).context["by_hand"] == []
    file = page(world.manager, "payment_export", pk, "reject").content.decode()
    assert len(file.splitlines()) == 1


def test_pages_name_who_can_approve_before_and_after_proposing(world: World) -> None:
    args = (world.project.pk, world.task.pk)
    work = factories.claim_and_submit(world.task)
    for name in ("review", "payout_new"):
        shown = page(world.requester, name, *args, pick="all")
        assert shown.context["approvers"] == str(world.manager), name
        assert f"<b>{world.manager}</b> can approve" in shown.content.decode()
    factories.make_member(world.project, Role.REQUESTER, world.manager)
    for name in ("review", "payout_new"):
        found = page(world.manager, name, *args, pick="all")
        assert f"{world.requester} must invite" in found.context["nobody"], name
        assert found.context["ways_out"] == (), name
    second = factories.make_member(world.project)  # a second one, whom nobody tied to the first
    assert page(world.manager, "review", *args).context["approvers"] == str(second.user)
    batch = propose(world, work.pk)
    assert (
        str(second.user)
        in page(world.requester, "payout", world.project.pk, batch.number).context["approvers"]
    )


def test_an_appeal_is_offered_to_another_manager_than_who_decided(world: World) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    approve(world, done.pk, **REJECT)
    other: Membership = factories.make_member(world.project)
    reply_to_rejection(by=world.worker.user, rejection=Rejection.objects.get(), text="I did.")
    told = Notice.objects.filter(kind="rejection.replied").values_list("user", flat=True)
    assert list(told) == [other.user_id]
    own = page(world.manager, "rejection_list", world.project.pk, show="owed")
    [row] = own.context["rows"]
    assert row.own and own.context["others"] == str(other.user)
    [row] = page(other.user, "rejection_list", world.project.pk).context["rows"]
    assert not row.own


def test_decided_lines_and_withdrawn_proposals_say_what_became_of_them(world: World) -> None:
    done = [factories.claim_and_submit(world.task) for _ in range(3)]
    batch = approve(world, done[0].pk)
    shown = page(world.manager, "payout", world.project.pk, batch.number)
    assert [person.word for person in shown.context["page"].people] == ["Approved"]
    own, theirs = propose(world, done[1].pk), propose(world, done[2].pk)
    assert [p.word for p in page(world.manager, "payout", world.project.pk, own.number)
            .context["page"].people] == ["Approve"]  # fmt: skip
    send_back(by=world.requester, batch=own, note="")
    send_back(by=world.manager, batch=theirs, note="Look again.")
    found = [PayoutBatch.objects.get(pk=one.pk).is_withdrawn for one in (own, theirs)]
    assert found == [True, False]


def test_a_form_of_rejections_counts_them_and_marks_no_field_before_it_is_sent(
    world: World,
) -> None:
    for _ in range(2):
        factories.claim_and_submit(world.task)
    args, query = (world.project.pk, world.task.pk), {"pick": "all", "decision": "reject"}
    opened = page(world.requester, "payout_new", *args, **query)
    totals = opened.context["totals"]
    assert (totals.rejects_all, totals.lines, totals.reject, totals.wrong) == (True, 2, 2, 0)
    assert "aria-invalid" not in opened.content.decode()
    sent = {f"decision{one.suffix}": "reject" for one in opened.context["lines"]}
    sent["assignment"] = [one.evidence.assignment.pk for one in opened.context["lines"]]
    answer = client(world.requester).post(
        reverse("payout_new", args=args), {**sent, "do": "propose", "key": str(uuid.uuid4())}
    )
    assert answer.status_code == 422 and answer.context["totals"].wrong == 2
    totals = page(world.requester, "payout_new", *args, pick="all").context["totals"]
    assert (totals.rejects_all, totals.approve + totals.hold) == (False, 2)


def test_a_filtered_ledger_shows_no_balance_of_the_whole(world: World) -> None:
    done = factories.claim_and_submit(world.task)
    approve(world, done.pk)
    assert "Trial balance" in page(world.manager, "ledger", world.project.pk).content.decode()
    shown = page(world.manager, "ledger", world.project.pk, worker=done.worker_id)
    assert shown.context["filters"].is_set and not LedgerFilter().is_set
    assert "Trial balance" not in shown.content.decode()


def test_payments_by_hand_are_chosen_with_as_many_queries_for_many_as_for_few(
    world: World,
) -> None:
    counts = []
    for n in (2, 6):
        batch = approve(world, *(factories.claim_and_submit(world.task).pk for _ in range(n)))
        url = reverse("payment_by_hand_done", args=[world.project.pk, batch.number])
        manager = client(world.manager)
        with CaptureQueriesContext(connection) as queries:
            assert len(manager.get(url).context["rows"]) == n
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert Payment.objects.filter(amount=Decimal("1.80")).count() == 8


def test_the_overview_names_all_tasks_that_wait(world: World) -> None:
    def offered() -> str:
        return page(world.manager, "project", world.project.pk).content.decode()

    review = reverse("review", args=[world.project.pk, world.task.pk])
    every = reverse("payout_list", args=[world.project.pk]) + "#waiting"
    factories.claim_and_submit(world.task)
    assert review in offered() and every not in offered()
    factories.claim_and_submit(factories.make_task(world.project, 1))
    assert every in offered()
