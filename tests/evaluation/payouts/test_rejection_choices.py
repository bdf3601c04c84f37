"""What becomes of rejected answers: ticked on pages, said by programs, never without two people."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Answer, PayoutLine
from annotation.payouts.actions.proposals import ProposedLine, propose_payout
from tests.evaluation.payouts.test_shared_reason import form_of, post
from tests.support import factories
from tests.support.factories import REJECTION, World

pytestmark = pytest.mark.django_db
EFFECTS = ("leaves_out", "collects_again")


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=9)


def effects() -> list[tuple[bool, bool]]:
    return list(PayoutLine.objects.order_by("pk").values_list(*EFFECTS))


def test_both_are_ticked_in_bulk_and_go_as_they_are_left(world: World) -> None:
    works = [factories.claim_and_submit(world.task) for _ in range(2)]
    client = Client()
    client.force_login(world.requester)
    url = reverse("payout_new", args=[world.project.pk, world.task.pk])
    page = client.get(url, {"assignment": [one.pk for one in works], "decision": "reject"})
    html = page.content.decode()
    assert html.count('value="on" checked') == 6  # of two lines and of the shared reason
    sent = form_of(world, works, do="propose")
    for one in works:
        sent |= {f"decision_{one.pk}": "reject", f"code_{one.pk}": "guessing"}
        sent |= {f"reason_{one.pk}": REJECTION, f"leave_out_{one.pk}": "on"}
    sent[f"collect_again_{works[0].pk}"] = "on"
    assert post(world, sent).status_code == 302
    assert effects() == [(True, True), (True, False)]


def test_collecting_again_what_counts_is_refused_beside_its_line(world: World) -> None:
    work = factories.claim_and_submit(world.task)
    sent = form_of(world, [work], do="propose", **{f"collect_again_{work.pk}": "on"})
    sent |= {f"decision_{work.pk}": "reject", f"code_{work.pk}": "guessing"}
    page = post(world, sent | {f"reason_{work.pk}": REJECTION})
    assert page.status_code == 422 and not PayoutLine.objects.exists()
    assert set(page.context["lines"][0].errors) == {"collect_again"}


def test_the_card_of_a_held_line_has_the_same_two_ticks(world: World) -> None:
    work = factories.claim_and_submit(world.task)
    batch = propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[ProposedLine(work.pk, "hold")],
    )
    client = Client()
    client.force_login(world.requester)
    page = client.get(reverse("payout", args=[world.project.pk, batch.number]))
    assert page.content.decode().count('value="on" checked') == 2
    line = batch.lines.get()
    url = reverse("payout_line_reject", args=[world.project.pk, batch.number, line.pk])
    told = {"reason_code": "guessing", "reason": REJECTION, "leave_out": "on"}
    for _ in range(2):  # a double click
        client.post(url, told)
    assert effects() == [(True, False)]
    assert Answer.objects.filter(assignment=work, counts=True).exists()  # not before approval


@pytest.mark.parametrize("said", [{}, {"leave_out": True, "collect_again": True}])
def test_programs_say_so_themselves(world: World, said: dict[str, Any]) -> None:
    work = factories.claim_and_submit(world.task)
    line = {"assignment": work.pk, "decision": "reject", "reason_code": "guessing", **said}
    made = Client().post(
        reverse("api_propose", args=[world.task.pk]),
        json.dumps({"lines": [{**line, "reason": REJECTION}]}),
        content_type="application/json",
        headers={
            "Authorization": f"Token {factories.api_token(world.requester)}",
            "Idempotency-Key": str(uuid.uuid4()),
        },
    )
    assert made.status_code == 201, made.content
    assert effects() == [(bool(said), bool(said))]
    assert made.json()["lines"][0]["leaves_out"] is bool(said)
