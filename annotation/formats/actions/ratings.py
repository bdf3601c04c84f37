"""Ratings from elsewhere: a task of documents and answers, and the ratings of people in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import workers_by_id, workers_named
from annotation.authoring.actions.tasks import move, publish
from annotation.formats.actions.judgments import (
    Added,
    Advance,
    Vote,
    add_votes,
    import_task,
    place_votes,
)
from annotation.models import Answer, Project, Task, TextValue, User
from annotation.models.tasks import TaskState
from annotation.pairs.actions.rating_documents import add_documents
from annotation.records.actions.audit import record
from annotation.task_types.rating import explanation
from annotation.task_types.rating.type import COMPLETENESS, DOCUMENT
from crowdqc.errors import Conflict

Rows = Sequence[Mapping[str, Any]]
# What the published study asked, as settings of a task.
STUDY: dict[str, Any] = {
    "layout": DOCUMENT,
    "scales": list(COMPLETENESS),
    "explanation": {"wanted": explanation.REQUIRED, "min_words": 1},
    "evidence": explanation.OPTIONAL,
    "feedback": True,
}


class RatingRow(NamedTuple):
    """One rating as it is stored: values by scale, words and sentence numbers beside them."""

    worker: int
    item: int
    values: tuple[tuple[str, int], ...]
    explanation: str = ""
    evidence: tuple[int, ...] = ()
    at: Any = None


def document_task(
    *, by: User, project: Project, title: str, rows: Rows, fields: Mapping[str, Any], name: str
) -> Task:
    """Return the task of this title with these answers; a new one is published and closed.

    Raises Conflict where it has a draft of other changes.
    """
    with transaction.atomic():
        task = import_task(by=by, project=project, type="rating", title=title, fields=fields)
        if task.current_id and task.versions.filter(published_at__isnull=True).exists():
            raise Conflict(_("The task has a draft of changes; publish it or throw it away first."))
        closed = task.state in (TaskState.DRAFT, TaskState.CLOSED)
        if task.state == TaskState.CLOSED:
            move(by=by, task=task, to="reopen")
        if add_documents(by=by, task=task, rows=rows, name=name) or task.current_id is None:
            publish(by=by, task=task)
        task.refresh_from_db()
        if closed:
            move(by=by, task=task, to="close")
        task.refresh_from_db()
        return task


def add_ratings(
    *, task: Task, ratings: Iterable[RatingRow], advance: Advance = lambda done: None
) -> Added:
    """Store ratings of people; who rates an item again does so in a further assignment.

    What is there already, value by value and in the same number, adds nothing.
    """
    votes = place_votes(
        Vote(
            author=row.worker,
            item=row.item,
            choices=tuple((name, str(value), value) for name, value in row.values),
            texts=((explanation.EXPLANATION, 0, row.explanation),) if row.explanation else (),
            spans=tuple(
                (explanation.EVIDENCE, index, explanation.SENTENCE, number, number)
                for index, number in enumerate(row.evidence)
            ),
            at=row.at,
        )
        for row in ratings
    )
    return add_votes(task=task, votes=votes, advance=advance)


@transaction.atomic
def import_ratings(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Add checked rows (item_id, worker_id, values, explanation, evidence); how many are new."""
    items = dict(task.items.order_by("pk").values_list("key", "pk"))
    workers = workers_named(task.project, {row["worker_id"] for row in rows})
    added = add_ratings(
        task=task,
        ratings=(
            RatingRow(
                workers[row["worker_id"]].pk,
                items[row["item_id"]],
                tuple(row["values"]),
                row["explanation"],
                tuple(row["evidence"]),
            )
            for row in rows
        ),
    )
    record(by=by, project=task.project, action="ratings.import", on=task, file=name, new=added.new)
    return added.new


def answers_of(task: Task) -> dict[tuple[str, str, str], list[int]]:
    """Return the ids of people's answers by (item's key, worker's id in the file, explanation).

    Several where the same person gave an item the same words more than once.
    """
    said = dict(
        TextValue.objects.filter(
            answer__item__task=task, field=explanation.EXPLANATION, answer__worker__isnull=False
        ).values_list("answer_id", "text")
    )
    found: dict[tuple[str, str, str], list[int]] = {}
    rows = Answer.objects.filter(item__task=task, worker__isnull=False).order_by("pk")
    for pk, item, worker in rows.values_list("pk", "item__key", "worker__external_id"):
        found.setdefault((item, worker, said.get(pk, "")), []).append(pk)
    return found


__all__ = [
    "STUDY",
    "RatingRow",
    "add_ratings",
    "answers_of",
    "document_task",
    "import_ratings",
    "workers_by_id",
]
