"""What people are told, and what workers and the people of a project write to one another."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import get_language

from annotation.models.assignments import Assignment
from annotation.models.people import Membership, Project, User
from annotation.models.tasks import Item, Task


class Notice(models.Model):
    """One thing one person is told once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices")
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=40)
    text = models.CharField(max_length=400)  # in the language that the person had then
    # The text in each language that pages have; empty where all read the same.
    texts = models.JSONField(default=dict, blank=True, db_default={})
    url = models.CharField(max_length=300, blank=True)
    # What it is about, as "rejection.decided:12": telling the same thing twice is telling it once.
    key = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    # When a mail about it is due; empty: none is owed (any more).
    mail_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    # When it was tried first: since then it is late, whenever the next try is.
    mail_tried_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="told_once")]
        indexes = [
            models.Index(fields=["mail_at"], condition=Q(mail_at__isnull=False), name="mail_owed"),
            models.Index(fields=["user"], condition=Q(read_at=None), name="notice_unread"),
        ]

    @property
    def words(self) -> str:
        """The text in the language that is spoken now, else as it was written."""
        said: str = self.texts.get(get_language() or "", self.text)
        return said


class Announcement(models.Model):
    """What the people of a project told all workers of a task at once."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="announcements")
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    at = models.DateTimeField(auto_now_add=True)
    workers = models.PositiveIntegerField(default=0)
    key = models.UUIDField(unique=True)  # the client's: sent again it is the same announcement
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]


class Conversation(models.Model):
    """What one worker and the people of a project write to one another about one task."""

    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="conversations")
    worker = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="conversations")
    last_at = models.DateTimeField()
    # The last message that was no announcement; empty: there are announcements only.
    written_at = models.DateTimeField(null=True, blank=True)
    # Whether the worker wrote last, so that the people of the project owe an answer.
    waits = models.BooleanField(default=False)
    # The last message that the worker has seen.
    seen = models.BigIntegerField(default=0)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["task", "worker"], name="conversation_once")]
        indexes = [models.Index(fields=["worker", "-last_at"], name="conversation_of_worker")]


class Message(models.Model):
    """One message; who of the project wrote it is known to the project alone."""

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    from_worker = models.BooleanField()
    # What it is about: an assignment, and perhaps one of its items.
    assignment = models.ForeignKey(
        Assignment, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    item = models.ForeignKey(
        Item, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    # The text of an announcement stands there, once for all workers.
    announcement = models.ForeignKey(
        Announcement, on_delete=models.CASCADE, null=True, blank=True, related_name="messages"
    )
    text = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)
    # The client's key: the same message sent again is the same message.
    key = models.UUIDField(null=True, blank=True)
    reported_at = models.DateTimeField(null=True, blank=True)
    # When a manager removed it; its text is gone.
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "key"], name="message_once"),
        ]
        indexes = [
            models.Index(
                fields=["conversation"],
                condition=Q(reported_at__isnull=False),
                name="message_reported",
            )
        ]
