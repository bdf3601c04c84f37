"""LangSmith: runs by its query, and feedback sent back."""

from __future__ import annotations

import uuid
from typing import Any

from annotation.traces.sources.base import (
    PAGE,
    Caller,
    OutgoingScore,
    SourceError,
    SpanPage,
    Window,
    dict_of,
    nanoseconds,
    rows_of,
)
from annotation.traces.spans import ReceivedSpan

NAMESPACE = uuid.UUID("3f6a3a37-5d0c-4f35-9d0e-6a6f0f0b8a41")
SELECT = (
    "id name run_type parent_run_id trace_id start_time end_time inputs outputs error extra "
    "feedback_stats session_id"
).split()


class LangSmith:
    """One project ("session") of LangSmith."""

    def __init__(self, api_url: str, project: str, key: str) -> None:
        self.caller = Caller(api_url, {"x-api-key": key})
        self.project = project or "default"
        self._session = ""

    def read(self, window: Window) -> SpanPage:
        """Return a page of runs; average feedback by key counts as scores of the trace."""
        body = {
            "session": [self._session_id()],
            "start_time": window.start.isoformat(),
            "end_time": window.end.isoformat(),
            "limit": PAGE,
            "order": "asc",
            "select": SELECT,
        }
        if window.cursor:
            body["cursor"] = window.cursor
        answer = self.caller.post("api/v1/runs/query", body)
        rows = rows_of(answer, "runs")
        cursors = dict_of(answer, "cursors")
        return SpanPage(
            [_span(row) for row in rows],
            str(cursors.get("next") or ""),
            [score for row in rows for score in _scores(row)],
        )

    def _session_id(self) -> str:
        try:
            return str(uuid.UUID(self.project))
        except ValueError:
            pass
        if not self._session:
            answer = self.caller.get("api/v1/sessions", name=self.project, limit=1)
            first = answer[0] if isinstance(answer, list) and answer else {}
            self._session = str(first.get("id") or "")
        if not self._session:
            raise SourceError(f"There is no project {self.project}.", final=True)
        return self._session

    def send(self, score: OutgoingScore) -> None:
        """Write feedback; its id makes it the same when sent twice."""
        target = score.span_id or score.trace_id
        self.caller.post(
            "api/v1/feedback",
            {
                "id": str(uuid.uuid5(NAMESPACE, score.key)),
                "run_id": _uuid(target),
                "trace_id": _uuid(score.trace_id),
                "key": score.name,
                "score": score.value,
                "value": score.label or None,
                "comment": score.comment or None,
                "feedback_source": {"type": "api", "metadata": {"reviewer": score.identity}},
            },
        )


def _uuid(text: str) -> str:
    """An id as LangSmith writes it, with hyphens."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return text


def _plain(value: Any) -> str:
    return str(value or "").replace("-", "").lower()


def _span(row: dict[str, Any]) -> ReceivedSpan:
    extra = dict_of(row, "extra")
    metadata = dict_of(extra, "metadata")
    attributes = {
        "langsmith.span.kind": str(row.get("run_type") or ""),
        "input.value": row.get("inputs"),
        "output.value": row.get("outputs"),
        "gen_ai.request.model": metadata.get("ls_model_name"),
        "langsmith.metadata": metadata or None,
    }
    return ReceivedSpan(
        trace_id=_plain(row.get("trace_id") or row.get("id")),
        span_id=_plain(row.get("id")),
        parent_id=_plain(row.get("parent_run_id")),
        name=str(row.get("name") or ""),
        start_ns=nanoseconds(row.get("start_time")),
        end_ns=nanoseconds(row.get("end_time")),
        is_error=bool(row.get("error")),
        message=str(row.get("error") or ""),
        attributes={name: value for name, value in attributes.items() if value is not None},
    )


def _scores(row: dict[str, Any]) -> list[dict[str, Any]]:
    stats = dict_of(row, "feedback_stats")
    return [
        {
            "traceId": _plain(row.get("trace_id") or row.get("id")),
            "name": name,
            "value": one.get("avg"),
        }
        for name, one in stats.items()
        if isinstance(one, dict)
    ]
