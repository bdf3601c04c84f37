"""The faults that are measured: ``python -m tests.studies.faults`` writes docs/admin/faults.json.

Each does something to a site at which people work, and says what came of it.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from tests.devstack.faults.rig import Measured, Site
from tests.support.processes import ROOT, until

LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)); "
    "from django.core.management import execute_from_command_line as run; run(sys.argv)"
)


@dataclass(frozen=True)
class Fault:
    """One fault: its name, what people and the operator see, and how it is made."""

    key: str
    name: str
    seen: str
    measure: Callable[[Site, int, float], Measured]


FAULTS: dict[str, Fault] = {}
Measure = Callable[[Site, int, float], Measured]


def fault(name: str, seen: str) -> Callable[[Measure], Measure]:
    """Declare a fault."""

    def declare(measure: Measure) -> Measure:
        key = measure.__name__
        FAULTS[key] = Fault(key, name, seen, measure)
        return measure

    return declare


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"


@fault(
    "Database away",
    "Pages answer 503 at once; what was typed stays on the device. /readyz names the database.",
)
def database_away(site: Site, people: int, seconds: float) -> Measured:
    return site.work(people, site.cluster.stop, site.cluster.start, seconds)


@fault(
    "Database there and silent (its processes stopped)",
    "Requests wait until it goes on; /healthz and /readyz answer meanwhile.",
)
def database_silent(site: Site, people: int, seconds: float) -> Measured:
    stopped: list[psutil.Process] = []

    def stop() -> None:
        server = psutil.Process(site.cluster.pid())
        stopped.extend([server, *server.children(recursive=True)])
        for one in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.suspend()

    def go_on() -> None:
        for one in reversed(stopped):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()

    return site.work(people, stop, go_on, seconds / 2)


@fault(
    "Disk of the database full",
    "Saving answers 503, reading works. PostgreSQL starts again once there is space.",
)
def database_disk_full(site: Site, people: int, seconds: float) -> Measured:
    assert site.own_disk, "only root can mount a small disk"
    filler, over = site.cluster.folder / "filler", threading.Event()

    def keep_full() -> None:
        with filler.open("wb", buffering=0) as out:
            for piece in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while not over.is_set():
                        out.write(b"x" * piece)
            while not over.wait(0.05):  # whatever is given back
                with contextlib.suppress(OSError):
                    while not over.is_set():
                        out.write(b"x" * (1 << 12))

    thread = threading.Thread(target=keep_full, daemon=True)

    def fill() -> None:
        thread.start()

    def free() -> None:
        over.set()
        thread.join()
        filler.unlink()
        if not site.cluster.is_running():
            site.cluster.start()

    return site.work(people, fill, free, seconds / 2)


@fault(
    "Broker away",
    "Answering is not touched. Runs and files wait as rows and start when it is back.",
)
def broker_away(site: Site, people: int, seconds: float) -> Measured:
    runs: list[int] = []

    def stop() -> None:
        site.redis.kill()
        site.redis.wait()
        runs.append(site.act("start_run"))

    measured = site.work(people, stop, site.start_redis, seconds)
    began = time.monotonic()
    until(lambda: site.act("run_state", runs[0])[0] == "done", 300, "the run to be done")
    measured.notes.append(
        f"a run started meanwhile was done {_since(began)} after the work went on"
    )
    return measured


@fault(
    "Redis flushed, with jobs in it",
    "Nothing. Periodic jobs hand out again what the rows say.",
)
def redis_flushed(site: Site, people: int, seconds: float) -> Measured:
    runs: list[int] = []

    def flush() -> None:
        runs.extend(site.act("start_run", 2_000) for _ in range(3))
        command = ["redis-cli", "-p", str(site.redis_port), "FLUSHALL"]
        subprocess.run(command, check=True, capture_output=True)

    measured = site.work(people, flush, lambda: None, 5)
    began = time.monotonic()

    def done() -> bool:
        time.sleep(1)
        return {site.act("run_state", pk)[0] for pk in runs} == {"done"}

    until(done, 400, "all runs to be done")
    measured.notes.append(
        f"all 3 runs that had been queued were done, the last {_since(began)} after"
    )
    return measured


def _mail(site: Site, people: int, seconds: float, mode: str) -> Measured:
    told, before, sent = 12, site.mail.taken, site.act("mail")["sent"]

    def lose() -> None:
        site.mail.be(mode)
        site.act("tell", told)

    measured = site.work(people, lose, lambda: None, seconds)
    late = site.act("mail")
    site.mail.be("there")
    began = time.monotonic()

    def all_sent() -> bool:
        time.sleep(1)
        return site.act("mail")["sent"] == sent + told

    until(all_sent, 300, "all mail to leave")
    measured.notes.append(
        f"the operations page said {late['waiting']} mails wait, the oldest for "
        f"{late['oldest']:.0f} s; all {told} left once, {_since(began)} after it was back"
    )
    assert site.mail.taken - before == told, (site.mail.taken - before, told)
    return measured


@fault("Mail server away", "Mail waits; the operations page and an alert say since when.")
def mail_away(site: Site, people: int, seconds: float) -> Measured:
    return _mail(site, people, seconds, "away")


@fault("Mail server takes connections and says nothing", "As above; other jobs go on.")
def mail_silent(site: Site, people: int, seconds: float) -> Measured:
    return _mail(site, people, seconds, "hanging")


@fault(
    "kill -9 of the parent of the pages, then of its children, then of both, during submits",
    "Open requests break off and are sent again.",
)
def kill_web(site: Site, people: int, seconds: float) -> Measured:
    starts = site.web.starts

    def kill() -> None:
        site.web.kill()
        until(lambda: site.web.starts > starts, 30, "another parent")
        until(lambda: site.ask("GET", "/healthz", timeout=5)[0] == 200, 120, "an answer of it")
        for child in site.web.all()[1:]:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        time.sleep(seconds / 6)
        site.web.kill(children=True)

    return site.work(people, kill, lambda: None, 0)


@fault(
    "kill -9 of workers and scheduler during a run",
    "The run takes a minute longer.",
)
def kill_workers(site: Site, people: int, seconds: float) -> Measured:
    runs: list[int] = []

    def kill() -> None:
        runs.append(site.act("start_run", 4_000))
        until(lambda: site.act("run_state", runs[0])[0] == "running", 120, "the run to begin")
        site.jobs.kill(children=True)

    measured = site.work(people, kill, lambda: None, 1)
    began = time.monotonic()

    def ended() -> bool:
        time.sleep(1)
        return site.act("run_state", runs[0])[0] not in {"queued", "running"}

    until(ended, 600, "the run to end")
    state, attempts, error, rows = site.act("run_state", runs[0])
    assert (state, error) == ("done", "") and rows, (state, attempts, error, rows)
    measured.notes.append(
        f"the run was done at attempt {attempts}, {_since(began)} after, and wrote its rows once"
    )
    return measured


@fault(
    "kill -9 of workers during an import",
    "The import takes up to three minutes longer.",
)
def kill_import(site: Site, people: int, seconds: float) -> Measured:
    files: list[int] = []

    def kill() -> None:
        files.append(site.act("start_import", 300))
        until(lambda: site.act("import_state", files[0])[3] > 0, 180, "the import to begin")
        site.jobs.kill(children=True)

    measured = site.work(people, kill, lambda: None, 1)
    began = time.monotonic()

    def ended() -> bool:
        time.sleep(2)
        return site.act("import_state", files[0])[0] not in {"reading", "checking", "importing"}

    until(ended, 600, "the import to end")
    state, answers, pairs, _ = site.act("import_state", files[0])
    assert (state, answers, pairs) == ("imported", 6_000, 6_000), (state, answers, pairs)
    measured.notes.append(f"all 6,000 answers were there once, {_since(began)} after")
    return measured


@fault(
    "Memory limit hit in a run",
    "The run fails and names the limit; it is not tried again. Nothing else is touched.",
)
def memory_limit(site: Site, people: int, seconds: float) -> Measured:
    runs: list[int] = []
    task = site.act("make_large")

    def ended(run: int) -> bool:
        time.sleep(1)
        return site.act("run_state", run)[0] not in {"queued", "running"}

    def hit() -> None:
        runs.append(site.act("start_large", task))
        until(lambda: ended(runs[0]), 240, "the run to end")

    try:
        site.restart_jobs(CROWDQC_JOB_MEMORY="450")
        measured = site.work(people, hit, lambda: None, 1)
        runs.append(site.act("start_run"))
        until(lambda: ended(runs[1]), 300, "another run to end")
    finally:
        site.restart_jobs()
    state, attempts, error, rows = site.act("run_state", runs[0])
    assert (state, attempts, rows) == ("failed", 1, 0), (state, attempts, error, rows)
    assert "more memory than the 450 MB that it may take" in error, error
    state, attempts, error, rows = site.act("run_state", runs[1])
    assert (state, attempts) == ("done", 1), (state, attempts, error)
    measured.notes.append(
        f"the run failed at its first attempt, {measured.lasted - 1:.0f} s after it was started, "
        "and wrote no row; a small run of the same worker was done"
    )
    return measured


@fault(
    "Endpoint of a language model takes connections and says nothing",
    "The run waits and can be cancelled. Pages and other queues go on.",
)
def model_silent(site: Site, people: int, seconds: float) -> Measured:
    runs: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as endpoint:
        url = f"http://127.0.0.1:{endpoint.getsockname()[1]}/v1"

        def ask() -> None:
            runs.append(site.act("ask_model", url))
            runs.append(site.act("start_run"))

        measured = site.work(people, ask, lambda: None, seconds)
        until(lambda: site.act("run_state", runs[1])[0] == "done", 180, "another run to be done")
        state = site.act("run_state", runs[0])[0]
        began = time.monotonic()
        site.act("cancel_run", runs[0])

        def ended() -> bool:
            time.sleep(1)
            return site.act("run_state", runs[0])[0] == "cancelled"

        until(ended, 300, "the run to be cancelled")
    measured.notes.append(
        f"the run was {state} and ended {_since(began)} after it was cancelled; another was done"
    )
    return measured


@contextlib.contextmanager
def _command(site: Site, *words: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "manage.py", *words]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=site.env | more,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@fault("kill -9 of a backup", "No file with the name of a backup is there; the next one is made.")
def kill_backup(site: Site, people: int, seconds: float) -> Measured:
    folder = site.folder / "backups"
    folder.mkdir()

    def kill() -> None:
        with _command(site, "backup", "--to", str(folder)):
            until(lambda: list(folder.glob("*.partial")), 120, "the backup to begin")

    measured = site.work(people, kill, lambda: None, 1)
    assert not list(folder.glob("*.tar.gz"))
    began = time.monotonic()
    site.manage("backup", "--to", str(folder))
    assert len(list(folder.glob("*.tar.gz"))) == 1
    measured.notes.append(f"the next backup took {_since(began)} and was read back")
    return measured


@fault(
    "Disk of backups full, then not mounted",
    "The command says so in one line, and the operations page does; nothing half is left.",
)
def backup_disk_full(site: Site, people: int, seconds: float) -> Measured:
    folder = site.folder / "small"
    folder.mkdir()
    said: list[str] = []

    def fill() -> None:
        command = [sys.executable, "-c", LIMITED, "backup", "--to", str(folder)]
        done = subprocess.run(
            command, cwd=ROOT, env=site.env, capture_output=True, text=True, check=False
        )
        said.append(done.stderr.strip())
        said.append(site.manage("backup", "--to", str(site.folder / "none"), fails=True).strip())

    measured = site.work(people, fill, lambda: None, 1)
    assert all(text.count("\n") == 0 and "No backup was made" in text for text in said), said
    assert not list(folder.iterdir()) and not (site.folder / "none").exists()
    return measured


@fault(
    "kill -9 of a migration",
    "New web processes take no requests until it was run again (`/readyz?parts=migrations`).",
)
def kill_migrate(site: Site, people: int, seconds: float) -> Measured:
    name = "half"
    url = site.cluster.url.replace("/crowdqc?", f"/{name}?")
    with psycopg.connect(site.cluster.url, autocommit=True) as own:
        own.execute(f"CREATE DATABASE {name}")

    def applied() -> int:
        with psycopg.connect(url) as own:
            (there,) = own.execute("SELECT to_regclass('django_migrations')").fetchone() or (None,)
            if there is None:
                return 0
            (count,) = own.execute("SELECT count(*) FROM django_migrations").fetchone() or (0,)
            return int(count)

    def kill() -> None:
        with _command(site, "migrate", "--noinput", DATABASE_URL=url):
            until(lambda: applied() > 5, 120, "some migrations")

    measured = site.work(people, kill, lambda: None, 1)
    half, began = applied(), time.monotonic()
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"],
            cwd=ROOT,
            env=site.env | {"DATABASE_URL": url},
            check=True,
        )
    checked = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--check"],
        cwd=ROOT,
        env=site.env | {"DATABASE_URL": url},
        check=False,
    )
    assert checked.returncode == 0
    measured.notes.append(
        f"killed after {half} of {applied()} migrations; run again it took {_since(began)}"
    )
    return measured


@fault(
    "Clock of the pages 10 minutes ahead of the database's",
    "Assignments last 10 minutes less or more. Codes of authenticator apps are refused meanwhile.",
)
def clock_ahead(site: Site, people: int, seconds: float) -> Measured:
    source, library = Path(__file__).with_name("clock.c"), site.folder / "clock.so"
    switch = site.folder / "ahead"
    words = ("-shared", "-fPIC", "-DAHEAD=600", f'-DSWITCH="{switch}"')
    subprocess.run(["cc", *words, "-o", library, source, "-ldl"], check=True)
    try:
        site.restart_web(LD_PRELOAD=str(library))
        return site.work(people, switch.touch, switch.unlink, seconds / 2)
    finally:
        site.restart_web()
