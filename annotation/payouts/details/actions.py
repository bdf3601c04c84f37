"""Payment details of a worker: entered and removed by them, read by whoever pays."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.security.stepup import needs_stepup
from annotation.models import Membership, Payment, PaymentDetails, Project, User
from annotation.notifications.actions.notices import notify
from annotation.payouts.actions.rules import lock_workers, require_decider
from annotation.payouts.details.transfers import name_corrections
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from crowdqc.errors import Invalid, NotAllowed
from crowdqc.sealing.sealed import keyed_hash, seal, unseal

PURPOSE = "payment details"
PaymentWay = PaymentDetails.PaymentWay
MAX_TEXT = 120
IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
CHANGING = gettext_lazy("change how you are paid")
EARNINGS = "#payment-details"


@dataclass(frozen=True)
class Details:
    """Payment details in plain: the way, the name of the recipient, and where the money goes."""

    way: str
    name: str
    reference: str

    @property
    def masked(self) -> str:
        """The reference with all but its last four characters hidden."""
        return "•••• " + self.reference[-4:] if len(self.reference) > 4 else "••••"


def clean_details(*, way: str, name: str, reference: str) -> Details:
    """Return checked details, or raise Invalid with each field's fault.

    An IBAN is checked by its check digits (ISO 7064 mod 97-10), an address of PayPal as e-mail.
    """
    faults: dict[str, str] = {}
    name = " ".join(clean_text(name, "name", MAX_TEXT).split())
    reference = " ".join(clean_text(reference, "reference", MAX_TEXT).split())
    if way not in PaymentWay.values:
        faults["way"] = _("Choose one.")
    if way == PaymentWay.BANK:
        reference = reference.replace(" ", "").upper()
        if not is_iban(reference):
            faults["reference"] = _("This is not an IBAN. Check it for a missing or wrong digit.")
        if not name:
            faults["name"] = _("Enter the name of the account holder.")
    elif way == PaymentWay.PAYPAL:
        try:
            validate_email(reference)
        except ValidationError:
            faults["reference"] = _("Enter the e-mail address of your PayPal account.")
    elif not reference:
        faults["reference"] = _("Enter what the project asked for, such as a staff number.")
    if faults:
        raise Invalid(_("The payment details were not saved."), fields=faults)
    return Details(way, name, reference)


def is_iban(text: str) -> bool:
    """Whether a text without spaces has the form and the check digits of an IBAN."""
    if not IBAN.fullmatch(text):
        return False
    digits = "".join(str(int(sign, 36)) for sign in text[4:] + text[:4])
    return int(digits) % 97 == 1


@needs_stepup(CHANGING)
@transaction.atomic
def save_details(*, by: User, worker: Membership, details: Details) -> PaymentDetails:
    """Seal a worker's own payment details, and tell them that they were changed.

    Raises NotAllowed for anybody but the worker, and after their erasure was requested.
    """
    _require_own(by, worker)
    row, _new = PaymentDetails.objects.update_or_create(
        worker=worker,
        defaults={
            "way": details.way,
            "sealed": seal(f"{details.reference}\n{details.name}", PURPOSE),
            "reference_hash": _hash_reference(worker.project_id, details),
            "changed_at": timezone.now(),
        },
    )
    # What the details are stands nowhere but in the sealed row.
    record(by=by, project=worker.project, action="payment.details", on=worker)
    notify(
        to=[worker.user],
        kind="payment.details",
        project=worker.project,
        text=lambda: _("How you are paid in %(name)s was changed.") % {"name": worker.project.name},
        key=f"payment.details:{worker.pk}:{row.changed_at.timestamp()}",
        url=reverse("work_earnings") + EARNINGS,
    )
    return row


@needs_stepup(CHANGING)
@transaction.atomic
def remove_details(*, by: User, worker: Membership) -> bool:
    """Delete a worker's own payment details; False where there were none."""
    _require_own(by, worker)
    removed, _rows = PaymentDetails.objects.filter(worker=worker).delete()
    if removed:
        record(by=by, project=worker.project, action="payment.details_remove", on=worker)
    return bool(removed)


