"""A site of its own for faults: database, broker, pages and jobs as processes, and people at work.

What ends is started again after a second, as systemd does. Nothing here is a test.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from crowdqc.devstack import Cluster
from tests.security.proxy.site import free_port
from tests.support.processes import ROOT, until

RESTART_SECONDS = 1.0
QUESTIONS = 200  # of each person, who answers one in one or two seconds: for some five minutes
REQUEST_SECONDS = 60.0
WORKERS = ("default=2", "runs=1", "files=1", "platforms=1", "models=1", "backups=1", "scheduler=1")


class Kept:
    """A process that is started again when it ends."""

    def __init__(self, command: list[str], env: Mapping[str, str], log: Path) -> None:
        self.command, self.env, self.log = command, dict(env), log
        self.starts, self._over = 0, threading.Event()
        self._start()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.env, stdout=out, stderr=out
            )
        self.starts += 1

    def _keep(self) -> None:
        while not self._over.wait(0.1):
            if self.process.poll() is not None and not self._over.wait(RESTART_SECONDS):
                self._start()

    def all(self) -> list[psutil.Process]:
        """It and what it started."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def kill(self, *, children: bool = False) -> None:
        """SIGKILL."""
        for one in self.all() if children else [psutil.Process(self.process.pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()

    def end(self) -> None:
        """For good; what it started and left behind is killed, as systemd does."""
        self._over.set()
        self._thread.join()
        started = self.all() if self.process.poll() is None else []
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        for one in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        self.process.wait()


class MailServer:
    """Takes mail, or takes connections and says nothing, or is not there."""

    def __init__(self) -> None:
        self.port, self.taken, self.mode = free_port(), 0, "away"
        self._listener: socket.socket | None = None
        self._held: list[socket.socket] = []

    def be(self, mode: str) -> None:
        """``away``, ``hanging`` or ``there``."""
        self.mode = mode
        if self._listener is not None:
            with contextlib.suppress(OSError):  # wakes the thread that waits for a client
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for one in self._held:
            one.close()
        self._held = []
        if mode == "away":
            return
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._serve, args=(self._listener, mode), daemon=True).start()

    def _serve(self, listener: socket.socket, mode: str) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if mode == "hanging":
                self._held.append(client)
            else:
                threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, client.makefile("rwb") as line:

            def say(text: bytes) -> None:
                line.write(text + b"\r\n")
                line.flush()

            say(b"220 here")
            while words := line.readline():
                if words.upper().startswith(b"DATA"):
                    say(b"354 go on")
                    while line.readline() not in (b".\r\n", b""):
                        pass
                    self.taken += 1
                say(b"250 ok")
                if words.upper().startswith(b"QUIT"):
                    return


@dataclass
class Measured:
    """What a fault came to; times in seconds."""

    lasted: float = 0.0
    submits: int = 0
    refused: int = 0
    lost: int = 0
    doubled: int = 0
    longest: float = 0.0
    healthz: float = 0.0
    readyz: float = 0.0
    back: float = 0.0
    notes: list[str] = field(default_factory=list)


class Person(threading.Thread):
    """Takes a question, answers it, and repeats whatever got no answer."""

    def __init__(self, site: Site, task: int, token: str) -> None:
        super().__init__(daemon=True)
        self.site, self.task, self.over = site, task, threading.Event()
        self.headers = {
            "Authorization": f"Token {token}",
            "Content-Type": "application/json",
            "Host": "localhost",
            # Each comes from an address of its own, as limits count by them.
            "X-Forwarded-For": f"198.51.100.{random.randrange(1, 255)}",
        }
        self.submits: list[int] = []
        self.longest, self.refused = 0.0, 0
        self.errors: list[str] = []

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        while not self.over.is_set():
            began = time.monotonic()
            status, text = self.site.ask("POST", f"/api/{path}", json.dumps(body), self.headers)
            self.longest = max(self.longest, time.monotonic() - began)
            if status and status < 500:
                return status, json.loads(text)
            self.refused += 1
            time.sleep(random.uniform(0.3, 1.0))
        return 0, None

    def run(self) -> None:
        try:
            while not self.over.is_set() and self._work():
                self.over.wait(random.uniform(0.5, 2.0))
        except Exception as error:
            self.errors.append(repr(error)[:300])

    def _work(self) -> bool:
        status, body = self.post(f"work/tasks/{self.task}/claim/", {})
        if status != 200:
            if status not in (0, 409):
                self.errors.append(f"claim {status} {body}")
            return False
        answers = {str(e["item"]): {"text": secrets.token_hex(1500)} for e in body["entries"]}
        sent = {"key": str(uuid.uuid4()), "answers": answers}
        for _ in range(2):  # everybody clicks twice
            status, said = self.post(f"work/assignments/{body['id']}/submit/", sent)
            if status == 0:
                return False
            if status != 200:
                self.errors.append(f"submit {status} {said}")
                return True
        self.submits.append(body["id"])
        return True


class Probe(threading.Thread):
    """Asks for one page again and again; the longest that it took."""

    def __init__(self, site: Site, path: str, pause: float) -> None:
        super().__init__(daemon=True)
        self.site, self.path, self.pause = site, path, pause
        self.over, self.longest, self.failed = threading.Event(), 0.0, 0

    def run(self) -> None:
        while not self.over.wait(self.pause):
            began = time.monotonic()
            status, _ = self.site.ask("GET", self.path, timeout=20)
            if status:
                self.longest = max(self.longest, time.monotonic() - began)
            else:
                self.failed += 1


class Site:
    """The site; ``own_disk``: its database lies on a small disk, which may be filled."""

    own_disk = False

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder = folder
        self.cluster = Cluster(folder / "home")
        self.port, self.redis_port = free_port(), free_port()
        self.mail = MailServer()
        hidden = ("DATABASE_URL", "BROKER_URL", "CROWDQC_TEST_HOME", "CROWDQC_TEST_EMBEDDED")
        clean = {k: v for k, v in os.environ.items() if k not in hidden}
        self.env = clean | {
            "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
            "DATABASE_URL": self.cluster.url,
            "BROKER_URL": f"redis://127.0.0.1:{self.redis_port}/0",
            "CROWDQC_HOME": str(folder / "home"),
            "EMAIL_URL": f"smtp://127.0.0.1:{self.mail.port}",
            "CROWDQC_TRUSTED_PROXIES": "127.0.0.1",
            "CROWDQC_WEB_PROCESSES": "2",
            "CROWDQC_WEB_THREADS": "4",
            "LOG_LEVEL": "WARNING",
            **more,
        }

    def __enter__(self) -> Site:
        self.cluster.start()
        self.start_redis()
        self.manage("migrate", "--noinput", "--verbosity", "0")
        self.web, self.jobs = self._start_web(), self._start_jobs()
        with (self.folder / "acts.log").open("w") as log:
            self.acts = subprocess.Popen(
                [sys.executable, "-m", "tests.devstack.faults.acts"],
                cwd=ROOT,
                env=self.env,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.acts.stdout is not None
        assert self.acts.stdout.readline() == "ready\n", self.log("acts")
        until(self.is_ready, 300, "the site to be ready")
        return self

    def __exit__(self, *_: object) -> None:
        with self.acts:  # closes its pipes
            self.acts.kill()
        self.web.end()
        self.jobs.end()
        self.mail.be("away")
        self.redis.kill()
        self.redis.wait()
        self.cluster.stop()

    def _start_web(self, **more: str) -> Kept:
        command = [
            *(sys.executable, "-m", "gunicorn", "--config", "python:crowdqc.web.server"),
            *("--log-level", "warning", "--bind", f"127.0.0.1:{self.port}", "crowdqc.wsgi"),
        ]
        return Kept(command, self.env | more, self.folder / "web.log")

    def _start_jobs(self, **more: str) -> Kept:
        command = [sys.executable, "-m", "crowdqc.jobs.workers", *WORKERS]
        return Kept(command, self.env | more, self.folder / "jobs.log")

    def restart_web(self, **more: str) -> None:
        """Start the pages anew, with other variables; without any, as they were at first."""
        self.web.end()
        self.web = self._start_web(**more)
        until(lambda: self.ask("GET", "/healthz", timeout=5)[0] == 200, 120, "pages")

    def restart_jobs(self, **more: str) -> None:
        """Start workers and scheduler anew, with other variables; without any, as at first."""
        self.jobs.end()
        self.jobs = self._start_jobs(**more)
        until(self.is_ready, 180, "the workers to be ready")

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-2000:]

    def start_redis(self) -> None:
        self.redis = subprocess.Popen(
            [
                *("redis-server", "--port", str(self.redis_port), "--dir", str(self.folder)),
                *("--appendonly", "yes", "--save", "", "--bind", "127.0.0.1"),
            ],
            stdout=subprocess.DEVNULL,
        )

    def manage(self, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def act(self, name: str, *words: Any) -> Any:
        assert self.acts.stdin is not None and self.acts.stdout is not None
        self.acts.stdin.write(json.dumps([name, *words]) + "\n")
        self.acts.stdin.flush()
        said = json.loads(self.acts.stdout.readline())
        assert "error" not in said, said["error"]
        return said["value"]

    def ask(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> tuple[int, str]:
        """Status and text; 0 where there is no answer."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            asked.request(method, path, body, dict(headers or {"Host": "localhost"}))
            answer = asked.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            asked.close()

    def is_ready(self) -> bool:
        time.sleep(0.5)
        return self.ask("GET", "/readyz", timeout=20)[0] == 200

    def work(
        self, people: int, fault: Callable[[], None], heal: Callable[[], object], seconds: float
    ) -> Measured:
        """People work; a fault for so long; then until all is as before. What that came to."""
        world = self.act("world", people, QUESTIONS)
        crowd = [Person(self, world["task"], token) for token in world["tokens"]]
        health, ready = Probe(self, "/healthz", 0.25), Probe(self, "/readyz", 2.0)
        for one in (*crowd, health, ready):
            one.start()
        try:
            until(lambda: sum(len(p.submits) for p in crowd) >= people, 180, "people to work")
            for person in crowd:
                person.longest, person.refused = 0.0, 0
            health.longest = ready.longest = 0.0
            began = time.monotonic()
            try:
                fault()
                time.sleep(seconds)
            finally:
                heal()
            healed = time.monotonic()
            before = sum(len(person.submits) for person in crowd)
            until(lambda: sum(len(p.submits) for p in crowd) >= before + 2, 180, "work to go on")
            back = time.monotonic() - healed
            until(self.is_ready, 180, f"the site to be ready: {self.ask('GET', '/readyz')}")
            time.sleep(3)
        finally:
            for one in (*crowd, health, ready):
                one.over.set()
            for one in (*crowd, health, ready):
                one.join(REQUEST_SECONDS + 5)
        told = {pk for person in crowd for pk in person.submits}
        errors = [error for person in crowd for error in person.errors]
        assert not errors, errors[:3]
        there = set(self.act("submitted", world["task"]))
        return Measured(
            lasted=healed - began,
            submits=len(told),
            refused=sum(person.refused for person in crowd),
            lost=len(told - there),
            doubled=self.act("counted", world["task"])[1],
            longest=max(person.longest for person in crowd),
            healthz=health.longest,
            readyz=ready.longest,
            back=back,
            notes=[f"{health.failed} probes without an answer"] if health.failed else [],
        )


@contextlib.contextmanager
def site() -> Iterator[Site]:
    """A site in a folder that is gone afterwards, its database on a disk of its own."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o711)  # the database's account walks through it
    disk = folder / "home"
    disk.mkdir(mode=0o711)
    mount = ["mount", "-t", "tmpfs", "-o", "size=500m,mode=0711", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        with Site(folder) as made:
            made.own_disk = mounted
            yield made
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(disk)], check=False)
        if not os.environ.get("CROWDQC_FAULTS_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def paused(processes: list[psutil.Process]) -> Iterator[None]:
    """They are there and do nothing."""
    for one in processes:
        one.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for one in reversed(processes):
            one.send_signal(signal.SIGCONT)
