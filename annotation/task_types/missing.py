"""What a task lacks before it can be published, and where in the builder that is mended."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.models import Task, TaskVersion
from crowdqc.numbers import count

MOST_LISTED = 3  # questions without a text that are named one by one


@dataclass(frozen=True)
class Missing:
    """What stands in the way of publishing, and where it is mended."""

    sentence: str
    part: str
    question: str = ""
    text: str = ""  # the topic


def missing_questions(task: Task, version: TaskVersion) -> list[Missing]:
    """List what a task of questions lacks: any question, or the text of one."""
    items = task.items.in_version(version.number)
    items = items.order_by("group__position", "group_id", "position", "pk")
    unwritten = Q(question="")
    asked = Q(expected__isnull=True)
    there = items.aggregate(n=Count("pk", filter=asked), empty=Count("pk", filter=unwritten))
    if not there["n"]:
        return [Missing(_("The task has no question"), "questions")]
    if not there["empty"]:
        return []
    empty = list(items.filter(unwritten).values_list("key", flat=True)[: MOST_LISTED + 1])
    order = list(items.values_list("key", flat=True))
    found = [
        Missing(
            _("Question %(value)s has no text") % {"value": count(order.index(key) + 1)},
            "questions",
            key,
        )
        for key in empty[:MOST_LISTED]
    ]
    if len(empty) > MOST_LISTED:
        found.append(Missing(_("More questions have no text"), "questions", empty[MOST_LISTED]))
    return found