def _hash_reference(project: int, details: Details) -> bytes:
    """Hash the way and reference, to compare the workers of one project."""
    return keyed_hash(f"{project} {details.way} {details.reference.casefold()}", PURPOSE)


def _require_own(by: User, worker: Membership) -> None:
    if worker.user_id != by.pk or worker.erase_asked_at:
        raise NotAllowed(_("Only the worker enters how they are paid."))


def open_details(row: PaymentDetails) -> Details:
    """Unseal the details; Conflict where the server's secret has changed since."""
    text = unseal(row.sealed, PURPOSE, _("A payment reference"), again=_("the payment details"))
    reference, _line, name = text.partition("\n")
    return Details(row.way, name, reference)


@transaction.atomic
def read_details(*, by: User, project: Project, workers: Iterable[int]) -> dict[int, Details]:
    """By membership, the details of these workers; the audit log says who read how many.

    Raises NotAllowed for everybody who may not decide about payments of the project.
    """
    require_decider(project, by)
    rows = PaymentDetails.objects.filter(worker__in=workers, worker__project=project)
    found = {row.worker_id: open_details(row) for row in rows}
    record(by=by, project=project, action="payment.details_read", on=project, people=len(found))
    return found


IN_FILE = "file:"  # before the way, as the reference of a payment that a file has named


@dataclass(frozen=True)
class TransferFile:
    """Whom a file of transfers names: details by membership, payments, and corrections."""

    details: dict[int, Details]
    payments: set[int]
    corrections: set[tuple[int, str]]  # worker and currency


@transaction.atomic
def prepare_file(
    *,
    by: User,
    project: Project,
    payments: Collection[int],
    way: str,
    corrected: Collection[tuple[int, str]] = (),
) -> TransferFile:
    """Note that a file of one way names these payments, and return what it names.

    From then on they are paid this way: who changes their details afterwards is not named by a
    file of another way too. Workers whose details are of another way by now are left out.
    ``corrected`` are workers and currencies of what corrections owe more.
    """
    rows = Payment.objects.filter(pk__in=payments, assignment__task__project=project)
    workers = {worker for worker, _currency in corrected} | set(
        rows.values_list("worker", flat=True)
    )
    lock_workers(workers)
    found = read_details(by=by, project=project, workers=workers)
    found = {worker: one for worker, one in found.items() if one.way == way}
    rows = rows.filter(worker__in=found, state=Payment.State.BY_HAND)
    rows.filter(reference="").update(reference=f"{IN_FILE}{way}", sent_at=timezone.now())
    named = name_corrections(
        project=project, way=way, corrected=[one for one in corrected if one[0] in found]
    )
    own = rows.filter(reference=f"{IN_FILE}{way}").values_list("pk", flat=True)
    return TransferFile(found, set(own), named)


@transaction.atomic
def remind_of_details(*, by: User, project: Project, workers: Iterable[Membership]) -> int:
    """Ask workers who are owed money to enter their payment details, once a day; how many."""
    require_decider(project, by)
    told = ask_for_details(project=project, workers=workers, key=f"{timezone.localdate()}")
    record(by=by, project=project, action="payment.details_remind", on=project, people=told)
    return told


def ask_for_details(*, project: Project, workers: Iterable[Membership], key: str) -> int:
    """Tell workers that approved pay waits for their payment details, once per ``key``."""
    return notify(
        to=[worker.user for worker in workers],
        kind="payment.details_missing",
        project=project,
        text=lambda: (
            _("Approved pay in %(name)s waits: enter how you want to be paid.")
            % {"name": project.name}
        ),
        key=f"payment.details_missing:{project.pk}:{key}",
        url=reverse("work_earnings") + EARNINGS,
    )
