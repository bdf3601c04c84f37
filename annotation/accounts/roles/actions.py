"""Give, confirm and end roles that move money.

The owner and managers give them. Where a manager is there who is independent of both, that one
confirms first: until then nobody has the role. Where none is, the role is given at once, and
whoever has it stays tied to who gave it: neither approves what the other proposed.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from annotation.accounts.roles.selectors import (
    can_give_roles,
    confirm_problem,
    list_confirmers,
    list_managers,
)
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import require_recent
from annotation.models import (
    Correction,
    Invitation,
    Membership,
    PayoutBatch,
    PayoutLine,
    Project,
    Role,
    RoleGrant,
    User,
)
from annotation.notifications.actions.notices import Text, notify
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict, Invalid, NotAllowed

State = RoleGrant.State
STAFF = (Role.REQUESTER, Role.MANAGER)
GIVERS = gettext_lazy("Only the owner and managers of this project may give or end this role.")
REMOVED = gettext_lazy("The person who proposed it was removed from the project.")


def require_giver(project: Project, by: User) -> None:
    """Raise NotAllowed unless the person may give and end roles that move money."""
    if not can_give_roles(project, by):
        raise NotAllowed(GIVERS)


def lock_roles(project: Project) -> Project:
    """Serialise changes of roles, so that each is checked against the last."""
    return Project.objects.select_for_update(no_key=True).select_related("owner").get(pk=project.pk)


def set_role(*, project: Project, user: User, role: str) -> Membership:
    """Return the person's membership in this role, created or restored."""
    member, _ = Membership.objects.update_or_create(
        project=project, user=user, role=role, defaults={"removed_at": None}
    )
    log_event(Kind.ROLE_GIVEN, user=user, project=project, role=role)
    return member


def notify_managers(project: Project, *, key: str, text: Text, kind: str = "roles.changed") -> None:
    """Notify the owner and all managers of a change of roles."""
    notify(
        to=[project.owner, *list_managers(project)],
        kind=kind,
        key=key,
        text=text,
        project=project,
        url=reverse("people", args=[project.pk]) + "#roles",
    )


@transaction.atomic
def accept_role(*, by: User, invitation: Invitation) -> Membership | None:
    """Take the role of an invitation, or return None if a manager must confirm it.

    The invitation's row is locked by the caller, which has checked whose it is.
    """
    project = lock_roles(invitation.project)
    giver = invitation.created_by
    require_giver(project, giver)
    if waiting_grant(project, by, invitation.role):
        return None
    second = list_confirmers(project, user=by, giver=giver)
    # Who has a role here already stays tied to whoever gave them the first one, and to nobody else.
    held = Membership.objects.filter(
        project=project, user=by, role__in=STAFF, removed_at__isnull=True
    ).exists()
    grant = RoleGrant.objects.create(
        project=project,
        user=by,
        role=invitation.role,
        given_by=giver,
        invitation=invitation,
        state=State.WAITING if second else State.HELD if held else State.GIVEN,
    )
    record(
        by=by,
        project=project,
        action="role.accept",
        on=grant,
        role=grant.role,
        given_by=giver.pk,
        waits=bool(second),
    )
    if not second:
        notify_managers(
            project,
            key=f"roles.changed:{grant.pk}:given",
            text=lambda: (
                gettext(
                    "A new %(role)s joined %(name)s. No independent manager was there to "
                    "confirm them."
                )
                % {"role": grant.get_role_display(), "name": project.name}
            ),
        )
        return set_role(project=project, user=by, role=grant.role)
    notify(
        to=second,
        kind="roles.waits",
        key=f"roles.waits:{grant.pk}",
        project=project,
        text=lambda: (
            gettext("A new %(role)s of %(name)s awaits your confirmation.")
            % {"role": grant.get_role_display(), "name": project.name}
        ),
        url=reverse("people", args=[project.pk]) + "#roles",
    )
    return None


