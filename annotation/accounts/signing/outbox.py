"""Mail about accounts: written down in the request, sent by the mail job."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import AccountMail
from annotation.notifications.actions.notices import send_mail_soon
from annotation.notifications.messages import MAX_TRIES, WAITS, send_one
from crowdqc.errors import Conflict
from crowdqc.sealing import sealed

PURPOSE = "account mail"
# Links and codes expire: a mail that did not leave by then is not worth sending.
KEPT = dt.timedelta(hours=3)
# For so long it is known that one was given up.
COUNTED = dt.timedelta(days=7)


@transaction.atomic
def queue(*, email: str, subject: str, body: str) -> AccountMail:
    """Have a mail sent; one that tells of a rolled-back change never leaves."""
    text = json.dumps([subject, body])
    row = AccountMail.objects.create(
        email=email, sealed=sealed.seal(text, PURPOSE), mail_at=timezone.now()
    )
    send_mail_soon()
    return row


@transaction.atomic
def claim() -> AccountMail | None:
    """One that is due, its try counted; None where nothing is."""
    now = timezone.now()
    AccountMail.objects.filter(given_up_at__lt=now - COUNTED).delete()
    open_ones = AccountMail.objects.filter(given_up_at=None)
    _give_up(open_ones.filter(created_at__lt=now - KEPT))
    due = open_ones.select_for_update(skip_locked=True).filter(mail_at__lte=now)
    row = due.filter(mail_attempts__lt=MAX_TRIES).order_by("mail_at", "pk").first()
    if row is None:
        return None
    row.mail_attempts += 1
    row.mail_tried_at = row.mail_tried_at or now
    row.mail_at = now + WAITS[min(row.mail_attempts, len(WAITS)) - 1]
    row.save(update_fields=["mail_attempts", "mail_tried_at", "mail_at"])
    return row


def _give_up(rows: QuerySet[AccountMail]) -> None:
    """Forget what stands in them; that they did not leave is known for a while."""
    rows.update(email="", sealed=b"", given_up_at=timezone.now())


def send(row: AccountMail, connection: Any) -> bool:
    """Send it; what has left, or never can, is forgotten."""
    try:
        subject, body = json.loads(sealed.unseal(row.sealed, PURPOSE, "The mail"))
    except Conflict:  # the server's secret changed: its link opens nothing any more
        row.delete()
        return False
    gone = send_one(connection, to=row.email, subject=subject, body=body, about=f"a{row.pk}")
    if gone:
        row.delete()
    elif gone is None:
        _give_up(AccountMail.objects.filter(pk=row.pk))
    return bool(gone)
