"""Langfuse: observations by its API of version 2, or 1 where a server is older, and scores."""

from __future__ import annotations

import base64
from typing import Any

from annotation.traces.sources.base import (
    PAGE,
    Caller,
    OutgoingScore,
    SpanPage,
    StatusError,
    Window,
    as_value,
    dict_of,
    nanoseconds,
    rows_of,
)
from annotation.traces.spans import ReceivedSpan

FIELDS = "core,basic,time,io,metadata,model,usage,trace_context"
OLD = "page:"  # how the cursor of an older server begins


class Langfuse:
    """The project of a pair of keys, written as ``public:secret``."""

    def __init__(self, api_url: str, project: str, key: str) -> None:
        signed = base64.b64encode(key.encode()).decode()
        self.caller = Caller(api_url, {"authorization": f"Basic {signed}"})

    def read(self, window: Window) -> SpanPage:
        """Return a page of observations, with the scores of the window on its first page."""
        scores = [] if window.cursor else self._scores(window)
        if not window.cursor.startswith(OLD):
            try:
                answer = self.caller.get(
                    "api/public/v2/observations",
                    fromStartTime=_stamp(window.start),
                    toStartTime=_stamp(window.end),
                    fields=FIELDS,
                    limit=PAGE,
                    cursor=window.cursor,
                )
                cursor = str((answer.get("meta") or {}).get("cursor") or "")
                return SpanPage(_spans(answer), cursor, scores)
            except StatusError as error:
                if error.status not in (404, 405, 501) or window.cursor:
                    raise
        page = int(window.cursor.removeprefix(OLD)) if window.cursor else 1
        answer = self.caller.get(
            "api/public/observations",
            fromStartTime=_stamp(window.start),
            toStartTime=_stamp(window.end),
            limit=PAGE,
            page=page,
        )
        pages = (answer.get("meta") or {}).get("totalPages") or 0
        return SpanPage(_spans(answer), f"{OLD}{page + 1}" if page < pages else "", scores)

    def _scores(self, window: Window) -> list[dict[str, Any]]:
        for path in ("api/public/v3/scores", "api/public/v2/scores"):
            try:
                answer = self.caller.get(
                    path,
                    fromTimestamp=_stamp(window.start),
                    toTimestamp=_stamp(window.end),
                    limit=PAGE,
                )
            except StatusError as error:
                if error.status in (400, 404, 405, 501):
                    continue
                raise
            return [
                row
                for row in rows_of(answer, "data")
                if not str(row.get("id") or "").startswith("crowdqc-")
            ]
        return []

    def send(self, score: OutgoingScore) -> None:
        """Write a score; its id makes it the same when sent twice."""
        body = {
            "id": f"crowdqc-{score.key}",
            "traceId": score.trace_id,
            "observationId": score.span_id or None,
            "name": score.name,
            "value": score.value if score.value is not None else score.label,
            "dataType": "NUMERIC" if score.value is not None else "CATEGORICAL",
            "comment": score.comment or None,
        }
        self.caller.post(
            "api/public/scores", {name: value for name, value in body.items() if value is not None}
        )


def _stamp(moment: Any) -> str:
    return str(moment.isoformat().replace("+00:00", "Z"))


def _spans(answer: Any) -> list[ReceivedSpan]:
    return [_span(row) for row in rows_of(answer, "data")]


def _span(row: dict[str, Any]) -> ReceivedSpan:
    attributes = {
        "langfuse.observation.type": str(row.get("type") or "").lower(),
        "langfuse.observation.input": as_value(row.get("input")),
        "langfuse.observation.output": as_value(row.get("output")),
        "langfuse.observation.model.name": row.get("model") or row.get("providedModelName"),
        "langfuse.observation.metadata": row.get("metadata"),
        "session.id": row.get("sessionId"),
    }
    usage = dict_of(row, "usageDetails")
    attributes["gen_ai.usage.input_tokens"] = usage.get("input")
    attributes["gen_ai.usage.output_tokens"] = usage.get("output")
    parent = row.get("parentObservationId")
    return ReceivedSpan(
        trace_id=str(row.get("traceId") or ""),
        span_id=str(row.get("id") or ""),
        # A logical root may name a parent that is none.
        parent_id="" if row.get("isRootObservation") else str(parent or ""),
        name=str(row.get("name") or ""),
        start_ns=nanoseconds(row.get("startTime")),
        end_ns=nanoseconds(row.get("endTime")),
        is_error=row.get("level") == "ERROR",
        message=str(row.get("statusMessage") or ""),
        attributes={name: value for name, value in attributes.items() if value not in (None, "")},
    )
