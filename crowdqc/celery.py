"""The job queue's application: jobs of both apps, delivered at least once.

A message is acknowledged after its job has ended. Until then the worker keeps it invisible by
renewing it (see ``crowdqc.worker``), so the job of a killed worker is delivered again within
``VISIBILITY_SECONDS`` while one that merely takes long is not. A second delivery can still happen
(a worker cut off from its broker for longer), so every job locks its row and returns if done.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

from crowdqc.broker import broker_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")


def _configuration() -> dict[str, Any]:
    from django.conf import settings

    chosen: dict[str, Any] = {
        **broker_settings(settings.BROKER_URL),
        "accept_content": ["json"],
        "task_serializer": "json",
        "result_serializer": "json",
        # Results are rows of the application; the queue keeps none.
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "worker_prefetch_multiplier": 1,
        # Its message goes to another worker then, so the job must not go on here as well.
        "worker_cancel_long_running_tasks_on_connection_loss": True,
        "worker_max_tasks_per_child": 200,
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
        "worker_timer": "crowdqc.worker:Timer",
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_pool_limit": 4,
        "task_publish_retry_policy": {"max_retries": 3, "interval_start": 0.1},
        # The schedule is short intervals only: nothing worth a file that a crash could corrupt.
        "beat_scheduler": "celery.beat:Scheduler",
        "timezone": "UTC",
    }
    # Celery puts these before the settings' own, so what is set there is left out here.
    return {k: v for k, v in chosen.items() if not hasattr(settings, f"CELERY_{k.upper()}")}


app = Celery("crowdqc")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.add_defaults(_configuration)
app.autodiscover_tasks(["annotation", "evaluation"], related_name="jobs")
app.set_default()

# Connects the worker's signals: heartbeat, renewal of deliveries, end of pool processes.
from crowdqc import worker as worker  # noqa: E402, PLC0414
