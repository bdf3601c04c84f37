"""Numbers of runs, one after another within a project."""

from __future__ import annotations

from django.db.models import Max

from evaluation.models import Run


def next_number(project_id: int) -> int:
    """Return the next run number of the project, whose row the caller has locked."""
    last = Run.objects.filter(project_id=project_id).aggregate(n=Max("number"))["n"]
    return (last or 0) + 1
