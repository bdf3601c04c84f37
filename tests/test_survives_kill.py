"""People at work while web process and worker are killed: nothing is lost or doubled.

The whole stack runs as `make run` starts it, on its own PostgreSQL, and is killed with SIGKILL.
What is asserted is read from the database afterwards, against what the clients were told. Then the
stack is started again, and every part of it is killed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from crowdqc.devstack import Cluster, database_url
from tests.support.processes import ROOT, processes_with, until

pytestmark = [pytest.mark.slow]  # on a stack of its own: servers named elsewhere change nothing
PEOPLE, QUESTIONS, REDUNDANCY, BUNDLE = 20, 16, 5, 4
KILLS, FIRST, EVERY = 3, 3, 5  # after so many submits, and so many more
RESTLESS = 3  # people who are at a request whenever something is killed
PATIENCE = 120  # seconds a client goes on trying one request
PARTS = {"web", "scheduler", "postgres", "worker-default", "watch"}
SERVING = re.compile(r"serving at (http://127\.0\.0\.1:\d+)")
# What else is done on the stack's database, each time by a process forked from one that has loaded
# the program: a line of JSON is answered with the process's id, and "wait" with how it ended.
STAFF = f"""
import json, os, sys, traceback, uuid
import django
django.setup()
from annotation.models import ApiToken, Assignment, PayoutBatch, Task
from annotation.accounts.tokens.actions import digest_token
from annotation.payouts.actions import proposals as payouts
from tests.support import factories as f

def set_up(result):
    world = f.make_world(n={QUESTIONS}, redundancy={REDUNDANCY}, items_per_assignment={BUNDLE})
    workers = [f.make_worker(world.project).user for _ in range({PEOPLE})]
    tokens = [f.api_token(user, per_minute=6000) for user in workers]
    staff = {{"requester": f.api_token(world.requester), "manager": f.api_token(world.manager)}}
    with open(result, "w") as out:
        json.dump({{"task": world.task.pk, "tokens": tokens, **staff}}, out)

def pay(result, task, requester, manager):
    by = {{key: ApiToken.objects.get(digest=digest_token(token)).user
          for key, token in (("requester", requester), ("manager", manager))}}
    task = Task.objects.get(pk=task)
    open_ones = Assignment.objects.filter(task=task, state="submitted", settled_at=None)
    open_ones = open_ones.exclude(payout_lines__live=True)
    lines = [payouts.ProposedLine(pk) for pk in open_ones.values_list("pk", flat=True)]
    try:
        if lines:
            payouts.propose_payout(by=by["requester"], task=task, key=uuid.uuid4(), lines=lines)
    finally:  # another may have been quicker
        open(result, "w").close()
    for batch in PayoutBatch.objects.filter(task=task, state="proposed"):
        payouts.approve_payout(by=by["manager"], batch=batch, expected_total=payouts.total(batch))

for line in sys.stdin:
    name, *words = json.loads(line)
    if name == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(words[0], 0)[1]), flush=True)
        continue
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    status = 1
    try:
        globals()[name](*words)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
"""


@dataclass(frozen=True)
class Reply:
    """What the server said."""

    status: int
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


def ask(request: urllib.request.Request, timeout: float) -> Reply:
    """The server's reply whatever its status; OSError or HTTPException when there was none."""
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return Reply(answer.status, answer.read().decode())
    except urllib.error.HTTPError as refused:
        with refused:
            return Reply(refused.code, refused.read().decode())


class Stack:
    """A real ``manage.py devstack``, and how to kill parts of it."""

    def __init__(self, home: Path) -> None:
        self.home, self.log = home, home.parent / "devstack.log"
        names = ("DATABASE_URL", "BROKER_URL", "CROWDQC_TEST_HOME", "CROWDQC_TEST_EMBEDDED")
        clean = {k: v for k, v in os.environ.items() if k not in names}
        self.env = clean | {"CROWDQC_HOME": str(home), "DJANGO_SETTINGS_MODULE": "crowdqc.settings"}

    def __enter__(self) -> Stack:
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "devstack", "--no-demo", "--port", "18765"],
                cwd=ROOT,
                env=self.env,
                stdout=out,
                stderr=out,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)

    def said(self, text: str) -> None:
        """Wait until it has said so."""
        until(lambda: text in self.log.read_text(), 150, f"{text!r}: see {self.log}")

    @property
    def url(self) -> str:
        """Where it serves, once it has said so."""
        found = SERVING.search(self.log.read_text())
        assert found is not None
        return found[1]

    def parts(self) -> dict[str, psutil.Process]:
        """The supervised processes by their names."""
        found: dict[str, psutil.Process] = {}
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # dead, and not yet reaped
                found.setdefault(child.name(), child)  # parents come first
        return found

    def replaced(self, before: dict[str, psutil.Process], *names: str) -> bool:
        """Whether other processes do now what these did."""
        now = self.parts()
        return all(name in now and now[name].pid != before[name].pid for name in names)

    def kill(self, part: str) -> None:
        """SIGKILL all processes of a part ("web", "worker"), as soon as there is one."""
        until(lambda: self._kill(part), 30, f"{part} to be there")

    def _kill(self, part: str) -> int:
        killed = 0
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.name().startswith(part):
                    child.send_signal(signal.SIGKILL)
                    killed += 1
        return killed

    def status(self, path: str) -> int:
        """What a page is answered with; 0 where there is no answer."""
        try:
            return ask(urllib.request.Request(self.url + path), 20).status
        except OSError:
            return 0

    def is_ready(self) -> bool:
        time.sleep(0.2)  # looking takes the processors that others need to get ready
        return self.status("/readyz") == 200


