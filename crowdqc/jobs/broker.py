"""The broker: PostgreSQL by default (PGMQ over kombu), or Redis with BROKER_URL."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
from kombu.transport import TRANSPORT_ALIASES, pgmq
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

if TYPE_CHECKING:
    from celery import Celery

# How soon the job of a killed worker is delivered again.
VISIBILITY_SECONDS = int(os.environ.get("CROWDQC_VISIBILITY_SECONDS", "20"))
# The real address travels in the transport options; the host only names it in logs.
LOCAL_URL = "pgmq://database"
# Any constant serves; it only has to be the same in every process that installs the queue.
INSTALL_LOCK = 7_246_113
_installed: set[str] = set()
_install_lock = threading.Lock()


def default_conninfo() -> str:
    """Return the connection string of Django's own database.

    Read when a connection is made, so that a test's database is followed.
    """
    from django.db import connection

    params = dict(connection.get_connection_params())
    for name in ("cursor_factory", "context", "prepare_threshold", "server_side_binding", "pool"):
        params.pop(name, None)
    params.pop("client_encoding", None)
    return make_conninfo(**params)


def install_queue(conninfo: str) -> None:
    """Create PGMQ's schema if it is missing; safe to call concurrently."""
    from pgmq.install import get_embedded_install_sql

    with _install_lock:
        if conninfo in _installed:
            return
        with psycopg.connect(conninfo) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
            row = connection.execute("SELECT to_regclass('pgmq.meta') IS NULL").fetchone()
            if row is not None and row[0]:
                connection.execute(get_embedded_install_sql())
        _installed.add(conninfo)


class Transport(pgmq.Transport):
    """Kombu's PGMQ transport over one full connection string.

    The stock transport rebuilds the string from five fields, which loses sockets and options.
    """

    def _conninfo(self) -> str:
        return self._options()["conninfo"] or default_conninfo()

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = self.client.transport_options  # type: ignore[attr-defined]
        return options

    def _create_pgmq_client(self) -> Any:
        from psycopg_pool import ConnectionPool

        conninfo = self._conninfo()
        install_queue(conninfo)
        options = self._options()
        pool = ConnectionPool(
            conninfo,
            min_size=0,
            max_size=options["pool_size"],
            max_idle=30.0,  # each costs the server some megabytes
            timeout=options["pool_timeout"],
            open=True,
        )
        client = pgmq.PGMQueue(
            conn_string=None, vt=options["visibility_timeout"], init_extension=False, pool=pool
        )
        client._own_pool = True  # so that closing the client closes the pool
        return client

    def _get_notify_waiter(self) -> Any:
        if self._notify_waiter is None:
            self._notify_waiter = pgmq._NotifyWaiter(self._conninfo())
        return self._notify_waiter


TRANSPORT_ALIASES["pgmq"] = "crowdqc.jobs.broker:Transport"
for _name in ("redis", "rediss"):
    TRANSPORT_ALIASES[_name] = "crowdqc.jobs.redis_transport:Transport"


def broker_settings(url: str) -> dict[str, Any]:
    """Return Celery's broker settings; an empty BROKER_URL means our own database.

    Raises
    ------
    django.core.exceptions.ImproperlyConfigured
        The address is of no broker that crowdqc runs on.
    """
    scheme = urlsplit(url).scheme if url else "pgmq"
    if scheme in {"redis", "rediss", "redis+socket"}:
        return {
            "broker_url": url,
            "broker_transport_options": {
                "visibility_timeout": VISIBILITY_SECONDS,
                "unacked_restore_interval": 5,
                "unacked_restore_throttle": 1,
                # What never answers is given up; it polls for a second at a time.
                "socket_connect_timeout": 2,
                "socket_timeout": 10,
                "socket_keepalive": True,
            },
        }
    if scheme not in {"pgmq", "postgres", "postgresql"}:
        from django.core.exceptions import ImproperlyConfigured

        raise ImproperlyConfigured(
            f"BROKER_URL starts with {scheme!r}; it must be redis://, rediss:// or pgmq://."
        )
    return {
        "broker_url": LOCAL_URL,
        "broker_transport_options": {
            "conninfo": "postgresql" + url[len(scheme) :] if url else "",
            "visibility_timeout": VISIBILITY_SECONDS,
            "init_extension": False,
            # Wake-ups come by NOTIFY; the poll is for what no notification announces.
            "use_notify": True,
            "notify_throttle_interval_ms": 0,
            "polling_interval": 0.05,
            "wait_time_seconds": 0,
            # Of one consumer or publisher, which does one thing after the other.
            "pool_size": 1,
            "pool_timeout": 10.0,
        },
    }


