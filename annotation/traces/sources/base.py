"""What the tools that hold traces have in common: pages of spans, and scores sent back."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from annotation.traces.spans import ReceivedSpan
from crowdqc import outbound
from crowdqc.files.json_input import Unreadable, read_json

SECONDS = 30.0  # of one request
MOST_BYTES = 60_000_000
PAGE = 100  # spans of a page
OTHER_FORM = "The answer has another form than expected."


class SourceError(Exception):
    """Why a source could not be read or written, in words for a person."""

    def __init__(self, words: str, *, final: bool = False) -> None:
        super().__init__(words)
        self.final = final  # asking again says the same


@dataclass(frozen=True)
class Window:
    """From when to when spans began, and the source's own cursor within; "" for the first page."""

    start: dt.datetime
    end: dt.datetime
    cursor: str = ""


@dataclass(frozen=True)
class SpanPage:
    """A page of spans; ``scores`` are rows with traceId, name and value; ``cursor`` "" ends it."""

    spans: list[ReceivedSpan]
    cursor: str = ""
    scores: list[dict[str, Any]] = field(default_factory=list)
    rejected: int = 0


@dataclass(frozen=True)
class OutgoingScore:
    """A score for a trace, or for a span of it; ``key`` makes it the same when sent twice."""

    key: str
    trace_id: str
    span_id: str
    name: str
    identity: str
    label: str
    value: float | None
    comment: str


class Connector(Protocol):
    """Reads spans from a tool, and sends scores to it. All raise SourceError."""

    caller: Caller

    def read(self, window: Window) -> SpanPage:
        """Return a page of the spans that began within the window."""

    def send(self, score: OutgoingScore) -> None:
        """Write a score; a second time changes nothing."""


class Caller:
    """JSON requests to one tool by the guarded client."""

    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        self.client = outbound.Client(
            base_url=base_url.rstrip("/") + "/",
            headers=headers,
            seconds=SECONDS,
            most_bytes=MOST_BYTES,
        )

    def close(self) -> None:
        """Close its connections."""
        self.client.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON of a GET; SourceError says why there is none."""
        pairs = [
            (name, one)
            for name, value in query.items()
            for one in (value if isinstance(value, list) else [value])
            if one not in (None, "")
        ]
        return self._request("GET", f"{path}?{urlencode(pairs)}" if pairs else path, None)

    def post(self, path: str, body: Any) -> Any:
        """Return the JSON of a POST; None of an empty answer."""
        return self._request("POST", path, body)

    def _request(self, method: str, path: str, body: Any) -> Any:
        try:
            answer = self.client.send(method, path, json=body)
        except outbound.NotAllowedThere as error:
            raise SourceError(str(error), final=True) from None
        except outbound.OutboundError as error:
            raise SourceError(str(error)) from None
        if answer.status >= 300:
            final = answer.status < 500 and answer.status not in (408, 409, 425, 429)
            raise StatusError(answer.status, final=final)
        if not answer.body.strip():
            return None
        try:
            return read_json(answer.body, replace=True, empty_nan=True)
        except Unreadable:
            raise SourceError("The answer is not JSON.") from None


class StatusError(SourceError):
    """The tool refused, with a status code."""

    def __init__(self, status: int, *, final: bool) -> None:
        super().__init__(f"The source answered {status}.", final=final)
        self.status = status


def nanoseconds(value: Any) -> int | None:
    """A time as ISO 8601 or as seconds, in nanoseconds since 1970; None for none."""
    if isinstance(value, str) and value:
        try:
            moment = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return round(moment.timestamp() * 1e6) * 1000
    return None


def flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Attributes of any nesting as pairs of a dotted key and a value."""
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from flat(value, f"{prefix}{key}.")
    else:
        yield prefix.rstrip("."), values


def as_value(value: Any) -> Any:
    """A value, parsed where it is a text that holds JSON."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return read_json(value, replace=True, empty_nan=True)
        except Unreadable:
            return value
    return value


def as_text(value: Any) -> str:
    """A value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def dict_of(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object under a name; an empty one of anything else."""
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def rows_of(answer: Any, name: str) -> list[dict[str, Any]]:
    """The rows of an answer under a name; SourceError where there is no such list."""
    rows = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise SourceError(OTHER_FORM)
    return [row for row in rows if isinstance(row, dict)]
