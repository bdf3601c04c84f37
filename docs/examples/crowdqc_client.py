"""A small client of crowdqc's API: copy this file; it needs Python 3.11 and nothing else.

    client = Client("https://crowdqc.example", token="cqc_...")
    for task in client.tasks(project=1):
        print(task.id, task.title, task.state)

Requests that got no answer are sent again, POSTs under one Idempotency-Key, so that whatever was
lost on the way is done once. Refusals are raised as ``Refused`` with the server's words.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Self
from urllib.parse import urlsplit

TRIES, PATIENCE = 5, 30.0
AGAIN = {429, 502, 503, 504}  # and a 409 that says the same request is still in work


class Refused(Exception):
    """The server said no, and why."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.status: int = problem.get("status", 0)
        self.code: str = problem.get("code", "")
        self.fields: dict[str, str] = dict(problem.get("fields", {}))
        self.rows: list[dict[str, Any]] = list(problem.get("rows", []))
        super().__init__(f"{self.status} {self.code}: {problem.get('detail', '')}")


class Row:
    """A row of the API as a dataclass; what a newer server adds is passed over."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        known = {one.name for one in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in body.items() if name in known})


@dataclass(frozen=True)
class Project(Row):
    id: int
    name: str
    currency: str
    roles: list[str]


@dataclass(frozen=True)
class Task(Row):
    id: int
    project: int
    type: str
    state: str
    current: dict[str, Any] | None = None
    draft: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """Of what is in force, else of what is being edited."""
        return str((self.current or self.draft or {}).get("title", ""))


@dataclass(frozen=True)
class Answer(Row):
    id: int
    item_id: str
    worker: str | None
    system: str | None
    answer: str
    declined: bool
    counts: bool
    choices: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run(Row):
    id: int
    number: int
    method: str
    state: str
    error: str = ""

    @property
    def over(self) -> bool:
        return self.state not in ("queued", "running")


@dataclass(frozen=True)
class Label(Row):
    """An item's label by a run; ``posterior`` by label, ``decided_label`` if a person decided."""

    item_id: str
    dimension: str
    label: str
    posterior: dict[str, float]
    n: int
    decided_label: str | None = None

    @property
    def final(self) -> str:
        """The decided label, else the run's."""
        return self.decided_label or self.label


@dataclass(frozen=True)
class WorkerScore(Row):
    worker: str
    dimension: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Live(Row):
    """A live evaluation; ``board`` is the last look, and the result once it has ended."""

    task: int
    state: str
    reason: str
    systems: list[str]
    half_width: float
    max_judgments: int
    prompts_left: int
    money: str
    board: dict[str, Any]
    budget: str | None = None

    @property
    def over(self) -> bool:
        return self.state == "ended"


@dataclass(frozen=True)
class Waiting(Row):
    """Work that waits for a decision about its pay."""

    assignment: int
    worker: str
    pay: str
    look_first: bool
    notes: list[str]


@dataclass(frozen=True)
class Payout(Row):
    id: int
    number: int
    state: str
    total: str
    currency: str
    may_approve: bool
    reason_cannot_approve: str
    lines: list[dict[str, Any]]


