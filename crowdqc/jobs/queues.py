"""The job queues: upkeep and mail, runs, files, other systems, runs that ask models, backups.

What takes long (a run, a file, a platform or model that drips) holds up its own
queue only. Each has worker processes of its own (``crowdqc.jobs.workers``).
"""

from __future__ import annotations

import time
from typing import Any

from celery.signals import before_task_publish
from django.conf import settings

DEFAULT, RUNS, FILES, PLATFORMS, MODELS = "default", "runs", "files", "platforms", "models"
BACKUPS = "backups"
ROLES = (DEFAULT, RUNS, FILES, PLATFORMS, MODELS, BACKUPS)
# The header of a message that says when it was sent, in seconds since 1970.
SENT_AT = "crowdqc_sent_at"


def queue_name(role: str) -> str:
    """What the broker calls a queue; names begin with that of the default queue."""
    base = str(getattr(settings, "CELERY_TASK_DEFAULT_QUEUE", "celery"))
    return base if role == DEFAULT else f"{base}_{role}"


def role_of(name: str) -> str | None:
    """Which of our queues the broker calls so; None for another."""
    return next((role for role in ROLES if queue_name(role) == name), None)


def route(name: str, *_: Any, **__: Any) -> dict[str, str]:
    """Celery's router: the queue of a job, as ``CROWDQC_JOB_QUEUES`` says."""
    return {"queue": queue_name(settings.CROWDQC_JOB_QUEUES.get(name, DEFAULT))}


@before_task_publish.connect
def _stamp(headers: dict[str, Any], **_: Any) -> None:
    """Redis keeps no time of sending, and ``/readyz`` asks for the age of what waits."""
    headers[SENT_AT] = time.time()
