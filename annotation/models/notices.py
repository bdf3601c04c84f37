"""What people are told: in the application, and by e-mail where they want it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.people import Project, User


class Notice(models.Model):
    """One thing one person is told once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices")
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    kind = models.CharField(max_length=40)
    text = models.CharField(max_length=400)
    url = models.CharField(max_length=300, blank=True)
    # What it is about, as "rejection.decided:12": telling the same thing twice is telling it once.
    key = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    # When a mail about it is due; empty: none is owed (any more).
    mail_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="told_once")]
        indexes = [
            models.Index(fields=["mail_at"], condition=Q(mail_at__isnull=False), name="mail_owed"),
            models.Index(fields=["user"], condition=Q(read_at=None), name="notice_unread"),
        ]
