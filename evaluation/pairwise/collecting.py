"""More votes for a study whose first two systems are not separated: how many, and asking for them.

The run says how many votes would do if their errors shrink as votes grow. They are asked of every
pair alike, as those of the run were: other pairs would change what the score is of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, QuerySet, Sum
from django.utils.translation import gettext

from annotation.authoring.actions import tasks
from annotation.models import Item, Task, User
from annotation.models.tasks import TaskState
from crowdqc.errors import Conflict
from evaluation.models import AdaptivePlan
from evaluation.runs.planning.price import Answers, Price, price_of

MOST_A_PAIR = 500


@dataclass(frozen=True)
class Offer:
    """So many ``votes`` more, which bring every pair to ``judges``; free ones included."""

    votes: int
    judges: int
    pairs: int
    price: Price

    @property
    def answers(self) -> Answers:
        """Return the further votes, for their price."""
        return Answers(self.votes, self.pairs, self.judges)

    @property
    def cost(self) -> str:
        """Highest cost of the further votes, as text."""
        return self.price.terms(self.answers)


def _pairs(task: Task) -> QuerySet[Item]:
    assert task.current is not None  # noqa: S101 (a study with a run was published)
    rows = task.items.in_version(task.current.number)
    return rows.filter(expected__isnull=True, repeat=False, second__isnull=False)


def offer(task: Task, needed: int) -> Offer | None:
    """Return the further votes that bring a task to ``needed`` judgments in all, or None.

    A fixed number of queries. None where no more than now would be asked for, where somebody else
    decides what is collected (adaptive collection, a live evaluation), or nobody could claim it.
    """
    collects = task.state in (TaskState.OPEN, TaskState.PAUSED) and task.current is not None
    if not needed or not collects or task.most_answers is not None:
        return None
    rows = _pairs(task).values_list("redundancy").annotate(n=Count("pk"), given=Sum("held"))
    found = list(rows.order_by())  # pairs by how many judges they ask for
    pairs = sum(n for _, n, _ in found)
    if not pairs:
        return None
    judges = math.ceil(needed / pairs)
    asked = sum(n * max(redundancy, judges) for redundancy, n, _ in found)
    given = sum(given for _, _, given in found)
    free = sum(n * redundancy for redundancy, n, _ in found) - given
    votes = asked - given
    if votes <= free or judges > MOST_A_PAIR:
        return None
    if AdaptivePlan.objects.filter(task=task, enabled=True).exists():
        return None
    version = task.current
    assert version is not None  # noqa: S101 (as above)
    return Offer(votes, judges, pairs, price_of(task, version))


@transaction.atomic
def collect(*, by: User, task: Task, needed: int) -> Offer:
    """Ask for what is offered. Raises Conflict where nothing is, or where limits refuse it."""
    task = Task.objects.select_for_update(of=("self",)).select_related("current").get(pk=task.pk)
    found = offer(task, needed)
    if found is None:
        raise Conflict(gettext("No more judgments can be asked for now. Reload the page."))
    rows = _pairs(task).filter(redundancy__lt=found.judges).values_list("pk", flat=True)
    wanted = dict.fromkeys(rows, found.judges)
    tasks.set_wanted(by=by, task=task, wanted=wanted, why="to separate the first two systems")
    return found
