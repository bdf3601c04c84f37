"""Watch queues whose workers are started on demand (``crowdqc.jobs.workers``).

It gives their signs of life meanwhile. A job that nobody takes shows by its age (``/readyz``).
"""

from __future__ import annotations

import contextlib
import logging
import select
import time
from collections.abc import Generator, Mapping
from typing import Any

import psycopg
from psycopg import sql

from crowdqc.jobs import alive, worker
from crowdqc.jobs.broker import LOCAL_URL, default_conninfo, install_queue, queue_tables
from crowdqc.jobs.family import StartRequest
from crowdqc.jobs.queues import queue_name

# Between two looks where the broker tells of a new job, and where it does not.
TOLD_SECONDS, UNTOLD_SECONDS = 1.0, 0.5
AWAY_SECONDS = 2.0
logger = logging.getLogger(__name__)


def watch_queues(bells: Mapping[str, StartRequest]) -> None:
    """Request the worker of each queue that holds a job, for as long as it does."""
    from crowdqc.celery import app

    names = {role: queue_name(role) for role in bells}
    in_database = app.conf.broker_url == LOCAL_URL
    look = _poll_database if in_database else _poll_redis
    lost = (*app.connection_for_read().connection_errors, psycopg.Error, OSError)
    own, due = [worker.worker_name(role) for role in names], 0.0
    while True:
        try:
            with contextlib.closing(look(app, names)) as looks:
                for found in looks:
                    for role in found:
                        bells[role].send()
                    if time.monotonic() >= due:  # for the workers that are not there
                        due = time.monotonic() + worker.BEAT_SECONDS
                        worker.send_heartbeat(own)
        except lost as error:
            logger.warning("the queues cannot be watched: %s", error)
            alive.write_heartbeats(*own)
            time.sleep(AWAY_SECONDS)


def _poll_database(app: Any, names: Mapping[str, str]) -> Generator[list[str]]:
    """Yield queues that hold a job, on each notification."""
    conninfo = app.conf.broker_transport_options["conninfo"] or default_conninfo()
    install_queue(conninfo)
    with psycopg.connect(conninfo, autocommit=True, connect_timeout=2) as connection:
        for name in names.values():
            channel = sql.Identifier(f"pgmq.q_{name}.INSERT")
            connection.execute(sql.SQL("LISTEN {}").format(channel))
        while True:
            yield _visible(connection, names)
            if select.select([connection], [], [], TOLD_SECONDS)[0]:
                list(connection.notifies(timeout=0))


def _visible(connection: psycopg.Connection[Any], names: Mapping[str, str]) -> list[str]:
    asks = [
        sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {} WHERE vt <= clock_timestamp())").format(
            role, table
        )
        for role, table in queue_tables(connection, names).items()
    ]
    return [row[0] for row in connection.execute(sql.SQL(" UNION ALL ").join(asks))] if asks else []


def _poll_redis(app: Any, names: Mapping[str, str]) -> Generator[list[str]]:
    """Yield queues that hold a job, twice a second: Redis sends no notification."""
    import redis

    prefix = app.conf.broker_transport_options.get("global_keyprefix", "")
    with redis.Redis.from_url(
        app.conf.broker_url, socket_connect_timeout=2.0, socket_timeout=10.0
    ) as client:
        while True:
            pipe = client.pipeline(transaction=False)
            for name in names.values():
                pipe.exists(f"{prefix}{name}")
            yield [role for role, held in zip(names, pipe.execute(), strict=True) if held]
            time.sleep(UNTOLD_SECONDS)
