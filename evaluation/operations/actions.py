"""Actions of the operations page: periodic samples, and retried or dismissed failures."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.formats.actions import export_files
from annotation.models import ExportFile, HookDelivery, LedgerEntry, User
from annotation.models.payouts import DUE
from annotation.notifications.actions import webhooks
from annotation.records.actions.audit import record
from crowdqc import queue
from crowdqc.errors import Conflict, Missing
from crowdqc.outbound.certificate import read_certificate_end
from evaluation.models import DiscardedFailure, JobFailure, Run, RunState, Sample
from evaluation.operations.selectors import figures, samples
from evaluation.operations.selectors.figures import read
from evaluation.retention.kinds import SAMPLE_DAYS
from evaluation.runs import engine

logger = logging.getLogger(__name__)
FINE = dt.timedelta(hours=25)  # for so long every sample stays, then one an hour
KEPT = dt.timedelta(days=SAMPLE_DAYS)
# Jobs whose rows say themselves that they failed.
OWN_ROWS = {
    "evaluation.jobs.run_job",
    "annotation.jobs.write_export",
    "annotation.jobs.process_upload",
}


def take_samples() -> int:
    """Write the figures of this moment, and drop those that are too old; how many were written."""
    now: dict[str, float] = {}
    states = read("the queues", figures.queues, database=False).value or {}
    for role, state in states.items():
        now[f"waiting:{role}"] = float(state.waiting)
        now[f"oldest:{role}"] = state.oldest or 0.0
    now["database_bytes"] = float(figures.database_bytes())
    now |= {f"owed:{currency}": float(amount) for currency, amount in _owed().items()}
    at = samples.slot(timezone.now())
    Sample.objects.bulk_create(
        [Sample(name=name, at=at, value=value) for name, value in now.items()],
        update_conflicts=True,
        unique_fields=["name", "at"],
        update_fields=["value"],
    )
    ago = timezone.now()
    old = Q(at__lt=ago - KEPT) | (Q(at__lt=ago - FINE) & ~Q(at__minute=0))
    Sample.objects.filter(old).delete()
    return len(now)


def read_certificate() -> bool:
    """Write when the site's certificate ends; whether there is one and it could be read."""
    try:
        ends = read_certificate_end(settings.CROWDQC_BASE_URL)
    except OSError as error:
        logger.warning("the certificate is not known: %s", type(error).__name__)
        return False
    if ends is not None:
        at = samples.slot(timezone.now())
        Sample.objects.update_or_create(
            name=figures.CERTIFICATE, at=at, defaults={"value": ends.timestamp()}
        )
    return ends is not None


def _owed() -> dict[str, Any]:
    """What the ledger owes to workers, by currency."""
    return dict(LedgerEntry.objects.order_by().values_list("currency").annotate(due=DUE))


def add_to_samples(amounts: Mapping[str, float]) -> None:
    """Add to counts of this moment; safe from several processes at once."""
    at = samples.slot(timezone.now())
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO evaluation_sample (name, at, value) VALUES (%s, %s, %s) "
            "ON CONFLICT (name, at) DO UPDATE SET value = evaluation_sample.value + excluded.value",
            [(name, at, value) for name, value in amounts.items()],
        )


@transaction.atomic
def note_failure(*, job: str, error: str, queue_role: str, args: list[Any]) -> None:
    """Count a job that ended with an error, and list it unless its own row shows the error."""
    add_to_samples({f"failed:{queue_role}": 1.0})
    if job in OWN_ROWS:
        return
    now = timezone.now()
    row, new = JobFailure.objects.get_or_create(
        job=job,
        error=error[:160],
        defaults={"queue": queue_role, "args": args, "first_at": now, "last_at": now},
    )
    if not new:
        JobFailure.objects.filter(pk=row.pk).update(count=F("count") + 1, last_at=now, args=args)


@transaction.atomic
def request_backup(*, by: User) -> None:
    """Have a backup made now. Raises Conflict where the settings name no place for backups."""
    if not settings.CROWDQC_BACKUP_FOLDER:
        raise Conflict(_("Set CROWDQC_BACKUP_FOLDER first."))
    record(by=by, project=None, action="backup.request", on=by)
    queue.enqueue("annotation.jobs.back_up_now")


# -- what a person does on the page ----------------------------------------------------------------


def _retry_run(by: User, row: int) -> None:
    run = Run.objects.select_related("task__project", "source").filter(pk=row).first()
    if run is None or run.state != RunState.FAILED:
        raise Conflict(_("This run is not failed any more."))
    engine.start(
        by=by,
        task=run.task,
        method=run.method,
        params=run.params,
        seed=run.seed,
        source=run.source,
        lane=run.lane,
    )


def _retry_file(by: User, row: int) -> None:
    file = ExportFile.objects.filter(pk=row).first()
    if file is None:
        raise Missing(_("This file is gone."))
    export_files.retry_export(by=by, file=file)


def _retry_delivery(by: User, row: int) -> None:
    found = HookDelivery.objects.select_related("hook__project").filter(pk=row).first()
    if found is None or found.state != HookDelivery.State.FAILED:
        raise Conflict(_("This delivery is not failed any more."))
    webhooks.redeliver(by=by, delivery=found)


def _retry_job(by: User, row: int) -> None:
    found = JobFailure.objects.select_for_update().filter(pk=row).first()
    if found is None:
        raise Conflict(_("This job is not listed any more."))
    record(by=by, project=None, action="failure.retry", on=found, job=found.job)
    queue.enqueue(found.job, *found.args)
    found.delete()


RETRIES: dict[str, Callable[[User, int], None]] = {
    "run": _retry_run,
    "file": _retry_file,
    "webhook": _retry_delivery,
    "job": _retry_job,
}
ROWS: dict[str, Any] = {"run": Run, "file": ExportFile, "webhook": HookDelivery, "job": JobFailure}


@transaction.atomic
def retry_failure(*, by: User, kind: str, row: int) -> None:
    """Retry a failed job. Raises Missing, or Conflict if it has changed since."""
    if kind not in RETRIES:
        raise Missing(_("There is no such failure."))
    RETRIES[kind](by, row)


@transaction.atomic
def discard_failure(*, by: User, kind: str, row: int) -> None:
    """Take a failure off the list; its own row, in its project, stays as it is."""
    found = ROWS[kind].objects.filter(pk=row).first() if kind in ROWS else None
    if found is None:
        raise Missing(_("There is no such failure."))
    record(by=by, project=None, action="failure.discard", on=found, kind=kind)
    if kind == "job":
        found.delete()
    else:
        DiscardedFailure.objects.get_or_create(kind=kind, row=row)
