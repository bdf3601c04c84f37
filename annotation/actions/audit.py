"""The one way into the audit log."""

from __future__ import annotations

from typing import Any

from django.db.models import Model

from annotation.models import AuditEntry, Project, User


def record(
    *, by: User | None, project: Project | None, action: str, on: Model, **detail: Any
) -> AuditEntry:
    """Write who did what to which row; ``detail`` must be JSON without personal data."""
    return AuditEntry.objects.create(
        actor=by,
        project=project,
        action=action,
        object_type=on._meta.model_name or "",
        object_id=on.pk,
        detail=detail,
    )
