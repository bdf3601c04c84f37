"""Writing, reporting and moderating messages, and telling all workers of a task something.

A worker is a pseudonym to the people of a project, and they are "the requester" to the worker:
nothing here, and no notice, names a person.
"""

from __future__ import annotations

import uuid

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.conversations.selectors import list_recipients
from annotation.models import (
    Announcement,
    Assignment,
    Conversation,
    Membership,
    Message,
    Notice,
    Project,
    Role,
    Task,
    User,
)
from annotation.notifications.actions.notices import Text, mark_read_at, notify, people_of
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from crowdqc import limits
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed

MOST = 2000  # characters of a message
BATCH = 1000  # rows in one statement
LEFT = gettext_lazy("This worker has left the project and gets no messages.")


def worker_url(task_id: int) -> str:
    """Return where a worker reads messages about a task."""
    return f"{reverse('work_messages')}?task={task_id}"


def _text(text: str) -> str:
    found = clean_text(text, "text", MOST)
    if not found:
        raise Invalid(_("The message is empty."), fields={"text": _("Write your message.")})
    return found


@transaction.atomic
def write_as_worker(
    *,
    by: User,
    worker: Membership,
    task: Task,
    text: str,
    key: uuid.UUID,
    assignment: Assignment | None = None,
    item_id: int | None = None,
) -> Conversation:
    """Send a worker's message to staff about a task or item.

    Raises NotAllowed for whoever never took the task or is blocked, Conflict where the
    conversation is closed, TooMuch beyond the limit of an hour.
    """
    if worker.user_id != by.pk or worker.removed_at is not None:
        raise NotAllowed(_("Nobody writes in somebody else's place."))
    if not Assignment.objects.filter(task=task, worker=worker).exists():
        raise NotAllowed(_("You can write about tasks that you have started."))
    if worker.messages_blocked_at:
        raise NotAllowed(_("A manager has blocked your messages in this project."))
    found, is_new = _write(
        by=by, task=task, worker=worker, text=text, key=key, assignment=assignment, item_id=item_id
    )
    if is_new:
        _notify_once(
            to=[one for one in people_of(worker.project) if one.pk != by.pk],
            kind="message.worker",
            text=lambda: _("A worker wrote about “%(task)s”.") % {"task": task.published_title},
            url=reverse("conversation", args=[worker.project_id, found.pk]),
            project=worker.project,
        )
    return found


@transaction.atomic
def write_as_staff(
    *,
    by: User,
    worker: Membership,
    task: Task,
    text: str,
    key: uuid.UUID,
    assignment: Assignment | None = None,
    item_id: int | None = None,
) -> Conversation:
    """Send a staff message to a worker: a reply or feedback.

    Raises Conflict where the worker has left, came from a file, or the conversation is closed.
    """
    if worker.removed_at is not None or worker.user_id is None:
        raise Conflict(LEFT)
    if worker.user_id == by.pk:
        raise NotAllowed(_("This is your own work."))
    found, is_new = _write(
        by=by, task=task, worker=worker, text=text, key=key, assignment=assignment, item_id=item_id
    )
    if is_new:
        _notify_once(
            to=[worker.user],
            kind="message.staff",
            text=lambda: (
                _("The requester of %(project)s wrote to you about “%(task)s”.")
                % {"project": worker.project.name, "task": task.published_title}
            ),
            url=worker_url(task.pk),
            project=worker.project,
        )
    return found


