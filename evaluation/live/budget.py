"""What a live evaluation has asked for and what it has left."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import comb

from django.db.models import Sum

from annotation.models import Assignment, Task
from annotation.models.assignments import AssignmentState
from annotation.work.selectors.spending import claimed_pay
from evaluation.live.judging import selectors as judging
from evaluation.models import LiveEvaluation


@dataclass(frozen=True)
class Used:
    """Judgments and money of a live evaluation.

    ``asked`` judgments are wanted by its pairs, ``held`` of them are given or in work; ``prompt``
    is how many one more prompt would take. ``leases`` are assignments in work, ``runs`` those of
    models, which cost ``models`` of the ``money``, what is held for those in work included. Where
    models alone decide, a judgment is a pair that all of them have judged.
    """

    asked: int
    held: int
    most: int
    prompt: int
    leases: int
    runs: int
    money: Decimal
    models: Decimal
    pay: Decimal  # of one more assignment
    budget: Decimal | None

    @property
    def room(self) -> int:
        """Judgments that more prompts may ask for."""
        return max(0, self.most - self.asked)

    @property
    def prompts_left(self) -> int:
        """Return how many more prompts fit in the limit on judgments."""
        return self.room // self.prompt

    @property
    def money_out(self) -> bool:
        """Whether no assignment can be claimed for lack of money, nor is anything in work."""
        short = self.budget is not None and self.money + self.pay > self.budget
        return short and not self.leases and not self.runs

    @property
    def judgments_out(self) -> bool:
        """Whether all judgments that may be requested have been given."""
        return not self.leases and self.held >= self.asked and self.room < self.prompt


def used_by(evaluation: LiveEvaluation, task: Task) -> Used:
    """What is asked, given and spent now, in a few queries."""
    version = task.version_or_draft()
    models = judging.money_of(evaluation) if evaluation.judges else Decimal("0.00")
    prompt = comb(len(evaluation.systems), 2)
    if evaluation.decided_by == LiveEvaluation.DecidedBy.MODELS:
        asked = judging.pairs_in(task)
        held = judging.judged_by_all(evaluation, task, judging.judges_of(evaluation, task))
    else:
        slots = task.items.filter(expected__isnull=True).aggregate(
            asked=Sum("redundancy", default=0), held=Sum("held", default=0)
        )
        asked, held, prompt = slots["asked"], slots["held"], prompt * version.redundancy
    leased = Assignment.objects.filter(task=task, state=AssignmentState.LEASED)
    return Used(
        asked=asked,
        held=held,
        most=evaluation.max_judgments,
        prompt=prompt,
        leases=leased.count(),
        runs=judging.in_work(evaluation) if evaluation.judges else 0,
        money=claimed_pay(task) + models,
        models=models,
        pay=version.pay,
        budget=evaluation.budget,
    )
