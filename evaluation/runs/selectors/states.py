"""Where the results of tasks stand, in one word each."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.authoring.selectors.next_step import DONE, NO_RUN, RUNNING
from annotation.models import Task
from evaluation.models import Run, RunState
from evaluation.runs.adapters import judged_types, main_methods


def run_states(tasks: Sequence[Task]) -> dict[int, str]:
    """Return by task whether it has a finished run, one in progress, or none (one query).

    Tasks of a type without results are left out.
    """
    judged = judged_types()
    found = {task.pk: NO_RUN for task in tasks if task.type in judged}
    ended = (RunState.DONE, RunState.QUEUED, RunState.RUNNING)
    runs = Run.objects.filter(task__in=found, method__in=main_methods(), state__in=ended)
    for task_id, state in runs.values_list("task", "state").distinct():
        if state == RunState.DONE:
            found[task_id] = DONE
        elif found[task_id] == NO_RUN:
            found[task_id] = RUNNING
    return found
