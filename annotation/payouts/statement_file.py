"""What a platform says it paid: one row a payment or submission, every fault of every row named."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import Field, Problem, Row, guess, missing, refuse
from annotation.files.reading.limits import Limits
from annotation.files.reading.sheet import spooled
from annotation.files.reading.sources import of_bytes
from annotation.files.reading.tables import open_table
from crowdqc import money
from crowdqc.currencies import DIGITS
from crowdqc.numbers import parse_whole

FIELDS = (
    Field(
        "submission",
        gettext_lazy("Submission"),
        either=gettext_lazy("submission or participant"),
        also=("submission_id", "session_id", "assignment", "assignment_id"),
    ),
    Field(
        "participant",
        gettext_lazy("Participant"),
        either=gettext_lazy("submission or participant"),
        also=("participant_id", "prolific_pid", "worker", "worker_id"),
    ),
    Field("kind", gettext_lazy("Kind"), also=("type", "what")),
    Field("amount", gettext_lazy("Amount"), required=True, also=("paid", "total", "reward")),
    Field("currency", gettext_lazy("Currency")),
    Field("fee", gettext_lazy("Fee"), also=("fees", "service_fee")),
    Field("paid_at", gettext_lazy("Paid at"), also=("date", "created_at", "paid_on")),
    # Of the app's own files: the payments that one transfer makes together.
    Field("payments", gettext_lazy("Payments"), also=("payment", "payment_id")),
)
# Of an export of submissions, which has a status and no amount (Prolific's own, for instance).
SUBMISSION_FIELDS = (
    *FIELDS[:2],
    Field("status", gettext_lazy("Status"), required=True),
    Field("reviewed_at", gettext_lazy("Reviewed at")),
    Field("completed_at", gettext_lazy("Completed at"), also=("ended_at",)),
)
KINDS = {
    "": "",  # the amount says which
    "base": "base",
    "reward": "base",
    "submission": "base",
    "approval": "base",
    "bonus": "bonus",
    "correction": "correction",
}
CORRECTION = "correction"
MOST = Decimal(1_000_000)
# A statement is read while its page waits: the largest takes less than a second.
LIMITS = Limits(
    size=2 * 1024 * 1024, rows=10_000, columns=50, cell=1000, line=20_000, decoded=4 * 1024 * 1024
)
MOST_BAD = 1000  # rows after which no further ones are read


@dataclass(frozen=True)
class ReportedPayment:
    """One payment as the file tells it."""

    line: int
    submission: str
    participant: str
    kind: str
    amount: Decimal
    currency: str
    fee: Decimal | None  # None: the file says nothing of a fee
    paid_at: str  # ISO, or empty
    payments: str = ""  # numbers of the payments, and "correction"

    @property
    def payment_ids(self) -> list[int]:
        return [int(part) for part in self.payments.split() if part != CORRECTION]

    @property
    def pays_correction(self) -> bool:
        return CORRECTION in self.payments.split()

    @property
    def identity(self) -> tuple[str, ...]:
        """Key that identifies the payment when another file lists it again."""
        return (
            self.submission,
            self.participant,
            self.kind or "base",
            str(self.amount),
            self.currency,
            self.paid_at,
            self.payments,
        )


@dataclass(frozen=True)
class ReportedSubmission:
    """One submission as the file tells it: approved there or not, without an amount."""

    line: int
    submission: str
    participant: str
    status: str  # in capitals, as APPROVED or AWAITING REVIEW
    at: str  # when it was reviewed, else completed; ISO, or empty

    @property
    def is_approved(self) -> bool:
        return self.status == "APPROVED"

    def payment(self, amount: Decimal, currency: str) -> ReportedPayment:
        """What an approval there paid, where the pay is known."""
        return ReportedPayment(
            self.line, self.submission, self.participant, "base", amount, currency, None, self.at
        )


Reported = list[ReportedPayment] | list[ReportedSubmission]


def read_statement(content: bytes, name: str, currency: str) -> Reported:
    """Every row of the file, or Invalid naming all rows that cannot be read.

    A file with a status and no amount holds submissions. It is read no further where it passes
    one of ``LIMITS``, or after ``MOST_BAD`` such rows.
    """
    sheet = spooled(open_table(of_bytes(content), name, LIMITS))
    columns = guess(list(sheet.columns), FIELDS)
    fields: Sequence[Field] = FIELDS
    if "amount" not in columns and "status" in guess(list(sheet.columns), SUBMISSION_FIELDS):
        fields, columns = SUBMISSION_FIELDS, guess(list(sheet.columns), SUBMISSION_FIELDS)
    problems = list(sheet.unreadable)
    problems += [
        _column(one.name, _("There is no column %(name)s.") % {"name": one.name})
        for one in missing(columns, fields)
    ]
    if problems:
        refuse(name, problems, len(sheet.rows), "rows")
    good: list[Any] = []
    bad = 0
    for row in sheet.rows:
        reported, wrong = (
            _row(row, columns, currency) if fields is FIELDS else _submission(row, columns)
        )
        problems += wrong
        if reported is not None:
            good.append(reported)
            continue
        bad += 1
        if bad == MOST_BAD:
            refuse(name, problems, len(sheet.rows) - bad, "rows")
    refuse(name, problems, len(good), "rows")
    return good


def _column(name: str, wrong: str) -> Problem:
    mend = _(
        "The columns are submission or participant, kind, amount, currency, fee, paid_at, payments."
    )
    return Problem(None, name, "", wrong, mend)


def _row(
    row: Row, columns: Mapping[str, str], currency: str
) -> tuple[ReportedPayment | None, list[Problem]]:
    value = {field: row.values.get(column, "").strip() for field, column in columns.items()}
    wrong: list[Problem] = []

    def add_error(field: str, says: str, mend: str) -> None:
        wrong.append(Problem(row.line, columns.get(field, field), value.get(field, ""), says, mend))

    currency = value.get("currency", "").upper() or currency
    if currency not in DIGITS:
        add_error(
            "currency", _("There is no such currency."), _("A code of three letters, as EUR.")
        )

    def parse_amount(field: str) -> Decimal | None:
        try:
            return money.parse_amount(value.get(field, ""), currency, high=MOST)
        except money.NotAnAmount as error:
            add_error(field, _("This is no amount."), error.hint)
            return None

    amount = parse_amount("amount")
    fee = parse_amount("fee") if value.get("fee") else None
    if amount is not None and not amount:
        add_error("amount", _("This is no amount."), _("An amount above 0, as 1.80."))
    kind = KINDS.get(value.get("kind", "").casefold())
    if kind is None:
        add_error("kind", _("There is no such kind."), _("base, bonus or correction."))
    paid_at = _moment(value.get("paid_at", ""))
    if paid_at is None:
        add_error("paid_at", *_why_no_date(value["paid_at"]))
    payments = value.get("payments", "").replace(",", " ").replace(";", " ").split()
    if not all(part == CORRECTION or parse_whole(part) for part in payments):
        mend = _("Numbers of payments, as 44 66 67.")
        add_error("payments", _("These are no numbers of payments."), mend)
    if not value.get("submission") and not value.get("participant"):
        add_error(
            "submission", _("Nothing says whom it is about."), _("A submission or a participant.")
        )
    if wrong or amount is None or kind is None or paid_at is None:
        return None, wrong
    told = ReportedPayment(
        line=row.line,
        submission=value.get("submission", "")[:120],
        participant=value.get("participant", "")[:120],
        kind=kind,
        amount=amount,
        currency=currency,
        fee=fee,
        paid_at=paid_at,
        payments=" ".join(dict.fromkeys(payments)),
    )
    return told, []


def _submission(
    row: Row, columns: Mapping[str, str]
) -> tuple[ReportedSubmission | None, list[Problem]]:
    value = {field: row.values.get(column, "").strip() for field, column in columns.items()}
    wrong: list[Problem] = []
    if not value.get("submission") and not value.get("participant"):
        says = _("Nothing says whom it is about.")
        mend = _("A submission or a participant.")
        wrong.append(Problem(row.line, columns.get("submission", "submission"), "", says, mend))
    status = " ".join(value.get("status", "").replace("-", " ").replace("_", " ").upper().split())
    if not status:
        mend = _("As the platform calls it, for instance APPROVED.")
        wrong.append(Problem(row.line, columns["status"], "", _("There is no status."), mend))
    if wrong:
        return None, wrong
    # A platform writes words where there is no time.
    at = _moment(value.get("reviewed_at", "")) or _moment(value.get("completed_at", "")) or ""
    told = ReportedSubmission(
        row.line, value.get("submission", "")[:120], value.get("participant", "")[:120], status, at
    )
    return told, []


_DAY_FIRST = re.compile(
    r"(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})(?:[ ,T]+(\d{1,2}:\d{2}(?::\d{2})?))?", re.A
)
_SLASHED = re.compile(r"\d{1,2}[/-]\d{1,2}[/-]\d{2,4}.*", re.A)


def _moment(text: str) -> str | None:
    """ISO text of a date or a time, "" for none, None where it is neither.

    With dots the day comes first, as 30.11.2026.
    """
    if not text:
        return ""
    german = _DAY_FIRST.fullmatch(text)
    if german:
        day, month, year, time = german.groups()
        text = f"{year if len(year) == 4 else f'20{year}'}-{month:0>2}-{day:0>2}"
        text += f" {time:0>5}" if time else ""
    try:
        found: dt.datetime | dt.date | None = parse_datetime(text) or parse_date(text)
    except ValueError:
        return None
    return None if found is None else found.isoformat()


def _why_no_date(text: str) -> tuple[str, str]:
    """What is wrong with a date, and how to write it."""
    mend = _("A date as 2026-11-22 or 22.11.2026, with or without a time.")
    if _SLASHED.fullmatch(text):
        return _("Day or month may come first here."), mend
    return _("This is no date."), mend
