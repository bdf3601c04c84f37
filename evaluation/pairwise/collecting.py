"""More votes for a study whose first two systems are not separated: how many, and asking for them.

The run says how many votes would do if their errors shrink as votes grow. They are asked of every
pair alike, as those of the run were: other pairs would change what the score is of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.utils.translation import gettext

from annotation.authoring.actions import tasks
from annotation.models import Item, Task, User
from annotation.models.tasks import TaskState
from crowdqc.errors import Conflict
from evaluation.models import AdaptivePlan, Run
from evaluation.pairwise.selectors.resistance.top import rounded

MOST_A_PAIR = 500


@dataclass(frozen=True)
class Offer:
    """So many ``votes`` more, which bring every pair to ``judges`` and cost ``cost`` at most."""

    votes: int
    judges: int
    pairs: int
    cost: Decimal


def _pairs(task: Task) -> QuerySet[Item]:
    assert task.current is not None  # noqa: S101 (a study with a run was published)
    rows = task.items.in_version(task.current.number)
    return rows.filter(expected__isnull=True, repeat=False, second__isnull=False)


def offer(task: Task, run: Run, times: float) -> Offer | None:
    """What ``times`` the judgments of the run would ask beyond those given or in work.

    Two queries. None where that is nothing, where somebody else decides what is collected
    (adaptive collection, a live evaluation), or where nobody could claim it.
    """
    collects = task.state in (TaskState.OPEN, TaskState.PAUSED) and task.current is not None
    if times <= 1 or not collects or task.most_answers is not None or run.snapshot is None:
        return None
    total = rounded(run.snapshot.counts["answers"] * times)
    rows = _pairs(task).values_list("redundancy").annotate(n=Count("pk"), given=Sum("held"))
    found = list(rows.order_by())  # pairs by how many judges they ask for
    pairs = sum(n for _, n, _ in found)
    if not pairs:
        return None
    judges = math.ceil(total / pairs)
    asked = sum(n * max(redundancy, judges) for redundancy, n, _ in found)
    votes = asked - sum(given for _, _, given in found)
    if votes <= 0 or judges > MOST_A_PAIR:
        return None
    if AdaptivePlan.objects.filter(task=task, enabled=True).exists():
        return None
    version = task.current
    assert version is not None  # noqa: S101 (as above)
    cost = version.pay * math.ceil(votes / version.items_per_assignment)
    return Offer(votes, judges, pairs, cost)


@transaction.atomic
def collect(*, by: User, task: Task, run: Run, times: float) -> Offer:
    """Ask for what is offered. Raises Conflict where nothing is, or where limits refuse it."""
    task = Task.objects.select_for_update(of=("self",)).select_related("current").get(pk=task.pk)
    found = offer(task, run, times)
    if found is None:
        raise Conflict(gettext("No more votes can be asked for now. Reload the page."))
    rows = _pairs(task).filter(redundancy__lt=found.judges).values_list("pk", flat=True)
    wanted = dict.fromkeys(rows, found.judges)
    tasks.set_wanted(by=by, task=task, wanted=wanted, why="to separate the first two systems")
    return found
