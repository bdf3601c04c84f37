"""What both halves of the client share: requests, retries and reading, without any connection."""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from crowdqc_client.base import Model
from crowdqc_client.errors import (
    ApiError,
    ConnectionFailed,
    CrowdqcError,
    UnexpectedResponse,
    error_of,
)
from crowdqc_client.models import RunWithFindings

URL, TOKEN = "CROWDQC_URL", "CROWDQC_TOKEN"
RETRIED = {429, 502, 503, 504}  # and a 409 by which the same request is still in work
LONGEST_WAIT = 8.0  # seconds between two attempts, where the server names no time
IN_WORK = "key-in-work"
FINISHED = {"done", "failed", "cancelled"}  # states of runs
T = TypeVar("T", bound=BaseModel)


def client_version() -> str:
    """Return the version of the installed package."""
    try:
        return version("crowdqc-client")
    except PackageNotFoundError:  # run from a checkout
        return "0"


@dataclass(frozen=True)
class Request:
    """One request: its ``key`` makes a POST safe to send twice."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of this request alone."""
        headers = {"Idempotency-Key": self.key} if self.method == "POST" else {}
        return headers if self.body is None else {**headers, "Content-Type": "application/json"}

    @property
    def content(self) -> bytes | None:
        """Return the body as JSON; amounts and times as text."""
        return None if self.body is None else json.dumps(self.body, default=str).encode()


def make_request(
    method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, key: str = ""
) -> Request:
    """Make a request; query values that are None or "" are left out, and a POST gets a key."""
    query = {name: value for name, value in (query or {}).items() if value not in (None, "")}
    return Request(method, path, query, body, key or uuid.uuid4().hex)


@dataclass(frozen=True)
class Server:
    """Where requests go, and as whom."""

    url: str
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        headers = {"Accept": "application/json", "User-Agent": f"crowdqc-client/{client_version()}"}
        return {**headers, "Authorization": f"Token {self.token}"} if self.token else headers


def find_server(url: str | None, token: str | None) -> Server:
    """Return the server by arguments, else by CROWDQC_URL and CROWDQC_TOKEN."""
    address = url or os.environ.get(URL, "")
    if not address.startswith(("https://", "http://")):
        raise ValueError(f"Pass the server's address, or set {URL}: https://crowdqc.example")
    return Server(address.rstrip("/"), os.environ.get(TOKEN, "") if token is None else token)


class Attempts:
    """How often one request is sent: until it is answered, or time or attempts are used up."""

    def __init__(self, request: Request, most: int, seconds: float) -> None:
        self.request, self.most, self.end = request, most, monotonic() + seconds
        self.number = 0

    def _wait(self, named: str | None) -> float | None:
        """Return the seconds until the next attempt; None if there is none."""
        self.number += 1
        wait = min(2.0**self.number / 4, LONGEST_WAIT) * random.uniform(0.75, 1)  # noqa: S311
        if named and named.isdigit():
            wait = float(named)
        return None if self.number >= self.most or monotonic() + wait > self.end else wait

    def after_response(self, response: httpx2.Response) -> float | None:
        """Return the seconds until the next attempt; None for an answer. Raises refusals."""
        if response.is_success:
            return None
        error = read_error(response)
        if response.status_code in RETRIED or error.code == IN_WORK:
            wait = self._wait(response.headers.get("Retry-After"))
            if wait is not None:
                return wait
        raise error

    def after_failure(self, failure: httpx2.TransportError) -> float:
        """Return the seconds until the next attempt. Raises ConnectionFailed if there is none.

        A PATCH is not repeated: others may have changed the same fields in the meantime.
        """
        wait = None if self.request.method == "PATCH" else self._wait(None)
        if wait is None:
            raise ConnectionFailed(f"{self.request.method} {self.request.path}: {failure}")
        return wait


def read_error(response: httpx2.Response) -> ApiError:
    """Return the error of a response, also where a proxy answered instead of the server."""
    try:
        problem = json.loads(response.content)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": response.reason_phrase}
    if response.is_redirect:
        problem = {"code": "redirect", "detail": "Use the address that the server redirects to."}
    return error_of(response.status_code, problem)


def read_json(response: httpx2.Response) -> Any:
    """Return the JSON of a response; None if it has no body."""
    if not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError as error:
        raise UnexpectedResponse(f"{response.request.url.path} sent no JSON.") from error


def read_model(model: type[T], value: Any) -> T:
    """Read a response as a model."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise UnexpectedResponse(
            f"The server's {model.__name__} differs; install the client of its version. {error}"
        ) from error


def next_path(page: Mapping[str, Any]) -> str:
    """Return the path of the next page, so that the token goes to no other server."""
    return urlsplit(page.get("next") or "")._replace(scheme="", netloc="").geturl()


class ScoredRun(Model):
    """The run that scores are of: ``standing`` is official, earlier or trial."""

    number: int
    id: int
    standing: str
    method: str
    version: str
    params: dict[str, Any]
    seed: int
    snapshot: str | None


class RunFailed(CrowdqcError):
    """A run that was waited for failed or was cancelled."""

    def __init__(self, run: RunWithFindings) -> None:
        self.run = run
        super().__init__(f"run {run.number} is {run.state}: {run.error}")
