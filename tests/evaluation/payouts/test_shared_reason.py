"""One reason for several workers: written once, decided line by line, by two people."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, LedgerEntry, PayoutBatch, Rejection
from annotation.payouts.actions.proposals import (
    ProposedLine,
    approve_payout,
    count_rejections,
    propose_payout,
    total,
)
from annotation.payouts.actions.rejections import decide_reply, reply_to_rejection
from crowdqc.errors import NotAllowed
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def form_of(world: World, works: list[Assignment], **more: str) -> dict[str, Any]:
    sent: dict[str, Any] = {"key": str(uuid.uuid4()), "assignment": [one.pk for one in works]}
    for one in works:
        sent |= {f"decision_{one.pk}": "approve", f"base_{one.pk}": "", f"bonus_{one.pk}": ""}
    return {**sent, **more}


def post(world: World, sent: dict[str, Any]) -> Any:
    client = Client()
    client.force_login(world.requester)
    return client.post(reverse("payout_new", args=[world.project.pk, world.task.pk]), sent)


def lines_of(page: Any) -> dict[str, Any]:
    """What the form shows, as it would be sent again."""
    sent: dict[str, Any] = {"key": page.context["key"], "assignment": []}
    for draft in page.context["lines"]:
        pk = draft.evidence.assignment.pk
        sent["assignment"].append(pk)
        sent |= {
            f"decision_{pk}": draft.decision, f"base_{pk}": draft.base, f"bonus_{pk}": draft.bonus,
            f"code_{pk}": draft.reason_code, f"reason_{pk}": draft.reason, f"less_{pk}": draft.less,
        }  # fmt: skip
    return sent


def test_one_reason_rejects_several_whose_replies_are_their_own(world: World) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(3)]
    kept = works[2]
    sent = form_of(world, works, **{f"decision_{kept.pk}": "hold"})
    shared = {
        "do": "share", "shared_to": "approve", "shared_decision": "reject",
        "shared_reason_code": "guessing", "shared_reason": REJECTION,
    }  # fmt: skip
    page = post(world, {**sent, **shared})
    assert page.status_code == 200 and page.context["shared_n"] == 2
    assert not PayoutBatch.objects.exists() and not Rejection.objects.exists()
    again = lines_of(page)
    assert again[f"decision_{kept.pk}"] == "hold"
    assert post(world, {**again, "do": "propose"}).status_code == 302
    batch = PayoutBatch.objects.get()
    with pytest.raises(NotAllowed):  # two people
        approve_payout(by=world.requester, batch=batch, expected_total=total(batch))
    approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=total(batch),
        rejections=count_rejections(batch),
    )
    rows = list(Rejection.objects.order_by("assignment"))
    assert [row.assignment_id for row in rows] == [one.pk for one in works[:2]]
    assert {(row.reason_code, row.reason) for row in rows} == {("guessing", REJECTION)}
    assert all(row.reply_until for row in rows)
    # Each has a reply, and an answer, of their own.
    first = rows[0]
    reply_to_rejection(by=works[0].worker.user, rejection=first, text="I read each item.")
    decide_reply(by=world.manager, rejection=first, overturn=True, note="You did; sorry.")
    rows = list(Rejection.objects.order_by("assignment"))
    assert [row.outcome for row in rows] == ["overturned", ""]


def test_one_reason_lowers_the_pay_of_several(world: World) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(2)]
    shared = {
        "do": "share", "shared_decision": "less", "shared_base": "0.90",
        "shared_reason": "Half of the answers are missing.",
    }  # fmt: skip
    page = post(world, {**form_of(world, works), **shared})
    assert page.context["totals"].base == Decimal("1.80")
    assert post(world, {**lines_of(page), "do": "propose"}).status_code == 302
    batch = PayoutBatch.objects.get()
    approve_payout(by=world.manager, batch=batch, expected_total=total(batch))
    assert [row.amount for row in LedgerEntry.objects.owed()] == [Decimal("0.90")] * 2
    reasons = set(batch.lines.values_list("reason", flat=True))
    assert reasons == {"Half of the answers are missing."}


@pytest.mark.parametrize(
    ("shared", "field"),
    [
        ({"shared_decision": "reject", "shared_reason_code": "other"}, "reason"),
        ({"shared_decision": "reject", "shared_reason": REJECTION}, "code"),
        ({"shared_decision": "less", "shared_base": "9.00"}, "base"),
    ],
)  # fmt: skip
def test_a_shared_reason_is_held_to_the_same_rules(
    world: World, shared: dict[str, str], field: str
) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(2)]
    page = post(world, {**form_of(world, works), "do": "share", **shared})
    assert all(field in draft.errors for draft in page.context["lines"])
    assert post(world, {**lines_of(page), "do": "propose"}).status_code == 422


def test_sharing_nothing_is_refused_and_changes_no_line(world: World) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(2)]
    page = post(world, form_of(world, works, do="share"))
    assert page.status_code == 422
    assert {draft.decision for draft in page.context["lines"]} == {"approve"}


def test_the_review_shows_rejections_and_leads_to_one_reason_for_those_ticked(
    world: World,
) -> None:
    worker = factories.make_worker(world.project)
    first = factories.claim_and_submit(world.task, worker)
    lines = [ProposedLine(first.pk, "reject", reason_code="other", reason=REJECTION)]
    batch = propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)
    approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=total(batch),
        rejections=count_rejections(batch),
    )
    other = factories.make_task(world.project, 1)
    works = [factories.claim_and_submit(other, worker), factories.claim_and_submit(other)]
    client = Client()
    client.force_login(world.requester)
    queue = client.get(reverse("review", args=[world.project.pk, other.pk])).context["queue"]
    assert {row.assignment.pk: n for row, n in queue.rows} == {works[0].pk: 1, works[1].pk: 0}
    url = reverse("payout_new", args=[world.project.pk, other.pk])
    page = client.get(url, {"assignment": [one.pk for one in works], "decision": "reject"})
    assert page.context["shared"].decision == "reject"
    assert [draft.decision for draft in page.context["lines"]] == ["reject", "reject"]


def test_selected_lines_get_one_decision_and_none_is_rejected_without_a_reason(
    world: World,
) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(3)]
    held = {f"decision_{one.pk}": "hold" for one in works}
    sent = form_of(world, works, **held, **{f"base_{works[0].pk}": "1.50"})
    two = {"line": [one.pk for one in works[:2]]}
    page = post(world, {**sent, **two, "do": "set-approve"})
    lines = page.context["lines"]
    assert [one.decision for one in lines] == ["approve", "approve", "hold"]
    assert [one.ticked for one in lines] == [True, True, False]
    assert lines[0].base == "1.50" and not PayoutBatch.objects.exists()
    html = page.content.decode()
    assert 'data-check-all="line"' in html and "set-reject" not in html
    again = post(world, {**sent, **two, "do": "set-reject"})  # nothing but the totals
    assert {one.decision for one in again.context["lines"]} == {"hold"}
    assert "Select lines first." in post(world, {**sent, "do": "set-approve"}).content.decode()
    shared = {
        "do": "share", "shared_to": "ticked", "shared_decision": "reject",
        "shared_reason_code": "guessing", "shared_reason": REJECTION,
    }  # fmt: skip
    page = post(world, {**sent, **two, **shared})
    assert [one.decision for one in page.context["lines"]] == ["reject", "reject", "hold"]
