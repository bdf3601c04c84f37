"""Who let whom into a project, and who may therefore confirm or approve what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.accounts.signing.selectors import has_verified
from annotation.models import Invitation, Membership, Project, Role, RoleGrant, User

STAFF = (Role.REQUESTER, Role.MANAGER)
State = RoleGrant.State


class Ties:
    """Who is tied to whom in a project: people who may be one person with several accounts.

    Somebody is tied to whoever gave them a role, and through that person to everybody the same
    person let in, unless a third person, tied to neither, has confirmed them.
    """

    def __init__(self, grants: Iterable[tuple[int, int, str]]) -> None:
        rows = list(grants)
        confirmed = {user for user, _, state in rows if state == State.CONFIRMED}
        self._above: dict[int, int] = {}
        for user, giver, state in rows:
            if state == State.GIVEN and user not in confirmed:
                self._above[self._top(user)] = self._top(giver)

    def _top(self, user: int) -> int:
        while self._above.get(user, user) != user:
            user = self._above[user]
        return user

    def tied(self, one: int, other: int) -> bool:
        """Whether these two may be the same person, as far as the project can know."""
        return self._top(one) == self._top(other)


def chain_of(project: Project) -> Ties:
    """The project's chain as it stands (one query); roles that ended stay in it."""
    rows = RoleGrant.objects.filter(project=project, state__in=(State.GIVEN, State.CONFIRMED))
    return Ties(rows.order_by("pk").values_list("user_id", "given_by_id", "state"))


def managers_of(project: Project) -> list[User]:
    """Who manages the project now and can sign in."""
    rows = Membership.objects.filter(
        project=project, role=Role.MANAGER, removed_at__isnull=True, user__is_active=True
    )
    return [row.user for row in rows.select_related("user").order_by("pk") if row.user]


def is_manager(project: Project, person: User) -> bool:
    """Whether the person manages the project now."""
    rows = Membership.objects.filter(project=project, user=person, role=Role.MANAGER)
    return rows.filter(removed_at__isnull=True).exists()


def gives_roles(project: Project, person: User) -> bool:
    """Whether the person may give and end roles that move money: the owner and managers."""
    return project.owner_id == person.pk or is_manager(project, person)


def reason_cannot_accept(invitation: Invitation, by: User) -> str:
    """Why this person may not use the invitation; "" when they may.

    One that gives a role over others is for whoever has proven to read the mail it was sent to:
    having the link, or an account that claims the address, is not enough.
    """
    if invitation.role == Role.WORKER:
        return ""
    if not invitation.bound_to or not has_verified(by, invitation.bound_to):
        return _(
            "This invitation is for the verified e-mail address %(sent_to)s. Sign in "
            "with the account that has it, or add and verify the address on your "
            "account page."
        ) % {"sent_to": invitation.sent_to}
    return ""


def confirmers(project: Project, *, user: User, giver: User) -> list[User]:
    """Managers who may confirm that these two are two: not one of them, and tied to neither."""
    chain = chain_of(project)
    return [
        one
        for one in managers_of(project)
        if not chain.tied(one.pk, user.pk) and not chain.tied(one.pk, giver.pk)
    ]


def reason_cannot_confirm(grant: RoleGrant, by: User) -> str:
    """Why this person may not confirm the role; "" when they may."""
    return _why_not(grant, by, is_manager(grant.project, by), chain_of(grant.project))


def _why_not(grant: RoleGrant, by: User, manages: bool, chain: Ties) -> str:
    if not manages:
        return _("Only a manager of this project may confirm a role.")
    if chain.tied(by.pk, grant.user_id) or chain.tied(by.pk, grant.given_by_id):
        return _(
            "Somebody who is independent of both must confirm this: not the person "
            "themself, who gave them the role, or somebody that either of them let in."
        )
    return ""


def with_reasons(rows: Iterable[RoleGrant], project: Project, viewer: User) -> list[RoleGrant]:
    """The grants, each with why the viewer may not confirm it (a fixed number of queries)."""
    manages, chain = is_manager(project, viewer), chain_of(project)
    found = list(rows)
    for row in found:
        if row.state not in (State.WAITING, State.GIVEN):
            why_not = _("It was decided already.")
        else:
            why_not = _why_not(row, viewer, manages, chain)
        row.reason_cannot_confirm = why_not  # type: ignore[attr-defined]
    return found


def grants_of(project: Project) -> QuerySet[RoleGrant]:
    """Every role that was given, the newest first."""
    rows = project.role_grants.select_related("user", "given_by", "decided_by", "project")
    return rows.order_by("-pk")


@dataclass(frozen=True)
class GrantRow:
    """A role that waits for its confirmation, or goes without one, as one person sees it."""

    grant: RoleGrant
    may_confirm: bool
    may_decline: bool


def open_grants(project: Project, viewer: User) -> list[GrantRow]:
    """What awaits confirmation, and who has a role without one, the oldest first."""
    holders = set(
        Membership.objects.filter(
            project=project, role__in=STAFF, removed_at__isnull=True
        ).values_list("user_id", "role")
    )
    found = [
        row
        for row in reversed(grants_of(project))
        if row.state == State.WAITING
        or (row.state == State.GIVEN and (row.user_id, row.role) in holders)
    ]
    newest = {(row.user_id, row.role): row for row in found}
    confirmed = set(
        project.role_grants.filter(state=State.CONFIRMED).values_list("user_id", flat=True)
    )
    rows = [
        row for row in newest.values() if row.state == State.WAITING or row.user_id not in confirmed
    ]
    staff = viewer.pk == project.owner_id or (viewer.pk, Role.MANAGER) in holders
    return [
        GrantRow(
            row,
            may_confirm=not row.reason_cannot_confirm,  # type: ignore[attr-defined]
            may_decline=row.state == State.WAITING and (staff or viewer.pk == row.given_by_id),
        )
        for row in with_reasons(rows, project, viewer)
    ]
