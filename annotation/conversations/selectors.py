"""Read conversations for both sides, with unread counts."""

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


def _with_last_message(rows: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Annotate the start and author of the last message."""
    last = Message.objects.filter(conversation=OuterRef("pk")).order_by("-pk")
    return rows.select_related("task__current", "task__project", "worker__project").annotate(
        words=Subquery(last.values(w=Left(Coalesce("announcement__text", "text"), PREVIEW))[:1]),
        last_from_worker=Subquery(last.values("from_worker")[:1]),
        last_removed=Subquery(last.values("removed_at")[:1]),
    )


# -- the worker's side -----------------------------------------------------------------------------


def list_own_conversations(user: User, only: int | None = None) -> QuerySet[Conversation]:
    """Return the worker's conversations with counts of ``new``, newest first.

    ``only`` is the one project that it may be about.
    """
    unseen = Q(messages__from_worker=False, messages__pk__gt=F("seen"))
    rows = Conversation.objects.filter(worker__user=user, worker__removed_at=None)
    if only is not None:
        rows = rows.filter(worker__project=only)
    return (
        _with_last_message(rows)
        .annotate(new=Count("messages", filter=unseen & Q(messages__removed_at=None)))
        .order_by("-last_at", "-pk")
    )


def own_conversation(user: User, conversation_id: int, only: int | None = None) -> Conversation:
    """Return one of the worker's conversations, or raise Missing."""
    found = list_own_conversations(user, only).filter(pk=conversation_id).first()
    if found is None:
        raise Missing(_("There is no such conversation among yours."))
    return found


def find_conversation(worker: Membership, task_id: int) -> Conversation | None:
    """Return the conversation of a worker about a task."""
    return Conversation.objects.filter(worker=worker, task=task_id).first()


def open_assignment(worker: Membership, task_id: int) -> Assignment | None:
    """Return the assignment of the task that the worker has leased; None if there is none."""
    rows = Assignment.objects.filter(worker=worker, task=task_id, state=AssignmentState.LEASED)
    return rows.first()


# -- the project's side ----------------------------------------------------------------------------

STATES = {
    "waiting": Q(waits=True),
    "reported": Q(reported__gt=0),
    "all": Q(),
}


def list_conversations(project: Project, show: str) -> QuerySet[Conversation]:
    """Return a project's conversations of one state, newest first."""
    rows = Conversation.objects.filter(task__project=project)
    reported = Count("messages", filter=Q(messages__reported_at__isnull=False))
    rows = _with_last_message(rows).annotate(reported=reported)
    rows = rows.filter(Q(written_at__isnull=False) | Q(reported__gt=0))
    return rows.filter(STATES[show]).order_by("-last_at", "-pk")


def count_waiting(project: Project, task: Task | None = None) -> int:
    """Count conversations of the project, or of one task, that await a reply of staff."""
    rows = Conversation.objects.filter(task__project=project, waits=True)
    return (rows if task is None else rows.filter(task=task)).count()


def get_conversation(project: Project, conversation_id: int) -> Conversation:
    """Return a conversation of the project, or raise Missing."""
    rows = Conversation.objects.select_related("task__current", "worker__user")
    found = rows.filter(task__project=project, pk=conversation_id).first()
    if found is None:
        raise Missing(_("There is no such conversation in this project."))
    found.worker.project = found.task.project = project
    return found


def get_addressable_assignment(task: Task, assignment_id: int) -> Assignment:
    """Return an assignment whose worker can be written to, or raise Missing."""
    rows = Assignment.objects.select_related("worker__user")
    held = rows.filter(pk=assignment_id, task=task).first()
    if held is None:
        raise Missing(_("There is no such assignment in this project."))
    held.task, held.worker.project = task, task.project
    return held


def get_announcement(task: Task, announcement_id: int) -> Announcement:
    """Return an announcement of the task, or raise Missing."""
    found = Announcement.objects.filter(pk=announcement_id, task=task).first()
    if found is None:
        raise Missing(_("There is no such announcement of this task."))
    found.task = task
    return found


def list_recipients(task: Task) -> QuerySet[Membership]:
    """Return workers of a task who have not left."""
    took = Assignment.objects.filter(task=task, worker=OuterRef("pk"))
    took = took.exclude(state=AssignmentState.RETURNED).exclude(source="import")
    here = Membership.objects.filter(project=task.project_id, role=Role.WORKER)
    return here.filter(Exists(took), removed_at=None, user__is_active=True).order_by("pk")


def list_announcements(task: Task) -> QuerySet[Announcement]:
    """Return announcements to a task's workers, newest first."""
    return task.announcements.select_related("by")


# -- messages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MessageSubject:
    """The subject of a message: an item by its place, in the task's noun."""

    assignment_id: int
    item_id: int
    number: int
    noun: str


@dataclass(frozen=True)
class MessageLine:
    """A message with its subject (item, answer), as a page shows it."""

    message: Message
    about: MessageSubject | None
    is_new: bool

    @property
    def words(self) -> str:
        """Return the text of the message, or of the announcement that it carries."""
        told = self.message.announcement
        return told.text if told else self.message.text


def message_lines(conversation: Conversation) -> list[MessageLine]:
    """Return the newest messages of a conversation in order."""
    rows = conversation.messages.select_related("announcement", "by").order_by("-pk")[:NEWEST]
    messages = list(reversed(rows))
    places = _places(conversation, messages)
    return [
        MessageLine(
            one,
            places.get((one.assignment_id, one.item_id)),
            is_new=not one.from_worker and one.pk > conversation.seen,
        )
        for one in messages
    ]


def _places(conversation: Conversation, messages: Sequence[Message]) -> dict[Any, MessageSubject]:
    named = [one for one in messages if one.assignment_id and one.item_id]
    if not named:
        return {}
    entries = AssignmentItem.objects.filter(
        assignment__in={one.assignment_id for one in named},
        item__in={one.item_id for one in named},
    )
    noun = item_noun(conversation.task)
    return {
        (assignment, item): MessageSubject(assignment, item, position + 1, noun)
        for assignment, item, position in entries.values_list("assignment", "item", "position")
    }


def item_noun(task: Task) -> str:
    """Return the noun of a task's items."""
    return get_type(task.type).noun_in(task.current.settings if task.current else {})


def entry_subject(assignment: Assignment, number: int | None) -> MessageSubject | None:
    """Return the subject for an item of an assignment by its number."""
    return _subject_of(assignment, assignment.entries.filter(position=(number or 0) - 1).first())


def answer_subject(assignment: Assignment, answer_id: int | None) -> MessageSubject | None:
    """Return the subject for an answer's item."""
    answered = assignment.answers.filter(pk=answer_id or 0).values("item")
    return _subject_of(assignment, assignment.entries.filter(item__in=answered).first())


def _subject_of(assignment: Assignment, entry: AssignmentItem | None) -> MessageSubject | None:
    if entry is None:
        return None
    return MessageSubject(
        assignment.pk, entry.item_id, entry.position + 1, item_noun(assignment.task)
    )
