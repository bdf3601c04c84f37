"""The only writer of the audit log."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import AuditEntry, Project, User
from crowdqc import limits
from crowdqc.database.compiled import insert_row

VISITOR = "visitor-"  # how the usernames of people from elsewhere begin
# What people change of their own as often as they like; each change is a row that stays for good.
OF_ONESELF = frozenset(
    {
        "account.language",
        "account.theme",
        "consent.give",
        "mail.daily",
        "mail.off",
        "mail.on",
        "notices.mute",
        "recording.keep",
        "recording.remove",
        "transcript.confirm",
        "view.delete",
        "view.save",
    }
)


def record(
    *, by: User | None, project: Project | None, action: str, on: Model, **detail: Any
) -> AuditEntry:
    """Record who did what to which row; ``detail`` is JSON without personal data.

    People who came from elsewhere have no account that anybody vouches for: what each of them
    leaves here in an hour has an end, as have the changes that anybody makes to what is their own.
    """
    if by is not None and by.username.startswith(VISITOR):
        limits.require_try(limits.VISITOR_ENTRIES, by.pk, _("You did this too often."))
    elif by is not None and action in OF_ONESELF:
        limits.require_try(limits.OWN_ENTRIES, by.pk, _("You did this too often."))
    return insert_row(
        AuditEntry(
            at=timezone.now(),
            actor=by,
            project=project,
            action=action,
            object_type=on._meta.model_name or "",
            object_id=on.pk,
            detail=detail,
        )
    )
