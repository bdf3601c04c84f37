"""Numbers of runs, one after another within a project."""

from __future__ import annotations

from django.db.models import Max

from evaluation.models import Run


def next_number(project_id: int) -> int:
    """The number that the project's next run gets; whoever asks holds the project's row locked."""
    last = Run.objects.filter(project_id=project_id).aggregate(n=Max("number"))["n"]
    return (last or 0) + 1
