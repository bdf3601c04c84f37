"""Merge two accounts of one person."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.organisations.actions import move_roles
from annotation.installation.actions import clean_reason, end_sessions_of, require_owner
from annotation.models import (
    Correction,
    Membership,
    PayoutBatch,
    Project,
    Role,
    RoleGrant,
    User,
)
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from crowdqc.errors import Conflict


@transaction.atomic
def merge_accounts(*, by: User | None, user: User, into: User, why: str) -> User:
    """Move roles, work, projects and addresses to another account, and close this one.

    What is decided keeps the name of who decided it. Proposals that wait become the other
    account's, so that nobody approves their own. Raises Conflict where both worked in a project,
    or where one confirmed a role that the other gave.
    """
    require_owner(by, _("merge two accounts"))
    why = clean_reason(why)
    ids = sorted({user.pk, into.pk})
    rows = {row.pk: row for row in User.objects.select_for_update().filter(pk__in=ids)}
    user, into = rows[user.pk], rows[into.pk]
    _require_mergeable(user, into)
    moved = [_move_membership(member, into) for member in _memberships(user)]
    move_roles(user=user, into=into)
    owned = Project.objects.filter(owner=user).update(owner=into)
    RoleGrant.objects.filter(user=user).exclude(state=RoleGrant.State.WAITING).update(user=into)
    RoleGrant.objects.filter(given_by=user).update(given_by=into)
    PayoutBatch.objects.filter(proposed_by=user, state=PayoutBatch.State.PROPOSED).update(
        proposed_by=into
    )
    Correction.objects.filter(proposed_by=user, state=Correction.State.PROPOSED).update(
        proposed_by=into
    )
    EmailAddress.objects.filter(user=user).update(user=into, primary=False)
    SocialAccount.objects.filter(user=user).update(user=into)
    end_sessions_of(user)
    user.email, user.is_active = "", False
    user.set_unusable_password()
    user.save(update_fields=["email", "is_active", "password"])
    entry = record(
        by=by, project=None, action="account.merge", on=user,
        into=into.pk, memberships=sum(moved), projects=owned, why=why,
    )  # fmt: skip
    notify(
        to=[into],
        kind="account.merged",
        key=f"account.merged:{entry.pk}",
        text=lambda: _("The administrator merged another account of yours into this one."),
    )
    return into


def _memberships(user: User) -> list[Membership]:
    rows = Membership.objects.select_for_update(of=("self",)).filter(user=user)
    return list(rows.select_related("project").order_by("pk"))


def _require_mergeable(user: User, into: User) -> None:
    if user.pk == into.pk:
        raise Conflict(_("These are one account."))
    if not into.is_active:
        raise Conflict(_("The account that stays is closed."))
    if user.is_superuser:
        raise Conflict(_("This account owns the installation. Merge the other one into it."))
    worked = Membership.objects.filter(user=user, role=Role.WORKER, assignments__isnull=False)
    both = worked.filter(
        project__in=Membership.objects.filter(user=into, role=Role.WORKER).values("project")
    )
    names = sorted(set(both.values_list("project__name", flat=True)))
    if names:
        raise Conflict(
            _("Both work in %(projects)s. Their answers would count as one person’s twice.")
            % {"projects": ", ".join(names[:5])}
        )
    pairs = Q(given_by=user, decided_by=into) | Q(given_by=into, decided_by=user)
    if RoleGrant.objects.filter(pairs | Q(user=user, decided_by=into)).exists():
        raise Conflict(_("One of them confirmed a role that the other gave or has."))


def _move_membership(member: Membership, into: User) -> bool:
    """Give a membership to the other account; where it has this role already, end it."""
    same = Membership.objects.filter(project=member.project, user=into, role=member.role).first()
    if same is None:
        member.user = into
        member.save(update_fields=["user"])
        return True
    if same.removed_at is not None and member.removed_at is None:
        same.removed_at = None
        same.save(update_fields=["removed_at"])
    member.removed_at = member.removed_at or timezone.now()
    member.save(update_fields=["removed_at"])
    return False
