"""Who saw a judge's score or other people's reviews of a trace."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.models import TraceView, User


def log_views(*, by: User, traces: Iterable[int]) -> None:
    """Note that a person saw scores or reviews of these traces; only the first time counts."""
    rows = [TraceView(trace_id=pk, user=by) for pk in sorted(set(traces))]
    TraceView.objects.bulk_create(rows, ignore_conflicts=True)