class Client:
    """One token at one server."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if not url.startswith(("https://", "http://")):
            raise ValueError("The server's address begins with https://")
        self.root, self.token, self.timeout = url.rstrip("/"), token, timeout

    @classmethod
    def sign_in(
        cls, url: str, username: str, password: str, *, code: str = "", scopes: Sequence[str] = ()
    ) -> Self:
        """A client with a fresh token; better is one made on the account page.

        It may read and work, or what ``scopes`` asks for (read, write, work, run, pay). An account
        with a second factor needs its ``code``, and ``pay`` needs a second factor.
        """
        client = cls(url, "")
        body: dict[str, Any] = {"username": username, "password": password, "code": code}
        if scopes:
            body["scopes"] = list(scopes)
        client.token = client.call("POST", "/api/token/", body)["token"]
        return client

    # -- requests --------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
        """The answer's JSON; ``key`` is the request's name, made where there is none."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Token {self.token}"
        if method == "POST":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        content = self._send(method, path, body, headers)
        return json.loads(content) if content else None

    def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> bytes:
        data = None if body is None else json.dumps(body, default=str).encode()
        end = time.monotonic() + PATIENCE
        for number in range(1, TRIES + 1):
            request = urllib.request.Request(  # noqa: S310
                f"{self.root}{path}", data, dict(headers), method=method
            )
            wait = min(2.0**number / 4, 8.0)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    refusal = Refused(_problem(error))
                    wait = float(error.headers.get("Retry-After") or wait)
                again = error.code in AGAIN or refusal.code == "key-in-work"
                if not again or number == TRIES or time.monotonic() + wait > end:
                    raise refusal from None
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                if method == "PATCH" or number == TRIES or time.monotonic() + wait > end:
                    raise
            time.sleep(wait)
        raise AssertionError("unreachable")

    def rows(self, path: str) -> Iterator[dict[str, Any]]:
        """All rows of a list, page by page."""
        while path:
            page = self.call("GET", path)
            yield from page["results"]
            # Its path alone, so that the token goes nowhere else.
            path = urlsplit(page["next"] or "")._replace(scheme="", netloc="").geturl()

    # -- collecting ------------------------------------------------------------------------------

    def projects(self) -> Iterator[Project]:
        return map(Project.of, self.rows("/api/projects/"))

    def begin_project(self, name: str, currency: str = "EUR") -> Project:
        body = {"name": name, "currency": currency}
        return Project.of(self.call("POST", "/api/projects/", body))

    def tasks(self, project: int) -> Iterator[Task]:
        return map(Task.of, self.rows(f"/api/projects/{project}/tasks/"))

    def begin_task(self, project: int, title: str, type: str = "free_text") -> Task:
        body = {"title": title, "type": type}
        return Task.of(self.call("POST", f"/api/projects/{project}/tasks/", body))

    def change_draft(self, task: int, **changes: Any) -> Task:
        return Task.of(self.call("PATCH", f"/api/tasks/{task}/", changes))

    def import_rows(self, task: int, kind: str, rows: Sequence[Mapping[str, Any]]) -> int:
        """All rows or none; ``kind`` is items, answers, system-answers, judgments...

        Gives how many were new; sent again, none are.
        """
        body = {"rows": list(rows)}
        return int(self.call("POST", f"/api/tasks/{task}/{kind}/", body)["new"])

    def publish(self, task: int) -> Task:
        return Task.of(self.call("POST", f"/api/tasks/{task}/publish/"))

    def invite(self, project: int, role: str = "worker", **terms: Any) -> dict[str, Any]:
        """An invitation with its ``link`` and ``token``; ``terms``: days, max_uses, note."""
        body = {"role": role, **terms}
        return dict(self.call("POST", f"/api/projects/{project}/invitations/", body))

    def answers(self, task: int, author: str = "") -> Iterator[Answer]:
        query = f"?author={author}" if author else ""
        return map(Answer.of, self.rows(f"/api/tasks/{task}/answers/{query}"))

    def export(self, task: int, what: str, form: str = "csv") -> bytes:
        """A table of the task as a file: ``what`` is items, answers, judgments, labels..."""
        headers = {"Authorization": f"Token {self.token}"}
        return self._send("GET", f"/api/tasks/{task}/export/{what}.{form}", None, headers)

    # -- working ---------------------------------------------------------------------------------

    def join(self, token: str) -> dict[str, Any]:
        return dict(self.call("POST", "/api/work/join/", {"token": token}))

    def agree(self, project: int) -> None:
        """Agree to the consent text in force; a person has to have read it."""
        path = f"/api/work/projects/{project}/consent/"
        number = self.call("GET", path)["number"]
        self.call("POST", path, {"number": number, "agreed": True})

    def claim(self, task: int) -> dict[str, Any]:
        """An assignment with its entries; the one in work where there is one."""
        return dict(self.call("POST", f"/api/work/tasks/{task}/claim/"))

    def submit(self, assignment: int, drafts: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        body = {"key": str(uuid.uuid4()), "answers": {str(k): v for k, v in drafts.items()}}
        return dict(self.call("POST", f"/api/work/assignments/{assignment}/submit/", body))

    # -- runs ------------------------------------------------------------------------------------

    def start_run(self, task: int, method: str = "aqer", **params: Any) -> Run:
        body = {"method": method, "params": params}
        return Run.of(self.call("POST", f"/api/tasks/{task}/runs/", body))

    def wait_for(self, run: int, seconds: float = 600.0) -> Run:
        """The run once it is over."""
        end = time.monotonic() + seconds
        while not (found := Run.of(self.call("GET", f"/api/runs/{run}/"))).over:
            if time.monotonic() > end:
                raise TimeoutError(f"run {found.number} is {found.state} still")
            time.sleep(1.0)
        return found

    def run(self, project: int, number: int) -> Run:
        """The run that pages call by this number; all other methods take its ``id``."""
        return Run.of(self.call("GET", f"/api/projects/{project}/runs/{number}/"))

    def labels(self, run: int) -> Iterator[Label]:
        """The label of each item."""
        return map(Label.of, self.rows(f"/api/runs/{run}/scores/labels/"))

    def official_labels(self, task: int) -> Iterator[Label]:
        """The same of the task's official run."""
        return map(Label.of, self.rows(f"/api/tasks/{task}/scores/labels/"))

    def worker_scores(self, run: int) -> Iterator[WorkerScore]:
        return map(WorkerScore.of, self.rows(f"/api/runs/{run}/scores/workers/"))

    # -- live evaluations ------------------------------------------------------------------------

    def open_live(self, task: int, systems: Sequence[str], **limits: Any) -> Live:
        """Compare systems on a pairwise task; ``limits``: half_width, max_judgments, budget, and
        judges (ids of models) with decided_by (people, or models alone)."""
        body = {"systems": list(systems), **limits}
        return Live.of(self.call("POST", f"/api/tasks/{task}/live/", body))

    def add_outputs(self, task: int, key: str, outputs: Sequence[Mapping[str, Any]]) -> int:
        """Send rows of prompt, question, system and text: all or none.

        Gives how many pairs they make. The same ``key`` with the same rows adds nothing again.
        """
        body = {"key": key, "outputs": list(outputs)}
        return int(self.call("POST", f"/api/tasks/{task}/live/outputs/", body)["pairs"])

    def live(self, task: int) -> Live:
        return Live.of(self.call("GET", f"/api/tasks/{task}/live/"))

    def raise_live(self, task: int, **limits: Any) -> Live:
        """Raise its limits: ``max_judgments``, ``budget``; what is left out stays."""
        return Live.of(self.call("PATCH", f"/api/tasks/{task}/live/", limits))

    def end_live(self, task: int) -> Live:
        return Live.of(self.call("POST", f"/api/tasks/{task}/live/end/"))

    # -- paying ----------------------------------------------------------------------------------

    def waiting(self, task: int) -> Iterator[Waiting]:
        return map(Waiting.of, self.rows(f"/api/tasks/{task}/waiting/"))

    def propose(
        self, task: int, lines: Sequence[Mapping[str, Any]], *, key: str, title: str = ""
    ) -> Payout:
        """Propose to pay; under the same ``key`` it is the same proposal, whenever it is sent."""
        body = {"title": title, "lines": list(lines)}
        return Payout.of(self.call("POST", f"/api/tasks/{task}/payouts/", body, key=key))

    def payout(self, project: int, number: int) -> Payout:
        return Payout.of(self.call("GET", f"/api/projects/{project}/payouts/{number}/"))

    def approve(self, project: int, number: int, total: Decimal | str, *, key: str) -> Payout:
        """Approve a proposal of somebody else, for the total that was seen."""
        path = f"/api/projects/{project}/payouts/{number}/approve/"
        return Payout.of(self.call("POST", path, {"total": str(total)}, key=key))

    def ledger(self, project: int) -> Iterator[dict[str, Any]]:
        return self.rows(f"/api/projects/{project}/ledger/")


def _problem(error: urllib.error.HTTPError) -> dict[str, Any]:
    """The problem in an answer, or its status where a proxy said something else."""
    try:
        body = json.loads(error.read())
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"status": error.code, "detail": error.reason}
