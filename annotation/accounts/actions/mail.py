"""Send mail: accounts, bundled notices, and invitations.

At least once: what is owed is taken (a try counted, the next one set), then sent, then noted as
sent. A crash between the last two sends it again when the next try is due, under the same
Message-ID, which many mailboxes fold. The other order would lose a mail with each crash, and one
may say until when a rejection can be replied to. No lock is held while a server is spoken to.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import get_connection
from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.projects.actions import invitation_token
from annotation.accounts.signing import outbox
from annotation.models import Invitation, Notice, Role
from annotation.notifications.actions.notices import stop_token
from annotation.notifications.messages import MAX_TRIES, WAITS, deliver, render_message
from crowdqc.web.language import speaking_to

logger = logging.getLogger(__name__)
# The first notice leaves at once; what follows within this time leaves together.
TOGETHER = dt.timedelta(minutes=10)
AT_ONCE = 50  # notices in one mail
SECONDS = 40.0  # of one turn of the job


def send_due() -> int:
    """Send due mail for a limited time; return how many mails were sent."""
    began, sent = time.monotonic(), 0
    connection = get_connection()
    if not _is_server_up(connection):
        return 0
    turns = (
        (outbox.claim_mail, outbox.send_mail),
        (_claim_notices, _send_notices),
        (_claim_invitation, _send_invitation),
    )
    for claim, send in turns:
        while time.monotonic() - began < SECONDS:
            taken: Any = claim()
            if taken is None:
                break
            sent += bool(taken) and send(taken, connection)
    connection.close()
    return sent


# While no mail server answers it is asked once in this time by a process: each of the jobs that
# wait for it holds up all others of their queue. Nothing counts as tried meanwhile.
PAUSE_SECONDS = 20.0
_pause_until = 0.0


def _is_server_up(connection: Any) -> bool:
    """Whether the mail server accepts mail now."""
    global _pause_until  # noqa: PLW0603
    if time.monotonic() < _pause_until:
        return False
    try:
        connection.open()
    except (SMTPException, OSError) as error:
        logger.warning("the mail server takes no mail: %s", type(error).__name__)
        _pause_until = time.monotonic() + PAUSE_SECONDS
        return False
    return True


def _next(tries: int, now: dt.datetime) -> dt.datetime | None:
    return now + WAITS[tries - 1] if tries < MAX_TRIES else None


# -- notices ---------------------------------------------------------------------------------------


@transaction.atomic
def _claim_notices() -> list[Notice] | None:
    """Claim the due notices of one person and count the try, or return None."""
    now = timezone.now()
    due = Notice.objects.select_for_update(skip_locked=True, of=("self",)).filter(mail_at__lte=now)
    just = Notice.objects.filter(user=OuterRef("user"), mailed_at__gt=now - TOGETHER)
    first = due.filter(~Exists(just)).order_by("mail_at", "pk").first()
    if first is None:
        return None
    # What failed goes again as it was, under the same Message-ID; what came since goes by itself.
    same: dict[str, Any] = {"mail_attempts": first.mail_attempts}
    if first.mail_attempts:
        same["mail_at"] = first.mail_at
    mine = due.filter(user=first.user_id, **same).select_related("user", "project")
    rows = list(mine.order_by("pk")[:AT_ONCE])
    person = first.user
    wanted = person.is_active and person.wants_mail and bool(person.email)
    for row in rows:
        row.mail_attempts += wanted
        row.mail_tried_at = row.mail_tried_at or now
        row.mail_at = _next(row.mail_attempts, now) if wanted else None
    Notice.objects.bulk_update(rows, ["mail_at", "mail_attempts", "mail_tried_at"])
    return rows if wanted else []


def _send_notices(notices: list[Notice], connection: Any) -> bool:
    person, base = notices[0].user, settings.CROWDQC_BASE_URL
    stop = base + reverse("notice_stop", args=[stop_token(person)])
    context = {
        "lines": [(one, base + reverse("notice", args=[one.pk])) for one in notices],
        "stop": stop,
        "all": base + reverse("notice_list"),
        "only": len(notices) == 1,
    }
    about = f"n{notices[0].pk}-{notices[-1].pk}"
    with speaking_to(person):
        message = render_message("notices", context, person.email, about)
    message.extra_headers |= {
        "List-Unsubscribe": f"<{stop}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    rows = Notice.objects.filter(pk__in=[one.pk for one in notices])
    gone = deliver(message, connection)
    if gone:
        rows.update(mailed_at=timezone.now(), mail_at=None)
    elif gone is None:
        rows.update(mail_attempts=MAX_TRIES, mail_at=None)
    return bool(gone)


# -- invitations -----------------------------------------------------------------------------------


@transaction.atomic
def _claim_invitation() -> Invitation | None:
    """Claim a due invitation; its address is forgotten at the last try."""
    now = timezone.now()
    rows = Invitation.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        mail_at__lte=now
    )
    found = rows.select_related("project").order_by("mail_at", "pk").first()
    if found is None:
        return None
    closed = found.revoked_at or found.expires_at <= now or found.uses >= found.max_uses
    found.mail_attempts += not closed
    found.mail_at = None if closed else _next(found.mail_attempts, now)
    kept = found.email if found.mail_at else ""
    Invitation.objects.filter(pk=found.pk).update(
        mail_attempts=found.mail_attempts,
        mail_at=found.mail_at,
        mail_tried_at=found.mail_tried_at or now,
        email=kept,
    )
    if closed:
        found.email = ""
    return found


def _send_invitation(invitation: Invitation, connection: Any) -> bool:
    if not invitation.email:
        return False
    link = settings.CROWDQC_BASE_URL + reverse("join", args=[invitation_token(invitation)])
    context = {
        "invitation": invitation,
        "project": invitation.project,
        "link": link,
        "works": invitation.role == Role.WORKER,
    }
    with speaking_to(None):
        message = render_message("invitation", context, invitation.email, f"i{invitation.pk}")
    row = Invitation.objects.filter(pk=invitation.pk)
    gone = deliver(message, connection)
    if gone:
        row.update(mailed_at=timezone.now(), mail_at=None, email="")
    elif gone is None:
        row.update(mail_attempts=MAX_TRIES, mail_at=None, email="")
    return bool(gone)


def forget_addresses() -> int:
    """Clear addresses of ended invitations; return how many.

    Without its address a link to a role is for nobody, so that it counts as revoked from then on.
    """
    now = timezone.now()
    over = Q(expires_at__lte=now) | Q(revoked_at__isnull=False) | Q(uses=F("max_uses"))
    kept = Invitation.objects.filter(over).exclude(email="", sent_to="", bound_to="")
    bound = Case(
        When(bound_to="", then=F("revoked_at")), default=Coalesce(F("revoked_at"), Value(now))
    )
    return kept.update(email="", sent_to="", bound_to="", mail_at=None, revoked_at=bound)
