"""Remove the demo from an installation that goes into service."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.accounts.demo import LOADED, PREFIX, USERNAMES
from annotation.installation.actions import archive_project, end_sessions_of, require_owner
from annotation.models import AuditEntry, Project, User
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict
from evaluation.models import RunShare
from evaluation.runs.sharing.actions import stop_sharing

WHY = "The demo is removed."


def find_demo() -> Project | None:
    """Return the project of the demo; None where it was not loaded."""
    entry = AuditEntry.objects.filter(action=LOADED).select_related("project").order_by("pk")
    first = entry.first()
    return first.project if first else None


def demo_accounts() -> list[User]:
    """Return the accounts that came with the demo and can be used."""
    project = find_demo()
    named = Q(username__in=USERNAMES) | Q(username__startswith=PREFIX)
    rows = User.objects.filter(named, memberships__project=project, is_active=True)
    return list(rows.distinct().order_by("pk")) if project else []


@transaction.atomic
def remove_demo(*, by: User | None) -> int:
    """Close the demo's accounts for good, withdraw its boards and archive its project.

    Return how many accounts were closed. Its rows stay, as the books and the audit log point at
    them. Raises Conflict where there is no demo.
    """
    require_owner(by, _("remove the demo"))
    project, accounts = find_demo(), demo_accounts()
    if project is None or not (accounts or project.archived_at is None):
        raise Conflict(_("There is no demo here."))
    if project.archived_at is None:
        archive_project(by=by, project=project, why=WHY)
    for share in RunShare.objects.filter(run__project=project, stopped_at=None):
        stop_sharing(by=by or project.owner, run=share.run, share_id=share.pk)
    for user in accounts:
        user.is_active = user.wants_mail = False
        user.set_unusable_password()
        user.save(update_fields=["is_active", "wants_mail", "password"])
        end_sessions_of(user)
    record(by=by, project=project, action="demo.remove", on=project, accounts=len(accounts))
    return len(accounts)
