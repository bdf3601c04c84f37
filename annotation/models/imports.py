"""Files waiting between upload, mapping of columns and import."""

from __future__ import annotations

from django.db import models

from .people import Project, User
from .tasks import Task


class ImportFile(models.Model):
    """An uploaded file of items, answers or system answers; its content is kept until imported."""

    class Kind(models.TextChoices):
        ITEMS = "items", "questions"
        ANSWERS = "answers", "answers of workers"
        SYSTEM_ANSWERS = "system_answers", "answers of systems"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="import_files")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="import_files")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=200)
    content = models.BinaryField()  # empty once imported; the hash says which file it was
    sha256 = models.CharField(max_length=64)
    mapping = models.JSONField(default=dict, blank=True)
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    uploaded_at = models.DateTimeField(auto_now_add=True)
    imported_at = models.DateTimeField(null=True, blank=True)
    report = models.JSONField(default=dict, blank=True)
