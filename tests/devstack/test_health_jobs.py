"""A container of workers or of the scheduler knows whether it lives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.processes import ROOT, empty_queue, test_database_url, until

pytestmark = [pytest.mark.db, pytest.mark.queue, pytest.mark.django_db(transaction=True)]
LONG_AGO = 10 * 60


def probe(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "crowdqc/devstack/probe.py", "jobs"],
        cwd=ROOT,
        env=os.environ | {"CROWDQC_ALIVE": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def grow_old(folder: Path, name: str) -> None:
    then = time.time() - LONG_AGO
    os.utime(folder / name, (then, then))


def test_a_container_is_not_healthy_before_anything_lives_in_it(tmp_path: Path) -> None:
    assert "No such file" in probe(tmp_path / "none").stderr
    assert "nothing has given a sign of life yet" in probe(tmp_path).stderr


@pytest.mark.long
def test_a_scheduler_that_lives_says_so_and_one_that_is_silent_is_named(tmp_path: Path) -> None:
    """That workers do is seen in ``test_worker_family.py``."""
    command, name = ["-m", "celery", "--app=crowdqc", "--quiet", "beat", "--pidfile="], "scheduler"
    empty_queue()
    environment = os.environ | {
        "DATABASE_URL": test_database_url(),
        "CROWDQC_ALIVE": str(tmp_path),
        # Tests have no periodic jobs; these go to a queue that nobody reads.
        "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        "BROKER_URL": "",
    }
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment)
    try:
        until((tmp_path / name).exists, 150, "a first sign of life")
        assert probe(tmp_path).returncode == 0
        for _ in range(2):  # it goes on saying so
            grow_old(tmp_path, name)
            until(lambda: probe(tmp_path).returncode == 0, 60, "a further sign of life")
    finally:
        process.kill()
        process.wait()
    grow_old(tmp_path, name)
    silent = probe(tmp_path)
    assert silent.returncode == 1
    assert f"no sign of life for 60 seconds: {name}" in silent.stderr
    empty_queue()
