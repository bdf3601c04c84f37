"""The demo's two live evaluations: one that ended by itself, and one that people are judging."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import TYPE_CHECKING

from annotation.authoring.actions import tasks
from annotation.demo.live import ENDED, INSTRUCTIONS, OPEN, LiveStudy
from annotation.demo.logs import seeded
from annotation.models import Item, Project, Task
from annotation.work.actions import answers, assignments
from evaluation.demo.context import DAY
from evaluation.live import actions as live

if TYPE_CHECKING:
    from evaluation.demo.context import DemoContext

PEOPLE = (
    *("kestrel-07", "juniper-31", "marlin-02", "sorrel-18"),
    *("dunlin-63", "rowan-44", "tansy-29", "heron-05"),
)
BUNDLE, PAY, BUDGET = 6, Decimal("0.60"), Decimal("40.00")
BEGIN, TURN = 0.045, 0.0005  # days before now, and between two assignments
SO_FAR = 6  # assignments of the one that is open


def make(load: DemoContext, project: Project) -> tuple[Task, Task]:
    """Make both tasks and what came to them; note what was loaded."""
    load.clock.move_to(load.ago(BEGIN))
    ended, going = Live(load, project, ENDED), Live(load, project, OPEN)
    times = len(PEOPLE)
    while not ended.judged(times):
        times = 1
    going.judged(SO_FAR)
    load.say(
        f"two live evaluations: one that {ended.turns * BUNDLE} judgments ended, and one that is "
        f"open (tasks {ended.task.pk} and {going.task.pk})"
    )
    return ended.task, going.task


class Live:
    """One of them, with the systems' outputs, and the people who judge it in turn."""

    def __init__(self, load: DemoContext, project: Project, study: LiveStudy) -> None:
        self.load, self.study, self.turns = load, study, 0
        by = load.people["requester"]
        self.task = tasks.create_task(by=by, project=project, type="pairwise", title=study.title)
        rules = {
            "instructions": INSTRUCTIONS,
            "redundancy": 1,
            "items_per_assignment": BUNDLE,
            "pay": PAY,
        }
        tasks.edit_draft(by=by, task=self.task, fields=rules)
        self.evaluation = live.open_evaluation(
            by=by,
            task=self.task,
            systems=study.systems,
            half_width=study.half_width,
            max_judgments=study.judgments,
            budget=BUDGET,
        )
        rows, self.true = study.outputs()
        live.add_outputs(by=by, task=self.task, key="demo", rows=rows)

    def judged(self, times: int) -> bool:
        """Judge so many assignments, each by the next person.

        Return whether the evaluation ended.
        """
        for _ in range(times):
            self._judge()
        return live.check(self.evaluation.pk)

    def _judge(self) -> None:
        name = PEOPLE[self.turns % len(PEOPLE)]
        member, user = self.load.join(self.task.project, name), self.load.people[name]
        self.task.refresh_from_db()
        held = assignments.claim_assignment(by=user, task=self.task, worker=member)
        held = assignments.open_assignment(by=user, assignment=held)
        drafts = {}
        for entry in held.entries.select_related(
            "item__first__system", "item__second", "item__group"
        ):
            sides = ("right", "left") if entry.flipped else ("left", "right")
            # By the item: in which order items come differs from one installation to the next.
            chance = seeded("demo live votes", self.study.title, entry.item.group.key).random()
            at = 0 if self._first_is_better(entry.item, chance) else 1
            drafts[entry.item_id] = {"d-quality_overall": sides[at]}
        self.load.clock.move_to(self.load.clock.moment + TURN * DAY)
        answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4(), drafts=drafts)
        self.turns += 1

    def _first_is_better(self, item: Item, chance: float) -> bool:
        first, second = item.first, item.second
        assert first is not None and second is not None  # noqa: S101 (every item is a pair)
        right = [self.true[one.query, one.text] for one in (first, second)]
        if right[0] != right[1]:
            return right[0]
        return (chance < self.study.liked) == (first.system.name == self.study.systems[0])