def _write(
    *,
    by: User,
    task: Task,
    worker: Membership,
    text: str,
    key: uuid.UUID,
    assignment: Assignment | None,
    item_id: int | None,
) -> tuple[Conversation, bool]:
    """Return the conversation with the new message, and whether it is new."""
    text = _text(text)
    now = timezone.now()
    Conversation.objects.get_or_create(task=task, worker=worker, defaults={"last_at": now})
    found = Conversation.objects.select_for_update(no_key=True).get(task=task, worker=worker)
    if found.messages.filter(key=key).exists():
        return found, False  # the same, sent again
    if found.closed_at:
        raise Conflict(_("This conversation is closed."))
    limits.require_try(limits.MESSAGES, by.pk, _("You wrote many messages."))
    from_worker = by.pk == worker.user_id
    made = Message.objects.create(
        conversation=found,
        by=by,
        from_worker=from_worker,
        assignment=assignment,
        item_id=item_id,
        text=text,
        key=key,
    )
    found.last_at = found.written_at = made.at
    found.waits = from_worker
    if from_worker:
        found.seen = made.pk
    found.save(update_fields=["last_at", "written_at", "waits", "seen"])
    record(
        by=by,
        project=worker.project,
        action="message.send",
        on=found,
        message=made.pk,
        characters=len(text),
    )
    return found, True


def _notify_once(
    *, to: list[User | None], kind: str, text: Text, url: str, project: Project
) -> None:
    """Send one notice per conversation until it is read."""
    unread = Notice.objects.filter(
        user__in=[one for one in to if one], kind=kind, url=url, read_at=None
    )
    known = set(unread.values_list("user", flat=True))
    notify(
        to=[one for one in to if one is not None and one.pk not in known],
        kind=kind,
        text=text,
        key=f"{kind}:{uuid.uuid4()}",
        url=url,
        project=project,
    )


@transaction.atomic
def mark_seen(*, by: User, conversation: Conversation, upto: int) -> None:
    """Record what the worker has seen and mark its notices read."""
    Conversation.objects.filter(pk=conversation.pk, seen__lt=upto).update(seen=upto)
    mark_read_at(by=by, url=worker_url(conversation.task_id))


# -- moderation ------------------------------------------------------------------------------------


@transaction.atomic
def report_message(*, by: User, conversation: Conversation, message_id: int) -> Message:
    """Report a message of the other side to managers and owner."""
    message = _lock_message(conversation, message_id)
    own = message.from_worker == (by.pk == conversation.worker.user_id)
    if own:
        raise Conflict(_("You can report messages of the other side."))
    if message.reported_at:
        return message
    limits.require_try(limits.REPORTS, by.pk, _("You reported many messages."))
    message.reported_at = timezone.now()
    message.save(update_fields=["reported_at"])
    project = conversation.worker.project
    record(by=by, project=project, action="message.report", on=conversation, message=message.pk)
    notify(
        to=[one for one in (*people_of(project, Role.MANAGER), project.owner) if one.pk != by.pk],
        kind="message.reported",
        text=lambda: _("A message in %(name)s was reported.") % {"name": project.name},
        key=f"message.reported:{message.pk}",
        url=reverse("conversation", args=[project.pk, conversation.pk]),
        project=project,
    )
    return message


def _lock_message(conversation: Conversation, message_id: int) -> Message:
    """Lock an existing message."""
    found = (
        conversation.messages.select_for_update(no_key=True)
        .filter(pk=message_id, removed_at=None)
        .first()
    )
    if found is None:
        raise Missing(_("There is no such message in this conversation."))
    return found


def _moderates(by: User, worker: Membership) -> None:
    if worker.user_id == by.pk:
        raise NotAllowed(_("Somebody else moderates a conversation of yours."))


@transaction.atomic
def remove_message(*, by: User, conversation: Conversation, message_id: int) -> None:
    """Remove a message with its text; an announcement for everybody."""
    _moderates(by, conversation.worker)
    message = _lock_message(conversation, message_id)
    if message.announcement_id:
        raise Conflict(_("Remove an announcement on its task’s page."))
    message.text, message.removed_at, message.reported_at = "", timezone.now(), None
    message.save(update_fields=["text", "removed_at", "reported_at"])
    project = conversation.worker.project
    record(by=by, project=project, action="message.remove", on=conversation, message=message.pk)


@transaction.atomic
def dismiss_report(*, by: User, conversation: Conversation, message_id: int) -> None:
    """Keep a reported message."""
    _moderates(by, conversation.worker)
    message = _lock_message(conversation, message_id)
    if message.reported_at:
        message.reported_at = None
        message.save(update_fields=["reported_at"])
        project = conversation.worker.project
        record(by=by, project=project, action="message.keep", on=conversation, message=message.pk)


