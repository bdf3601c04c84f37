"""Projects that left for another installation or came from one."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from annotation.models import Project, StoredFile


class ProjectMove(models.Model):
    """One export or import of a project: what an import needs to go on where it stopped.

    The id of each row here is its id in the archive plus ``shift``, in all tables.
    """

    class Direction(models.TextChoices):
        OUT = "out", gettext_lazy("Exported")
        IN = "in", gettext_lazy("Imported")

    class State(models.TextChoices):
        RUNNING = "running", gettext_lazy("Not finished")
        DONE = "done", gettext_lazy("Finished")

    direction = models.CharField(max_length=3, choices=Direction.choices)
    state = models.CharField(max_length=7, choices=State.choices, default=State.RUNNING)
    # "copy": the project goes on where it was; "move": it was given away there.
    purpose = models.CharField(max_length=4)
    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, related_name="moves")
    archive = models.CharField(max_length=64, blank=True)  # SHA-256 of the file
    shift = models.BigIntegerField(default=0)
    # Account in the archive -> account here.
    people = models.JSONField(default=dict)
    # Table -> how many of its rows are here.
    progress = models.JSONField(default=dict)
    # Of an export: payment -> what it waited for, as only the target sends it from then on.
    held = models.JSONField(default=dict)
    # Of an import: field -> value in the archive -> value here, where it was taken.
    renamed = models.JSONField(default=dict)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["archive"], condition=Q(direction="in"), name="archive_imported_once"
            )
        ]


class ProjectArchive(models.Model):
    """An archive that an owner exports or imports on a page: a job does it, and can go on.

    Its bytes are kept for some days as ``parts``, which arrive one after another.
    """

    class State(models.TextChoices):
        UPLOADING = "uploading", gettext_lazy("Uploading")
        QUEUED = "queued", gettext_lazy("Queued")
        RUNNING = "running", gettext_lazy("Running")
        DONE = "done", gettext_lazy("Finished")
        FAILED = "failed", gettext_lazy("Failed")

    direction = models.CharField(max_length=3, choices=ProjectMove.Direction.choices)
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, related_name="+")
    leaves = models.BooleanField(default=False)  # of an export: the project is given away
    why = models.CharField(max_length=300, blank=True)
    name = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField(default=0)
    modified = models.BigIntegerField(null=True, blank=True)  # of an upload, in ms
    sha256 = models.CharField(max_length=64, blank=True)
    # Bytes that arrived, then rows that were written.
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]


class ArchivePart(models.Model):
    """Some bytes of an archive, which follow those of the part before."""

    archive = models.ForeignKey(ProjectArchive, on_delete=models.CASCADE, related_name="parts")
    stored = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["id"]
