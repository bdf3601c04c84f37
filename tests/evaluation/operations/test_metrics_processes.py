"""Metrics of real processes: of a web server over all its processes, of workers and scheduler."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from crowdqc.metrics.folder import parse_listen
from tests.support.processes import ROOT, test_database_url, until

pytestmark = [pytest.mark.db, pytest.mark.queue, pytest.mark.django_db(transaction=True)]
TOKEN = "a token for two web processes"
COUNTED = re.compile(rb'crowdqc_http_requests_total\{method="GET",.*view="healthz"\} ([\d.]+)')


def test_a_server_shows_requests_of_all_its_processes_on_a_port(tmp_path: Path) -> None:
    own = _free_port()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        port = listener.getsockname()[1]
        command = [
            *(sys.executable, "-m", "gunicorn", "--config", "python:crowdqc.web.server"),
            *("--log-level", "error", "--bind", f"fd://{listener.fileno()}", "crowdqc.wsgi"),
        ]
        web = {
            "CROWDQC_METRICS_TOKEN": TOKEN,
            "CROWDQC_METRICS_LISTEN": f"127.0.0.1:{own}",
            "CROWDQC_WEB_PROCESSES": "2",
        }
        server = _start(command, tmp_path, web, listener.fileno())
        try:
            until(lambda: len(_children(server)) == 3, 120, "two processes and the metrics")
            asked = 0
            while len(list(tmp_path.glob("crowdqc-metrics-*/counter_*.db"))) < 2:  # of each one
                assert _get(port, "/healthz") == b"ok\n"
                asked += 1
                assert asked < 500
            text = _get(own, "/metrics")
            found = COUNTED.search(text)
            assert found is not None and float(found[1]) == asked
            assert b'crowdqc_processes{process="web"} 3.0' in text  # one that starts two
            site = _get(port, "/metrics")
            assert b"crowdqc_http" not in site and b"crowdqc_database_size_bytes" in site
            [metrics] = [one for one in _children(server) if one.name() == "metrics"]
        finally:
            _end(server)
    until(lambda: not _runs(metrics), 10, "the metrics to end with their server")
    assert not list(tmp_path.glob("crowdqc-metrics-*"))  # nothing is left behind


def test_workers_and_scheduler_show_jobs_by_name_on_a_port(tmp_path: Path) -> None:
    own = _free_port()
    command = [sys.executable, "-m", "crowdqc.jobs.workers", "default=1", "platforms=1"]
    listen = {"CROWDQC_METRICS_LISTEN": str(own)}
    server = _start([*command, "scheduler=1"], tmp_path, listen, log=tmp_path / "log")

    def shown(pattern: str) -> bool:
        try:
            return bool(re.search(pattern.encode(), _get(own, "/metrics")))
        except OSError:
            return False

    job = 'job="evaluation.jobs.check_live"'  # every five seconds
    try:
        until(lambda: shown(rf'crowdqc_jobs_total{{{job},outcome="done"}} \d'), 60, "a job")
        text = _get(own, "/metrics").decode()
        assert f"crowdqc_jobs_scheduled_total{{{job}}}" in text
        assert f"crowdqc_job_duration_seconds_count{{{job}}}" in text
        for name in ("scheduler", "worker-default", "workers", "watch"):
            assert re.search(rf'crowdqc_process_memory_bytes{{process="{name}"}} \d', text), name
        # A process of jobs that follows another counts on in its files.
        files = {one.name for one in tmp_path.glob("crowdqc-metrics-*/*.db")}
        assert {"counter_default-0.db", "counter_scheduler.db"} <= files
        assert not [one for one in files if re.search(r"_\d+\.db", one)], files
    finally:
        _end(server)
    assert "check_live" not in (tmp_path / "log").read_text()  # 80,000 such jobs a day
    assert not list(tmp_path.glob("crowdqc-metrics-*"))


@pytest.mark.parametrize("text", ["metrics", "0", "127.0.0.1:", "70000"])
def test_a_place_that_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CROWDQC_METRICS_LISTEN"):
        parse_listen(text)
    assert parse_listen("[::1]:9100") == ("::1", 9100) and parse_listen("") is None


def _start(
    command: list[str],
    folder: Path,
    variables: dict[str, str],
    *sockets: int,
    log: Path | None = None,
) -> subprocess.Popen[bytes]:
    environment = os.environ | variables | {
        "DATABASE_URL": test_database_url(),
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "BROKER_URL": "",
        "TMPDIR": str(folder),
    }  # fmt: skip
    with open(log or os.devnull, "wb") as out:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=sockets, stdout=out, stderr=out
        )


def _children(server: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(server.pid).children()


def _end(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _get(port: int, path: str) -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        headers={"Host": "localhost", "Authorization": f"Bearer {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bytes(answer.read())
