"""The whole stack of ``make run``: its memory, its second start, and how it spreads work.

A first start makes the database and is stopped; the second is measured. The peers are what the
stack took before its processes were forked from one program.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench.harness import ROOT, NotHere, figure

IDLE = 60.0  # seconds after which what the start left behind has ended
CLIENTS, REQUESTS = 10, 50


def memory(root: int) -> float:
    """Proportional set size of a process and all below it, in MB: what is shared counts once."""
    total = 0
    family = psutil.Process(root)
    for process in [family, *family.children(recursive=True)]:
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            total += sum(int(kb) for kb in re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE))
    return total / 1024


def processor(root: int) -> dict[int, float]:
    """Processor seconds so far of each process that still runs."""
    family, seconds = psutil.Process(root), dict[int, float]()
    for process in [family, *family.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            seconds[process.pid] = sum(process.cpu_times()[:2])
    return seconds


@contextlib.contextmanager
def stack(home: Path, port: int) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """The running stack, and the seconds until its first page."""
    private = {"DATABASE_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE"}
    env = {k: v for k, v in os.environ.items() if k not in private} | {"CROWDQC_HOME": str(home)}
    command = [sys.executable, "manage.py", "devstack", "--no-demo", "--port", str(port)]
    began = time.monotonic()
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
    try:
        while True:
            with contextlib.suppress(OSError):
                if page(http.client.HTTPConnection("127.0.0.1", port, timeout=120)) == 200:
                    break
            if process.poll() is not None or time.monotonic() > began + 300:
                raise RuntimeError((home / "log").read_text()[-2000:])
            time.sleep(0.02)
        yield process, time.monotonic() - began
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def page(client: http.client.HTTPConnection) -> int:
    """Ask for the page of signing in; its status."""
    client.request("GET", "/login/")
    answer = client.getresponse()
    answer.read()
    return answer.status


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    if not Path("/proc/self/smaps_rollup").exists():
        raise NotHere("proportional set sizes are read from /proc, which only Linux has")
    with tempfile.TemporaryDirectory(prefix="crowdqc-bench-") as folder:
        home = Path(folder)
        if os.geteuid() == 0:
            home.chmod(0o711)  # the database's account has to walk through it
        port = 18_971
        with stack(home, port):
            pass
        with stack(home, port) as (process, first):
            time.sleep(IDLE)
            idle = memory(process.pid)
            before = processor(process.pid)
            time.sleep(20)
            after = processor(process.pid)
            used = sum(s - before.get(pid, 0.0) for pid, s in after.items()) / 20
            clients = [
                http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(CLIENTS)
            ]
            for client in clients:
                client.connect()
            statuses = Counter(page(client) for _ in range(REQUESTS) for client in clients)
            web = [
                len([c for c in p.net_connections("tcp") if c.status == "ESTABLISHED"])
                for p in psutil.Process(process.pid).children(recursive=True)
                if p.name() == "web"
            ]
            loaded = memory(process.pid)
    if set(statuses) != {200}:
        raise RuntimeError(f"pages answered {statuses}")
    note = "no demo data; second start; PSS of every process, PostgreSQL included"
    return [
        figure("stack, memory while it waits", idle, "MB", ("each process by itself", 780.0), note),
        figure("stack, memory under load", loaded, "MB", ("each process by itself", 1005.0), note),
        figure("stack, first page", first, "s", ("each process by itself", 14.0), "second start"),
        figure("stack, processor while it waits", used, "cores", ("one core", 1.0), "20 s"),
        figure(
            "connections of the fuller web process",
            float(max(web)),
            f"of {CLIENTS}",
            ("even", CLIENTS / 2),
            f"{CLIENTS} clients that keep theirs; 8 before",
        ),
    ]
