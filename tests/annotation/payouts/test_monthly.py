"""Statements of a month: per worker, from the books, and they add up."""

from __future__ import annotations

import csv
import datetime as dt
import io
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from python_calamine import CalamineWorkbook

from annotation.models import Assignment, AuditEntry, Payment, PayoutBatch
from annotation.payouts.actions.ledger import book_correction
from annotation.payouts.actions.payments import describe_hand_payment, mark_sent
from annotation.payouts.actions.proposals import ProposedLine, approve_payout, propose_payout, total
from annotation.payouts.actions.statements import book_difference, import_statement
from annotation.payouts.details.actions import clean_details, save_details
from annotation.payouts.selectors.balance import hand_payments
from annotation.payouts.selectors.monthly import (
    bounds,
    month_statement,
    person_statements,
    references_of,
)
from crowdqc.errors import Missing
from tests.support import factories
from tests.support.factories import World
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)


@pytest.fixture
def world() -> World:
    return factories.make_world(1, redundancy=40)


def approved(world: World, *works: Assignment, bonus: str = "0") -> PayoutBatch:
    lines = [ProposedLine(one.pk, bonus=Decimal(bonus)) for one in works]
    batch = propose_payout(by=world.requester, task=world.task, key=uuid.uuid4(), lines=lines)
    return approve_payout(by=world.manager, batch=batch, expected_total=total(batch))


