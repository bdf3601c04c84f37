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

# Entries of everyday work. All others are about access, money, settings or people's rights: they
# are kept as long as the books. The database guards the same lists (migration "retention").
EVERYDAY = (
    "account.language",
    "account.theme",
    "adaptive.simulate",
    "answers.erase",
    "assignment.claim",
    "assignment.extend",
    "assignment.return",
    "assignment.submit",
    "audit.verdict",
    "candidates.add",
    "checklist.stage",
    "export.remove",
    "export.request",
    "export.retry",
    "failure.discard",
    "failure.retry",
    "grading.mark",
    "hook.ping",
    "hook.redeliver",
    "item.priority",
    "items.priority",
    "items.wanted",
    "live.outputs",
    "log.erase",
    "mail.daily",
    "mail.off",
    "mail.on",
    "media.add",
    "media.delete",
    "media.fetch",
    "message.send",
    "model.probe",
    "notices.mute",
    "pairs.make",
    "panel.note",
    "quiz.begin",
    "recording.keep",
    "recording.remove",
    "responses.judge",
    "retention.delete",
    "run.cancel",
    "run.start",
    "samples.add",
    "systems.answer",
    "systems.think_aloud",
    "topics.fill",
    "traces.draw",
    "traces.send",
    "transcript.confirm",
    "transcript.store",
    "upload.fetch",
    "upload.keep",
    "upload.map",
    "upload.project",
    "upload.read",
    "upload.remove",
    "view.delete",
    "view.save",
)
# Entries that the application itself reads, whatever their age.
PERMANENT = ("account.create", "account.password", "demo.load", "project.copy")


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
