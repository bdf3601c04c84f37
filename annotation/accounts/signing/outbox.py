"""Account mail: stored by the request, sent by the mail job."""

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
def queue_mail(*, email: str, subject: str, body: str) -> AccountMail:
    """Queue a mail; a rollback removes it."""
    text = json.dumps([subject, body])
    row = AccountMail.objects.create(
        email=email, sealed=sealed.seal(text, PURPOSE), mail_at=timezone.now()
    )
    send_mail_soon()
    return row


@transaction.atomic
def claim_mail() -> AccountMail | None:
    """Claim a due mail and count its try, or return None."""
    now = timezone.now()
    AccountMail.objects.filter(given_up_at__lt=now - COUNTED).delete()
    open_ones = AccountMail.objects.filter(given_up_at=None)
    _drop_undelivered(open_ones.filter(created_at__lt=now - KEPT))
    due = open_ones.select_for_update(skip_locked=True).filter(mail_at__lte=now)
    row = due.filter(mail_attempts__lt=MAX_TRIES).order_by("mail_at", "pk").first()
    if row is None:
        return None
    row.mail_attempts += 1
    row.mail_tried_at = row.mail_tried_at or now
    row.mail_at = now + WAITS[min(row.mail_attempts, len(WAITS)) - 1]
    row.save(update_fields=["mail_attempts", "mail_tried_at", "mail_at"])
    return row


def _drop_undelivered(rows: QuerySet[AccountMail]) -> None:
    """Clear the texts of undelivered mails, but keep that they failed for a while."""
    rows.update(email="", sealed=b"", given_up_at=timezone.now())


def send_mail(row: AccountMail, connection: Any) -> bool:
    """Send a mail; forget it once sent or undeliverable."""
    try:
        subject, body = json.loads(sealed.unseal(row.sealed, PURPOSE, "The mail"))
    except Conflict:  # the server's secret changed: its link opens nothing any more
        row.delete()
        return False
    gone = send_one(connection, to=row.email, subject=subject, body=body, about=f"a{row.pk}")
    if gone:
        row.delete()
    elif gone is None:
        _drop_undelivered(AccountMail.objects.filter(pk=row.pk))
    return bool(gone)
