"""Programs that act for people: their tokens, what they sent before, and whom we call."""

from __future__ import annotations

import json

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models.people import Project, User


class ApiToken(models.Model):
    """A program's key to what one person may do, or to a part of it. Only its digest is kept."""

    class Scope(models.TextChoices):
        READ = "read", gettext_lazy("Read projects, answers and results")
        WRITE = "write", gettext_lazy("Author and import")
        WORK = "work", gettext_lazy("Work: claim, answer, submit")
        RUN = "run", gettext_lazy("Start and cancel runs")
        PAY = "pay", gettext_lazy("Propose and approve payouts")
        INSTALLATION = "installation", gettext_lazy("Run the installation, for its owners")

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=8)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    # Empty: every project of the person.
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens"
    )
    per_minute = models.PositiveIntegerField(default=600)
    # The minute (since 1970) last counted, and how many of its requests were handed out.
    minute = models.BigIntegerField(default=0)
    taken = models.PositiveIntegerField(default=0)
    # Given for name and password, not made by hand.
    by_password = models.BooleanField(default=False)
    # Whether its maker had shown a second factor; where one is required, none other moves money.
    second_factor = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]


class KeptReply(models.Model):
    """What a POST with an Idempotency-Key was answered: the same key gets the same answer.

    Written in the transaction of what it answers, so there is none of a request that is at work.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=120)
    # Method, address and body: the same key for another request is a mistake, and is said.
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    # Sealed, since a reply may hold a secret that is shown once.
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="reply_once")]
        indexes = [models.Index(fields=["created_at"])]


class Hook(models.Model):
    """An address that is told, signed, of what happens in a project."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="hooks")
    url = models.CharField(max_length=300)
    secret_sealed = models.BinaryField()
    events = models.JSONField(default=list)  # empty: all
    active = models.BooleanField(default=True)
    # Why it was switched off by itself; empty where a person paused it.
    off_why = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)


class HookDelivery(models.Model):
    """One event on its way to one address, with how often it was tried."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waits")
        DONE = "done", gettext_lazy("Taken")
        FAILED = "failed", gettext_lazy("Given up")

    hook = models.ForeignKey(Hook, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.UUIDField()
    event = models.CharField(max_length=60)
    payload = models.JSONField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    # Nobody sends it before this time: it waits for its next try, or somebody is at it.
    next_at = models.DateTimeField()
    # What the last try met: when, for how long, the status, and what went wrong in words.
    last_at = models.DateTimeField(null=True, blank=True)
    took_ms = models.PositiveIntegerField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hook", "event_id"], name="delivery_once")]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="waiting"), name="delivery_due")
        ]

    @property
    def body(self) -> str:
        """The JSON to send, the same bytes at every try, since it is signed."""
        return json.dumps(self.payload, sort_keys=True, separators=(",", ":"))
