"""How many runs a project may start within a day."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.accounts.quotas import PROJECT, Quota, register_quota
from annotation.models import Project
from evaluation.models import Run

DAY = dt.timedelta(hours=24)
FOLLOWS, LIVE = "follows", "live"
PARTS = (FOLLOWS, LIVE)  # triggers of runs that nobody started by themselves
RUNS = "runs"


def count_runs(project: Project) -> int:
    """Count the runs of the last 24 hours, without those that are parts of something else."""
    rows = Run.objects.filter(project=project, created_at__gt=timezone.now() - DAY)
    return rows.exclude(trigger__in=PARTS).count()


def register_run_quota() -> None:
    """Add the quota beside those of collecting."""
    register_quota(
        RUNS,
        Quota(
            PROJECT,
            gettext_lazy("Runs in 24 hours"),
            1_000,
            gettext_noop(
                "This project started %(used)s of the %(most)s runs that it may start in 24 hours."
            ),
            count_runs,
        ),
    )