def check_broker(app: Celery, timeout: float = 2.0) -> None:
    """Check that the broker of ``app`` answers.

    Raises
    ------
    psycopg.Error, redis.RedisError, OSError
        It does not answer.
    """
    if app.conf.broker_url == LOCAL_URL:
        conninfo = app.conf.broker_transport_options["conninfo"] or default_conninfo()
        with psycopg.connect(conninfo, connect_timeout=max(2, int(timeout))) as connection:
            connection.execute("SELECT count(*) FROM pgmq.meta")
        return
    import redis

    with redis.Redis.from_url(
        app.conf.broker_url, socket_connect_timeout=timeout, socket_timeout=timeout
    ) as client:
        client.ping()


@dataclass(frozen=True)
class QueueState:
    """The current state of one queue."""

    waiting: int = 0
    oldest: float | None = None  # seconds that the first of them has waited; None: nothing waits
    running: int = 0  # taken by a worker and not finished


def queue_states(app: Celery) -> dict[str, QueueState]:
    """Return the state of each queue; jobs in progress do not wait.

    Raises
    ------
    psycopg.Error, redis.RedisError, OSError
        The broker does not answer.
    """
    from crowdqc.jobs.queues import ROLES, queue_name

    names = {role: queue_name(role) for role in ROLES}
    options = app.conf.broker_transport_options
    if app.conf.broker_url == LOCAL_URL:
        return _states_in_database(options["conninfo"] or default_conninfo(), names)
    return _states_in_redis(app.conf.broker_url, options, names)


def oldest_waiting(app: Celery) -> dict[str, float]:
    """Return seconds that the oldest job of each queue has waited."""
    found = {role: state.oldest for role, state in queue_states(app).items()}
    return {role: age for role, age in found.items() if age is not None}


def queue_tables(
    connection: psycopg.Connection[Any], names: Mapping[str, str]
) -> dict[str, Identifier]:
    """Return the names of the queues' tables by role, leaving out queues without a table.

    A queue without a table has never held a job.
    """
    made = {row[0] for row in connection.execute("SELECT queue_name FROM pgmq.meta")}
    return {role: Identifier("pgmq", f"q_{name}") for role, name in names.items() if name in made}


def _states_in_database(conninfo: str, names: Mapping[str, str]) -> dict[str, QueueState]:
    # A message that is worked on is invisible until its renewal (vt) lies in the past.
    sql = (
        "SELECT count(*) FILTER (WHERE vt <= now()), extract(epoch FROM clock_timestamp() - "
        "min(vt) FILTER (WHERE vt <= now())), count(*) FILTER (WHERE vt > now()) FROM {}"
    )
    with psycopg.connect(conninfo, connect_timeout=2) as connection:
        tables = queue_tables(connection, names)
        found: dict[str, QueueState] = {}
        for role in names:
            row = None
            if role in tables:
                row = connection.execute(SQL(sql).format(tables[role])).fetchone()
            waiting, oldest, running = row or (0, None, 0)
            found[role] = QueueState(waiting, None if oldest is None else float(oldest), running)
    return found


def _states_in_redis(
    url: str, options: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, QueueState]:
    import redis

    prefix = options.get("global_keyprefix", "")
    found: dict[str, QueueState] = {}
    with redis.Redis.from_url(url, socket_connect_timeout=2.0, socket_timeout=2.0) as client:
        # Each is [message, exchange, queue]; there are as many as workers have taken.
        taken = Counter(json.loads(raw)[2] for raw in client.hvals(f"{prefix}unacked"))
        for role, name in names.items():
            key = f"{prefix}{name}"
            oldest = _oldest_of(client.lrange(key, -20, -1))
            found[role] = QueueState(client.llen(key), oldest, taken[name])
    return found


def _oldest_of(messages: Sequence[bytes]) -> float | None:
    """Return the oldest job; a redelivered one keeps its first time."""
    from crowdqc.jobs.queues import SENT_AT

    for raw in reversed(messages):
        headers = json.loads(raw).get("headers") or {}
        if SENT_AT in headers and not headers.get("redelivered"):
            return max(0.0, time.time() - float(headers[SENT_AT]))
    return None
