"""Jobs, runs, models, payments, limits and calls to other systems."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

from crowdqc.jobs import schedule
from crowdqc.settings.environment import CROWDQC_DEMO, PRODUCTION, env

# Folders (and all below them) from which runs may take a sentence model or a cross-encoder, by the
# name of its folder or by its path.
CROWDQC_ENCODER_DIRS = env.list("CROWDQC_ENCODER_DIRS", default=[])
# Where sentence models compute: auto (an accelerator if there is one), cuda, cuda:1, mps or cpu.
CROWDQC_DEVICE = env.str("CROWDQC_DEVICE", default="auto")
# Texts that one worker encodes at a time; what a killed worker loses at most.
CROWDQC_SHARD_TEXTS = env.int("CROWDQC_SHARD_TEXTS", default=1024)
# Days for which vectors stay that no run has read; 0: for ever.
CROWDQC_VECTOR_DAYS = env.int("CROWDQC_VECTOR_DAYS", default=90)
# Whether endpoints of language models may lie in this machine's own or a private network.
CROWDQC_LOCAL_ENDPOINTS = env.bool("CROWDQC_LOCAL_ENDPOINTS", default=not PRODUCTION)
# Variables that may hold an endpoint's key: NAME, NAME@host, or *_API_KEY for all that end so.
CROWDQC_KEY_VARIABLES = env.list(
    "CROWDQC_KEY_VARIABLES", default=[] if PRODUCTION else ["*_API_KEY"]
)

# Seconds of paying through a platform: how long one worker has a payment for itself and waits for
# an answer, when it looks again, after how long without a trace a bonus counts as not paid (far
# above what the platform needs, which Prolific calls minutes), and when a person is asked.
CROWDQC_PAYMENT_LEASE = env.float("CROWDQC_PAYMENT_LEASE", default=120.0)
CROWDQC_PAYMENT_TIMEOUT = env.float("CROWDQC_PAYMENT_TIMEOUT", default=20.0)
CROWDQC_PAYMENT_CHECK = env.float("CROWDQC_PAYMENT_CHECK", default=60.0)
CROWDQC_PAYMENT_SETTLE = env.float("CROWDQC_PAYMENT_SETTLE", default=7200.0)
CROWDQC_PAYMENT_GIVE_UP = env.float("CROWDQC_PAYMENT_GIVE_UP", default=86400.0)

# Calls to other systems: the seconds that one may take in all (payments: above; models: each
# endpoint says), and how long a job may wait in its queue before /readyz says that it is stuck.
CROWDQC_KEYS_TIMEOUT = env.float("CROWDQC_KEYS_TIMEOUT", default=5.0)
CROWDQC_WEBHOOK_TIMEOUT = env.float("CROWDQC_WEBHOOK_TIMEOUT", default=15.0)
CROWDQC_PROBE_TIMEOUT = env.float("CROWDQC_PROBE_TIMEOUT", default=120.0)  # all its questions
CROWDQC_QUEUE_AGE = env.float("CROWDQC_QUEUE_AGE", default=600.0)
# Seconds after which a run is stopped: one that computes, and one that asks language models.
CROWDQC_RUN_LIMIT = env.int("CROWDQC_RUN_LIMIT", default=6 * 3600)
CROWDQC_MODEL_RUN_LIMIT = env.int("CROWDQC_MODEL_RUN_LIMIT", default=24 * 3600)
# Megabytes that a process which works on jobs may hold: a run that would need more is refused, or
# fails. -1: 40 % of the machine's or container's memory, and at least 2 GB; 0: no limit.
CROWDQC_JOB_MEMORY = env.int("CROWDQC_JOB_MEMORY", default=-1)
# How much a person, a project and the installation may have, where it is not the default
# (annotation/accounts/quotas.py): projects=200,megabytes=500000.
CROWDQC_QUOTAS = env.dict("CROWDQC_QUOTAS", default={})
if CROWDQC_DEMO:  # the accounts are shared
    CROWDQC_QUOTAS = {"tasks": "30", "megabytes_of_project": "20", "megabytes": "500"} | (
        CROWDQC_QUOTAS
    )
for _name, _most in CROWDQC_QUOTAS.items():
    if not _most.isdecimal():
        raise ImproperlyConfigured(
            f"CROWDQC_QUOTAS: {_name} is {_most!r}; it must be a whole number from 0."
        )
# How often an hour a worker may take a task again that they returned.
CROWDQC_RETURNS_AN_HOUR = env.int("CROWDQC_RETURNS_AN_HOUR", default=5)
CROWDQC_JOB_QUEUES = schedule.JOB_QUEUES
CELERY_BEAT_SCHEDULE = dict(schedule.PERIODIC)
if CROWDQC_DEMO:
    from celery.schedules import crontab

    CELERY_BEAT_SCHEDULE["reset-demo"] = {
        "task": schedule.DEMO_JOB,
        "schedule": crontab(hour=schedule.DEMO_HOUR, minute=0),
        "options": {"expires": 3600.0},
    }
