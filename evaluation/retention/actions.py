"""Set for how long rows are kept, and delete those whose time is over.

Each transaction deletes a bounded number of rows and counts them, so that a job that is killed has
lost nothing and goes on where it was. The audit log gets one entry a kind and day.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.installation.actions import lock_state, require_owner, save_state
from annotation.models import AuditEntry, User
from annotation.records.actions.audit import record
from crowdqc import numbers
from crowdqc.errors import Invalid
from evaluation.models import DeletedRows, DiscardedFailure
from evaluation.retention.kinds import MOST, NOUNS, SETTABLE, Kind

AUDIT = AuditEntry._meta.db_table
SECONDS = 1_800.0  # of one turn of the job: the next one goes on
COUNTS_KEPT = dt.timedelta(days=400)
NAMES = {kind.name: kind for kind in SETTABLE}


@transaction.atomic
def set_retention(*, by: User | None, name: str, keeps: int | None) -> Kind:
    """Keep a kind of rows for so many days or years, or (None) until deleted."""
    require_owner(by)
    kind = NAMES.get(name)
    if kind is None:
        raise Invalid(
            _("There is no such kind of data."), fields={"name": ", ".join(sorted(NAMES))}
        )
    if keeps is not None and not kind.least <= keeps <= MOST[kind.unit]:
        raise Invalid(
            _("The retention is out of range."),
            fields={
                "keeps": _("%(least)s to %(most)s %(unit)s, or nothing.")
                % {
                    "least": kind.least,
                    "most": numbers.count(MOST[kind.unit]),
                    "unit": _(NOUNS[kind.unit][1]),
                }
            },
        )
    row = lock_state()
    before = row.retention.get(name, kind.usual)
    if keeps == kind.usual:
        row.retention.pop(name, None)
    else:
        row.retention[name] = keeps
    save_state(row)
    record(
        by=by, project=None, action="installation.retention", on=row,
        kind=name, before=before, keeps=keeps,
    )  # fmt: skip
    return kind


def delete_expired(now: dt.datetime | None = None, seconds: float = SECONDS) -> int:
    """Delete rows whose time is over, each kind once a day; return how many.

    Kinds follow one another as they set rows free: of a run that is gone its snapshot and calls.
    """
    now = now or timezone.now()
    until = time.monotonic() + seconds
    today = timezone.localdate(now)
    _record_days(today)
    return sum(_delete_kind(kind, now, today, until) for kind in SETTABLE)


def _delete_kind(kind: Kind, now: dt.datetime, today: dt.date, until: float) -> int:
    """Walk over the kind's rows until nothing is left to delete, or the time is over."""
    counts, _made = DeletedRows.objects.get_or_create(kind=kind.name, day=today)
    if counts.finished_at is not None:
        return 0
    total = before = 0
    last: int | None = 0
    while time.monotonic() < until:
        count, last = _delete_some(kind, now, counts, last or 0)
        total += count
        if last is None and total == before:  # a whole walk met nothing
            DeletedRows.objects.filter(pk=counts.pk).update(finished_at=timezone.now())
            break
        if last is None:
            before = total  # a run may go once those that follow it are gone
    return total


@transaction.atomic
def _delete_some(
    kind: Kind, now: dt.datetime, counts: DeletedRows, after: int
) -> tuple[int, int | None]:
    """Delete the next rows beyond a number; return how many, and the last number met or None."""
    rows = kind.expired(now)
    ids = list(
        rows.filter(pk__gt=after)
        .order_by("pk")
        .select_for_update(skip_locked=True)
        .values_list("pk", flat=True)[: kind.at_once]
    )
    if not ids:
        return 0, None
    # Locked rows are looked at once more: somebody may have built on one just before.
    going = list(rows.filter(pk__in=ids).values_list("pk", flat=True))
    with _audit_log_opened(kind):
        kind.model._default_manager.filter(pk__in=going).only("pk").delete()
    if kind.failures:
        DiscardedFailure.objects.filter(kind=kind.failures, row__in=going).delete()
    DeletedRows.objects.filter(pk=counts.pk).update(rows=F("rows") + len(going))
    return len(going), ids[-1]


@contextmanager
def _audit_log_opened(kind: Kind) -> Iterator[None]:
    """Let this transaction delete old entries of the audit log, which nobody else may.

    The role of the application has no privilege to delete them, except within this transaction;
    and the trigger lets go what is older than the least time, where this switch is on.
    """
    if kind.model is not AuditEntry:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT DELETE ON {AUDIT} TO CURRENT_USER")
        cursor.execute("SELECT set_config('crowdqc.retention', 'on', true)")
        yield
        cursor.execute("SELECT set_config('crowdqc.retention', 'off', true)")
        cursor.execute(f"REVOKE DELETE ON {AUDIT} FROM CURRENT_USER")


def _record_days(today: dt.date) -> None:
    """Give the audit log its entries of the days that are over, and forget old counts."""
    over = DeletedRows.objects.filter(day__lt=today, recorded_at=None)
    for pk in over.order_by("pk").values_list("pk", flat=True):
        _record_day(pk)
    DeletedRows.objects.filter(day__lt=today - COUNTS_KEPT, recorded_at__isnull=False).delete()


@transaction.atomic
def _record_day(pk: int) -> None:
    row = DeletedRows.objects.select_for_update().filter(pk=pk, recorded_at=None).first()
    if row is None:
        return
    row.recorded_at = timezone.now()
    row.save(update_fields=["recorded_at"])
    if row.rows:
        record(
            by=None, project=None, action="retention.delete", on=row,
            kind=row.kind, rows=row.rows, day=row.day.isoformat(),
        )  # fmt: skip
