"""Conversations as their two sides see them: what was written, about what, and what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Coalesce, Left
from django.utils.translation import gettext as _

from annotation.models import (
    Announcement,
    Assignment,
    AssignmentItem,
    Conversation,
    Membership,
    Message,
    Project,
    Role,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.task_types import get_type
from crowdqc.errors import Missing

PREVIEW = 120  # characters of the last message in a list
NEWEST = 200  # messages of a conversation that its page shows


def _with_words(rows: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Each with the beginning of its last message (``words``) and who wrote it."""
    last = Message.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
    return rows.select_related("task__current", "task__project", "worker__project").annotate(
        words=Subquery(last.values(w=Left(Coalesce("announcement__text", "text"), PREVIEW))[:1]),
        last_from_worker=Subquery(last.values("from_worker")[:1]),
        last_removed=Subquery(last.values("removed_at")[:1]),
    )


# -- the worker's side -----------------------------------------------------------------------------


def conversations_of(user: User, only: int | None = None) -> QuerySet[Conversation]:
    """What the person reads as a worker, with how many messages are new (``new``), newest first.

    ``only`` is the one project that it may be about.
    """
    unseen = Q(messages__from_worker=False, messages__pk__gt=F("seen"))
    rows = Conversation.objects.filter(worker__user=user, worker__removed_at=None)
    if only is not None:
        rows = rows.filter(worker__project=only)
    return (
        _with_words(rows)
        .annotate(new=Count("messages", filter=unseen & Q(messages__removed_at=None)))
        .order_by("-last_at", "-pk")
    )


def own_conversation(user: User, conversation_id: int, only: int | None = None) -> Conversation:
    """One of theirs as a worker; anybody else's does not exist for them."""
    found = conversations_of(user, only).filter(pk=conversation_id).first()
    if found is None:
        raise Missing(_("There is no such conversation among yours."))
    return found


def conversation_about(worker: Membership, task_id: int) -> Conversation | None:
    """What the worker and the project wrote about a task so far."""
    return Conversation.objects.filter(worker=worker, task=task_id).first()


def open_assignment(worker: Membership, task_id: int) -> Assignment | None:
    """The assignment of the task that the worker holds, to go back to."""
    rows = Assignment.objects.filter(worker=worker, task=task_id, state=AssignmentState.LEASED)
    return rows.first()


# -- the project's side ----------------------------------------------------------------------------

STATES = {
    "waiting": Q(waits=True),
    "reported": Q(reported__gt=0),
    "all": Q(),
}


def conversations_in(project: Project, show: str) -> QuerySet[Conversation]:
    """Conversations of a project in which somebody wrote, of one state, the newest first."""
    rows = Conversation.objects.filter(task__project=project)
    reported = Count("messages", filter=Q(messages__reported_at__isnull=False))
    rows = _with_words(rows).annotate(reported=reported)
    rows = rows.filter(Q(written_at__isnull=False) | Q(reported__gt=0))
    return rows.filter(STATES[show]).order_by("-last_at", "-pk")


def waiting_in(project: Project) -> int:
    """How many conversations wait for an answer of the project."""
    return Conversation.objects.filter(task__project=project, waits=True).count()


def conversation_in(project: Project, conversation_id: int) -> Conversation:
    """One of the project's, or Missing."""
    rows = Conversation.objects.select_related("task__current", "worker__user")
    found = rows.filter(task__project=project, pk=conversation_id).first()
    if found is None:
        raise Missing(_("There is no such conversation in this project."))
    found.worker.project = found.task.project = project
    return found


def assignment_in(task: Task, assignment_id: int) -> Assignment:
    """One of the task's, whose worker can be written to, or Missing."""
    rows = Assignment.objects.select_related("worker__user")
    held = rows.filter(pk=assignment_id, task=task).first()
    if held is None:
        raise Missing(_("There is no such assignment in this project."))
    held.task, held.worker.project = task, task.project
    return held


def announcement_of(task: Task, announcement_id: int) -> Announcement:
    """One of the task's, or Missing."""
    found = Announcement.objects.filter(pk=announcement_id, task=task).first()
    if found is None:
        raise Missing(_("There is no such announcement of this task."))
    found.task = task
    return found


def recipients(task: Task) -> QuerySet[Membership]:
    """Workers of a task who can be told something: they took it and have not left."""
    took = Assignment.objects.filter(task=task, worker=OuterRef("pk"))
    took = took.exclude(state=AssignmentState.RETURNED).exclude(source="import")
    here = Membership.objects.filter(project=task.project_id, role=Role.WORKER)
    return here.filter(Exists(took), removed_at=None, user__is_active=True).order_by("pk")


def announcements_of(task: Task) -> QuerySet[Announcement]:
    """What the workers of a task were told, the newest first."""
    return task.announcements.select_related("by")


# -- messages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class About:
    """What a message is about: an item by its place in an assignment, in the task's own noun."""

    assignment_id: int
    item_id: int
    number: int
    noun: str


@dataclass(frozen=True)
class Line:
    """One message as a page shows it."""

    message: Message
    about: About | None
    is_new: bool

    @property
    def words(self) -> str:
        told = self.message.announcement
        return told.text if told else self.message.text


def lines_of(conversation: Conversation) -> list[Line]:
    """The newest messages of a conversation in their order."""
    rows = conversation.messages.select_related("announcement", "by").order_by("-pk")[:NEWEST]
    messages = list(reversed(rows))
    places = _places(conversation, messages)
    return [
        Line(
            one,
            places.get((one.assignment_id, one.item_id)),
            is_new=not one.from_worker and one.pk > conversation.seen,
        )
        for one in messages
    ]


def _places(conversation: Conversation, messages: Sequence[Message]) -> dict[Any, About]:
    named = [one for one in messages if one.assignment_id and one.item_id]
    if not named:
        return {}
    entries = AssignmentItem.objects.filter(
        assignment__in={one.assignment_id for one in named},
        item__in={one.item_id for one in named},
    )
    noun = noun_of(conversation.task)
    return {
        (assignment, item): About(assignment, item, position + 1, noun)
        for assignment, item, position in entries.values_list("assignment", "item", "position")
    }


def noun_of(task: Task) -> str:
    """What an item of the task is called."""
    return get_type(task.type).noun_in(task.current.settings if task.current else {})


def about_entry(assignment: Assignment, number: int | None) -> About | None:
    """An item of an assignment by its number, as a message can be about it."""
    return _about(assignment, assignment.entries.filter(position=(number or 0) - 1).first())


def about_answer(assignment: Assignment, answer_id: int | None) -> About | None:
    """The same by an answer to it."""
    answered = assignment.answers.filter(pk=answer_id or 0).values("item")
    return _about(assignment, assignment.entries.filter(item__in=answered).first())


def _about(assignment: Assignment, entry: AssignmentItem | None) -> About | None:
    if entry is None:
        return None
    return About(assignment.pk, entry.item_id, entry.position + 1, noun_of(assignment.task))
