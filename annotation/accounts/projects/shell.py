"""Counts beside the project's tabs, and unread counts."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from annotation.models import (
    Membership,
    Message,
    Notice,
    PayoutBatch,
    Project,
    Role,
    Task,
    Trace,
    TraceSource,
    User,
)
from crowdqc.database.compiled import CompiledQuery, Placeholder


def _number(rows: QuerySet[Any]) -> Coalesce:
    grouped = rows.order_by().values(one=Value(1)).annotate(n=Count("pk"))
    return Coalesce(Subquery(grouped.values("n")), 0)


def _unread_notices() -> Coalesce:
    """Count the person's unread notices, as a subquery."""
    return _number(Notice.objects.filter(user_id=Placeholder("user"), read_at=None))


def _new_messages() -> Coalesce:
    """Count unseen messages to the person as a worker, as a subquery."""
    return _number(
        Message.objects.filter(
            conversation__worker__user_id=Placeholder("user"),
            conversation__worker__removed_at=None,
            from_worker=False,
            removed_at=None,
            pk__gt=F("conversation__seen"),
        )
    )


def _tabs() -> QuerySet[Project]:
    here = OuterRef("pk")
    people = Membership.objects.filter(
        project=here, role=Role.WORKER, user__isnull=False, removed_at__isnull=True
    )
    waiting = PayoutBatch.objects.filter(project=here, state=PayoutBatch.State.PROPOSED)
    # Under names that are no fields of a project.
    return (
        Project.objects.filter(pk=Placeholder("project"))
        .only("pk")
        .annotate(
            tasks_there=_number(Task.objects.filter(project=here)),
            people_there=_number(people),
            payouts_there=_number(waiting),
            sources_there=_number(TraceSource.objects.filter(project=here)),
            traces_there=_number(
                Trace.objects.filter(source__project=here, item__held__lt=F("item__redundancy"))
            ),
            unread_there=_unread_notices(),
        )
    )


# On every page, where writing their SQL anew took an eighth of the time of a page.
OWN = CompiledQuery(
    lambda: (
        User.objects.filter(pk=Placeholder("user"))
        .only("pk")
        .annotate(unread_there=_unread_notices(), messages_there=_new_messages())
    )
)
TABS = CompiledQuery(_tabs)


def own_counts(user: User) -> dict[str, int]:
    """Return unread notices and new messages of a worker by one query."""
    [row] = OWN.all(user=user.pk)
    return _counts(row, "unread", "messages")


def tab_counts(project: Project, user: User) -> dict[str, int]:
    """Return tasks, working people, waiting proposals and traces, and unread notices at once."""
    [row] = TABS.all(project=project.pk, user=user.pk)
    return _counts(row, "tasks", "people", "payouts", "sources", "traces", "unread")


def _counts(row: User | Project, *names: str) -> dict[str, int]:
    return {name: getattr(row, f"{name}_there") for name in names}
