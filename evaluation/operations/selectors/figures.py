"""Figures of the installation as they are now: each one cheap read, whatever the tables hold.

A figure that cannot be read is a ``Reading`` with the reason, and never 0.
"""

from __future__ import annotations

import datetime as dt
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Min, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import (
    AccountMail,
    Assignment,
    HookDelivery,
    Invitation,
    Notice,
    Payment,
    SecurityEvent,
)
from annotation.notifications.messages import MAX_TRIES, WAITS
from crowdqc.celery import app
from crowdqc.deployment.backup import records, recovery
from crowdqc.jobs import worker
from crowdqc.jobs.broker import QueueState, queue_states
from crowdqc.jobs.queues import ROLES
from crowdqc.web.health import connection_errors
from evaluation.models import EncodingShard, Endpoint, Run, RunState, Sample

logger = logging.getLogger(__name__)
T = TypeVar("T")
SECONDS = 5  # that one read of the database may take
DAY = dt.timedelta(days=1)
CERTIFICATE = "certificate"  # the sample that holds when it ends
ENCODED = dt.timedelta(minutes=5)  # the time over which an encoder's rate is taken
OTHER = gettext_noop("Other")
# What fills the database, by the tables that hold it; the rest is "Other".
STORED = {
    gettext_noop("Answers and event logs"): (
        "annotation_answer",
        "annotation_textvalue",
        "annotation_choicevalue",
        "annotation_spanvalue",
        "annotation_assignment",
        "annotation_event",
    ),
    gettext_noop("Images and audio"): ("annotation_media", "annotation_recording"),
    gettext_noop("Uploads and result files"): ("annotation_export", "annotation_import"),
    gettext_noop("Vectors of texts"): ("evaluation_embedding", "evaluation_encoding"),
    gettext_noop("Calls to models"): ("evaluation_llm", "evaluation_calluse"),
}


@dataclass(frozen=True)
class Reading(Generic[T]):
    """A figure, or the reason why it is not known."""

    value: T | None
    problem: str = ""


def read(name: str, function: Callable[[], T], *, database: bool = True) -> Reading[T]:
    """Call ``function`` and return its result or its error, within a time limit for queries."""
    try:
        if not database:
            return Reading(function())
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = '{SECONDS}s'")
            return Reading(function())
    except connection_errors() as error:
        # Its text may hold an address; the log is for whoever runs the installation.
        logger.warning("%s is not known: %s", name, type(error).__name__)
        said = (
            _("The database does not answer.") if database else _("The job queue does not answer.")
        )
        return Reading(None, said)


def queues() -> dict[str, QueueState]:
    """Return the waiting and running jobs of each queue."""
    return queue_states(app)


def beats() -> dict[str, float | None]:
    """Return the seconds since each queue's worker was last alive; None if never."""
    ages = worker.heartbeat_ages(map(worker.worker_name, ROLES))
    return {role: ages.get(worker.worker_name(role)) for role in ROLES}


def database_bytes() -> int:
    """The size of the whole database on disk."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def disk() -> tuple[int, int] | None:
    """Return used and total bytes of the database's disk; None if it is another machine."""
    host = str(connection.settings_dict.get("HOST") or "")
    if host and not host.startswith("/") and host not in {"localhost", "127.0.0.1", "::1"}:
        return None
    place = settings.HOME if settings.HOME.exists() else settings.BASE_DIR
    found = shutil.disk_usage(place)
    return found.total - found.free, found.total


