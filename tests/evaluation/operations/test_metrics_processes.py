"""Requests are counted over all processes of a server, whichever of them is scraped."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.support.processes import ROOT, test_database_url, until

pytestmark = [pytest.mark.db, pytest.mark.queue, pytest.mark.django_db(transaction=True)]
TOKEN = "a token for two web processes"
COUNTED = re.compile(rb'crowdqc_http_requests_total\{method="GET",.*view="healthz"\} ([\d.]+)')


def test_all_web_processes_are_counted_together(tmp_path: Path) -> None:
    environment = os.environ | {
        "DATABASE_URL": test_database_url(),
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "CROWDQC_METRICS_TOKEN": TOKEN,
        "CROWDQC_WEB_PROCESSES": "2",
        "TMPDIR": str(tmp_path),
    }
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        command = [
            *(sys.executable, "-m", "gunicorn", "--config", "python:crowdqc.web.server"),
            *("--log-level", "error", "--bind", f"fd://{listener.fileno()}"),
            "crowdqc.wsgi",
        ]
        server = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[listener.fileno()])
        try:
            until(lambda: len(psutil.Process(server.pid).children()) == 2, 120, "two processes")
            port, asked = listener.getsockname()[1], 0
            while len(_counting(tmp_path)) < 2:  # until both have answered
                assert _get(port, "/healthz") == b"ok\n"
                asked += 1
                assert asked < 500
            found = COUNTED.search(_get(port, "/metrics"))
            assert found is not None and float(found[1]) == asked
        finally:
            server.terminate()
            server.wait(30)
    assert _counting(tmp_path) == []  # nothing is left behind


def _counting(folder: Path) -> list[Path]:
    return list(folder.glob("crowdqc-metrics-*/counter_*.db"))


def _get(port: int, path: str) -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        headers={"Host": "localhost", "Authorization": f"Bearer {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bytes(answer.read())
