"""Writes about ways into a task: the key sets that signed entries are checked by.

Whoever comes never waits for the platform: a job reads the keys, and the page asks again until
they are there.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import KeySet, Recruitment
from annotation.recruitment import selectors
from annotation.recruitment.platforms import entry_params
from annotation.recruitment.platforms.entry_params import EntryParams, Refused
from crowdqc import outbound, queue
from crowdqc.files.json_input import Unreadable, read_json

MOST_BYTES = 200_000
# Between two readings of one address: a minute, twice as long after each failure, ten at most.
PAUSE, LONGEST_PAUSE = 60.0, 600.0
REFRESH = dt.timedelta(hours=6)
JOB_LOST = dt.timedelta(seconds=90)


class KeysPending(Refused):
    """The platform's keys are being read: the same entry may open in a few seconds."""


def check_signature(*, recruitment: Recruitment, coming: EntryParams) -> None:
    """Raise Refused unless the platform signed this entry; KeysComing while its keys are read."""
    kid = entry_params.kid_of(coming.token)
    row = selectors.key_set_of(recruitment.jwks_url)
    fresh = selectors.is_fresh(row)
    key = entry_params.find_key(row.keys, kid) if row is not None and fresh else None
    if key is not None:
        entry_params.check(recruitment, coming, key)
        return
    # An unknown key may be a new one of the platform.
    if request_key_set(url=recruitment.jwks_url) or _is_being_read(recruitment.jwks_url):
        raise KeysPending(
            _("We are loading the platform’s keys, to check your link."),
            _("This page reloads automatically in a few seconds."),
            code="keys-coming",
            status=503,
        )
    if not fresh:
        raise Refused(
            _("The platform’s keys cannot be read at the moment."),
            _("Wait a minute, then open the link again."),
            code="jwks",
            status=503,
        )
    raise entry_params.unsigned()


def _is_being_read(url: str) -> bool:
    row = selectors.key_set_of(url)
    if row is None or row.asked_at is None:
        return False
    waits = row.tried_at is None or row.tried_at < row.asked_at
    return waits and timezone.now() - row.asked_at < JOB_LOST


@transaction.atomic
def request_key_set(*, url: str) -> bool:
    """Queue a reload of the keys at ``url`` unless one was queued recently; return whether."""
    KeySet.objects.get_or_create(url=url)
    row = KeySet.objects.select_for_update().get(url=url)
    now = timezone.now()
    pause = min(LONGEST_PAUSE, PAUSE * 2 ** min(row.failures, 10))
    if row.asked_at is not None and (now - row.asked_at).total_seconds() < pause:
        return False
    row.asked_at = now
    row.save(update_fields=["asked_at"])
    queue.enqueue("annotation.jobs.fetch_key_set", url)
    return True


def fetch_key_set(*, url: str) -> bool:
    """Read the keys and keep them; what was known stays where that fails. Whether it worked."""
    keys, problem = _read(url)
    rows, now = KeySet.objects.filter(url=url), timezone.now()
    if keys is None:
        rows.update(tried_at=now, failures=F("failures") + 1, problem=problem[:200])
        return False
    rows.update(tried_at=now, fetched_at=now, failures=0, problem="", keys=keys)
    return True


def _read(url: str) -> tuple[list[dict[str, Any]] | None, str]:
    """The keys, or the reason why there are none."""
    try:
        with outbound.Client(
            seconds=settings.CROWDQC_KEYS_TIMEOUT, most_bytes=MOST_BYTES
        ) as client:
            answer = client.send("GET", url)
        if answer.status != 200:
            return None, _("HTTP %(status)s.") % {"status": answer.status}
        found = read_json(answer.body)["keys"]
    except outbound.OutboundError as error:
        return None, str(error)
    except (Unreadable, KeyError, TypeError):
        found = None
    if not isinstance(found, list):
        return None, _("The answer is not a key set.")
    return [key for key in found if isinstance(key, dict)], ""


def refresh_key_sets() -> int:
    """Have the keys of active ways in read anew in time; forget the others. How many are read."""
    addresses = set(selectors.key_addresses())
    KeySet.objects.exclude(url__in=addresses).delete()
    old = timezone.now() - REFRESH
    recent = set(KeySet.objects.filter(fetched_at__gt=old).values_list("url", flat=True))
    return sum(request_key_set(url=url) for url in sorted(addresses - recent))
