"""Record from which devices and networks workers take work, as keyed hashes.

Two accounts of one project with one hash are evidence for whoever reviews their work, never a
verdict: people share computers and networks.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, OuterRef, Subquery, Value
from django.utils import timezone

from annotation.models import ConsentText, Membership, User, WorkerOrigin
from crowdqc.database.compiled import run_statement
from crowdqc.limits import NOWHERE, client_network, device_number
from crowdqc.sealing.sealed import keyed_hash

PURPOSE = "origin of work"
DIGEST_BYTES = 16
ONE_DAY = Value(dt.timedelta(days=1), output_field=DurationField())
Kind = WorkerOrigin.Kind


# One statement: a claim is written every few seconds, and waits for it.
RECORD = """
WITH in_force AS (
    SELECT id, devices FROM annotation_consenttext WHERE project_id = %s
    ORDER BY number DESC LIMIT 1)
INSERT INTO annotation_workerorigin (worker_id, kind, digest, first_on, last_on)
SELECT %s, origin.kind, decode(origin.digest, 'hex'), %s::date, %s::date
FROM unnest(%s::text[], %s::text[]) AS origin (kind, digest), in_force
WHERE in_force.devices AND EXISTS (
    SELECT FROM annotation_consent
    WHERE membership_id = %s AND text_id = in_force.id AND withdrawn_at IS NULL)
ON CONFLICT (worker_id, kind, digest) DO UPDATE SET last_on = EXCLUDED.last_on
"""


def record_origin(*, by: User, worker: Membership, request: Any) -> None:
    """Record the device and network of a worker's own request.

    Nothing is recorded unless the worker agreed to a consent text that covers it.
    """
    if worker.user_id != by.pk:
        return
    network = client_network(request)
    places = {
        Kind.DEVICE: device_number(request),
        Kind.NETWORK: "" if network == NOWHERE else network,
    }
    project, today = worker.project_id, timezone.localdate().isoformat()
    digests = {str(kind): _digest(project, kind, place) for kind, place in places.items() if place}
    kinds, hashes = list(digests), [one.hex() for one in digests.values()]
    values = [project, worker.pk, today, today, kinds, hashes, worker.pk]
    run_statement(RECORD, values)


def _digest(project: int, kind: str, place: str) -> bytes:
    return keyed_hash(f"{project} {kind} {place}", PURPOSE)[:DIGEST_BYTES]


def delete_due_origins() -> int:
    """Delete origins older than the days of their project's consent text; returns how many."""
    texts = ConsentText.objects.filter(project=OuterRef("worker__project")).order_by("-number")
    until = ExpressionWrapper(
        F("last_on") + ExpressionWrapper(F("days") * ONE_DAY, output_field=DurationField()),
        output_field=WorkerOrigin._meta.get_field("last_on").__class__(),
    )
    rows = WorkerOrigin.objects.annotate(days=Subquery(texts.values("retention_days")[:1]))
    return rows.annotate(until=until).filter(until__lt=timezone.localdate()).delete()[0]
