"""The job queue's application: jobs of both apps, delivered at least once.

A message is acknowledged after its job has ended. Until then the worker keeps it invisible by
renewing it (see ``crowdqc.jobs.worker``), so the job of a killed worker is delivered again within
``VISIBILITY_SECONDS`` while one that merely takes long is not. A second delivery can still happen
(a worker cut off from its broker for longer), so every job locks its row and returns if done.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")

app = Celery("crowdqc", task_cls="crowdqc.jobs.task:Task")
app.config_from_object("crowdqc.jobs.config")
app.autodiscover_tasks(["annotation", "evaluation"], related_name="jobs")
app.set_default()

# Connects signals: the time of sending; heartbeat, renewal of deliveries, end of pool processes.
from crowdqc.jobs import alive, queues, worker  # noqa: E402, F401