def waiting_grant(project: Project, user: User, role: str) -> RoleGrant | None:
    """Return the unconfirmed grant of this role to this person, if any."""
    rows = RoleGrant.objects.filter(project=project, user=user, role=role, state=State.WAITING)
    return rows.first()


def _locked(grant: RoleGrant) -> RoleGrant:
    lock_roles(grant.project)
    rows = RoleGrant.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("project__owner", "user", "given_by").get(pk=grant.pk)


@transaction.atomic
def confirm_role(*, by: User | None, grant: RoleGrant) -> RoleGrant:
    """Record that a second person confirmed a role, so that nobody acts under two names.

    By a manager who is independent of both, or (``by`` None) by the administrator of the
    installation. Raises NotAllowed for anybody else, Conflict where there is nothing to confirm.
    """
    if by is not None:
        require_recent(by, gettext("change roles"))
    grant = _locked(grant)
    if by is not None and (why_not := confirm_problem(grant, by)):
        raise NotAllowed(why_not)
    if grant.state in (State.CONFIRMED, State.HELD):
        return grant
    if grant.state == State.DECLINED:
        raise Conflict(gettext("This was declined. Invite the person again."))
    waited = grant.state == State.WAITING
    _decide(grant, State.CONFIRMED, by)
    if waited:
        set_role(project=grant.project, user=grant.user, role=grant.role)
    record(by=by, project=grant.project, action="role.confirm", on=grant, role=grant.role)
    _tell_decided(grant)
    return grant


@transaction.atomic
def decline_role(*, by: User, grant: RoleGrant) -> RoleGrant:
    """Refuse an unconfirmed role: any manager, the owner or its giver may."""
    require_recent(by, gettext("change roles"))
    grant = _locked(grant)
    if by.pk != grant.given_by_id:
        require_giver(grant.project, by)
    if grant.state == State.DECLINED:
        return grant
    if grant.state != State.WAITING:
        raise Conflict(gettext("This role is in use. Remove the person instead."))
    _decide(grant, State.DECLINED, by)
    record(by=by, project=grant.project, action="role.decline", on=grant, role=grant.role)
    _tell_decided(grant)
    return grant


def _decide(grant: RoleGrant, state: str, by: User | None) -> None:
    grant.state, grant.decided_by, grant.decided_at = state, by, timezone.now()
    grant.save(update_fields=["state", "decided_by", "decided_at"])


def _tell_decided(grant: RoleGrant) -> None:
    project, declined = grant.project, grant.state == State.DECLINED

    def said(confirmed: str, refused: str) -> str:
        said = refused if declined else confirmed
        return said % {"role": grant.get_role_display(), "project": project.name}

    key = f"roles.changed:{grant.pk}:{grant.state}"
    notify_managers(
        project,
        key=key,
        text=lambda: said(
            gettext("A new %(role)s of %(project)s was confirmed."),
            gettext("A new %(role)s of %(project)s was declined."),
        ),
    )
    notify(
        to=[grant.user],
        kind="roles.changed",
        key=key,
        project=project,
        text=lambda: said(
            gettext("Your role as %(role)s in %(project)s was confirmed."),
            gettext("Your role as %(role)s in %(project)s was declined."),
        ),
        url=reverse("home"),
    )


# Ending a role ---------------------------------------------------------------------------------


def lock_for_removal(member: Membership) -> Project:
    """Lock the person's open proposals, then the project, as approvals do."""
    open_ = PayoutBatch.objects.select_for_update(of=("self",), no_key=True).filter(
        project=member.project_id, proposed_by=member.user_id, state=PayoutBatch.State.PROPOSED
    )
    list(open_.order_by("pk"))
    waiting_ = Correction.objects.select_for_update(of=("self",), no_key=True).filter(
        project=member.project_id, proposed_by=member.user_id, state=Correction.State.PROPOSED
    )
    list(waiting_.order_by("pk"))
    return lock_roles(member.project)


