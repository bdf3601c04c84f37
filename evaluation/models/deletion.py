"""Projects that are to be deleted, are being deleted, or left nothing but their books."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from annotation.models import Project


class ProjectDeletion(models.Model):
    """One project's deletion: when it is due, and how far it is."""

    class State(models.TextChoices):
        WAITING = "waiting", gettext_lazy("Waits until it is due")
        RUNNING = "running", gettext_lazy("Rows are being deleted")
        DONE = "done", gettext_lazy("Done")

    project = models.OneToOneField(Project, on_delete=models.PROTECT, related_name="deletion")
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    why = models.CharField(max_length=300)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField()
    # Why it did not go on when it was last tried; empty: nothing stood in the way.
    problem = models.CharField(max_length=300, blank=True)
    # Table -> rows there when it began, and those deleted since.
    planned = models.JSONField(default=dict)
    deleted = models.JSONField(default=dict)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
