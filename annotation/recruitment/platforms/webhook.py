"""What Prolific tells us of its own accord: whether it is Prolific, and what it says."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.errors import Invalid, NotAllowed
from crowdqc.files.json_input import Unreadable, read_json

PURPOSE = "platform webhooks"
OLD = 300  # seconds after which a request is not taken any more
MOST_BYTES = 65_536


@dataclass(frozen=True)
class Event:
    """One event as it was signed."""

    id: str
    kind: str
    payload: dict[str, Any]
    at: dt.datetime


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature over timestamp and body, as in the header."""
    made = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(made).decode()


def read(secret: str, headers: Mapping[str, str], body: bytes) -> Event:
    """The event; NotAllowed where the signature or its time does not fit, Invalid otherwise."""
    stamp = headers.get("X-Prolific-Request-Timestamp", "")
    said = headers.get("X-Prolific-Request-Signature", "")
    if not hmac.compare_digest(sign(secret, stamp, body).encode(), said.encode()):
        raise NotAllowed(_("The signature does not fit."), code="signature")
    sent = _seconds(stamp)
    if sent is None or abs(time.time() - sent) > OLD:
        raise NotAllowed(_("The request is too old."), code="old")
    try:
        payload = read_json(body)
        kind = payload["event_type"]
    except (Unreadable, KeyError, TypeError):
        raise Invalid(_("The body is no event."), fields={"event_type": _("missing")}) from None
    event_id = headers.get("X-Event-ID", "") or hashlib.sha256(stamp.encode() + body).hexdigest()
    # When it happened, which orders events; never later than the signed time of sending.
    happened = min(_seconds(headers.get("X-Timestamp", "")) or sent, sent)
    at = dt.datetime.fromtimestamp(happened, dt.UTC)
    return Event(event_id[:120], str(kind)[:60], payload, at)


def _seconds(text: str) -> float | None:
    """A UNIX time in seconds or milliseconds."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not 0 < value < 1e14:
        return None
    return value / 1000 if value > 1e11 else value