def check_removal(project: Project, member: Membership, by: User) -> None:
    """Raise unless this person may end that membership."""
    if member.role == Role.WORKER:
        return
    if member.role == Role.REQUESTER and member.user_id == project.owner_id:
        raise Conflict(gettext("The owner stays requester of their own project."))
    if member.user_id == by.pk:
        return
    require_giver(project, by)
    if member.user_id == project.owner_id:
        raise NotAllowed(gettext("Only the owner may end a role of their own."))


def cancel_open_work(*, by: User | None, project: Project, user: User) -> None:
    """Cancel what the person began by an ended role, in the same transaction.

    Whoever has no role over money left proposes nothing any more: proposals are sent back,
    corrections declined. Whoever gives no roles any more: their invitations to one are revoked,
    and what awaits confirmation is declined.
    """
    roles = set(
        Membership.objects.filter(
            project=project, user=user, role__in=STAFF, removed_at__isnull=True
        ).values_list("role", flat=True)
    )
    now = timezone.now()
    if not roles:
        _stop_proposals(by, project, user)
    if not can_give_roles(project, user):
        theirs = Q(given_by=user) if roles else Q(given_by=user) | Q(user=user)
        for grant in RoleGrant.objects.filter(
            theirs, project=project, state=State.WAITING
        ).select_for_update(no_key=True):
            _decide(grant, State.DECLINED, by)
            record(by=by, project=project, action="role.decline", on=grant, role=grant.role)
    ended = project.invitations.filter(created_by=user, revoked_at__isnull=True)
    ended = ended.exclude(role=Role.WORKER) if roles else ended
    if not roles or not can_give_roles(project, user):
        for invitation in ended:
            record(by=by, project=project, action="invitation.revoke", on=invitation)
        ended.update(revoked_at=now, email="", sent_to="", bound_to="", mail_at=None)


def _stop_proposals(by: User | None, project: Project, user: User) -> None:
    rows = PayoutBatch.objects.select_for_update(of=("self",), no_key=True).filter(
        project=project, proposed_by=user, state=PayoutBatch.State.PROPOSED
    )
    now, stopped = timezone.now(), []
    for batch in rows.order_by("pk"):
        batch.state, batch.decided_by = PayoutBatch.State.SENT_BACK, by
        batch.decided_at, batch.decision_note = now, str(REMOVED)
        batch.save(update_fields=["state", "decided_by", "decided_at", "decision_note"])
        PayoutLine.objects.filter(batch=batch).update(live=False)
        record(by=by, project=project, action="payout.stop", on=batch)
        stopped.append(gettext("proposal %(number)s") % {"number": batch.number})
    waiting = Correction.objects.select_for_update(no_key=True).filter(
        project=project, proposed_by=user, state=Correction.State.PROPOSED
    )
    for one in waiting.order_by("pk"):
        one.state, one.decided_by = Correction.State.DECLINED, by
        one.decided_at, one.decision_note = now, str(REMOVED)
        one.save(update_fields=["state", "decided_by", "decided_at", "decision_note"])
        record(by=by, project=project, action="correction.decline", on=one)
        stopped.append(gettext("a correction"))
    if stopped:
        notify(
            to=[project.owner, *list_managers(project)],
            kind="payout.stopped",
            project=project,
            key=f"payout.stopped:{user.pk}:{now.isoformat()}",
            text=lambda: (
                gettext(
                    "Sent back in %(name)s, since their proposer was removed: %(stopped)s. "
                    "Propose again what should still be paid."
                )
                % {"name": project.name, "stopped": ", ".join(stopped[:10])}
            ),
            url=reverse("payout_list", args=[project.pk]),
        )


@transaction.atomic
def confirm_by_installation(*, project: Project, user: User) -> int:
    """Confirm roles as the installation's administrator; return how many."""
    rows = RoleGrant.objects.filter(project=project, user=user).order_by("pk")
    open_ = [row for row in rows if row.state in (State.WAITING, State.GIVEN)]
    if not rows:
        raise Invalid(
            gettext("Nobody gave this person a role in the project; nothing is to be confirmed.")
        )
    for grant in open_:
        confirm_role(by=None, grant=grant)
    return len(open_)
