"""Files made in the background: asked for by somebody, kept for a few days."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy

from annotation.models.files import StoredFile
from annotation.models.people import Project, User
from annotation.models.tasks import Task


class ExportFile(models.Model):
    """One file that somebody asked for."""

    class State(models.TextChoices):
        QUEUED = "queued", gettext_lazy("Queued")
        RUNNING = "running", gettext_lazy("Being written")
        DONE = "done", gettext_lazy("Ready")
        FAILED = "failed", gettext_lazy("Failed")

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="export_files")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, null=True, related_name="+")
    # What and in which form, as the same export is called everywhere; and its options.
    what = models.CharField(max_length=40)
    form = models.CharField(max_length=20)
    params = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    name = models.CharField(max_length=160, blank=True)
    rows = models.PositiveBigIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    stored = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")
    manifest = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
