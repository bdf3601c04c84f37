"""Fifty people at work while web process and worker are killed: nothing is lost or doubled.

The whole stack runs as `make run` starts it, on its own PostgreSQL, and is killed with SIGKILL.
What is asserted is read from the database afterwards, against what the clients were told.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from tests.support.processes import ROOT, processes_with, until

pytestmark = [pytest.mark.slow]  # on a stack of its own: servers named elsewhere change nothing
PEOPLE, QUESTIONS, REDUNDANCY, BUNDLE = 50, 40, 5, 4
PATIENCE = 120  # seconds a client goes on trying one request

SET_UP = f"""
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "crowdqc.settings"
import django
django.setup()
from tests.support import factories as f
world = f.make_world(n={QUESTIONS}, redundancy={REDUNDANCY}, items_per_assignment={BUNDLE})
workers = [f.make_worker(world.project).user for _ in range({PEOPLE})]
tokens = [f.api_token(user, per_minute=6000) for user in workers]
staff = {{r: f.api_token(u, per_minute=6000) for r, u in
         (("requester", world.requester), ("manager", world.manager))}}
print(json.dumps({{"task": world.task.pk, "project": world.project.pk, "tokens": tokens, **staff}}))
"""
MONEY = """
import os, sys, uuid
os.environ["DJANGO_SETTINGS_MODULE"] = "crowdqc.settings"
import django
django.setup()
from annotation.payouts.actions import proposals as payouts
from annotation.models import Assignment, PayoutBatch, Task, User
from annotation.accounts.tokens.actions import digest
from annotation.models import ApiToken
task = Task.objects.get(pk=int(sys.argv[1]))
keys = {"r": digest(sys.argv[2]), "m": digest(sys.argv[3])}
by = {r: ApiToken.objects.get(digest=key).user for r, key in keys.items()}
open_ones = Assignment.objects.filter(task=task, state="submitted", settled_at=None)
open_ones = open_ones.exclude(payout_lines__live=True)
lines = [payouts.ProposedLine(pk) for pk in open_ones.values_list("pk", flat=True)]
if lines:
    payouts.propose_payout(by=by["r"], task=task, key=uuid.uuid4(), lines=lines)
for batch in PayoutBatch.objects.filter(task=task, state="proposed"):
    print("approving", flush=True)
    payouts.approve_payout(by=by["m"], batch=batch, expected_total=payouts.total(batch))
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


@dataclass
class Stack:
    """The running stack, and how to kill parts of it."""

    process: subprocess.Popen[bytes]
    home: Path
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        names = ("DATABASE_URL", "BROKER_URL", "CROWDQC_TEST_HOME", "CROWDQC_TEST_EMBEDDED")
        clean = {k: v for k, v in os.environ.items() if k not in names}
        return clean | {
            "CROWDQC_HOME": str(self.home),
            "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
        }

    def run(self, code: str, *args: str) -> subprocess.Popen[str]:
        from crowdqc.devstack import database_url

        return subprocess.Popen(
            [sys.executable, "-c", code, *args],
            cwd=ROOT,
            text=True,
            env=self.env | {"DATABASE_URL": database_url(self.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def kill(self, part: str) -> int:
        """SIGKILL all processes of a part ("web", "worker"); how many."""
        killed = 0
        for child in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if child.name().startswith(part):
                    child.send_signal(signal.SIGKILL)
                    killed += 1
            except psutil.NoSuchProcess:
                continue
        return killed

    def is_ready(self) -> bool:
        try:
            return ask(urllib.request.Request(f"{self.url}/readyz"), 3).status == 200
        except OSError:
            return False


@pytest.fixture
def stack(open_folder: Path) -> Iterator[Stack]:
    """A stack of its own, started by the command that newcomers use."""
    home = open_folder
    log = home / "log"
    port = random.randint(20_000, 30_000)
    running = Stack(None, home / "var", port, log)  # type: ignore[arg-type]
    with log.open("wb") as out:
        running.process = subprocess.Popen(
            [sys.executable, "manage.py", "devstack", "--no-demo", "--port", str(port)],
            cwd=ROOT,
            env=running.env,
            stdout=out,
            stderr=out,
        )
    try:
        until(running.is_ready, 90, f"the stack to be ready\n{log.read_text()[-2000:]}")
        yield running
    finally:
        running.process.terminate()
        try:
            running.process.wait(30)
        except subprocess.TimeoutExpired:
            running.process.kill()


@dataclass
class Told:
    """What one client was told, and so may rely on."""

    submits: list[int] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    errors: list[str] = field(default_factory=list)


class Client(threading.Thread):
    """A person who works until nothing is left, and repeats whatever got no answer."""

    def __init__(self, url: str, task: int, token: str) -> None:
        super().__init__(daemon=True)
        self.url, self.task, self.told = url, task, Told()
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
        for number in range(3):
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
    from crowdqc.devstack import database_url

    with psycopg.connect(database_url(stack.home)) as connection:
        return connection.execute(sql).fetchall()


def test_nothing_is_lost_or_doubled_when_web_and_worker_are_killed(stack: Stack) -> None:
    made, problems = stack.run(SET_UP).communicate(timeout=120)
    assert made, problems
    world = json.loads(made.strip().splitlines()[-1])
    clients = [Client(stack.url, world["task"], token) for token in world["tokens"]]
    for client in clients:
        client.start()
    kills = Counter[str]()
    money: list[subprocess.Popen[str]] = []
    for number in range(3):  # each time when the next fifth of the work is done
        until(
            lambda: sum(len(c.told.submits) for c in clients) >= 5 + number * 10,  # noqa: B023
            PATIENCE,
            "people to submit",
        )
        kills["web"] += stack.kill("web")
        kills["worker"] += stack.kill("worker")
        paying = stack.run(MONEY, str(world["task"]), world["requester"], world["manager"])
        money.append(paying)
    money[-1].kill()  # the payer dies too, wherever it is
    for paying in money:
        paying.communicate(timeout=60)
    for client in clients:
        client.join(PATIENCE + 60)
    until(stack.is_ready, 90, "the stack to be ready again")
    for _ in range(2):  # paying again must pay nothing twice
        last = stack.run(MONEY, str(world["task"]), world["requester"], world["manager"])
        _, problems = last.communicate(timeout=60)
        assert last.returncode == 0, problems
    assert not [error for client in clients for error in client.told.errors]
    # The kills did hit people at work: requests went without an answer and were sent again.
    assert sum(client.told.unanswered for client in clients) > 0
    assert kills["web"] >= 3 and kills["worker"] >= 3
    check_answers(stack, clients)
    check_events(stack, clients)
    check_money(stack)
    stack.process.send_signal(signal.SIGINT)  # as by Ctrl+C
    assert stack.process.wait(20) == 0
    assert processes_with(str(stack.home)) == []


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
