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

from tests.support.processes import ROOT, until

# What some jobs compute with, and what is there only where it is asked for.
HEAVY = (
    *("structlog", "prometheus_client", "sentry_sdk", "prompt_toolkit", "snowballstemmer"),
    *("torch", "sklearn", "pandas", "pyarrow", "openai", "sentence_transformers", "matplotlib"),
)
# What the views of a first page do without; all views together load these.
FIRST = ("numpy", "pydantic", "rest_framework.views", "evaluation.methods", "annotation.task_types")
LOADED = f"""
import sys
import django
from crowdqc.devstack import program
from django.template.loader import get_template
from django.urls import resolve, reverse
django.setup()
program.load_addresses()
resolve(reverse("home"))
resolve(reverse("login"))
import evaluation.runs.sharing.selectors  # finds the board of the landing page
get_template("annotation/accounts/landing.html")
get_template("account/login.html")
print(*sorted(set({FIRST!r}) & set(sys.modules)))
program.load_app()
print(*sorted(set({FIRST!r}) - set(sys.modules)))
parts = {{name for name in sys.modules if name.startswith("scipy.") and name.count(".") == 1}}
print(*sorted(set({HEAVY!r}) & set(sys.modules)))
print(*sorted(parts & {{f"scipy.{{part}}" for part in ("special", "sparse", "stats", "optimize")}}))
"""
# What a server loads of Django is loaded before it forks, so that both processes begin at once.
PID_APP = """
import os
from django.db import connections
connections.settings
def application(environ, start_response):
    start_response("200 OK", [("Content-Length", str(len(str(os.getpid()))))])
    return [str(os.getpid()).encode()]
"""
CLIENTS, REQUESTS = 10, 20


def test_a_first_page_loads_only_its_own_view_and_no_page_what_only_some_jobs_need() -> None:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "LOG_FORMAT": "plain",
        "SENTRY_DSN": "",
        "CROWDQC_METRICS_TOKEN": "",
    }
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
