"""A worker's duties besides jobs: heartbeats and renewal of deliveries.

A short visibility timeout brings the job of a killed worker back soon; renewing the deliveries
that are being worked on keeps a long job from being given out twice.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg
from celery.signals import worker_process_init, worker_ready, worker_shutdown
from celery.utils import timer2
from django.apps import apps
from django.db import Error as DatabaseError
from django.db import close_old_connections, connections
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now
from psycopg import sql

from crowdqc.jobs import alive, memory, queues
from crowdqc.jobs.broker import VISIBILITY_SECONDS

WORKER = "worker"


def worker_name(role: str) -> str:
    """Return the heartbeat's name of a worker that serves this queue."""
    return WORKER if role == "default" else f"{WORKER}-{role}"


def _heartbeat_model() -> Any:
    """Return the Heartbeat model by name, since crowdqc imports neither app."""
    return apps.get_model("annotation", "Heartbeat")


def record_heartbeats(*names: str) -> None:
    """Record heartbeats now by one statement, safe from several processes."""
    table = _heartbeat_model()
    table.objects.bulk_create(
        [table(name=name, at=Now()) for name in names],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["at"],
    )


def heartbeat_ages(names: Iterable[str]) -> dict[str, float]:
    """Return seconds since each last heartbeat, without those that never came.

    One that lies ahead was given before the clock was set back: it says as little as an old one.
    """
    passed = ExpressionWrapper(Now() - F("at"), output_field=DurationField())
    rows = _heartbeat_model().objects.filter(name__in=list(names)).annotate(passed=passed)
    found = rows.values_list("name", "passed")
    return {name: abs(passed.total_seconds()) for name, passed in found}


def heartbeat_ages_on(own: psycopg.Connection[Any], names: Iterable[str]) -> dict[str, float]:
    """Return ``heartbeat_ages`` on a connection that is not Django's."""
    table = sql.Identifier(_heartbeat_model()._meta.db_table)
    query = "SELECT name, abs(extract(epoch FROM now() - at))::float8 FROM {} WHERE name = ANY(%s)"
    return dict(own.execute(sql.SQL(query).format(table), [list(names)]).fetchall())


def heartbeat_age(name: str) -> float | None:
    """Return seconds since the last heartbeat, None without one."""
    return heartbeat_ages([name]).get(name)


logger = logging.getLogger(__name__)
BEAT_SECONDS = VISIBILITY_SECONDS / 5
_stop = threading.Event()
# Whether this worker ends when no job has come for a while; who watches its queue starts another.
ends_without_jobs = False
IDLE_SECONDS = 20.0
# Told at every sign of life: the queues served, and how many jobs ended since the last one.
listeners: list[Callable[[Sequence[str], int], Any]] = []


class Timer(timer2.Timer):
    """Celery's timer thread that does not wait for its last sleep when stopping."""

    def stop(self) -> None:
        """End the thread at its next wake-up; it is a daemon."""
        self.running = False
        super().stop()


def renew_deliveries(consumer: Any) -> int:
    """Keep this worker's unacknowledged messages invisible for another timeout.

    Returns the number of messages. ``consumer`` is Celery's ``Consumer``.
    """
    channel = getattr(consumer.task_consumer, "channel", None)
    if channel is None or channel.closed:  # between two connections
        return 0
    # One that was given back is listed until another comes: to keep it would hide it from all.
    tags = [tag for tag in list(channel.qos._delivered) if tag not in channel.qos._dirty]
    if not tags:
        return 0
    if hasattr(channel, "pgmq"):
        for tag in tags:
            message = channel.qos._delivered.get(tag)
            if message is not None:
                info = message.delivery_info
                channel.pgmq.set_vt(info["pgmq_queue"], info["pgmq_msg_id"], VISIBILITY_SECONDS)
    else:
        with channel.conn_or_acquire() as client:
            # Only those still there: one acknowledged a moment ago must not come back.
            client.zadd(channel.unacked_index_key, dict.fromkeys(tags, time.time()), xx=True)
    return len(tags)


def heartbeat_names(consumer: Any) -> list[str]:
    """Return the heartbeat names of this worker, one for each queue it serves."""
    return [worker_name(role) for role in served_queues(consumer)]


def served_queues(consumer: Any) -> list[str]:
    """Return our queues that this worker serves."""
    found = (queues.queue_role(queue.name) for queue in consumer.task_consumer.queues)
    return [role for role in found if role is not None]


def _count_ended_jobs() -> int:
    """Count the jobs that this worker has finished."""
    from celery.worker import state

    begun: int = state.all_total_count[0]
    return begun - len(state.active_requests)


def _keep_alive(consumer: Any) -> None:
    from celery.worker import state

    told, busy = 0, time.monotonic()

    def tell() -> None:
        nonlocal told
        ended = _count_ended_jobs()
        for listener in listeners:
            listener(served_queues(consumer), ended - told)
        told = ended

    while not _stop.wait(BEAT_SECONDS):
        if state.reserved_requests or _count_ended_jobs() > told:
            busy = time.monotonic()
        if ends_without_jobs and time.monotonic() - busy > IDLE_SECONDS:
            # As SIGTERM does, which would also print a line that reads as if a part had died: what
            # comes meanwhile is worked on, or given out again.
            state.should_stop = os.EX_OK
            return
        try:
            renew_deliveries(consumer)
        except consumer.connection_errors as error:
            logger.warning("deliveries were not renewed: %s", error)
        send_heartbeat(heartbeat_names(consumer), tell)


def send_heartbeat(names: Sequence[str], then: Callable[[], None] = lambda: None) -> None:
    """Record heartbeats on this machine and in the database."""
    alive.write_heartbeats(*names)
    try:
        close_old_connections()
        record_heartbeats(*names)
        then()
    except DatabaseError as error:
        logger.warning("no heartbeat: %s", error)
    connections.close_all()  # of this thread; a waiting one costs the server megabytes


@worker_ready.connect
def _begin(sender: Any, **_: Any) -> None:
    _stop.clear()
    record_heartbeats(*heartbeat_names(sender))
    threading.Thread(target=_keep_alive, args=(sender,), name="keep-alive", daemon=True).start()


@worker_shutdown.connect
def _end(**_: Any) -> None:
    _stop.set()


@worker_process_init.connect
def limit_memory(**_: Any) -> None:
    """Limit the memory of a job process."""
    memory.limit_this_process()


@worker_process_init.connect
def end_with_parent(**_: Any) -> None:
    """End a process whose parent was killed; its job is redelivered."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
