"""One clock, one source of chance and no queue, so that two records of one commit are equal."""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib
import json
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from django.utils import timezone
from django.utils.module_loading import import_string

from crowdqc import queue

MOMENT = dt.datetime(2026, 3, 4, 12, 0, tzinfo=dt.UTC)
TICK = dt.timedelta(microseconds=1)
# Jobs that talk to others; nothing that is recorded depends on them.
NOT_DONE = {
    "annotation.jobs.send_mail",
    "annotation.jobs.deliver_hooks",
    "annotation.jobs.send_payments",
    "annotation.jobs.fetch_media",
}


# Modules that store how many seconds something took.
TIMED = ("evaluation.runs.progress", "evaluation.llm.client")
# The clock of the database; tables whose defaults name it are made afterwards.
DATABASE_CLOCK = f"""
CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT timestamptz '{MOMENT.isoformat()}' $$;
CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT timestamptz '{MOMENT.isoformat()}' $$;
ALTER ROLE CURRENT_USER SET search_path = public, pg_catalog;
"""


@dataclass
class Clock:
    """What ``timezone.now`` gives: a little later each time, so that rows keep their order."""

    moment: dt.datetime = MOMENT
    is_stopped: bool = False

    def __call__(self) -> dt.datetime:
        # How often other threads ask is a matter of luck.
        if not self.is_stopped and threading.current_thread() is threading.main_thread():
            self.moment += TICK
        return self.moment

    def seconds(self) -> float:
        """What ``time.time`` gives."""
        return self.moment.timestamp()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the clock while the main thread waits for others and asks for the time meanwhile."""
        self.is_stopped = True
        try:
            yield
        finally:
            self.is_stopped = False
            self.moment += dt.timedelta(milliseconds=1)


@dataclass
class Jobs:
    """Jobs that were handed to the queue, and are done in this process in the same order."""

    waiting: deque[tuple[str, list[Any]]] = field(default_factory=deque)

    def enqueue(self, name: str, *args: Any, **options: Any) -> None:
        """Stand in for ``crowdqc.queue.enqueue``."""
        import_string(name)  # a job that does not exist fails here, as it does there
        self.waiting.append((name, json.loads(json.dumps(args))))

    def work(self) -> int:
        """Do all that waits and what comes of it; how many jobs there were."""
        count = 0
        while self.waiting:
            name, args = self.waiting.popleft()
            if name not in NOT_DONE:
                import_string(name)(*args)
                count += 1
        return count


@dataclass
class Fixed:
    """The clock, chance and jobs of this process, once ``install`` was called."""

    clock: Clock = field(default_factory=Clock)
    jobs: Jobs = field(default_factory=Jobs)
    drawn: random.Random = field(default_factory=lambda: random.Random("golden"))

    def install(self) -> None:
        """Replace the real ones; before models are loaded, as defaults of fields keep them."""
        timezone.now = self.clock
        time.time = self.clock.seconds
        queue.enqueue = self.jobs.enqueue
        # Secrets, UUIDs and names of files all come from here. Other threads (heartbeats, servers)
        # come in no fixed order, and keep the system's.
        system = os.urandom
        urandom = self._bytes(system)
        os.urandom = urandom
        random._urandom = urandom  # type: ignore[attr-defined]
        random.seed("golden")

    def _bytes(self, system: Callable[[int], bytes]) -> Callable[[int], bytes]:
        def urandom(size: int, /) -> bytes:
            if threading.current_thread() is threading.main_thread():
                return self.drawn.randbytes(size)
            return system(size)

        return urandom

    def stop_watches(self) -> None:
        """Let runs and calls of models take no time; when the apps are loaded."""
        watch = SimpleNamespace(monotonic=lambda: 0.0)
        for name in TIMED:
            importlib.import_module(name).time = watch  # type: ignore[attr-defined]

    def begin(self, about: str) -> None:
        """Start anew for one request: what it shows depends on none before it."""
        self.clock.moment = MOMENT
        self.drawn.seed(about)
        random.seed(about)
        self.jobs.waiting.clear()


fixed = Fixed()
