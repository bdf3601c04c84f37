"""Phoenix: spans by its REST API, and annotations of people sent back."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from annotation.traces.sources.base import (
    PAGE,
    Caller,
    OutgoingScore,
    SpanPage,
    StatusError,
    Window,
    dict_of,
    flat,
    nanoseconds,
    rows_of,
)
from annotation.traces.spans import ReceivedSpan

AT_ONCE = 50  # ids in one address


class Phoenix:
    """One project of a Phoenix server."""

    def __init__(self, api_url: str, project: str, key: str) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self.caller = Caller(api_url, headers)
        self.project = quote(project or "default", safe="")

    def read(self, window: Window) -> SpanPage:
        """Return a page of spans, with the annotations on them."""
        answer = self.caller.get(
            f"v1/projects/{self.project}/spans",
            start_time=window.start.isoformat(),
            end_time=window.end.isoformat(),
            limit=PAGE,
            cursor=window.cursor,
        )
        rows = rows_of(answer, "data")
        spans = [_span(row) for row in rows]
        by_span = {span.span_id: span.trace_id for span in spans}
        return SpanPage(spans, str(answer.get("next_cursor") or ""), self._scores(by_span))

    def _scores(self, by_span: dict[str, str]) -> list[dict[str, Any]]:
        ids, found = list(by_span), []
        for start in range(0, len(ids), AT_ONCE):
            try:
                answer = self.caller.get(
                    f"v1/projects/{self.project}/span_annotations",
                    span_ids=ids[start : start + AT_ONCE],
                    limit=1000,
                )
            except StatusError as error:
                if error.status in (404, 422):  # nothing is annotated, or an older version
                    continue
                raise
            for row in rows_of(answer, "data"):
                if str(row.get("identifier") or "").startswith("crowdqc-"):
                    continue  # what was sent from here
                result = dict_of(row, "result")
                value = result.get("score")
                people = str(row.get("annotator_kind", "")).upper() == "HUMAN"
                found.append(
                    {
                        "traceId": by_span.get(str(row.get("span_id")), ""),
                        "name": "feedback" if people else row.get("name"),
                        "value": value if value is not None else result.get("label"),
                    }
                )
        return found

    def send(self, score: OutgoingScore) -> None:
        """Write an annotation; one of the same name and reviewer is replaced by it."""
        kind, target = ("span", score.span_id) if score.span_id else ("trace", score.trace_id)
        self.caller.post(
            f"v1/{kind}_annotations?sync=true",
            {
                "data": [
                    {
                        f"{kind}_id": target,
                        "name": score.name,
                        "annotator_kind": "HUMAN",
                        "identifier": score.identity,
                        "result": {
                            "label": score.label or None,
                            "score": score.value,
                            "explanation": score.comment or None,
                        },
                        "metadata": {"source": "crowdqc"},
                    }
                ]
            },
        )


def _span(row: dict[str, Any]) -> ReceivedSpan:
    context = dict_of(row, "context")
    attributes = dict(flat(row.get("attributes") or {}))
    attributes.setdefault("openinference.span.kind", str(row.get("span_kind") or ""))
    events: list[Any] = row["events"] if isinstance(row.get("events"), list) else []
    return ReceivedSpan(
        trace_id=str(context.get("trace_id") or ""),
        span_id=str(context.get("span_id") or ""),
        parent_id=str(row.get("parent_id") or ""),
        name=str(row.get("name") or ""),
        start_ns=nanoseconds(row.get("start_time")),
        end_ns=nanoseconds(row.get("end_time")),
        is_error=row.get("status_code") == "ERROR",
        message=str(row.get("status_message") or ""),
        attributes=attributes,
        events=tuple(
            {
                "name": str(one.get("name") or ""),
                "attributes": dict(flat(one.get("attributes") or {})),
            }
            for one in events
            if isinstance(one, dict)
        ),
    )
