"""How gunicorn serves the app: ``gunicorn --config python:crowdqc.web.server crowdqc.wsgi``.

The app is loaded once and forked, so that the processes share it. Where one listens comes from
the command line; CROWDQC_WEB_PROCESSES and CROWDQC_WEB_THREADS say how many there are. What holds
for web processes alone is set here, so that no variable can bring it to a worker or a command.
"""

from __future__ import annotations

import mmap
import os
import selectors
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from crowdqc.metrics.folder import FOLDER, delete_folder, listen_address, make_folder

SLOTS = 64
SLOT = struct.Struct("=ii")  # process id and its open connections; no process is 0
# One page that all processes of one arbiter share, made before they are forked.
_open = mmap.mmap(-1, SLOTS * SLOT.size)
# For so long one that has more connections than another leaves a new one to it.
WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.005, 0.02
# Requests that have threads of their own: all others may be waiting for the database.
PROBES = {path: (b"GET " + path, b"HEAD " + path) for path in (b"/healthz", b"/readyz")}
HEAD_BYTES = 4096  # a probe's head comes at once and is shorter


def _read(slot: int) -> tuple[int, int]:
    pid, number = SLOT.unpack_from(_open, slot * SLOT.size)
    return pid, number


def _is_probe(head: bytes) -> bytes:
    """Return the probe that a request's head asks for; empty for any other request."""
    for path, starts in PROBES.items():
        if head.startswith(starts) and b"\r\n\r\n" in head:
            return path
    return b""


class EvenThreads(ThreadWorker):
    """gunicorn's threads, with connections spread evenly over the processes.

    All processes wait at one socket, and the kernel wakes them in no fair order: of ten clients
    that keep their connection, two went to one process and eight to the other.

    A connection takes a thread when something has come on it, and probes have threads of their own.
    """

    def init_process(self) -> None:
        """Make the threads of the probes, then serve."""
        self.probes = {path: ThreadPoolExecutor(1, path.decode()) for path in PROBES}
        super().init_process()

    def enqueue_req(self, conn: Any) -> None:
        """Hand a request to a thread; a silent connection waits without one."""
        if conn.initialized and conn.parser.unreader.buf.getvalue():
            super().enqueue_req(conn)  # of a request that came with the one before it
            return
        try:
            head = conn.sock.recv(HEAD_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            self._wait_for_data(conn)
            return
        except OSError:
            head = b""  # the thread finds what is wrong
        if path := _is_probe(head):
            future = self.probes[path].submit(self.handle, conn)
            future.add_done_callback(
                lambda done: self.method_queue.defer(self.finish_request, conn, done)
            )
        else:
            super().enqueue_req(conn)

    def _wait_for_data(self, conn: Any) -> None:
        """Put aside a connection without data for a while, as gunicorn itself does."""
        conn.sock.setblocking(False)
        conn.set_timeout()
        self.pending_conns.append(conn)
        readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, readable)

    def _cap_keepalive(self, deadline: float) -> None:
        """End connections on which nothing came as soon as those that are merely kept."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def is_parent_alive(self) -> bool:
        """Return whether the parent process lives; if not, stop accepting connections at once."""
        alive: bool = super().is_parent_alive()
        if not alive:
            self.set_accept_enabled(False)
            while self.sockets:
                self.sockets.pop().close()
        return alive

    def notify(self) -> None:
        """Publish this worker's number of open connections; gunicorn calls it at every turn."""
        super().notify()
        SLOT.pack_into(_open, self.age % SLOTS * SLOT.size, os.getpid(), self.nr_conns)

    def accept(self, listener: Any) -> None:
        """Accept a new connection, after giving processes with fewer connections a head start."""
        others = [number for pid, number in map(_read, range(SLOTS)) if pid and pid != os.getpid()]
        ahead = self.nr_conns - min(others, default=self.nr_conns)
        if ahead > 0:
            time.sleep(min(WAIT_SECONDS * ahead, LONGEST_WAIT_SECONDS))
        super().accept(listener)
        self.notify()


if "GUNICORN_PID" in os.environ:  # it takes over from another, which deletes its own
    os.environ.pop(FOLDER, None)
_counts = make_folder()  # before the app is loaded


def on_starting(server: Any) -> None:
    """Recreate the metrics' folder, which the previous server deleted."""
    make_folder()


def when_ready(server: Any) -> None:
    """Serve this server's metrics on a port of their own, where one is set."""
    if listen := listen_address():
        from crowdqc.metrics.processes import fork_metrics

        fork_metrics(listen, "web", [one.sock for one in server.LISTENERS])


def on_exit(server: Any) -> None:
    """Delete the files with this server's metrics when the server stops."""
    if _counts:
        delete_folder()


def post_fork(server: Any, worker: EvenThreads) -> None:
    """Let the threads of a web process share database connections."""
    from django.conf import settings
    from django.db import connections

    default = connections.settings["default"]
    default["OPTIONS"]["pool"] = settings.CROWDQC_POOL
    default["CONN_MAX_AGE"] = 0  # a pool keeps the connections, and Django refuses both


def child_exit(server: Any, worker: EvenThreads) -> None:
    """Reset the connection count of a worker process that ended."""
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
