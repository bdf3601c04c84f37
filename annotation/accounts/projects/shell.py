"""Counts beside the project's tabs, and of what one person has not read."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from annotation.models import Membership, Message, Notice, PayoutBatch, Project, Role, Task, User


def unread_of(user: User) -> QuerySet[Notice]:
    """Notices that the person has not opened."""
    return Notice.objects.filter(user=user, read_at=None)


def new_messages_of(user: User) -> QuerySet[Message]:
    """Messages to the person as a worker that they have not seen."""
    return Message.objects.filter(
        conversation__worker__user=user,
        conversation__worker__removed_at=None,
        from_worker=False,
        removed_at=None,
        pk__gt=F("conversation__seen"),
    )


def own_counts(user: User) -> dict[str, int]:
    """The person's unread notices, and their new messages as a worker: one query."""
    told = {"unread_there": _number(unread_of(user)), "new_there": _number(new_messages_of(user))}
    row: Any = User.objects.values(**told).get(pk=user.pk)
    return {"unread": row["unread_there"], "messages": row["new_there"]}


def _number(rows: QuerySet[Any]) -> Coalesce:
    grouped = rows.order_by().values(one=Value(1)).annotate(n=Count("pk"))
    return Coalesce(Subquery(grouped.values("n")), 0)


def tab_counts(project: Project, user: User) -> dict[str, int]:
    """Tasks, working people, proposals that wait, and the person's unread notices: one query."""
    here = OuterRef("pk")
    people = Membership.objects.filter(project=here, role=Role.WORKER, removed_at__isnull=True)
    waiting = PayoutBatch.objects.filter(project=here, state=PayoutBatch.State.PROPOSED)
    counts = {
        "tasks": Task.objects.filter(project=here),
        "people": people,
        "payouts": waiting,
        "unread": unread_of(user),
    }
    # Under names that are no fields of a project.
    told = {f"{name}_there": _number(rows) for name, rows in counts.items()}
    row: Any = Project.objects.values(**told).get(pk=project.pk)
    return {name: row[f"{name}_there"] for name in counts}
