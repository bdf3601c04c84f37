"""The demo's task of answers beside documents: made, and rated by eight people with explanations.

The loader runs these steps among its own, in the order of their times.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from annotation.demo import rating
from annotation.models import Answer
from annotation.pairs.actions.rating_documents import add_documents
from annotation.task_types.rating.explanation import REQUIRED
from annotation.task_types.rating.type import COMPLETENESS, DOCUMENT
from annotation.work.actions import answers, assignments
from evaluation.demo.context import DemoTask
from evaluation.published.studies.ebr import ScoreRow, Source, import_scores

PAY, LEASE, A_DOCUMENT = Decimal("2.00"), 60, 12
SETTINGS = {
    "layout": DOCUMENT,
    "scales": list(COMPLETENESS),
    "feedback": True,
    "evidence": REQUIRED,
    "explanation": {"wanted": REQUIRED, "min_words": 5},
    "release": {"assignments": 20, "hours": 24},
}
# Days before now. People rate from FIRST to LAST.
MADE, FIRST, LAST, SCORED = 5.1, 4.6, 1.6, 1.5
# Nobody asked a model: the scores of the explanations are invented like the answers.
INVENTED = Source("lantern-70b", "invented for the demo")
SECONDS = 45  # spent on a rating


@dataclass
class RatingTask(DemoTask):
    """The task within a loader's project."""

    data: rating.Ratings = field(default_factory=rating.load)

    def agenda(self) -> list[tuple[dt.datetime, Callable[[], None]]]:
        """List the steps of the demo with their times."""
        documents = len({row["document_id"] for row in self.data.rows})
        turns = [rater for _ in range(documents) for rater in self.data.raters]
        apart = (FIRST - LAST) / (len(turns) - 1)
        return [
            (self.loader.ago(MADE), self.make),
            *(
                (self.loader.ago(FIRST - number * apart), partial(self._rate, rater))
                for number, rater in enumerate(turns)
            ),
            (self.loader.ago(SCORED), self.score),
        ]

    def sentence(self) -> str:
        """Summarise what was loaded."""
        given = Answer.objects.filter(item__task=self.task)
        return (
            f"a rating task: {len(self.data.rows)} answers, {given.count()} ratings with "
            f"explanations of {len(self.data.raters)} people"
        )

    def make(self) -> None:
        """Scales, explanations, documents; published."""
        by, data = self.loader.people["requester"], self.data
        rules = {
            "instructions": data.instructions,
            "redundancy": len(data.raters),
            "pay": PAY,
            "items_per_assignment": A_DOCUMENT,
            "lease_minutes": LEASE,
            "order": "fixed",
            "settings": SETTINGS,
        }
        task = self.draft("rating", data.title, rules)
        add_documents(by=by, task=task, rows=data.rows, name=rating.FILE)
        self._task = self.publish(task)

    def _rate(self, rater: rating.Rater) -> None:
        """Do one assignment from its claim to its submit."""
        load, user = self.loader, self.loader.people[rater.id]
        held = self.take(self.task, rater.id)
        entries = list(held.entries.select_related("item").order_by("position"))
        told = held.worker.assignments.filter(task=self.task).count() == 1
        drafts = {}
        for entry in entries:
            load.clock.move_to(load.clock.moment + dt.timedelta(seconds=SECONDS))
            assignments.show_item(by=user, assignment=held, position=entry.position)
            drafts[entry.item_id] = self.data.draft(rater, entry.item.key)
        if told and rater.id in self.data.feedback:
            drafts[entries[-1].item_id]["feedback"] = self.data.feedback[rater.id]
        answers.submit_assignment(by=user, assignment=held, key=uuid.uuid4(), drafts=drafts)

    def score(self) -> None:
        """Scores of the explanations, taken in from outside as a file of them would be."""
        pairs = [(rater, key) for rater in self.data.raters for key in self.data.answers]
        rows = [
            ScoreRow(line, key, rater.id, found, "" if found is None else f"Score: {found}")
            for line, (rater, key) in enumerate(pairs, 2)
            for found in (self.data.score(rater, key),)
        ]
        import_scores(
            by=self.loader.people["requester"], task=self.task, rows=rows, source=INVENTED
        )
