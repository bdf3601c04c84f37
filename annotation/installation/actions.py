"""Actions of whoever runs the installation; all are audited, and name why."""

from __future__ import annotations

import hashlib

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.roles.actions import notify_managers, set_role
from annotation.accounts.security.log import Kind, log_event
from annotation.models import ApiToken, Notice, Project, Role, Task, User
from annotation.models.tasks import TaskState
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import VISITOR, record
from crowdqc.errors import Conflict, Invalid

MAX_REASON, MAX_BROADCAST = 300, 400


def _reason(text: str) -> str:
    clean = " ".join(text.split())[:MAX_REASON]
    if not clean:
        raise Invalid(_("Say why."), fields={"why": _("The audit log keeps the reason.")})
    return clean


@transaction.atomic
def transfer_project(*, project: Project, to: User, why: str) -> Project:
    """Make somebody the owner of a project, as a requester; the owner before stays a member.

    All managers are notified. Raises Conflict for an account that is closed.
    """
    why = _reason(why)
    project = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    if not to.is_active:
        raise Conflict(_("This account is closed."))
    if project.owner_id == to.pk:
        return project
    before = project.owner
    project.owner = to
    project.save(update_fields=["owner"])
    set_role(project=project, user=to, role=Role.REQUESTER)
    entry = record(
        by=None, project=project, action="project.transfer", on=project,
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
def reset_second_factor(*, user: User, proof: str) -> int:
    """Remove somebody's second factors and end their sessions; return how many factors.

    ``proof`` says how it was made sure who asks. The person is notified by mail in any case.
    """
    proof = _reason(proof)
    found = Authenticator.objects.filter(user=user)
    count = len(found)
    if not count:
        raise Conflict(_("This account has no second factor."))
    found.delete()
    end_sessions_of(user)
    log_event(Kind.FACTOR_REMOVED, user=user, by_administrator=True)
    entry = record(by=None, project=None, action="account.factor_reset", on=user, proof=proof)
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
def close_account(*, user: User, why: str) -> None:
    """Keep somebody from signing in; their work, roles and money stay as they are.

    ``reopen_account`` undoes it. Erasing a person is theirs to ask for, and a manager's.
    """
    why = _reason(why)
    if not user.is_active:
        raise Conflict(_("This account is closed."))
    owned = user.owned_projects.values_list("name", flat=True)[:5]
    if owned:
        raise Conflict(
            _("This account owns %(projects)s. Give them another owner first.")
            % {"projects": ", ".join(owned)}
        )
    user.is_active = False
    user.save(update_fields=["is_active"])
    end_sessions_of(user)
    record(by=None, project=None, action="account.close", on=user, why=why)


@transaction.atomic
def reopen_account(*, user: User, why: str) -> None:
    """Let somebody sign in again whose account was closed."""
    why = _reason(why)
    if user.is_active or not (user.email or user.has_usable_password()):
        raise Conflict(_("There is no closed account to open."))
    user.is_active = True
    user.save(update_fields=["is_active"])
    record(by=None, project=None, action="account.reopen", on=user, why=why)


@transaction.atomic
def close_project(*, project: Project, why: str) -> int:
    """Close all open and paused tasks of a project; return how many. Its books stay."""
    why = _reason(why)
    open_tasks = Task.objects.select_for_update(no_key=True).filter(
        project=project, state__in=(TaskState.OPEN, TaskState.PAUSED)
    )
    count = open_tasks.update(state=TaskState.CLOSED)
    record(by=None, project=project, action="project.close", on=project, tasks=count, why=why)
    return count


@transaction.atomic
def broadcast(*, text: str) -> int:
    """Notify everybody who can sign in; return how many. The same text reaches nobody twice."""
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
        record(by=None, project=None, action="installation.message", on=last, people=count)
    return count
