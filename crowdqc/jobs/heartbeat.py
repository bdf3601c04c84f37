"""Signs of life of background processes, by the database's clock."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

WORKER = "worker"


def worker_name(role: str) -> str:
    """The sign of life of a worker that serves this queue."""
    return WORKER if role == "default" else f"{WORKER}-{role}"


def _table() -> Any:
    """The table of signs of life; the ground knows no app, so it is asked for by name."""
    return apps.get_model("annotation", "Heartbeat")


def beat(*names: str) -> None:
    """Record signs of life now; one statement, safe from several processes at once."""
    table = _table()
    table.objects.bulk_create(
        [table(name=name, at=Now()) for name in names],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["at"],
    )


def age(name: str) -> float | None:
    """Seconds since the last sign of life, None if there was none."""
    passed = ExpressionWrapper(Now() - F("at"), output_field=DurationField())
    row = _table().objects.filter(name=name).annotate(passed=passed).values_list("passed").first()
    return None if row is None else row[0].total_seconds()
