"""Notices to staff when the failure rate of traces lies above the limit that a source sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.traces.actions.alerts import notify_staff, week_key
from annotation.traces.settings import read_settings
from crowdqc.numbers import interval, percent
from evaluation.methods.core.inference import Claim
from evaluation.models import Run
from evaluation.runs.selectors import lists as run_reads
from evaluation.traces.dataset import live_queue_sources
from evaluation.traces.run import FIGURES, SLUG
from evaluation.traces.selectors import TraceRates, read_rates

KIND = "traces.failing"


def limit_of(task: Task) -> float:
    """The lowest share of failures that sources of a queue set as their limit; 0: none."""
    limits = [read_settings(one.settings).failing_above for one in live_queue_sources(task)]
    return min((one for one in limits if one), default=0.0)


def claim_above(found: TraceRates, limit: float) -> Claim | None:
    """The rate of all traces, else of the last week, whose whole interval is above the limit.

    Intervals of weeks hold all at once.
    """
    weeks = [found.weeks[monday].rate for monday in sorted(found.weeks)][-1:]
    return next(
        (one for one in (found.rate, *weeks) if limit and one.has_interval and one.low > limit),
        None,
    )


def note_run(run: Run) -> bool:
    """Notify staff, once a week, where the rate of a finished run is surely above its limit."""
    if run.method != SLUG or not (limit := limit_of(run.task)):
        return False
    figures: Mapping[str, Any] = run_reads.figures_of(run, *FIGURES)
    claim = claim_above(read_rates(figures), limit)
    if claim is None:
        return False
    values = {"task": run_reads.title_of(run.task), **above_words(claim, limit)}
    return notify_staff(
        run.task.project,
        KIND,
        week_key(KIND, run.task_id),
        f"{reverse('trace_list', args=[run.project_id])}?run={run.number}",
        lambda: (
            _(
                "“%(task)s”: about %(rate)s of traces fail (95%% CI %(span)s), above your "
                "limit of %(limit)s."
            )
            % values
        ),
    )


def above_words(claim: Claim, limit: float) -> dict[str, str]:
    """A rate with its interval, and the limit that it lies above, as messages name them."""
    return {
        "rate": percent(claim.estimate, 1),
        "span": interval(100 * claim.low, 100 * claim.high, 1),
        "limit": percent(limit, 1),
    }
