"""Actions of whoever runs the installation; all are audited, and name why.

``by`` is the owner who acts on a page or by a program, None where a command does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.access import is_installation_owner
from annotation.accounts.quotas import Owner, set_quota
from annotation.accounts.roles.actions import notify_managers, set_role
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import require_recent
from annotation.models import (
    ApiToken,
    Assignment,
    InstallationState,
    Notice,
    Project,
    Role,
    Task,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import VISITOR, record
from annotation.records.actions.locks import lock_project
from annotation.records.installation_state import FEATURES, forget_state
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.web.terms import Words

MAX_REASON, MAX_BROADCAST = 300, 400


def require_owner(by: User | None, doing: Words = "") -> None:
    """Refuse all but owners, and ask for a fresh proof where this says what is done."""
    if by is None:
        return
    if not is_installation_owner(by):
        raise NotAllowed(_("Only an owner of the installation may do this."))
    if doing:
        require_recent(by, doing)


def clean_reason(text: str) -> str:
    """Return the reason on one line; Invalid without one."""
    clean = " ".join(text.split())[:MAX_REASON]
    if not clean:
        raise Invalid(_("Say why."), fields={"why": _("The audit log keeps the reason.")})
    return clean


def lock_undeleted(project: Project) -> Project:
    """Lock a project for a change by an owner. Raises Conflict where only its books are left."""
    project = lock_project(project.pk)
    if project.deleted_at is not None:
        raise Conflict(_("This project is deleted."), code="deleted")
    return project


def set_limit(*, by: User | None, name: str, owner: Owner, limit: int | None) -> None:
    """Give a person, a project or everybody (None) another quota; None removes it."""
    require_owner(by, _("change limits"))
    set_quota(by=by, name=name, owner=owner, limit=limit)


def lock_state() -> InstallationState:
    """Lock the row of what holds for the installation, created if there is none."""
    InstallationState.objects.get_or_create(pk=1)
    return InstallationState.objects.select_for_update(no_key=True).get(pk=1)


def save_state(row: InstallationState) -> None:
    """Save the row, and let this process read it again."""
    row.save()
    forget_state()
    transaction.on_commit(forget_state)


@transaction.atomic
def set_read_only(*, by: User | None, why: str) -> InstallationState:
    """Keep everybody but owners from changing anything; sent again, it changes the reason."""
    require_owner(by)
    row, why = lock_state(), clean_reason(why)
    row.read_only_since = row.read_only_since or timezone.now()
    row.read_only_reason = why
    save_state(row)
    record(by=by, project=None, action="installation.read_only", on=row, why=why)
    return row


@transaction.atomic
def end_read_only(*, by: User | None) -> int:
    """Take changes again; return how many assignments got the time back that they lost.

    Raises Conflict where the installation is not read-only.
    """
    require_owner(by)
    row = lock_state()
    since = row.read_only_since
    if since is None:
        raise Conflict(_("The installation is not read-only."))
    lost = timezone.now() - since
    leases = Assignment.objects.filter(state=AssignmentState.LEASED, expires_at__gt=since)
    count = leases.update(expires_at=F("expires_at") + lost)
    row.read_only_since, row.read_only_reason = None, ""
    save_state(row)
    record(
        by=by, project=None, action="installation.writable", on=row,
        seconds=round(lost.total_seconds()), assignments=count,
    )  # fmt: skip
    return count


@transaction.atomic
def set_banner(*, by: User | None, text: str) -> InstallationState:
    """Show a sentence above every page; an empty text removes it."""
    require_owner(by)
    clean = " ".join(text.split())
    if len(clean) > MAX_REASON:
        raise Invalid(
            _("A banner has up to %(most)s characters.") % {"most": MAX_REASON},
            fields={"text": _("Write a shorter text.")},
        )
    row = lock_state()
    row.banner = clean
    save_state(row)
    record(by=by, project=None, action="installation.banner", on=row, text=clean)
    return row


@transaction.atomic
def switch_features(*, by: User | None, switched_off: Collection[str]) -> InstallationState:
    """Switch these features off and all others on. Raises Invalid for unknown ones."""
    require_owner(by)
    unknown = sorted(set(switched_off) - set(FEATURES))
    if unknown:
        raise Invalid(
            _("There is no such feature: %(names)s.") % {"names": ", ".join(unknown)},
            fields={"switched_off": ", ".join(FEATURES)},
        )
    row = lock_state()
    row.switched_off = [name for name in FEATURES if name in switched_off]
    save_state(row)
    record(by=by, project=None, action="installation.features", on=row, off=row.switched_off)
    return row


@transaction.atomic
def transfer_project(*, by: User | None, project: Project, to: User, why: str) -> Project:
    """Make somebody the owner of a project, as a requester; the owner before stays a member.

    All managers are notified. Raises Conflict for an account that is closed.
    """
    require_owner(by, _("give a project another owner"))
    why = clean_reason(why)
    project = lock_undeleted(project)
    if not to.is_active:
        raise Conflict(_("This account is closed."))
    if project.owner_id == to.pk:
        return project
    before = project.owner
    project.owner = to
    project.save(update_fields=["owner"])
    set_role(project=project, user=to, role=Role.REQUESTER)
    entry = record(
        by=by, project=project, action="project.transfer", on=project,
        before=before.pk, after=to.pk, why=why,
    )  # fmt: skip
    notify_managers(
        project,
        key=f"project.transfer:{entry.pk}",
        text=lambda: (
            _("The administrator gave %(project)s another owner.") % {"project": project.name}
        ),
    )
    return project


@transaction.atomic
def reset_second_factor(*, by: User | None, user: User, proof: str) -> int:
    """Remove somebody's second factors and end their sessions; return how many factors.

    ``proof`` says how it was made sure who asks. The person is notified by mail in any case.
    """
    require_owner(by, _("remove a second factor"))
    proof = clean_reason(proof)
    found = Authenticator.objects.filter(user=user)
    count = len(found)
    if not count:
        raise Conflict(_("This account has no second factor."))
    found.delete()
    end_sessions_of(user)
    log_event(Kind.FACTOR_REMOVED, user=user, by_administrator=True)
    entry = record(by=by, project=None, action="account.factor_reset", on=user, proof=proof)
    notify(
        to=[user],
        kind="account.factor_reset",
        key=f"account.factor_reset:{entry.pk}",
        text=lambda: _("The administrator removed your second factor. Set up a new one."),
    )
    return count


def end_sessions_of(user: User) -> None:
    """End every session and token of an account."""
    for session in UserSession.objects.filter(user=user):
        session.end()
    ApiToken.objects.filter(user=user).delete()


@transaction.atomic
def close_account(*, by: User | None, user: User, why: str) -> None:
    """Keep somebody from signing in; their work, roles and money stay as they are.

    ``reopen_account`` undoes it. Erasing a person is theirs to ask for, and a manager's.
    """
    require_owner(by, _("close an account"))
    why = clean_reason(why)
    if user == by:
        raise Conflict(_("This is your own account."))
    if not user.is_active:
        raise Conflict(_("This account is closed."))
    owned = user.owned_projects.filter(deleted_at=None).values_list("name", flat=True)[:5]
    if owned:
        raise Conflict(
            _("This account owns %(projects)s. Give them another owner first.")
            % {"projects": ", ".join(owned)}
        )
    user.is_active = False
    user.save(update_fields=["is_active"])
    end_sessions_of(user)
    record(by=by, project=None, action="account.close", on=user, why=why)


@transaction.atomic
def reopen_account(*, by: User | None, user: User, why: str) -> None:
    """Let somebody sign in again whose account was closed."""
    require_owner(by)
    why = clean_reason(why)
    if user.is_active or not (user.email or user.has_usable_password()):
        raise Conflict(_("There is no closed account to open."))
    user.is_active = True
    user.save(update_fields=["is_active"])
    record(by=by, project=None, action="account.reopen", on=user, why=why)


@transaction.atomic
def close_project(*, by: User | None, project: Project, why: str) -> int:
    """Close all open and paused tasks of a project; return how many. Its books stay."""
    require_owner(by)
    why = clean_reason(why)
    open_tasks = Task.objects.select_for_update(no_key=True).filter(
        project=project, state__in=(TaskState.OPEN, TaskState.PAUSED)
    )
    count = open_tasks.update(state=TaskState.CLOSED)
    record(by=by, project=project, action="project.close", on=project, tasks=count, why=why)
    return count


@transaction.atomic
def archive_project(*, by: User | None, project: Project, why: str) -> int:
    """Close a project's tasks and let nobody but owners of the installation change it.

    Returns how many tasks were closed. ``reopen_project`` undoes it.
    """
    require_owner(by)
    why = clean_reason(why)
    project = lock_undeleted(project)
    if project.archived_at is not None:
        raise Conflict(_("This project is archived."))
    count = close_project(by=by, project=project, why=why)
    project.archived_at = timezone.now()
    project.save(update_fields=["archived_at"])
    entry = record(by=by, project=project, action="project.archive", on=project, why=why)
    notify_managers(
        project,
        key=f"project.archive:{entry.pk}",
        kind="project.archived",
        text=lambda: _("The administrator archived %(project)s.") % {"project": project.name},
    )
    return count


@transaction.atomic
def reopen_project(*, by: User | None, project: Project, why: str) -> Project:
    """Let the people of an archived project change it again; its tasks stay closed."""
    require_owner(by)
    why = clean_reason(why)
    project = lock_undeleted(project)
    if project.archived_at is None:
        raise Conflict(_("This project is not archived."))
    project.archived_at = None
    project.save(update_fields=["archived_at"])
    record(by=by, project=project, action="project.reopen", on=project, why=why)
    return project


@transaction.atomic
def broadcast(*, by: User | None, text: str) -> int:
    """Notify everybody who can sign in; return how many. The same text reaches nobody twice."""
    require_owner(by)
    clean = " ".join(text.split())
    if not clean or len(clean) > MAX_BROADCAST:
        raise Invalid(
            _("A message has 1 to %(most)s characters.") % {"most": MAX_BROADCAST},
            fields={"text": _("Write a shorter message.")},
        )
    people = User.objects.filter(is_active=True).exclude(username__startswith=VISITOR)
    count = notify(
        to=people.iterator(chunk_size=1_000), kind="installation.message",
        key=f"broadcast:{hashlib.sha256(clean.encode()).hexdigest()[:32]}", text=clean,
    )  # fmt: skip
    if count:
        last = Notice.objects.filter(kind="installation.message").order_by("-pk").first()
        assert last is not None  # noqa: S101 (just written)
        record(by=by, project=None, action="installation.message", on=last, people=count)
    return count
