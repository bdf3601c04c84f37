"""Job queues: upkeep and mail, runs, files, platforms, model runs, backups.

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
    """Return the broker's name of a queue, prefixed by the default queue's."""
    base = str(getattr(settings, "CELERY_TASK_DEFAULT_QUEUE", "celery"))
    return base if role == DEFAULT else f"{base}_{role}"


def queue_role(name: str) -> str | None:
    """Return our queue by the broker's name; None for others."""
    return next((role for role in ROLES if queue_name(role) == name), None)


def route_job(name: str, *_: Any, **__: Any) -> dict[str, str]:
    """Choose the queue of a job by ``CROWDQC_JOB_QUEUES``; Celery's router."""
    return {"queue": queue_name(settings.CROWDQC_JOB_QUEUES.get(name, DEFAULT))}


@before_task_publish.connect
def _add_sent_time(headers: dict[str, Any], **_: Any) -> None:
    """Add the time of sending, which Redis does not keep and ``/readyz`` needs."""
    headers[SENT_AT] = time.time()