def stored() -> list[tuple[str, int]]:
    """List what fills the database as (words, bytes), indexes included."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        sizes = dict(cursor.fetchall())
    found = dict.fromkeys((*STORED, OTHER), 0)
    for table, size in sizes.items():
        found[next((what for what, own in STORED.items() if table.startswith(own)), OTHER)] += size
    return [(_(what), size) for what, size in found.items()]


def runs() -> dict[str, int]:
    """Count the runs in each state."""
    found = dict(Run.objects.order_by().values_list("state").annotate(n=Count("pk")))
    return {state: found.get(state, 0) for state in RunState.values}


def leases() -> dict[str, int]:
    """Assignments that workers hold, and those of them whose time is over."""
    found = Assignment.objects.filter(state="leased")
    return found.aggregate(
        active=Count("pk"), overdue=Count("pk", Q(expires_at__lt=timezone.now()))
    )


def payments() -> dict[str, int]:
    """Count the open payments by state; "unclear" ones need a person."""
    found = dict(
        Payment.objects.exclude(state=Payment.State.DONE)
        .order_by()
        .values_list("state")
        .annotate(n=Count("pk"))
    )
    states = [state for state in Payment.State.values if state != Payment.State.DONE]
    return {state: found.get(state, 0) for state in states}


def llm_spend() -> dict[str, Decimal]:
    """Return the cost of calls to models so far, by currency."""
    rows = Endpoint.objects.order_by().values_list("project__currency").annotate(s=Sum("spent"))
    return dict(rows)


def encoder_rate() -> float:
    """Texts a second that workers encoded in the past minutes."""
    since = timezone.now() - ENCODED
    texts = EncodingShard.objects.filter(closed_at__gt=since).aggregate(n=Sum("texts"))["n"] or 0
    return float(texts) / ENCODED.total_seconds()


def mail() -> dict[str, Any]:
    """Mail that is ``waiting``, how late the ``oldest`` is, and what was given up in the past day.

    One is late since it was tried first, or since it was due where nothing was tried: the time of
    the next try moves on with each failure.
    """
    now = timezone.now()
    since = Coalesce("mail_tried_at", "mail_at")
    due = dict(
        n=Count("pk"),
        oldest=Min(
            since, filter=Q(mail_tried_at=None, mail_at__lte=now) | Q(mail_tried_at__isnull=False)
        ),
    )
    parts = [
        Notice.objects.filter(mail_at__isnull=False).aggregate(**due),
        Invitation.objects.filter(mail_at__isnull=False).aggregate(**due),
        AccountMail.objects.filter(given_up_at=None).aggregate(**due),
    ]
    oldest = [part["oldest"] for part in parts if part["oldest"]]
    given_up = Q(mail_at=None, mailed_at=None, mail_attempts__gte=MAX_TRIES)
    given_up &= Q(mail_tried_at__gt=now - DAY - sum(WAITS, dt.timedelta()))
    kinds = {
        "notice": Notice.objects.filter(given_up).count(),
        "invitation": Invitation.objects.filter(given_up).count(),
        "account": AccountMail.objects.filter(given_up_at__gt=now - DAY).count(),
    }
    return {
        "waiting": sum(part["n"] for part in parts),
        "oldest": (now - min(oldest)).total_seconds() if oldest else None,
        "given_up": kinds,
        "failed": sum(kinds.values()),
    }


def hooks() -> dict[str, Any]:
    """Deliveries to other systems: those that wait and since when, and those given up in a day."""
    states = HookDelivery.State
    waiting = HookDelivery.objects.filter(state=states.WAITING).aggregate(
        n=Count("pk"), oldest=Min("created_at")
    )
    now = timezone.now()
    failed = HookDelivery.objects.filter(state=states.FAILED, created_at__gt=now - DAY)
    oldest = waiting["oldest"]
    return {
        "waiting": waiting["n"],
        "oldest": (now - oldest).total_seconds() if oldest else None,
        "failed": failed.count(),
    }


def sign_ins() -> dict[str, int]:
    """Count the events of the security log in the past day, by kind."""
    found = (
        SecurityEvent.objects.filter(at__gt=timezone.now() - DAY)
        .order_by()
        .values_list("kind")
        .annotate(n=Sum("count"))
    )
    return dict(found)


def certificate_end() -> dt.datetime | None:
    """Return when the site's certificate ends, as a job last read it."""
    row = Sample.objects.filter(name=CERTIFICATE).order_by("-at").first()
    return None if row is None else dt.datetime.fromtimestamp(row.value, dt.UTC)


def last_backup() -> records.BackupState:
    """Return when the last backup was made, and failures since."""
    return records.backup_state()


def recovery_state() -> recovery.RecoveryState | None:
    """Return how far the archive of the database's log reaches; None where there is none."""
    return recovery.recovery_state() if recovery.is_configured() else None
