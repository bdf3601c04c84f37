"""Scores and feedback that a source sends beside its spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.models import Trace, TraceSource
from annotation.traces.actions.receive import count_rows, masker_of, touch_traces
from annotation.traces.figures import MOST_SCORES, score_value, split_scores
from annotation.traces.settings import read_settings
from annotation.traces.spans import is_valid_id, storable_text

MOST_AT_ONCE = 1000


@transaction.atomic
def receive_scores(*, source: TraceSource, rows: Sequence[Mapping[str, Any]]) -> int:
    """Keep scores of traces, by name: the last of a name counts; how many were kept.

    A row has ``traceId``, ``name`` and ``value`` (a number, true or false, or a word). Comments are
    not kept. Raises LimitExceeded where the source sends too many a minute.
    """
    count_rows(source, len(rows), "trace-scores")
    settings = read_settings(source.settings)
    masker = masker_of(settings)
    named = [
        (
            str(row.get("traceId") or ""),
            storable_text(masker.mask_text(str(row.get("name") or "")), 80),
            row,
        )
        for row in rows
    ]
    given = [
        (trace_id.replace("-", "").lower(), name, number)
        for trace_id, name, row in named
        if name and (number := score_value(row.get("value", row.get("stringValue")))) is not None
    ]
    given = [one for one in given if is_valid_id(one[0])]
    if not given:
        return 0
    touch_traces(source.pk, {trace_id: 0 for trace_id, _, _ in given})
    names = {trace_id for trace_id, _, _ in given}
    found = Trace.objects.select_for_update(no_key=True).filter(source=source, trace_id__in=names)
    for trace in found.order_by("trace_id"):
        rated = {name: value for trace_id, name, value in given if trace_id == trace.trace_id}
        judged, feedback = split_scores(rated)
        trace.scores = dict(list({**trace.scores, **judged}.items())[-MOST_SCORES:])
        trace.score = pick_score(trace.scores, settings.judge)
        trace.feedback = trace.feedback if feedback is None else feedback
        trace.save(update_fields=["scores", "score", "feedback"])
    return len(given)


def pick_score(scores: Mapping[str, float], judge: str) -> float | None:
    """The score that draws and is compared with people: of the named judge, else the first."""
    if judge:
        return scores.get(judge)
    return next((scores[name] for name in sorted(scores)), None)