class Staff:
    """Who prepares the project and pays for the work, each time in a process of its own."""

    def __init__(self, stack: Stack) -> None:
        self.folder, self.number = stack.home.parent, 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", STAFF],
            cwd=ROOT,
            text=True,
            env=stack.env | {"DATABASE_URL": database_url(stack.home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def _tell(self, *words: object) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def begin(self, act: str, *words: object) -> tuple[int, Path]:
        """Its process, and the file that is there when it has got so far."""
        self.number += 1
        result = self.folder / f"result-{self.number}"
        return self._tell(act, str(result), *words), result

    def wait(self, pid: int) -> int:
        """How it ended."""
        return self._tell("wait", pid)

    def end(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def home(open_folder: Path) -> Iterator[Path]:
    """Where the stacks of this file keep their state."""
    home = open_folder / "a home"
    yield home
    shutil.rmtree(Cluster(home).sockets, ignore_errors=True)  # outside, as the path has a space


@dataclass
class Told:
    """What one client was told, and so may rely on."""

    submits: list[int] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    errors: list[str] = field(default_factory=list)


class Client(threading.Thread):
    """A person who works until nothing is left, and repeats whatever got no answer."""

    def __init__(self, url: str, task: int, token: str, goes_on: Callable[[], bool]) -> None:
        super().__init__(daemon=True)
        self.url, self.task, self.told = url, task, Told()
        self.goes_on = goes_on  # whether to do more before the submit
        self.headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}

    def post(self, path: str, body: dict[str, Any] | None = None) -> Reply:
        data = json.dumps(body or {}).encode()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                url = f"{self.url}/api/{path}"
                reply = ask(urllib.request.Request(url, data, self.headers, method="POST"), 20)
                if reply.status < 500:
                    return reply
                reason = f"{reply.status} {reply.text[:200]}"
            except (OSError, HTTPException) as error:
                reason = repr(error)
            self.told.unanswered += 1
            if time.monotonic() > deadline:
                raise AssertionError(f"{path}: {reason}")
            time.sleep(random.uniform(0.05, 0.3))

    def run(self) -> None:
        try:
            while self.one_assignment():
                pass
        except Exception as error:
            self.told.errors.append(repr(error))

    def one_assignment(self) -> bool:
        claimed = self.post(f"work/tasks/{self.task}/claim/")
        if claimed.status == 409:
            return False  # nothing is left
        assert claimed.status == 200, claimed.text
        body = claimed.json()
        at = f"work/assignments/{body['id']}"
        stream = str(uuid.uuid4())
        assert self.post(f"{at}/streams/", {"key": stream}).status == 200
        for number in itertools.count():
            if number >= 3 and not self.goes_on():
                break
            batch = [{"method": "focus", "time": number * 10 + i} for i in range(10)]
            sent = {"stream": stream, "first_seq": number * 10, "events": batch}
            acknowledged = self.post(f"{at}/events/", sent)
            assert acknowledged.status == 200, acknowledged.text
            self.told.events[stream] = acknowledged.json()["next"]
        answers = {
            str(e["item"]): {"text": f"An answer to {e['item_id']}"} for e in body["entries"]
        }
        key = str(uuid.uuid4())
        for _ in range(2):  # everybody clicks twice
            submitted = self.post(f"{at}/submit/", {"key": key, "answers": answers})
            assert submitted.status == 200, submitted.text
        self.told.submits.append(body["id"])
        return True


def rows(stack: Stack, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url(stack.home)) as connection:
        return connection.execute(sql).fetchall()


def test_nothing_is_lost_or_doubled_when_web_and_worker_are_killed(home: Path) -> None:
    with Stack(home) as stack:
        staff = Staff(stack)  # loads the program beside the start
        try:
            stack.said("ready at")
            clients = work_and_kill(stack, staff)
        finally:
            staff.end()
        check_answers(stack, clients)
        check_events(stack, clients)
        check_money(stack)
        stack.process.send_signal(signal.SIGINT)  # as by Ctrl+C
        assert stack.process.wait(20) == 0
        assert processes_with(str(home)) == []


def work_and_kill(stack: Stack, staff: Staff) -> list[Client]:
    """What became of the people who worked meanwhile."""
    maker, made = staff.begin("set_up")
    assert staff.wait(maker) == 0
    world = json.loads(made.read_text())
    payment = ("pay", world["task"], world["requester"], world["manager"])
    killing = threading.Event()
    killing.set()
    clients = [
        Client(stack.url, world["task"], token, killing.is_set if n < RESTLESS else bool)
        for n, token in enumerate(world["tokens"])
    ]
    for client in clients:
        client.start()
    paying = []
    for number in range(KILLS):
        until(
            lambda: sum(len(c.told.submits) for c in clients) >= FIRST + number * EVERY,  # noqa: B023
            PATIENCE,
            "people to submit",
        )
        stack.kill("web")
        stack.kill("worker")
        paying.append(staff.begin(*payment))
    killing.clear()
    payer, begun = paying[-1]
    until(begun.exists, 60, "the payer to have proposed")
    os.kill(payer, signal.SIGKILL)  # it dies too, wherever it is
    for payer, _ in paying:
        staff.wait(payer)
    for client in clients:
        client.join(PATIENCE + 60)
    until(stack.is_ready, 90, "the stack to be ready again")
    for _ in range(2):  # paying again must pay nothing twice
        assert staff.wait(staff.begin(*payment)[0]) == 0
    assert not [error for client in clients for error in client.told.errors]
    # The kills did hit people at work: requests went without an answer and were sent again.
    assert sum(client.told.unanswered for client in clients) > 0
    return clients


def test_it_heals_whoever_is_killed_and_nothing_remains_once_it_is_killed(home: Path) -> None:
    with Stack(home) as stack:
        stack.said("serving at")
        assert stack.status("/healthz") == 200  # pages come before the workers are there
        stack.said("ready at")
        assert stack.status("/readyz") == 200
        until(lambda: set(stack.parts()) >= PARTS, 30, "all parts to have their names")
        parts = stack.parts()

        web = [parts["web"], *parts["web"].children(recursive=True)]
        parts["web"].kill()  # the port stays open meanwhile: requests wait
        psutil.wait_procs(web, timeout=10)  # one that ends drops what it has taken up
        assert stack.status("/healthz") == 200
        killed = ("worker-default", "watch", "scheduler", "postgres")
        for name in killed:
            parts[name].kill()
        until(lambda: stack.replaced(parts, *killed, "web"), 30, "all to be started again")
        program = stack.parts()["web"].parent()
        assert program is not None
        program.kill()  # what all of them were forked from
        until(lambda: stack.replaced(parts, *PARTS), 90, "the whole program to be back")
        assert stack.status("/healthz") == 200
        stack.process.kill()  # nobody is left to stop the others: they end by themselves
        stack.process.wait()
        if sys.platform == "linux":
            until(lambda: processes_with(str(home)) == [], 15, "all processes to end")


def check_answers(stack: Stack, clients: list[Client]) -> None:
    """Every acknowledged submit is there once; no question got more than it asked for."""
    told = sorted(pk for client in clients for pk in client.told.submits)
    assert len(told) == len(set(told)) >= QUESTIONS * REDUNDANCY // BUNDLE
    stored = rows(
        stack, "SELECT id FROM annotation_assignment WHERE state = 'submitted' ORDER BY 1"
    )
    assert [pk for (pk,) in stored] == told
    per_item = rows(
        stack,
        "SELECT i.held, i.redundancy, (SELECT count(*) FROM annotation_answer a"
        " WHERE a.item_id = i.id AND a.counts), (SELECT count(*) FROM annotation_assignmentitem e"
        " WHERE e.item_id = i.id AND e.holds) FROM annotation_item i",
    )
    assert per_item == [(REDUNDANCY,) * 4] * QUESTIONS
    twice = rows(
        stack,
        "SELECT worker_id, item_id FROM annotation_answer GROUP BY 1, 2 HAVING count(*) > 1",
    )
    assert not twice
    texts = rows(stack, "SELECT count(*), count(DISTINCT answer_id) FROM annotation_textvalue")
    assert texts == [(QUESTIONS * REDUNDANCY,) * 2]


def check_events(stack: Stack, clients: list[Client]) -> None:
    """Every acknowledged event is there once."""
    stored = dict(
        rows(
            stack,
            "SELECT s.key::text, sum(jsonb_array_length(b.events)) FROM annotation_eventstream s"
            " JOIN annotation_eventbatch b ON b.stream_id = s.id GROUP BY 1",
        )
    )
    told = sum((client.told.events for client in clients), Counter[str]())
    assert {key: int(count) for key, count in stored.items()} == dict(told)


def check_money(stack: Stack) -> None:
    """Every submitted assignment is paid exactly once, and only those."""
    doubled = rows(
        stack,
        "SELECT assignment_id FROM annotation_ledgerentry GROUP BY 1 HAVING count(*) > 1",
    )
    assert not doubled
    paid = rows(stack, "SELECT count(*), sum(amount) FROM annotation_ledgerentry")
    [(number,)] = rows(stack, "SELECT count(*) FROM annotation_assignment")
    assert [(count, round(float(amount), 2)) for count, amount in paid] == [
        (number, round(number * 1.8, 2))
    ]
