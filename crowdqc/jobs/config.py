"""Job queue configuration, read on first use.

A module and not defaults added to the application, as Celery adds those only after it has shown
a half-filled configuration to other threads. A setting ``CELERY_X`` of Django stands for ``x``.
"""

from __future__ import annotations

from django.conf import settings
from kombu import Exchange, Queue

from crowdqc.jobs.broker import broker_settings
from crowdqc.jobs.queues import ROLES, queue_name

accept_content = ["json"]
task_serializer = "json"
result_serializer = "json"
# Results are rows of the application; the queue keeps none.
task_ignore_result = True
task_acks_late = True
task_reject_on_worker_lost = True
# Whoever sends a message does not wait long for it (crowdqc.queue); periodic jobs take up the rest.
task_publish_retry_policy = {"max_retries": 1, "interval_start": 0.1}
broker_connection_timeout = 2
worker_prefetch_multiplier = 1
# Its message goes to another worker then, so the job must not go on here as well.
worker_cancel_long_running_tasks_on_connection_loss = True
worker_max_tasks_per_child = 200
# No job works for ever: it is asked to end (SoftTimeLimitExceeded), and then made to. These hold
# for short jobs; those that may take long say so where they are defined.
task_soft_time_limit = 300
task_time_limit = 360
# A worker without -Q serves all queues; crowdqc.jobs.workers gives each one of its own.
task_queues = [Queue(name, Exchange(name), name) for name in map(queue_name, ROLES)]
task_routes = ("crowdqc.jobs.queues.route_job",)
worker_enable_remote_control = False
worker_send_task_events = False
worker_timer = "crowdqc.jobs.worker:Timer"
worker_pool = "crowdqc.jobs.pool:TaskPool"
worker_autoscaler = "crowdqc.jobs.pool:Autoscaler"
# A process that holds more kilobytes after a job (a large table) is replaced. An encoder fits in:
# a run's shards would else load it anew each; what waits without work ends with all it holds.
worker_max_memory_per_child = 2_000_000
worker_hijack_root_logger = False
worker_redirect_stdouts = False
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_pool_limit = 4
# The schedule is short intervals only: nothing worth a file that a crash could corrupt.
beat_scheduler = "celery.beat:Scheduler"
timezone = "UTC"

globals().update(broker_settings(settings.BROKER_URL))
globals().update(
    {
        name.removeprefix("CELERY_").lower(): getattr(settings, name)
        for name in dir(settings)
        if name.startswith("CELERY_")
    }
)
# A periodic job that nobody took before its next turn is dropped: they do not pile up.
beat_schedule = {
    name: {"options": {"expires": entry["schedule"]}, **entry}
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items()
}