def book(world: World, monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """October: 1.80 + 0.50 approved. November: 0.20 taken back, then a payment, less that."""
    one = factories.claim_and_submit(world.task)
    at = {"now": NOW.replace(month=10)}
    monkeypatch.setattr(timezone, "now", lambda: at["now"])
    batch = approved(world, one, bonus="0.50")
    at["now"] = NOW
    book_correction(
        by=world.manager, task=world.task, debit=f"worker:{one.worker_id}",
        credit=f"work:{world.task.pk}", amount=Decimal("0.20"),
        memo="Counted an answer twice", key=uuid.uuid4(),
    )  # fmt: skip
    rows = hand_payments(world.project, batch.number).filter(what="base")
    memo = describe_hand_payment(way="bank", paid_on="2026-11-15", reference="TRX-7, part 2")
    mark_sent(by=world.manager, payments=rows, memo=memo)
    return one


def test_submitted_page_follows_the_decision(world: World) -> None:
    unpaid = factories.claim_and_submit(factories.make_task(world.project, 1, pay="0"))
    waiting, owed, paid = (factories.claim_and_submit(world.task) for _ in range(3))
    approved(world, owed, bonus="0.50")
    batch = approved(world, paid)
    memo = describe_hand_payment(way="bank", paid_on="2026-11-15", reference="TRX-7")
    mark_sent(by=world.manager, payments=hand_payments(world.project, batch.number), memo=memo)
    found = {}
    for done in (unpaid, waiting, owed, paid):
        client = Client()
        client.force_login(done.worker.user)  # type: ignore[arg-type]
        page = client.get(reverse("work_done", args=[done.pk]))
        text, context = page.content.decode(), page.context
        amounts = [one for one in ("€0.00", "€1.80", "€2.30") if one in text]
        found[done.pk] = context["decision"], context["owed"], amounts
    assert found == {
        unpaid.pk: ("waiting", 0, []),
        waiting.pk: ("waiting", 0, ["€1.80"]),
        owed.pk: ("approved", Decimal("2.30"), ["€2.30"]),
        paid.pk: ("paid", Decimal("1.80"), ["€1.80"]),
    }


def rows_of(response: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_each_month_opens_with_what_the_one_before_closed_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = book(world, monkeypatch)
    [before] = month_statement(world.project, "2026-10").rows
    assert (before.opening, before.base, before.bonus, before.paid, before.closing) == (
        0, Decimal("1.80"), Decimal("0.50"), 0, Decimal("2.30"),
    )  # fmt: skip
    [row] = month_statement(world.project, "2026-11").rows
    assert (row.opening, row.earned, row.corrected, row.paid, row.closing) == (
        Decimal("2.30"), 0, Decimal("-0.20"), Decimal("1.60"), Decimal("0.50"),
    )  # fmt: skip
    [told] = person_statements([one.worker], "2026-11")
    assert [line.amount for line in told.lines] == [Decimal("-0.20"), Decimal("-1.60")]
    assert (told.opening, told.closing, told.paid) == (row.opening, row.closing, row.paid)
    assert month_statement(world.project, "2026-12").rows[0].closing == Decimal("0.50")


def test_files_add_up_and_name_recipients_to_who_pays_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = book(world, monkeypatch)
    details = clean_details(way="paypal", name="Lena Okoro", reference="lena@example.org")
    save_details(by=one.worker.user, worker=one.worker, details=details)
    client = Client()
    client.force_login(world.manager)
    url = reverse("month_export", args=[world.project.pk, "2026-11"])
    answer = client.get(url)
    [row] = rows_of(answer)  # no row of totals, which sums would count twice
    amounts = {
        name: Decimal(row[name]) for name in ("opening", "base", "bonus", "corrections", "paid")
    }
    assert Decimal(row["closing"]) == sum(amounts.values()) - 2 * amounts["paid"]
    assert row["recipient"] == "" and row["worker"] == one.worker.pseudonym
    named_file = client.get(url, {"names": "1"})
    [named] = rows_of(named_file)
    assert (named["recipient"], named["account"]) == ("Lena Okoro", "lena@example.org")
    assert named["reference"] == "TRX-7, part 2" == row["reference"]
    assert AuditEntry.objects.filter(action="payment.details_read").count() == 1
    entry_file = client.get(url, {"entries": "1"})
    entries = rows_of(entry_file)
    own = client.get(
        reverse("person_month_export", args=[world.project.pk, "2026-11", one.worker_id])
    )
    assert rows_of(own) == entries
    workbook: Any = client.get(url, {"format": "xlsx"})
    sheet = io.BytesIO(b"".join(workbook.streaming_content))
    header, *table = CalamineWorkbook.from_filelike(sheet).get_sheet_by_index(0).to_python()
    values, totals = (dict(zip(header, line, strict=True)) for line in table)
    assert values["closing"] == totals["closing"] == float(row["closing"])
    assert totals["worker"] == "Total" and "recipient" not in header  # no empty column
    assert values["reference"] == row["reference"]
    assert client.get(url, {"format": "odt"}).status_code == 422
    files = (answer, named_file, entry_file, own)
    assert len({file["Content-Disposition"] for file in files}) == 4
    assert [row["kind"] for row in entries] == ["correction", "payment"]
    assert [row["counted_in"] for row in entries] == ["corrections", "paid"]
    assert entries[-1]["approved_by"] == str(world.manager)
    assert Decimal(entries[-1]["balance"]) == Decimal("0.50")
    client.force_login(world.requester)
    assert client.get(url).status_code == 200
    assert client.get(url, {"names": "1"}).status_code == 403


def test_the_page_asks_as_much_of_the_database_for_many_as_for_few(world: World) -> None:
    client = Client()
    client.force_login(world.manager)
    counts = []
    for n in (1, 4):
        approved(world, *(factories.claim_and_submit(world.task) for _ in range(n)))
        with CaptureQueriesContext(connection) as queries:
            page = client.get(reverse("month_statement", args=[world.project.pk]))
            month = page.context["month"]
            export = reverse("month_export", args=[world.project.pk, month])
            assert len(rows_of(client.get(export, {"entries": "1"}))) >= n
        assert page.status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("month", ["2026-13", "2026", "november", "2026-1"])
def test_a_month_that_is_none_is_not_found(world: World, month: str) -> None:
    with pytest.raises(Missing):
        bounds(month)
    client = Client()
    client.force_login(world.manager)
    url = reverse("month_statement", args=[world.project.pk])
    assert client.get(url, {"month": month}).status_code == 404


def test_the_month_lists_what_left_unapproved_and_the_platform_that_paid(world: World) -> None:
    study = prolific.make_recruitment(world.task)
    [visit] = prolific.make_visited(study)
    assert visit.assignment is not None
    by_hand = factories.claim_and_submit(world.task)
    approved(world, visit.assignment, by_hand)
    memo = describe_hand_payment(way="bank", paid_on="", reference="TRX-8")
    mark_sent(by=world.manager, payments=Payment.objects.all(), memo=memo)
    text = "submission,amount\nsub9,1.50\n"
    statement = import_statement(
        by=world.manager, task=world.task, recruitment=study, name="s.csv", content=text.encode()
    )[0]
    assert book_difference(by=world.manager, statement=statement, place=0)
    client = Client()
    client.force_login(world.manager)
    month = f"{timezone.localdate():%Y-%m}"
    url = reverse("month_export", args=[world.project.pk, month])
    rows = {row["worker"]: row for row in rows_of(client.get(url))}
    assert {name: (row["way"], row["paid"]) for name, row in rows.items()} == {
        visit.worker.pseudonym: ("prolific", "1.80"),
        by_hand.worker.pseudonym: ("", "1.80"),
        "": ("unapproved", "1.50"),
    }
    entries = rows_of(client.get(url, {"entries": "1"}))
    left = [Decimal(row["amount"]) for row in entries if row["counted_in"] == "unapproved"]
    assert left == [Decimal("-1.50")]


def test_a_payment_that_did_not_leave_names_no_reference(world: World) -> None:
    one = factories.claim_and_submit(world.task)
    approved(world, one)
    memo = describe_hand_payment(way="bank", paid_on="", reference="TRX-8")
    mark_sent(by=world.manager, payments=Payment.objects.all(), memo=memo)
    month = f"{timezone.localdate():%Y-%m}"
    assert references_of(world.project, month) == {one.worker_id: "TRX-8"}
    text = "submission,amount,paid_at\nelsewhere,9.00,2999-01-01\n"
    statement = import_statement(
        by=world.manager, task=world.task, recruitment=None, name="b.csv", content=text.encode()
    )[0]
    assert statement.rows[1]["outcome"] == "missing"
    assert book_difference(by=world.manager, statement=statement, place=1)
    assert references_of(world.project, month) == {}
