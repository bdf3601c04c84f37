"""Sending what other systems are owed: signed, at least once, with a stable id for each event.

A delivery is taken in a transaction of its own (a try counted, nobody else before the lease ends)
and sent after it; a killed worker's delivery is due again when its lease ends. Whoever is told
keeps the id and drops what it has had.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import random
import time

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Hook, HookDelivery, User
from annotation.notifications.actions.notices import notify, people_of
from annotation.notifications.actions.webhooks import PURPOSE
from crowdqc.errors import DomainError
from crowdqc.outbound import WebhookReply, post_webhook
from crowdqc.sealing.sealed import unseal

MAX_TRIES = 10
LEASE = dt.timedelta(seconds=60)
FIRST_WAIT, LONGEST_WAIT = 10.0, 86400.0
SECONDS = 40.0  # of one turn of the job
KEPT_DAYS = 30  # as usual; the job of evaluation.retention deletes what is older
MOST_SAID = 300
State = HookDelivery.State


def deliver_due() -> int:
    """Send what is due, for some time at most; returns how many were taken.

    An address that fails is left alone for the rest of the turn: others do not wait behind it.
    """
    began, done = time.monotonic(), 0
    failing: set[int] = set()
    while time.monotonic() - began < SECONDS:
        taken = _claim(failing)
        if taken is None:
            break
        if _deliver(taken):
            done += 1
        else:
            failing.add(taken.hook_id)
    return done


def wait_after(tries: int) -> dt.timedelta:
    """Return the wait after a number of tries.

    10 s, then four times as long each, a day at most.
    """
    spread = 0.75 + random.random() / 2  # noqa: S311 (so that they do not all come at once)
    return dt.timedelta(seconds=min(LONGEST_WAIT, FIRST_WAIT * 4 ** (tries - 1)) * spread)


def signature(secret: str, event_id: str, timestamp: str, body: bytes) -> str:
    """Return a webhook's signature: ``v1,<base64>`` of HMAC-SHA256 over ``id.timestamp.body``."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def is_due() -> bool:
    """Whether another system is owed a message now."""
    return _due().exists()


def _due() -> QuerySet[HookDelivery]:
    return HookDelivery.objects.filter(
        state=State.WAITING, next_at__lte=timezone.now(), hook__active=True
    )


@transaction.atomic
def _claim(failing: set[int]) -> HookDelivery | None:
    now = timezone.now()
    row = (
        _due()
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("hook__project", "hook__created_by")
        .exclude(hook__in=failing)
        .order_by("next_at", "pk")
        .first()
    )
    if row is None:
        return None
    row.attempts += 1
    row.next_at = now + LEASE
    row.save(update_fields=["attempts", "next_at"])
    return row


def _deliver(row: HookDelivery) -> bool:
    """Send it and note what came of it; whether it was taken."""
    try:
        secret = unseal(bytes(row.hook.secret_sealed), PURPOSE, _("The secret of this address"))
    except DomainError as error:
        told = WebhookReply(None, "", error.message, 0)
    else:
        body = row.body.encode()
        event_id, timestamp = str(row.event_id), str(int(time.time()))
        headers = {
            "user-agent": "crowdqc",
            "webhook-id": event_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": signature(secret, event_id, timestamp, body),
        }
        told = post_webhook(row.hook.url, body, headers, seconds=settings.CROWDQC_WEBHOOK_TIMEOUT)
    return _note(row, told)


@transaction.atomic
def _note(row: HookDelivery, told: WebhookReply) -> bool:
    taken = told.status is not None and 200 <= told.status < 300
    locked = HookDelivery.objects.select_for_update().filter(pk=row.pk).first()
    if locked is None or (locked.attempts != row.attempts and not taken):
        return taken  # removed, or somebody else is at it since
    now = timezone.now()
    locked.last_at, locked.took_ms, locked.status = now, told.took_ms, told.status
    locked.error = "" if taken else _error_text(told)
    if taken:
        locked.state, locked.done_at = State.DONE, now
    elif told.status == 410 or locked.attempts >= MAX_TRIES:
        locked.state, locked.done_at = State.FAILED, now
        _notify_failure(row.hook, gone=told.status == 410)
    else:
        locked.next_at = now + wait_after(locked.attempts)
    locked.save()
    return taken


def _error_text(told: WebhookReply) -> str:
    if told.status is None or told.error:
        return told.error[:MOST_SAID]
    if 300 <= told.status < 400:
        return _("HTTP %(status)s; redirects are not followed.") % {"status": told.status}
    return f"HTTP {told.status}{f': {told.said}' if told.said else ''}"[:MOST_SAID]


def _notify_failure(hook: Hook, *, gone: bool) -> None:
    """Tell whoever added it, once a day; one that says it is gone goes off."""
    if gone:
        why = _("It answered that it is gone (HTTP 410).")
        Hook.objects.filter(pk=hook.pk).update(active=False, off_why=why)
    notify(
        to=[_owner(hook)],
        kind="hook.failed",
        project=hook.project,
        text=lambda: _gone_words() if gone else _failed_words(),
        key=f"hook.{'gone' if gone else 'failed'}:{hook.pk}:{timezone.now():%Y-%m-%d}",
        url=reverse("hook", args=[hook.project_id, hook.pk]),
    )


def _gone_words() -> str:
    return _("An address that is told of events says it is gone; it was switched off.")


def _failed_words() -> str:
    return _("An address that is told of events did not take one in %(tries)s tries.") % {
        "tries": MAX_TRIES
    }


def _owner(hook: Hook) -> User:
    """Who added it, or the project's owner where they have left."""
    return next(
        (one for one in people_of(hook.project) if one.pk == hook.created_by_id), hook.project.owner
    )
