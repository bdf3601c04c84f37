"""How a run stands to its task: the official one, an earlier one of those, or a trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _

from evaluation.models import OfficialRun, Run, RunState
from evaluation.runs.adapters import main_methods

Origin = OfficialRun.Origin
OFFICIAL, EARLIER, TRIAL = "official", "earlier", "trial"


@dataclass(frozen=True)
class Standing:
    """What a run is to its task: the official one, an earlier one of those, or a trial."""

    run: Run
    rows: list[OfficialRun]  # of the task and method: the one in force, and those of this run

    @cached_property
    def official(self) -> OfficialRun | None:
        """The row of the official run, whichever it is."""
        return next((row for row in self.rows if row.until is None), None)

    @cached_property
    def state(self) -> str:
        """Return whether the run is the official one, was it earlier, or is a trial."""
        if self.official is not None and self.official.run_id == self.run.pk:
            return OFFICIAL
        return EARLIER if any(row.run_id == self.run.pk for row in self.rows) else TRIAL

    @property
    def official_run(self) -> Run | None:
        """The task's official run; None if there is none."""
        return self.official.run if self.official else None

    @property
    def is_trial(self) -> bool:
        return self.state == TRIAL

    @property
    def is_official(self) -> bool:
        return self.state == OFFICIAL

    @property
    def origin(self) -> str:
        """Say who made the run official, or that it became so by itself."""
        row = self.official
        if row is None:
            return ""
        if row.by is not None:
            return _("made official by %(by)s") % {"by": row.by}
        if row.how == Origin.FIRST:
            return _("as the first run with the default recipe")
        return _("as the newest run with the recipe of the official run before it")


def run_standing(run: Run | None) -> Standing | None:
    """Return whether a finished run is official, was, or is a trial; None for other runs."""
    if run is None or run.method not in main_methods() or run.state != RunState.DONE:
        return None
    rows = OfficialRun.objects.filter(task=run.task_id, method=run.method).select_related(
        "run", "by"
    )
    found = list(rows.filter(until__isnull=True) | rows.filter(run=run))
    return Standing(run, found)


def states(runs: Iterable[Run]) -> dict[int, str]:
    """Return the state of each run (official, earlier, trial) by id, for a list."""
    main = main_methods()
    mine = [run for run in runs if run.method in main and run.state == RunState.DONE]
    rows = OfficialRun.objects.filter(run__in=[run.pk for run in mine])
    ended = dict(rows.order_by("until").values_list("run", "until"))  # the one in force last
    return {
        run.pk: TRIAL if run.pk not in ended else OFFICIAL if ended[run.pk] is None else EARLIER
        for run in mine
    }
