"""What the stack costs while it waits, and how it shares its work out."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from crowdqc.jobs import worker as heartbeat
from tests.support.jobs import note
from tests.support.processes import ROOT, empty_queue, test_database_url, until

HEAVY = ("torch", "sklearn", "pandas", "pyarrow", "openai", "sentence_transformers", "matplotlib")
LOADED = f"""
import sys
from crowdqc.devstack import program
program.load()
parts = {{name for name in sys.modules if name.startswith("scipy.") and name.count(".") == 1}}
print(*sorted(set({HEAVY!r}) & set(sys.modules)))
print(*sorted(parts & {{f"scipy.{{part}}" for part in ("special", "sparse", "stats", "optimize")}}))
"""
PID_APP = """
import os
def application(environ, start_response):
    start_response("200 OK", [("Content-Length", str(len(str(os.getpid()))))])
    return [str(os.getpid()).encode()]
"""
CLIENTS, REQUESTS = 10, 20


def test_no_page_and_no_waiting_worker_loads_what_only_some_jobs_compute_with() -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "crowdqc.settings"}
    found = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == []


def test_clients_that_keep_their_connection_are_spread_evenly_over_the_processes(
    tmp_path: Path,
) -> None:
    (tmp_path / "pid_app.py").write_text(PID_APP)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        command = [
            *(sys.executable, "-m", "gunicorn", "--config", "python:crowdqc.web.server"),
            *("--pythonpath", str(tmp_path), "--log-level", "error"),
            *("--bind", f"fd://{listener.fileno()}", "pid_app"),
        ]
        server = subprocess.Popen(command, cwd=ROOT, pass_fds=[listener.fileno()])
        try:
            until(lambda: len(psutil.Process(server.pid).children()) == 2, 30, "two processes")
            served = _ask(listener.getsockname()[1])
        finally:
            server.terminate()
            server.wait(30)
    assert sum(served.values()) == CLIENTS * REQUESTS
    assert len(served) == 2
    assert min(served.values()) >= 0.4 * sum(served.values()), served


def _ask(port: int) -> Counter[bytes]:
    """How many requests each process answered, of clients that come one after the other."""
    served: Counter[bytes] = Counter()
    clients = [http.client.HTTPConnection("127.0.0.1", port, timeout=30) for _ in range(CLIENTS)]
    for client in clients:
        client.connect()
    for _ in range(REQUESTS):
        for client in clients:
            client.request("GET", "/")
            served[client.getresponse().read()] += 1
    for client in clients:
        client.close()
    return served


def test_no_job_is_lost_when_it_comes_while_a_queue_gives_its_processes_back() -> None:
    command = [sys.executable, "-m", "tests.support.pool_stress"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=90)


@pytest.mark.db
@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_a_queue_works_when_jobs_come_and_gives_its_memory_back_afterwards(tmp_path: Path) -> None:
    empty_queue()
    code = "import sys, tests.support.jobs; from crowdqc.jobs.workers import main"
    command = [sys.executable, "-c", f"{code}; sys.exit(main(['files=2']))"]
    environment = os.environ | {"DATABASE_URL": test_database_url(), "AUTOSCALE_KEEPALIVE": "1"}
    family = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        until(lambda: heartbeat.age("worker-files") is not None, 150, "the worker to be there")
        (main,) = psutil.Process(family.pid).children()
        assert main.children() == []
        done = tmp_path / "done"
        for _ in range(5):
            note.apply_async((str(done), 0.2), queue=_files())
        until(lambda: done.exists() and done.read_text().count("end") == 5, 30, "all five jobs")
        assert len({line.split()[1] for line in done.read_text().splitlines()}) == 2
        until(lambda: main.children() == [], 30, "the processes to end")
        note.apply_async((str(done),), queue=_files())
        until(lambda: done.read_text().count("end") == 6, 30, "a later job")
        family.terminate()
        assert family.wait(60) == 0
    finally:
        family.kill()
        family.wait()


@pytest.mark.db
@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_a_worker_comes_with_its_queue_s_first_job_and_goes_when_none_has_come(
    tmp_path: Path,
) -> None:
    empty_queue()
    lines = [
        "import sys, tests.support.jobs",
        "from crowdqc.jobs import worker, workers",
        "worker.IDLE_SECONDS = 1",
        "sys.exit(workers.main(['default=1', 'files=1']))",
    ]
    environment = os.environ | {
        "DATABASE_URL": test_database_url(),
        "CROWDQC_VISIBILITY_SECONDS": "5",
    }
    command = [sys.executable, "-c", "\n".join(lines)]
    family = subprocess.Popen(command, cwd=ROOT, env=environment)
    done = tmp_path / "done"

    def serving() -> dict[str, psutil.Process]:
        return {child.name(): child for child in psutil.Process(family.pid).children()}

    try:
        until(lambda: heartbeat.age("worker-files") is not None, 150, "its sign of life")
        until(lambda: heartbeat.age("worker") is not None, 60, "the worker of the rest")
        assert serving().keys() == {"worker-default", "watch"}
        note.apply_async((str(done),), queue=_files())
        until(lambda: done.exists() and "end" in done.read_text(), 15, "the first job")
        assert "worker-files" in serving()
        until(lambda: "worker-files" not in serving(), 30, "its worker to end")

        note.apply_async((str(done), 3), queue=_files())
        until(lambda: done.read_text().count("begin") == 2, 15, "a later job")
        serving()["worker-files"].kill()
        until(lambda: done.read_text().count("begin") == 3, 30, "the job of the killed worker")

        serving()["watch"].kill()
        until(lambda: "watch" in serving(), 15, "whoever watches the queues to be back")
        family.terminate()
        assert family.wait(60) == 0
    finally:
        family.kill()
        family.wait()


def _files() -> str:
    from crowdqc.jobs.queues import queue_name

    return queue_name("files")
