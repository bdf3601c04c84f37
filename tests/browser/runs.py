"""Runs that a page has started, computed in the place of the queue's worker."""

from __future__ import annotations

from evaluation.models import Run, RunState
from evaluation.runs import engine as runs


def works() -> None:
    """The queue's worker takes up the run that waits."""
    waiting = Run.objects.get(state=RunState.QUEUED)
    assert runs.execute(waiting.pk) == RunState.DONE
