"""Probes: is this process alive, may it take requests, and can the whole installation work?

``/readyz`` asks on connections of its own, in threads that are left behind when they take too long:
it answers within three seconds, whatever hangs (``crowdqc.web.server`` keeps a thread for it).
"""

from __future__ import annotations

import logging
import pkgutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import resolve
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError

from crowdqc.celery import app
from crowdqc.jobs import worker
from crowdqc.jobs.broker import check_broker, default_conninfo, oldest_waiting
from crowdqc.jobs.queues import ROLES

logger = logging.getLogger(__name__)
# Three missed beats and a bit.
HEARTBEAT_LIMIT_SECONDS = 15.0
DEADLINE_SECONDS = 2.5
SILENT = "does not answer"
DATABASE, BROKER, WORKER, QUEUES, MIGRATIONS = (
    *("database", "broker", "worker", "queues", "migrations"),
)
GetResponse = Callable[[HttpRequest], HttpResponse]
Parts = dict[str, str | None]  # a part's problem; None where it is fine


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while the process serves requests, without checking anything else."""
    return HttpResponse("ok\n", content_type="text/plain")


def _ask_database() -> Parts:
    """The database, and what its rows say: which workers live, and whether tables are migrated."""
    with psycopg.connect(default_conninfo(), autocommit=True, connect_timeout=2) as own:
        own.execute("SET statement_timeout = '2s'")
        found: Parts = {DATABASE: None, MIGRATIONS: _unapplied(own)}
        found[WORKER] = _silent_workers(own) if found[MIGRATIONS] is None else "is not known"
        return found


# Migrations that were seen to be applied once: no later program takes them back.
_seen_applied = threading.Event()


def _unapplied(own: psycopg.Connection[Any]) -> str | None:
    """Whether a migration of this program is still to be applied."""
    if _seen_applied.is_set():
        return None
    table = MigrationRecorder.Migration._meta.db_table
    (exists,) = own.execute("SELECT to_regclass(%s) IS NOT NULL", [table]).fetchone() or (False,)
    rows = own.execute(f"SELECT app, name FROM {table}").fetchall() if exists else []  # noqa: S608
    missing = len(_migrations() - set(rows))
    if missing:
        return f"{missing} migrations are not applied"
    _seen_applied.set()
    return None


def _migrations() -> set[tuple[str, str]]:
    """Return the names of all migrations by their files; importing them would take memory."""
    found = set()
    for config in apps.get_app_configs():
        name = f"{config.name}.migrations"
        if any(one.name == "migrations" for one in pkgutil.iter_modules([config.path])):
            modules = pkgutil.iter_modules(import_module(name).__path__)
            found |= {(config.label, one.name) for one in modules if one.name[0] not in "_~"}
    return found


def _silent_workers(own: psycopg.Connection[Any]) -> str | None:
    """Say which queues have no live worker; None if all have one."""
    problems, ages = [], worker.heartbeat_ages_on(own, map(worker.worker_name, ROLES))
    for role in ROLES:
        age = ages.get(worker.worker_name(role))
        if age is None:
            problems.append(f"no worker of the queue {role} has reported yet")
        elif age > HEARTBEAT_LIMIT_SECONDS:
            problems.append(f"the last heartbeat of the queue {role} is {age:.0f} seconds old")
    return "; ".join(problems) or None


def _ask_broker() -> Parts:
    """The broker, and whether a job waits for longer than the installation allows."""
    check_broker(app)
    limit = settings.CROWDQC_QUEUE_AGE
    late = [
        f"the oldest job of the queue {role} has waited {age:.0f} seconds"
        for role, age in oldest_waiting(app).items()
        if age > limit
    ]
    return {BROKER: None, QUEUES: "; ".join(late) or None}


# Who is asked, and of which parts the answer tells.
ASKED: dict[Callable[[], Parts], tuple[str, ...]] = {
    _ask_database: (DATABASE, WORKER, MIGRATIONS),
    _ask_broker: (BROKER, QUEUES),
}
PARTS = tuple(part for parts in ASKED.values() for part in parts)


def connection_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that an unreachable database, broker or cache may raise."""
    import redis

    return (DatabaseError, KombuError, OSError, psycopg.Error, redis.RedisError)


class _Question:
    """One part asked in a thread, by whoever comes while it runs."""

    running: dict[Callable[[], Parts], _Question] = {}
    lock = threading.Lock()

    def __init__(self, ask: Callable[[], Parts]) -> None:
        self.ask, self.answered = ask, threading.Event()
        self.found: Parts = dict.fromkeys(ASKED[ask], SILENT)

    @classmethod
    def begin(cls, ask: Callable[[], Parts]) -> _Question:
        """Ask, unless somebody is being answered just now: what hangs does not pile up."""
        with cls.lock:
            one = cls.running.get(ask)
            if one is None:
                one = cls.running[ask] = cls(ask)
                threading.Thread(target=one._run, name="readyz", daemon=True).start()
            return one

    def _run(self) -> None:
        """The reason of a failure is logged, as probes answer to anybody."""
        try:
            self.found = self.ask()
        except connection_errors() as error:
            logger.warning("readyz: %s: %s", ASKED[self.ask][0], error)
        finally:
            with self.lock:
                del self.running[self.ask]
            self.answered.set()
            connection.close()


def _problems(wanted: Iterable[str]) -> Parts:
    """Check these parts within the deadline; return the problem of each, None where it works."""
    names, deadline = set(wanted), time.monotonic() + DEADLINE_SECONDS
    asked = [_Question.begin(ask) for ask, parts in ASKED.items() if names & {*parts}]
    found: Parts = {}
    for one in asked:
        one.answered.wait(max(0.0, deadline - time.monotonic()))
        found |= one.found
    return {part: found[part] for part in PARTS if part in names}


def _shown(problems: Mapping[str, str | None]) -> dict[str, dict[str, object]]:
    return {
        part: {"ok": problem is None} | ({"problem": problem} if problem else {})
        for part, problem in problems.items()
    }


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer a readiness probe: 200 if all parts work, else 503 with each part's problem.

    ``?parts=migrations`` checks only these parts: a web process can take requests once its tables
    exist, even while the broker is away.
    """
    wanted = request.GET.get("parts", "").split(",")
    known = [part for part in PARTS if part in wanted] or PARTS
    # Once seen they stay applied, also where the database is away.
    if known == [MIGRATIONS] and _seen_applied.is_set():
        parts = _shown({MIGRATIONS: None})
    else:
        parts = _shown(_problems(known))
    ready = all(part["ok"] for part in parts.values())
    response = JsonResponse({"ready": ready, "parts": parts}, status=200 if ready else 503)
    # A probe that says "not yet" is no error of the server; the log has what is.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


class Probes:
    """Answers probes and scrapes before anything that might refuse or redirect them.

    They come over plain HTTP from inside the network, to the address of a machine or container.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        metrics = path == "/metrics" and settings.CROWDQC_METRICS_TOKEN
        if not metrics and path not in {"/healthz", "/readyz"}:
            return self.get_response(request)
        request.resolver_match = match = resolve(path)
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        response.headers["X-Frame-Options"] = settings.X_FRAME_OPTIONS
        return response
