"""Audit log, to which rows are only added; and that the background is alive."""

from __future__ import annotations

from django.db import models

from annotation.models.people import Project, User


class AuditEntry(models.Model):
    """One write by one actor (none: the system itself).

    A trigger lets rows only be added; retention alone deletes old ones (evaluation.retention).
    """

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, null=True, related_name="audit_entries", db_index=False
    )
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=40, blank=True)
    object_id = models.BigIntegerField(null=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "-id"])]


class Heartbeat(models.Model):
    """When a background process last said that it is alive."""

    name = models.CharField(max_length=60, primary_key=True)
    at = models.DateTimeField()
