"""Signs of life of background processes, by the database's clock."""

from __future__ import annotations

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

WORKER = "worker"


def worker_name(role: str) -> str:
    """The sign of life of a worker that serves this queue."""
    return WORKER if role == "default" else f"{WORKER}-{role}"


def beat(*names: str) -> None:
    """Record signs of life now; one statement, safe from several processes at once."""
    from annotation.models import Heartbeat

    Heartbeat.objects.bulk_create(
        [Heartbeat(name=name, at=Now()) for name in names],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["at"],
    )


def age(name: str) -> float | None:
    """Seconds since the last sign of life, None if there was none."""
    from annotation.models import Heartbeat

    passed = ExpressionWrapper(Now() - F("at"), output_field=DurationField())
    row = Heartbeat.objects.filter(name=name).annotate(passed=passed).values_list("passed").first()
    return None if row is None else row[0].total_seconds()
