"""Payment details: entered by the worker, sealed, read by whoever pays, gone with the worker."""

from __future__ import annotations

import csv
import io
import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.formats.exports import person
from annotation.models import (
    Assignment,
    AuditEntry,
    LedgerEntry,
    Notice,
    Payment,
    PaymentDetails,
    PayoutBatch,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.payouts.details.actions import (
    clean_details,
    is_iban,
    open_details,
    read_details,
    save_details,
)
from annotation.privacy.actions import erasure
from crowdqc.errors import Invalid, NotAllowed
from tests.support import factories
from tests.support.factories import World
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db
IBAN, MAIL = "DE89370400440532013000", "lena@example.org"


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def enter(one: Assignment, way: str, reference: str, name: str = "Lena Okoro") -> PaymentDetails:
    details = clean_details(way=way, name=name, reference=reference)
    return save_details(by=one.worker.user, worker=one.worker, details=details)


def approved(world: World, *works: Assignment) -> PayoutBatch:
    lines = [ProposedLine(one.pk) for one in works]
    batch = payouts.propose_payout(
        by=world.requester, task=works[0].task, key=uuid.uuid4(), lines=lines
    )
    return payouts.approve_payout(
        by=world.manager, batch=batch, expected_total=payouts.total(batch)
    )


def rows_of(response: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_a_worker_enters_details_that_are_sealed_and_named_to_nobody_else(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    client, url = client_of(one.worker.user), reverse("payment_details", args=[world.project.pk])
    assert url in client.get(reverse("work_earnings")).content.decode()
    sent = {"way": "bank", "reference": "de89 3704 0044 0532 0130 00", "name": " Lena  Okoro "}
    assert client.post(url, sent).status_code == 302
    row = PaymentDetails.objects.get(worker=one.worker)
    assert IBAN.encode() not in bytes(row.sealed) and b"Okoro" not in bytes(row.sealed)
    found = open_details(row)
    assert (found.way, found.name, found.reference) == ("bank", "Lena Okoro", IBAN)
    assert "•••• 3000" in client.get(reverse("work_earnings")).content.decode()
    assert Notice.objects.filter(user=one.worker.user, kind="payment.details").count() == 1
    entry = AuditEntry.objects.get(action="payment.details")
    assert IBAN not in str(entry.detail) and entry.actor == one.worker.user
    assert (
        client.post(reverse("payment_details_remove", args=[world.project.pk])).status_code == 302
    )
    assert not PaymentDetails.objects.exists()


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"way": "bank", "reference": "DE89370400440532013001", "name": "L"}, "reference"),
        ({"way": "bank", "reference": IBAN, "name": " "}, "name"),
        ({"way": "paypal", "reference": "lena", "name": ""}, "reference"),
        ({"way": "other", "reference": " ", "name": ""}, "reference"),
        ({"way": "cash", "reference": "x", "name": ""}, "way"),
    ],
)
def test_wrong_details_are_refused_beside_their_field(
    world: World, sent: dict[str, str], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        clean_details(**sent)
    assert field in refused.value.fields
    one = factories.claim_and_submit(world.task)
    url = reverse("payment_details", args=[world.project.pk])
    assert client_of(one.worker.user).post(url, sent).status_code == 422
    assert not PaymentDetails.objects.exists()


def test_published_ibans_are_right_and_one_changed_digit_is_not() -> None:
    # Examples of the registry of ISO 13616.
    for good in ("GB29NWBK60161331926819", "NO9386011117947", "FR1420041010050500013M02606"):
        assert is_iban(good) and not is_iban(good[:-1] + ("1" if good[-1] != "1" else "2"))


def test_nobody_enters_or_removes_details_of_somebody_else(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    details = clean_details(way="paypal", name="", reference=MAIL)
    for other in (
        world.manager,
        world.requester,
        factories.claim_and_submit(world.task).worker.user,
    ):
        with pytest.raises(NotAllowed):
            save_details(by=other, worker=one.worker, details=details)


def test_payment_files_name_people_by_way_of_payment(world: World) -> None:
    bank, paypal, staff, none = (factories.claim_and_submit(world.task) for _ in range(4))
    enter(bank, "bank", IBAN)
    enter(paypal, "paypal", MAIL, "")
    enter(staff, "other", "Staff 4711", "")
    batch = approved(world, bank, paypal, staff, none)
    client = client_of(world.manager)
    page = client.get(reverse("payment_by_hand", args=[world.project.pk])).context
    assert [(row.way, row.n, row.people) for row in page["rows"]] == [
        ("bank", 1, 1), ("paypal", 1, 1), ("other", 1, 1), ("", 1, 1),
    ]  # fmt: skip
    assert page["missing"] == [none.worker]
    url = reverse("payment_by_hand_export", args=[world.project.pk])
    header, row = rows_of(client.get(url, {"way": "bank", "proposal": batch.number}))
    told = dict(zip(header, row, strict=True))
    assert (told["name"], told["iban"], told["amount"], told["currency"]) == (
        "Lena Okoro", IBAN, "1.80", "EUR",
    )  # fmt: skip
    [row] = rows_of(client.get(url, {"way": "paypal"}))
    assert row[:3] == [MAIL, "1.80", "EUR"] and " " not in row[3] and len(row[3]) <= 30
    header, row = rows_of(client.get(url, {"way": "other"}))
    assert row[0] == "Staff 4711"
    _header, *rest = rows_of(client.get(url, {"way": "", "proposal": batch.number}))
    assert [none.worker.pseudonym in row for row in rest] == [True]  # nobody of another file
    assert (
        AuditEntry.objects.filter(action="payment.details_read", actor=world.manager).count() == 3
    )
    # A requester, who pays nobody, gets the file with pseudonyms only.
    plain = client_of(world.requester)
    assert plain.get(url, {"way": "bank"}).status_code == 403
    text = b"".join(plain.get(url).streaming_content).decode()
    assert IBAN not in text and MAIL not in text and bank.worker.pseudonym in text
    with pytest.raises(NotAllowed):
        read_details(by=world.requester, project=world.project, workers=[bank.worker_id])


def test_several_payments_to_one_person_are_one_transfer(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    enter(one, "bank", IBAN)
    lines = [ProposedLine(one.pk, bonus=payouts.ZERO + 1)]
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    url = reverse("payment_by_hand_export", args=[world.project.pk])
    header, *rows = rows_of(client_of(world.manager).get(url, {"way": "bank"}))
    told = dict(zip(header, rows[0], strict=True))
    assert len(rows) == 1 and told["amount"] == "2.80" and len(told["payments"].split()) == 2


def test_one_way_is_marked_as_paid_once_and_the_others_stay_open(world: World) -> None:
    bank, none = (factories.claim_and_submit(world.task) for _ in range(2))
    enter(bank, "bank", IBAN)
    batch = approved(world, bank, none)
    client = client_of(world.manager)
    url = reverse("payment_by_hand_done", args=[world.project.pk, batch.number])
    sent = {"way": "bank", "payment": list(Payment.objects.values_list("pk", flat=True))}
    assert client.post(url, {**sent, "expected_total": "3.60"}).status_code == 409
    for _ in range(2):  # a double click
        client.post(url, {**sent, "expected_total": "1.80"})
    [entry] = LedgerEntry.objects.filter(kind="payment")
    assert entry.worker == bank.worker and entry.memo == "by hand: bank"
    assert Payment.objects.get(worker=none.worker).state == "by_hand"


def test_who_changes_their_details_after_a_file_is_in_no_second_file(world: World) -> None:
    one, two = (factories.claim_and_submit(world.task) for _ in range(2))
    enter(one, "bank", IBAN)
    enter(two, "bank", "GB29NWBK60161331926819")
    batch = approved(world, one, two)
    client = client_of(world.manager)
    url = reverse("payment_by_hand_export", args=[world.project.pk])
    assert len(rows_of(client.get(url, {"way": "bank"}))) == 3
    enter(one, "paypal", MAIL)
    assert rows_of(client.get(url, {"way": "paypal"})) == []
    assert len(rows_of(client.get(url, {"way": "bank"}))) == 2  # the other one, as before
    page = client.get(reverse("payment_by_hand", args=[world.project.pk]))
    [row] = page.context["rows"]
    assert (row.way, row.n, row.in_file, row.changed) == ("bank", 2, 2, 1)
    done = reverse("payment_by_hand_done", args=[world.project.pk, batch.number])
    sent = {"way": "bank", "payment": list(Payment.objects.values_list("pk", flat=True))}
    assert client.post(done, {**sent, "expected_total": "3.60"}).status_code == 302
    assert LedgerEntry.objects.filter(kind="payment").count() == 2
    # Later pay goes where the worker wants it now.
    approved(world, factories.claim_and_submit(factories.make_task(world.project, 1), one.worker))
    [row] = client.get(reverse("payment_by_hand", args=[world.project.pk])).context["rows"]
    assert row.way == "paypal"


def test_who_has_no_details_is_asked_at_the_approval_and_once_a_day_by_a_reminder(
    world: World,
) -> None:
    one, two = (factories.claim_and_submit(world.task) for _ in range(2))
    enter(two, "bank", IBAN)
    approved(world, one, two)
    asked = Notice.objects.filter(kind="payment.details_missing")
    assert [notice.user for notice in asked] == [one.worker.user]
    url = reverse("payment_details_remind", args=[world.project.pk])
    assert client_of(world.requester).post(url).status_code == 403
    for _ in range(2):
        assert client_of(world.manager).post(url).status_code == 302
    assert asked.all().count() == 2


def test_who_came_through_prolific_is_paid_there_and_asked_for_nothing(world: World) -> None:
    study = prolific.make_recruitment(world.task)
    [visit] = prolific.make_visited(study, n=1)
    approved(world, Assignment.objects.get(pk=visit.assignment_id))
    assert not Notice.objects.filter(kind="payment.details_missing").exists()
    page = client_of(visit.worker.user).get(reverse("work_earnings"))
    assert page.context["ways"] == []


def test_details_go_with_the_erasure_and_only_the_person_exports_them(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    enter(one, "paypal", MAIL)

    def exported(user: Any) -> str:
        found = person.files([one.worker], user=user)
        return "".join(
            part if isinstance(part, str) else part.decode() for _, parts in found for part in parts
        )

    assert MAIL in exported(one.worker.user) and MAIL not in exported(None)
    url = reverse("worker_data_erase", args=[world.project.pk, one.worker_id])
    assert client_of(world.manager).get(url).context["held"].payment_details == 1
    erasure.request_erasure(by=one.worker.user, worker=one.worker, although_undecided=True)
    erasure.finish(worker=one.worker.pk)
    assert not PaymentDetails.objects.exists()
