"""The asynchronous half of the client: everything that sends a request."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from decimal import Decimal
from time import monotonic
from types import TracebackType
from typing import Any, Generic, Self, Unpack

import httpx2

from crowdqc_client import bodies, frames, ml_backend, models
from crowdqc_client.base import Amount
from crowdqc_client.core import (
    FINISHED,
    Attempts,
    RunFailed,
    ScoredRun,
    Server,
    T,
    find_server,
    make_request,
    next_path,
    read_json,
    read_model,
)
from crowdqc_client.errors import ConnectionFailed

PAGE = 500  # rows in one request
Row = Mapping[str, Any]


class AsyncRows(Generic[T]):
    """Rows of a list, fetched page by page while they are read."""

    def __init__(
        self, client: AsyncClient, model: type[T], path: str, query: Row | None = None
    ) -> None:
        self._client, self._model, self._path = client, model, path
        self._query = {"page_size": PAGE, **(query or {})}
        self.run: ScoredRun | None = None  # of scores, once the first row was read

    async def __aiter__(self) -> AsyncIterator[T]:
        path, query = self._path, self._query
        while path:
            page = await self._client.request("GET", path, query=query)
            if self.run is None and page.get("run"):
                self.run = read_model(ScoredRun, page["run"])
            for row in page["results"]:
                yield read_model(self._model, row)
            path, query = next_path(page), {}

    async def to_list(self) -> list[T]:
        """Return all rows."""
        return [row async for row in self]

    async def first(self) -> T | None:
        """Return the first row; None if there is none."""
        async for row in self:
            return row
        return None

    async def to_records(self) -> list[frames.Record]:
        """Return all rows as flat dictionaries."""
        return frames.make_records(await self.to_list())

    async def to_pandas(self) -> Any:
        """Return a pandas.DataFrame (needs the extra ``pandas``)."""
        return frames.make_pandas(self._model, await self.to_records())

    async def to_polars(self) -> Any:
        """Return a polars.DataFrame (needs the extra ``polars``)."""
        return frames.make_polars(self._model, await self.to_records())

    async def to_dataset(self) -> Any:
        """Return a datasets.Dataset (needs the extra ``datasets``)."""
        return frames.make_dataset(self._model, await self.to_records())


class AsyncClient:
    """One token at one server: ``AsyncClient("https://crowdqc.example", "cqc_...")``.

    Without arguments, the environment gives both: CROWDQC_URL and CROWDQC_TOKEN. A request that
    got no answer is sent again, up to ``attempts`` times within ``patience`` seconds; a POST keeps
    its Idempotency-Key, so that the server does once what was sent twice.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        attempts: int = 5,
        patience: float = 30.0,
    ) -> None:
        self.server = find_server(url, token)
        self.attempts, self.patience = attempts, patience
        self._http = httpx2.AsyncClient(timeout=timeout)
        self.projects, self.tasks = AsyncProjects(self), AsyncTasks(self)
        self.items, self.answers = AsyncItems(self), AsyncAnswers(self)
        self.runs, self.results = AsyncRuns(self), AsyncResults(self)
        self.live, self.payouts = AsyncLive(self), AsyncPayouts(self)
        self.work = AsyncWork(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def sign_in(
        self, username: str, password: str, *, code: str = "", scopes: Sequence[str] = ()
    ) -> models.TokenOut:
        """Make a token and use it from now on; better is one from the account page.

        It may read and work, or what ``scopes`` names (read, write, work, run, pay). An account
        with a second factor needs its ``code``, and the scope ``pay`` needs a second factor.
        """
        body: dict[str, Any] = {"username": username, "password": password, "code": code}
        if scopes:
            body["scopes"] = list(scopes)
        made = await self.fetch(models.TokenOut, "POST", "/api/token/", body)
        self.server = Server(self.server.url, made.token)
        return made

    async def send(
        self, method: str, path: str, *, query: Row | None = None, body: Any = None, key: str = ""
    ) -> httpx2.Response:
        """Send a request, repeated as long as it gets no answer."""
        request = make_request(method, path, query, body, key)
        attempts = Attempts(request, self.attempts, self.patience)
        while True:
            try:
                response = await self._http.request(
                    method,
                    f"{self.server.url}{path}",
                    params=request.query or None,
                    content=request.content,
                    headers={**self.server.headers, **request.headers},
                )
            except httpx2.TransportError as failure:
                wait: float | None = attempts.after_failure(failure)
            else:
                wait = attempts.after_response(response)
            if wait is None:
                return response
            await asyncio.sleep(wait)

    async def request(
        self, method: str, path: str, *, query: Row | None = None, body: Any = None, key: str = ""
    ) -> Any:
        """Return the JSON of any address of the API; a new ``key`` is made where there is none."""
        return read_json(await self.send(method, path, query=query, body=body, key=key))

    async def fetch(
        self, model: type[T], method: str, path: str, body: Any = None, *, key: str = ""
    ) -> T:
        """Return the response of any address as a model of ``crowdqc_client.models``."""
        return read_model(model, await self.request(method, path, body=body, key=key))

    def rows(self, model: type[T], path: str, query: Row | None = None) -> AsyncRows[T]:
        """Return the rows of any list as models of ``crowdqc_client.models``."""
        return AsyncRows(self, model, path, query)


class AsyncResource:
    """A group of methods of the client."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client


class AsyncProjects(AsyncResource):
    """Projects, their models and invitations."""

    def list(self) -> AsyncRows[models.ProjectOut]:
        """Return your projects."""
        return self._client.rows(models.ProjectOut, "/api/projects/")

    async def get(self, project: int) -> models.ProjectOut:
        """Return a project."""
        return await self._client.fetch(models.ProjectOut, "GET", f"/api/projects/{project}/")

    async def create(self, name: str, *, currency: str = "EUR", key: str = "") -> models.ProjectOut:
        """Create a project, which you then own."""
        body: bodies.ProjectIn = {"name": name, "currency": currency}
        return await self._client.fetch(models.ProjectOut, "POST", "/api/projects/", body, key=key)

    async def update(
        self, project: int, **changes: Unpack[bodies.PatchedSettingsIn]
    ) -> models.ProjectOut:
        """Change settings of a project; those left out stay."""
        return await self._client.fetch(
            models.ProjectOut, "PATCH", f"/api/projects/{project}/", changes
        )

    async def invite(self, project: int, **terms: Unpack[bodies.InviteIn]) -> models.InvitationOut:
        """Make an invitation with its ``link`` and ``token``; other roles leave by mail only."""
        return await self._client.fetch(
            models.InvitationOut, "POST", f"/api/projects/{project}/invitations/", terms
        )

    def models(self, project: int) -> AsyncRows[models.ModelOut]:
        """Return the language models that a project may use."""
        return self._client.rows(models.ModelOut, f"/api/projects/{project}/models/")


class AsyncTasks(AsyncResource):
    """Tasks: written as drafts, published, then open, paused or closed."""

    def list(self, project: int) -> AsyncRows[models.TaskOut]:
        """Return the tasks of a project."""
        return self._client.rows(models.TaskOut, f"/api/projects/{project}/tasks/")

    async def get(self, task: int) -> models.TaskOut:
        """Return a task with its published version and its draft."""
        return await self._client.fetch(models.TaskOut, "GET", f"/api/tasks/{task}/")

    async def create(
        self, project: int, title: str, *, type: str = "free_text", key: str = ""
    ) -> models.TaskOut:
        """Create a task as a draft."""
        body: bodies.TaskIn = {"title": title, "type": type}
        return await self._client.fetch(
            models.TaskOut, "POST", f"/api/projects/{project}/tasks/", body, key=key
        )

    async def update(self, task: int, **changes: Unpack[bodies.PatchedDraftIn]) -> models.TaskOut:
        """Change the draft of a task; what is left out stays."""
        return await self._client.fetch(models.TaskOut, "PATCH", f"/api/tasks/{task}/", changes)

    async def publish(self, task: int, wording: str = "") -> models.TaskOut:
        """Publish the draft: workers get it.

        ``wording``: what new wordings mean for earlier answers, "spelling" or "meaning".
        """
        body = {"wording": wording} if wording else None
        return await self._client.fetch(models.TaskOut, "POST", f"/api/tasks/{task}/publish/", body)

    async def move(self, task: int, to: str) -> models.TaskOut:
        """Open, pause or close a task."""
        return await self._client.fetch(
            models.TaskOut, "POST", f"/api/tasks/{task}/move/", {"to": to}
        )

    async def export(self, task: int, table: str, form: str = "csv") -> bytes:
        """Return a table of a task as a file, such as answers as csv or jsonl."""
        response = await self._client.send("GET", f"/api/tasks/{task}/export/{table}.{form}")
        return response.content


class AsyncItems(AsyncResource):
    """Items of a task: questions, texts, pairs."""

    def list(self, task: int) -> AsyncRows[models.ItemOut]:
        """Return the items of a task."""
        return self._client.rows(models.ItemOut, f"/api/tasks/{task}/items/")

    async def kinds(self, task: int) -> Sequence[models.ImportOut]:
        """Return the kinds of rows that a task takes, with their columns."""
        rows = await self._client.request("GET", f"/api/tasks/{task}/imports/")
        return [read_model(models.ImportOut, row) for row in rows]

    async def add(self, task: int, rows: Sequence[Row], *, kind: str = "") -> models.Imported:
        """Import items, all or none; items that exist are not added twice.

        Without ``kind``, they are of the first kind of items that the task takes.
        """
        if not kind:
            kind = next(row.kind for row in await self.kinds(task) if row.items)
        path = f"/api/tasks/{task}/imports/{kind}/"
        return await self._client.fetch(models.Imported, "POST", path, {"rows": list(rows)})

    async def queue(self, task: int, **terms: Unpack[bodies.DrawIn]) -> models.DrawOut:
        """Choose items that people should label next, beside the answers of ``model``."""
        return await self._client.fetch(models.DrawOut, "POST", f"/api/tasks/{task}/draws/", terms)


class AsyncAnswers(AsyncResource):
    """Answers under the pseudonyms of their workers, or the names of systems."""

    def list(self, task: int, *, author: str = "") -> AsyncRows[models.AnswerOut]:
        """Return the answers of a task; ``author`` is worker, system or empty."""
        return self._client.rows(
            models.AnswerOut, f"/api/tasks/{task}/answers/", {"author": author}
        )

    async def add(
        self, task: int, rows: Sequence[Row], *, kind: str = "answers"
    ) -> models.Imported:
        """Import answers collected elsewhere, all or none.

        ``kind`` is one of ``items.kinds(task)``: answers, system_answers, labels, judgments...
        """
        path = f"/api/tasks/{task}/imports/{kind}/"
        return await self._client.fetch(models.Imported, "POST", path, {"rows": list(rows)})

    async def predict(
        self, task: int, backend: str, *, system: str = "", timeout: float = 120.0
    ) -> int:
        """Have an ML backend of Label Studio label all items of a task; return how many labels.

        ``backend`` is its address, which may hold a name and password. Its labels come in as those
        of a system, under the backend's own name or ``system``, and never as votes of people.
        """
        described = await self._client.tasks.get(task)
        fields = ml_backend.choice_fields(described)
        config = ml_backend.label_config(fields)
        items = await self._client.items.list(task).to_list()
        rows: list[dict[str, Any]] = []
        root = backend.rstrip("/")
        # Its own connections: the token goes to the crowdqc server alone.
        async with httpx2.AsyncClient(timeout=timeout) as http:
            try:
                health = read_json(await http.get(f"{root}/health"))
                system = system or ml_backend.backend_name(health)
                for start in range(0, len(items), ml_backend.BATCH):
                    batch = items[start : start + ml_backend.BATCH]
                    body = ml_backend.predict_body(described, config, batch)
                    response = await http.post(f"{root}/predict", json=body)
                    rows += ml_backend.predicted_rows(read_json(response), batch, fields, system)
            except httpx2.TransportError as failure:
                raise ConnectionFailed(f"The backend does not answer: {failure}") from failure
        return (await self.add(task, rows, kind="labels")).new if rows else 0

    async def count(self, answer: int, counts: bool, *, reason: str = "") -> models.AnswerOut:
        """Include an answer in results, or leave it out."""
        body: bodies.PatchedCountsIn = {"counts": counts, "reason": reason}
        return await self._client.fetch(models.AnswerOut, "PATCH", f"/api/answers/{answer}/", body)


class AsyncRuns(AsyncResource):
    """Runs of methods and of models on the answers of a task."""

    def list(self, task: int) -> AsyncRows[models.RunOut]:
        """Return the runs of a task."""
        return self._client.rows(models.RunOut, f"/api/tasks/{task}/runs/")

    async def methods(self, task: int) -> Sequence[models.MethodOut]:
        """Return the methods that fit a task, with their options."""
        rows = await self._client.request("GET", f"/api/tasks/{task}/methods/")
        return [read_model(models.MethodOut, row) for row in rows]

    async def start(
        self,
        task: int,
        method: str = "",
        params: Row | None = None,
        *,
        seed: int | None = None,
        key: str = "",
    ) -> models.RunOut:
        """Start a run of a method, else of the first that fits; ``params`` are its options."""
        method = method or (await self.methods(task))[0].method
        body: dict[str, Any] = {"method": method, "params": dict(params or {})}
        if seed is not None:
            body["seed"] = seed
        return await self._client.fetch(
            models.RunOut, "POST", f"/api/tasks/{task}/runs/", body, key=key
        )

    async def preview(self, task: int, method: str, params: Row) -> models.PreviewOut:
        """Return what a run that asks a model would ask and cost."""
        path = f"/api/tasks/{task}/asking/{method}/preview/"
        return await self._client.fetch(models.PreviewOut, "POST", path, {"params": dict(params)})

    async def start_model(
        self, task: int, method: str, params: Row, *, agreed: bool = False, key: str = ""
    ) -> models.RunOut:
        """Start a run that asks a model; ``params`` names the model by its id.

        ``agreed``: the soft budget of the model's endpoint may be passed.
        """
        body: bodies.AskIn = {"params": dict(params), "agreed": agreed}
        path = f"/api/tasks/{task}/asking/{method}/"
        return await self._client.fetch(models.RunOut, "POST", path, body, key=key)

    async def get(self, run: int) -> models.RunWithFindings:
        """Return a run by its id, with its verdict and findings."""
        return await self._client.fetch(models.RunWithFindings, "GET", f"/api/runs/{run}/")

    async def find(self, project: int, number: int) -> models.RunWithFindings:
        """Return a run by the number that pages show."""
        path = f"/api/projects/{project}/runs/{number}/"
        return await self._client.fetch(models.RunWithFindings, "GET", path)

    async def wait(self, run: int, *, seconds: float = 600.0) -> models.RunWithFindings:
        """Return a run once it is done. Raises RunFailed, and TimeoutError after ``seconds``."""
        end, pause = monotonic() + seconds, 0.5
        while (current := await self.get(run)).state not in FINISHED:
            if monotonic() + pause > end:
                raise TimeoutError(f"run {current.number} is still {current.state}")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 5.0)
        if current.state != "done":
            raise RunFailed(current)
        return current

    async def cancel(self, run: int) -> models.RunOut:
        """Cancel a run."""
        return await self._client.fetch(models.RunOut, "POST", f"/api/runs/{run}/cancel/")


class AsyncResults(AsyncResource):
    """Results of a task: of its official run, or of a finished run by its number."""

    def labels(self, task: int, *, run: int | None = None) -> AsyncRows[models.ItemLabelOut]:
        """Return the estimated label of each item with its probabilities."""
        return self._client.rows(
            models.ItemLabelOut, f"/api/tasks/{task}/scores/labels/", {"run": run}
        )

    def workers(self, task: int, *, run: int | None = None) -> AsyncRows[models.WorkerScoreOut]:
        """Return the scores of workers with their intervals."""
        return self._client.rows(
            models.WorkerScoreOut, f"/api/tasks/{task}/scores/workers/", {"run": run}
        )

    def systems(self, task: int, *, run: int | None = None) -> AsyncRows[models.SystemScoreOut]:
        """Return the scores of systems with their intervals."""
        return self._client.rows(
            models.SystemScoreOut, f"/api/tasks/{task}/scores/systems/", {"run": run}
        )

    def answers(self, task: int, *, run: int | None = None) -> AsyncRows[models.AnswerScoreOut]:
        """Return the scores of answers with their intervals."""
        return self._client.rows(
            models.AnswerScoreOut, f"/api/tasks/{task}/scores/answers/", {"run": run}
        )

    def items(self, task: int, *, run: int | None = None) -> AsyncRows[models.ItemScoreOut]:
        """Return the scores of items with their intervals."""
        return self._client.rows(
            models.ItemScoreOut, f"/api/tasks/{task}/scores/items/", {"run": run}
        )


class AsyncLive(AsyncResource):
    """Live evaluations: systems compared until the result is precise enough."""

    async def open(self, task: int, **terms: Unpack[bodies.LiveIn]) -> models.LiveOut:
        """Open a live evaluation of ``systems`` on a pairwise task."""
        return await self._client.fetch(models.LiveOut, "POST", f"/api/tasks/{task}/live/", terms)

    async def get(self, task: int) -> models.LiveOut:
        """Return how a live evaluation stands; ``board`` is the result once it has ended."""
        return await self._client.fetch(models.LiveOut, "GET", f"/api/tasks/{task}/live/")

    async def add_outputs(
        self, task: int, outputs: Sequence[bodies.OutputIn], *, key: str = ""
    ) -> models.OutputsOut:
        """Add outputs, all or none; the same ``key`` with the same rows adds them once."""
        body: bodies.OutputsIn = {"key": key or uuid.uuid4().hex, "outputs": list(outputs)}
        return await self._client.fetch(
            models.OutputsOut, "POST", f"/api/tasks/{task}/live/outputs/", body
        )

    async def raise_limits(
        self, task: int, **limits: Unpack[bodies.PatchedLimitsIn]
    ) -> models.LiveOut:
        """Raise ``max_judgments`` or ``budget``; what is left out stays."""
        return await self._client.fetch(models.LiveOut, "PATCH", f"/api/tasks/{task}/live/", limits)

    async def wait(self, task: int, *, every: float = 30.0) -> models.LiveOut:
        """Return a live evaluation once it has ended, asking ``every`` so many seconds.

        The webhook ``live.ended`` reports the end without asking.
        """
        while (current := await self.get(task)).state != "ended":
            await asyncio.sleep(every)
        return current

    async def end(self, task: int) -> models.LiveOut:
        """End a live evaluation by hand."""
        return await self._client.fetch(models.LiveOut, "POST", f"/api/tasks/{task}/live/end/")


class AsyncPayouts(AsyncResource):
    """Pay: proposed by one person, approved by a second one with a token of their own."""

    def waiting(self, task: int) -> AsyncRows[models.WaitingOut]:
        """Return the work that waits for a decision about its pay."""
        return self._client.rows(models.WaitingOut, f"/api/tasks/{task}/waiting/")

    async def preview(
        self, task: int, lines: Sequence[bodies.LineIn], *, title: str = ""
    ) -> models.PreviewPayOut:
        """Return what a proposal would pay, and what is wrong with it."""
        body: bodies.ProposeIn = {"title": title, "lines": list(lines)}
        return await self._client.fetch(
            models.PreviewPayOut, "POST", f"/api/tasks/{task}/payouts/preview/", body
        )

    async def propose(
        self, task: int, lines: Sequence[bodies.LineIn], *, key: str, title: str = ""
    ) -> models.PayoutOut:
        """Propose to pay; under the same ``key`` it is the same proposal."""
        body: bodies.ProposeIn = {"title": title, "lines": list(lines)}
        return await self._client.fetch(
            models.PayoutOut, "POST", f"/api/tasks/{task}/payouts/", body, key=key
        )

    def list(self, project: int) -> AsyncRows[models.PayoutRowOut]:
        """Return the proposals of a project, the newest first."""
        return self._client.rows(models.PayoutRowOut, f"/api/projects/{project}/payouts/")

    async def get(self, project: int, number: int) -> models.PayoutOut:
        """Return a proposal with its lines."""
        path = f"/api/projects/{project}/payouts/{number}/"
        return await self._client.fetch(models.PayoutOut, "GET", path)

    async def approve(
        self, project: int, number: int, total: Amount, *, rejections: int = 0, key: str
    ) -> models.PayoutOut:
        """Approve somebody else's proposal for the total and rejections that you saw.

        Another total, or another number of rejections, is refused.
        """
        body: bodies.ApproveIn = {"total": Decimal(total), "rejections": rejections}
        path = f"/api/projects/{project}/payouts/{number}/approve/"
        return await self._client.fetch(models.PayoutOut, "POST", path, body, key=key)

    def ledger(self, project: int) -> AsyncRows[models.LedgerOut]:
        """Return the entries of a project's ledger."""
        return self._client.rows(models.LedgerOut, f"/api/projects/{project}/ledger/")


class AsyncWork(AsyncResource):
    """Your own work, with a token that has the scope ``work``."""

    async def join(self, invitation: str) -> models.JoinedOut:
        """Join a project by the token of an invitation."""
        return await self._client.fetch(
            models.JoinedOut, "POST", "/api/work/join/", {"token": invitation}
        )

    async def consent(self, project: int) -> models.ConsentOut:
        """Return the consent text of a project, for a person to read."""
        path = f"/api/work/projects/{project}/consent/"
        return await self._client.fetch(models.ConsentOut, "GET", path)

    async def agree(self, project: int, number: int) -> models.ConsentOut:
        """Agree to the version of the consent text that was read."""
        body: bodies.ConsentIn = {"number": number, "agreed": True}
        path = f"/api/work/projects/{project}/consent/"
        return await self._client.fetch(models.ConsentOut, "POST", path, body)

    async def claim(self, task: int) -> models.OwnAssignmentOut:
        """Claim an assignment; the one in work where there is one."""
        return await self._client.fetch(
            models.OwnAssignmentOut, "POST", f"/api/work/tasks/{task}/claim/"
        )

    async def submit(
        self, assignment: int, answers: Mapping[int, Row], *, key: str = ""
    ) -> models.OwnStateOut:
        """Submit the answers of an assignment, by the numbers of its items."""
        body = {
            "key": key or str(uuid.uuid4()),
            "answers": {str(item): answer for item, answer in answers.items()},
        }
        path = f"/api/work/assignments/{assignment}/submit/"
        return await self._client.fetch(models.OwnStateOut, "POST", path, body)
