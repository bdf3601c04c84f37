"""Parts of a run's texts as rows that workers claim for a while, encode and close.

A worker that dies keeps its shard until the lease runs out; then another may claim it. A shard's
texts, their order and so its batches are fixed when it is planned, so the vectors do not depend on
who encodes it.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone

from crowdqc.errors import Conflict
from crowdqc.jobs.heartbeat import run_heartbeat
from crowdqc.numbers import plural
from evaluation.models import EncodingShard, Run

logger = logging.getLogger(__name__)
LEASE = dt.timedelta(seconds=60)
RENEW_SECONDS = 15.0
MOST_ATTEMPTS = 3
OPEN = Q(closed_at__isnull=True)


@dataclass(frozen=True)
class Tally:
    """How far the shards of a run are: texts in all and done, open and claimed shards."""

    texts: int
    done: int
    open: int
    leased: int
    workers: int
    seconds: float

    @property
    def rate(self) -> float:
        """Texts encoded per second since the first was claimed; 0 before one is done."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def words(self) -> str:
        """Who encodes, and how fast."""
        rate = f"{self.rate:,.0f}" if self.rate >= 10 else f"{self.rate:.1f}"
        return f"{plural(self.workers, 'worker')}, {rate} texts/s"


def plan(run: Run, identity: str, answer_ids: Sequence[int]) -> None:
    """Open shards for these texts (one answer of each, by length); part of a transaction."""
    size = settings.CROWDQC_SHARD_TEXTS
    last = EncodingShard.objects.filter(run=run).aggregate(last=Max("number"))["last"] or 0
    parts = [answer_ids[start : start + size] for start in range(0, len(answer_ids), size)]
    EncodingShard.objects.bulk_create(
        EncodingShard(
            run=run, number=number, encoder=identity, answer_ids=list(part), texts=len(part)
        )
        for number, part in enumerate(parts, start=last + 1)
    )


def claim(run_id: int, identity: str) -> EncodingShard | None:
    """Take an open shard of the run for this process, the longest texts first; None without one.

    Only shards of this encoder are taken, since vectors of two would not compare. Raises Conflict
    for a shard at which workers died MOST_ATTEMPTS times.
    """
    with transaction.atomic():
        now = timezone.now()
        free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
        rows = EncodingShard.objects.filter(OPEN, free, run=run_id, encoder=identity)
        shard = rows.select_for_update(skip_locked=True).order_by("-number").first()
        if shard is None:
            return None
        if shard.attempts >= MOST_ATTEMPTS:
            raise Conflict(
                f"No heartbeat for {LEASE.seconds} seconds at part {shard.number} of the texts, in "
                f"each of {shard.attempts} attempts: the worker was killed, or its machine stood "
                "still."
            )
        shard.lease_until, shard.attempts = now + LEASE, shard.attempts + 1
        shard.worker = f"{platform.node()}:{os.getpid()}"[:120]
        shard.began_at = shard.began_at or now
        shard.save(update_fields=["lease_until", "attempts", "worker", "began_at"])
        return shard


@contextmanager
def renewing(shard: EncodingShard) -> Iterator[None]:
    """Renew the shard's lease and the run's heartbeat until the block ends."""

    def renew() -> None:
        now = timezone.now()
        if _own(shard).update(lease_until=now + LEASE):
            Run.objects.filter(pk=shard.run_id).update(heartbeat_at=now)

    with run_heartbeat(renew, RENEW_SECONDS):
        yield


def close(shard: EncodingShard) -> bool:
    """Close a shard whose vectors are stored; False where another worker has taken it over."""
    closed = _own(shard).update(closed_at=timezone.now(), lease_until=None, answer_ids=[])
    return bool(closed)


def release_expired(run_id: int) -> int:
    """Open the shards again whose worker gave no sign of life; returns how many."""
    rows = EncodingShard.objects.filter(OPEN, run=run_id, lease_until__lt=timezone.now())
    return rows.update(lease_until=None)


def tally(run_id: int) -> Tally | None:
    """Return the progress of a run's shards; None if it has none."""
    leased = OPEN & Q(lease_until__gte=timezone.now())
    found = EncodingShard.objects.filter(run=run_id).aggregate(
        all=Sum("texts"),
        done=Sum("texts", filter=~OPEN, default=0),
        open=Count("pk", filter=OPEN),
        leased=Count("pk", filter=leased),
        workers=Count("worker", filter=~Q(worker=""), distinct=True),
        began=Min("began_at"),
        ended=Max("closed_at"),
    )
    if found["all"] is None:
        return None
    until = timezone.now() if found["open"] else found["ended"]
    seconds = (until - found["began"]).total_seconds() if found["began"] else 0.0
    return Tally(
        found["all"], found["done"], found["open"], found["leased"], found["workers"], seconds
    )


def _own(shard: EncodingShard) -> QuerySet[EncodingShard]:
    """The shard, while this is the attempt that has it."""
    return EncodingShard.objects.filter(OPEN, pk=shard.pk, attempts=shard.attempts)
