"""Probes: is this process alive, and can the whole installation work?"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError

from crowdqc.celery import app
from crowdqc.jobs import worker
from crowdqc.jobs.broker import check_broker, oldest_waiting
from crowdqc.jobs.queues import ROLES

logger = logging.getLogger(__name__)
# Three missed beats and a bit.
HEARTBEAT_LIMIT_SECONDS = 15.0


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process serves requests; touches nothing else."""
    return HttpResponse("ok\n", content_type="text/plain")


def _database() -> str | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return None


def _broker() -> str | None:
    check_broker(app)
    return None


def _worker() -> str | None:
    """Every queue needs a worker that lives."""
    problems, ages = [], worker.ages(map(worker.worker_name, ROLES))
    for role in ROLES:
        age = ages.get(worker.worker_name(role))
        if age is None:
            problems.append(f"no worker of the queue {role} has reported yet")
        elif age > HEARTBEAT_LIMIT_SECONDS:
            problems.append(f"the last heartbeat of the queue {role} is {age:.0f} seconds old")
    return "; ".join(problems) or None


def _queues() -> str | None:
    """No job may wait for longer than the installation allows: its queue is stuck or too slow."""
    limit = settings.CROWDQC_QUEUE_AGE
    return (
        "; ".join(
            f"the oldest job of the queue {role} has waited {age:.0f} seconds"
            for role, age in oldest_waiting(app).items()
            if age > limit
        )
        or None
    )


PARTS: dict[str, Callable[[], str | None]] = {
    "database": _database,
    "broker": _broker,
    "worker": _worker,
    "queues": _queues,
}


def connection_errors() -> tuple[type[Exception], ...]:
    """What a part that is down may raise."""
    import psycopg
    import redis

    return (DatabaseError, KombuError, OSError, psycopg.Error, redis.RedisError)


def _state(name: str, check: Callable[[], str | None]) -> dict[str, object]:
    """One part's state; the reason of a failure is logged, as probes answer to anybody."""
    try:
        problem = check()
    except connection_errors() as error:
        logger.warning("readyz: %s: %s", name, error)
        problem = "does not answer"
    return {"ok": problem is None} | ({"problem": problem} if problem else {})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 with every part ok, else 503; each part says what is wrong."""
    parts = {name: _state(name, check) for name, check in PARTS.items()}
    ready = all(part["ok"] for part in parts.values())
    response = JsonResponse({"ready": ready, "parts": parts}, status=200 if ready else 503)
    # A probe that says "not yet" is no error of the server; _state has logged what is.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
