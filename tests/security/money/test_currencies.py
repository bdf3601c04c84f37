"""Money leaves in the currency that was approved, or not at all."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from annotation.accounts.projects import actions as people
from annotation.models import (
    Payment,
    Project,
    Recruitment,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions import sending as payment_sending
from annotation.recruitment.actions import ways_in as recruitment
from crowdqc.currencies import DIGITS, USABLE
from crowdqc.errors import Invalid
from tests.security.money.people import JSON, approve, browser, program
from tests.support import factories
from tests.support.factories import World
from tests.support.servers import prolific

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def world() -> World:
    return factories.make_world(2, redundancy=20)


@pytest.mark.parametrize("code", ["ZZZ", "eur", "EU", "XXX", "XAU", "HRK", "JPY", "KWD"])
def test_no_project_in_what_is_no_currency_with_cents(code: str) -> None:
    """(A5) Neither an invented code, nor a metal, nor one whose amounts have no two decimals."""
    user = factories.make_user()
    with pytest.raises(Invalid) as refused:
        people.create_project(by=user, name="Birds", currency=code)
    assert "currency" in refused.value.fields
    body = {"name": "Birds", "currency": code}
    assert program(user, "read", "write").post("/api/projects/", body, JSON).status_code == 422
    form = browser(user).post(reverse("project_new"), body)
    assert form.status_code == 422 and not Project.objects.exists()


def test_the_usual_currencies_can_be_used() -> None:
    """(A5) The table holds each code once, in the standard's form."""
    assert {"EUR", "USD", "GBP", "CHF", "SEK", "PLN", "INR", "KES"} <= set(USABLE)
    assert all(len(code) == 3 and code.isupper() for code in DIGITS)
    assert len(DIGITS) == len(set(DIGITS)) > 150


@pytest.mark.parametrize(
    ("told", "says"), [("GBP", "pays in GBP"), ("", "is not known"), ("EURO", "is not known")]
)
def test_nothing_is_sent_to_a_study_of_another_currency(
    world: World, told: str, says: str, settings: Any
) -> None:
    """(A5) 100 pounds are not 100 euros: neither approval nor bonus leaves, and it is said why."""
    settings.CROWDQC_PAYMENT_CHECK = 0.02
    with prolific.serving(currency=told) as platform:
        way = prolific.make_recruitment(world.task, platform)
        [visit] = prolific.make_visited(way, platform)
        line = payouts.ProposedLine(visit.assignment_id, bonus=Decimal("0.50"))
        batch = payouts.propose_payout(
            by=world.requester, task=world.task, key=uuid4(), lines=[line]
        )
        assert approve(program(world.manager, "read", "pay"), batch).status_code == 200
        payment_sending.send_due()
        assert platform.books() == {visit.session: (0, [])}
        assert not [one for one in platform.asked if one.startswith("POST")]
    rows = Payment.objects.filter(recruitment=way)
    assert {row.state for row in rows} == {"failed"} and rows.count() == 2
    assert all(says in row.error for row in rows)
    assert Recruitment.objects.get().study_currency == (told if told in DIGITS else "")


def test_a_study_in_another_currency_is_refused_when_it_is_entered(world: World) -> None:
    """(A5) Before anybody works for it; the right one is kept and suffices where none is told."""
    fields = {"name": "Study", "study_id": "abc", "entry": "bound", "fee_percent": Decimal(0)}
    with pytest.raises(Invalid) as refused:
        recruitment.add(
            by=world.requester,
            task=world.task,
            kind="prolific",
            fields={**fields, "study_currency": "GBP"},
        )
    assert "study_currency" in refused.value.fields
    with prolific.serving(currency="") as platform:
        way = prolific.make_recruitment(world.task, platform, study_currency="EUR")
        [visit] = prolific.make_visited(way, platform)
        batch = payouts.propose_payout(
            by=world.requester,
            task=world.task,
            key=uuid4(),
            lines=[payouts.ProposedLine(visit.assignment_id)],
        )
        assert approve(program(world.manager, "read", "pay"), batch).status_code == 200
        payment_sending.send_due()
        assert platform.books() == {visit.session: (1, [])}
