"""A correction is paid once, whichever files of transfers name it."""

from __future__ import annotations

import csv
import io
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import CorrectionTransfer, Membership
from annotation.payouts.actions import payments
from annotation.payouts.actions.ledger import payable_account, work
from annotation.payouts.details.actions import clean_details, prepare_file, save_details
from annotation.payouts.selectors.payable import payable
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db
WAYS = {"bank": ("DE89370400440532013000", "L. Okoro"), "paypal": ("lena@example.org", "")}


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


@pytest.fixture
def worker(world: World) -> Membership:
    found = factories.claim_and_submit(world.task).worker
    enter(found, "bank")
    correct(world, found, "3.00")
    return found


def enter(worker: Membership, way: str) -> None:
    reference, name = WAYS[way]
    details = clean_details(way=way, name=name, reference=reference)
    save_details(by=worker.user, worker=worker, details=details)


def correct(world: World, worker: Membership, amount: str) -> None:
    payments.correct_accounts(
        by=world.manager,
        task=world.task,
        debit=work(world.task.pk),
        credit=payable_account(worker.pk),
        amount=Decimal(amount),
        memo="Two items were broken",
        key=uuid.uuid4(),
    )


def file_of(world: World, way: str) -> list[list[str]]:
    client = Client()
    client.force_login(world.manager)
    url = reverse("payment_by_hand_export", args=[world.project.pk])
    response: Any = client.get(url, {"way": way})
    rows = list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))
    return [row for row in rows if any("." in cell and cell[0].isdigit() for cell in row)]


def pay(world: World) -> int:
    chosen = {one.pk: one.amount for one in payable(world.project).corrections}
    return payments.pay_corrections(by=world.manager, project=world.project, chosen=chosen)


def test_a_correction_that_a_file_named_is_in_no_file_of_another_way(
    world: World, worker: Membership
) -> None:
    assert len(file_of(world, "bank")) == 1
    enter(worker, "paypal")
    assert file_of(world, "paypal") == []
    (one,) = payable(world.project).corrections
    assert (one.way, one.amount, one.is_changed_since) == ("bank", Decimal("3.00"), True)
    assert pay(world) == 1
    assert payable(world.project).corrections == []


def test_the_next_correction_is_in_the_file_of_the_new_way(
    world: World, worker: Membership
) -> None:
    file_of(world, "bank")
    pay(world)
    enter(worker, "paypal")
    correct(world, worker, "1.50")
    assert file_of(world, "bank") == []
    assert len(file_of(world, "paypal")) == 1
    (named,) = CorrectionTransfer.objects.all()
    assert named.way == "paypal"
    (one,) = payable(world.project).corrections
    assert (one.way, one.amount, one.is_changed_since) == ("paypal", Decimal("1.50"), False)


def test_two_files_at_once_name_a_correction_once(world: World, worker: Membership) -> None:
    """The second was listed before the first named it, and before the details changed."""
    listed = [(worker.pk, "EUR")]
    common: Any = {"by": world.manager, "project": world.project, "payments": []}
    assert prepare_file(**common, way="bank", corrected=listed).corrections == set(listed)
    enter(worker, "paypal")
    assert prepare_file(**common, way="paypal", corrected=listed).corrections == set()
    assert prepare_file(**common, way="bank", corrected=listed).corrections == set()
