"""Stored replies to requests with an Idempotency-Key.

The reply is written in the transaction of what it answers: both are there or neither. A request
that dies on the way leaves nothing, so its key may be used again; one that is refused leaves
nothing either. While a request is at work its key is held by a lock that ends with it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from typing import Any

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import KeptReply, User
from crowdqc.errors import Conflict, Invalid
from crowdqc.sealing.sealed import seal, unseal

PURPOSE = "kept reply"
KEPT = dt.timedelta(days=2)


def find_reply(*, by: User, key: str, request_hash: str) -> tuple[int, Any] | None:
    """Return the stored reply (status, body), or lock the key and return None.

    To be called within a transaction. Conflict where the same key is at work just now.
    """
    if not (0 < len(key) <= 120 and key.isascii() and key.isprintable()):
        raise Invalid(_("The Idempotency-Key takes 1 to 120 plain characters."), code="bad-key")
    name = hashlib.blake2b(f"{by.pk} {key}".encode(), digest_size=8).digest()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s)", [int.from_bytes(name, "big", signed=True)]
        )
        held = cursor.fetchone()
    if not (held and held[0]):
        raise Conflict(_("A request with this key is in progress. Ask again."), code="key-in-work")
    row = KeptReply.objects.filter(user=by, key=key).first()
    if row is None:
        return None
    if row.request_hash != request_hash:
        raise Invalid(_("This key was used for another request."), code="key-reused")
    return row.status, json.loads(
        unseal(row.sealed, PURPOSE, _("The reply"), again=_("the request"))
    )


def store_reply(*, by: User, key: str, request_hash: str, status: int, body: Any) -> KeptReply:
    """Store a reply in the transaction of its effect."""
    return KeptReply.objects.create(
        user=by,
        key=key,
        request_hash=request_hash,
        status=status,
        sealed=seal(json.dumps(body), PURPOSE),
    )


def delete_old_replies() -> int:
    """Delete replies older than the retention."""
    return KeptReply.objects.filter(created_at__lt=timezone.now() - KEPT).delete()[0]
