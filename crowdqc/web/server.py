"""How gunicorn serves the app: ``gunicorn --config python:crowdqc.web.server crowdqc.wsgi``.

The app is loaded once and forked, so that the processes share it. Where one listens comes from
the command line; CROWDQC_WEB_PROCESSES and CROWDQC_WEB_THREADS say how many there are.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import tempfile
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

SLOTS = 64
SLOT = struct.Struct("=ii")  # process id and its open connections; no process is 0
# One page that all processes of one arbiter share, made before they are forked.
_open = mmap.mmap(-1, SLOTS * SLOT.size)
# For so long one that has more connections than another leaves a new one to it.
WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.005, 0.02


def _read(slot: int) -> tuple[int, int]:
    pid, number = SLOT.unpack_from(_open, slot * SLOT.size)
    return pid, number


class EvenThreads(ThreadWorker):
    """gunicorn's threads, with connections spread evenly over the processes.

    All processes wait at one socket, and the kernel wakes them in no fair order: of ten clients
    that keep their connection, two went to one process and eight to the other.
    """

    def notify(self) -> None:
        """Say that this process lives, and how many connections it has; called in every turn."""
        super().notify()
        SLOT.pack_into(_open, self.age % SLOTS * SLOT.size, os.getpid(), self.nr_conns)

    def accept(self, listener: Any) -> None:
        """Take a new connection, unless another process with fewer takes it first."""
        others = [number for pid, number in map(_read, range(SLOTS)) if pid and pid != os.getpid()]
        ahead = self.nr_conns - min(others, default=self.nr_conns)
        if ahead > 0:
            time.sleep(min(WAIT_SECONDS * ahead, LONGEST_WAIT_SECONDS))
        super().accept(listener)
        self.notify()


def _counting_folder() -> str:
    """A folder in which all processes of this server count requests; empty where none asks.

    prometheus-client reads the variable when it is imported, and gunicorn imports this file first.
    """
    if not os.environ.get("CROWDQC_METRICS_TOKEN"):
        return ""
    return os.environ.setdefault(
        "PROMETHEUS_MULTIPROC_DIR", tempfile.mkdtemp(prefix="crowdqc-metrics-")
    )


_counts = _counting_folder()


def on_starting(server: Any) -> None:
    """A server that ended before took the folder with it."""
    if _counts:
        os.makedirs(_counts, exist_ok=True)


def on_exit(server: Any) -> None:
    """What was counted ends with the server; Prometheus knows of counters that begin anew."""
    if _counts:
        shutil.rmtree(_counts, ignore_errors=True)


def child_exit(server: Any, worker: EvenThreads) -> None:
    """A process that ended, however, has no connections to compare with."""
    SLOT.pack_into(_open, worker.age % SLOTS * SLOT.size, 0, 0)


# -- gunicorn's settings, by their names -----------------------------------------------------------
worker_class = "crowdqc.web.server.EvenThreads"
workers = int(os.environ.get("CROWDQC_WEB_PROCESSES") or 2)
threads = int(os.environ.get("CROWDQC_WEB_THREADS") or 4)
preload_app = True
timeout = 60
keepalive = 75
forwarded_allow_ips = ""  # crowdqc.web.forwarded reads who a client is
control_socket_disable = True