@transaction.atomic
def set_closed(*, by: User, conversation: Conversation, closed: bool) -> None:
    """Close a conversation to new messages, or reopen it."""
    _moderates(by, conversation.worker)
    row = Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
    if bool(row.closed_at) != closed:
        row.closed_at = timezone.now() if closed else None
        row.waits = row.waits and not closed
        row.save(update_fields=["closed_at", "waits"])
        project = conversation.worker.project
        record(by=by, project=project, action="message.close", on=row, closed=closed)


@transaction.atomic
def set_blocked(*, by: User, worker: Membership, blocked: bool) -> None:
    """Block a worker's messages in the project, or allow them."""
    _moderates(by, worker)
    row = Membership.objects.select_for_update(of=("self",), no_key=True).get(pk=worker.pk)
    if bool(row.messages_blocked_at) != blocked:
        row.messages_blocked_at = timezone.now() if blocked else None
        row.save(update_fields=["messages_blocked_at"])
        record(by=by, project=worker.project, action="message.block", on=row, blocked=blocked)


STEPS = ("remove", "keep", "close", "open", "block", "unblock")


def apply_step(*, by: User, conversation: Conversation, step: str, message_id: int) -> None:
    """Apply one of ``STEPS``; steps about a message name it."""
    if step == "remove":
        remove_message(by=by, conversation=conversation, message_id=message_id)
    elif step == "keep":
        dismiss_report(by=by, conversation=conversation, message_id=message_id)
    elif step in ("close", "open"):
        set_closed(by=by, conversation=conversation, closed=step == "close")
    else:
        set_blocked(by=by, worker=conversation.worker, blocked=step == "block")


# -- announcements ---------------------------------------------------------------------------------


@transaction.atomic
def announce(*, by: User, task: Task, text: str, key: uuid.UUID) -> Announcement:
    """Notify all workers of a task once, in the app and by mail."""
    text = _text(text)
    Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    known = Announcement.objects.filter(key=key, task=task).first()
    if known is not None:
        return known
    workers = list(list_recipients(task).exclude(user=by).select_related("user"))
    if not workers:
        raise Conflict(_("No worker has started this task yet."))
    limits.require_try(limits.ANNOUNCEMENTS, task.pk, _("This task had many announcements today."))
    made = Announcement.objects.create(task=task, by=by, text=text, key=key, workers=len(workers))
    Conversation.objects.bulk_create(
        [Conversation(task=task, worker=one, last_at=made.at) for one in workers],
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    rows = Conversation.objects.filter(task=task, worker__in=workers)
    rows.update(last_at=made.at)
    Message.objects.bulk_create(
        [
            Message(conversation=one, by=by, from_worker=False, announcement=made)
            for one in rows.order_by("pk")
        ],
        batch_size=BATCH,
    )
    project = task.project
    record(by=by, project=project, action="message.announce", on=made, workers=len(workers))
    notify(
        to=[one.user for one in workers],
        kind="message.announcement",
        text=lambda: (
            _("The requester of %(project)s sent an announcement about “%(task)s”.")
            % {"project": project.name, "task": task.published_title}
        ),
        key=f"message.announcement:{made.pk}",
        url=worker_url(task.pk),
        project=project,
    )
    return made


@transaction.atomic
def remove_announcement(*, by: User, announcement: Announcement, is_manager: bool) -> None:
    """Remove an announcement for everybody: its author or a manager may."""
    if announcement.by_id != by.pk and not is_manager:
        raise NotAllowed(_("Only its author or a manager removes an announcement."))
    row = Announcement.objects.select_for_update(no_key=True).get(pk=announcement.pk)
    if row.removed_at is None:
        row.text, row.removed_at = "", timezone.now()
        row.save(update_fields=["text", "removed_at"])
        row.messages.update(removed_at=row.removed_at, reported_at=None)
        record(by=by, project=announcement.task.project, action="message.withdraw", on=row)
