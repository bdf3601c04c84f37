"""Read who gave which role, and who may confirm or approve."""

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
    """Connections between people who may be one person with several accounts.

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

    def are_tied(self, one: int, other: int) -> bool:
        """Whether these two may be the same person, as far as is known."""
        return self._top(one) == self._top(other)


def load_ties(project: Project) -> Ties:
    """Load the project's ties by one query, including ended roles."""
    rows = RoleGrant.objects.filter(project=project, state__in=(State.GIVEN, State.CONFIRMED))
    return Ties(rows.order_by("pk").values_list("user_id", "given_by_id", "state"))


def list_managers(project: Project) -> list[User]:
    """Return the active managers who can sign in."""
    rows = Membership.objects.filter(
        project=project, role=Role.MANAGER, removed_at__isnull=True, user__is_active=True
    )
    return [row.user for row in rows.select_related("user").order_by("pk") if row.user]


def is_manager(project: Project, person: User) -> bool:
    """Whether the person manages the project now."""
    rows = Membership.objects.filter(project=project, user=person, role=Role.MANAGER)
    return rows.filter(removed_at__isnull=True).exists()


def can_give_roles(project: Project, person: User) -> bool:
    """Whether the person may give and end roles that move money."""
    return project.owner_id == person.pk or is_manager(project, person)


def accept_problem(invitation: Invitation, by: User) -> str:
    """Return why this person may not use the invitation, or "".

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


def list_confirmers(project: Project, *, user: User, giver: User) -> list[User]:
    """Return managers who may confirm that these two people are distinct."""
    chain = load_ties(project)
    return [
        one
        for one in list_managers(project)
        if not chain.are_tied(one.pk, user.pk) and not chain.are_tied(one.pk, giver.pk)
    ]


def confirm_problem(grant: RoleGrant, by: User) -> str:
    """Return why this person may not confirm the role, or ""."""
    return _problem_of(grant, by, is_manager(grant.project, by), load_ties(grant.project))


def _problem_of(grant: RoleGrant, by: User, manages: bool, chain: Ties) -> str:
    if not manages:
        return _("Only a manager of this project may confirm a role.")
    if chain.are_tied(by.pk, grant.user_id) or chain.are_tied(by.pk, grant.given_by_id):
        return _(
            "Somebody who is independent of both must confirm this: not the person "
            "themself, who gave them the role, or somebody that either of them let in."
        )
    return ""


def annotate_problems(rows: Iterable[RoleGrant], project: Project, viewer: User) -> list[RoleGrant]:
    """Return grants with why the viewer may not confirm each."""
    manages, chain = is_manager(project, viewer), load_ties(project)
    found = list(rows)
    for row in found:
        if row.state not in (State.WAITING, State.GIVEN):
            why_not = _("It was decided already.")
        else:
            why_not = _problem_of(row, viewer, manages, chain)
        row.reason_cannot_confirm = why_not  # type: ignore[attr-defined]
    return found


def list_grants(project: Project) -> QuerySet[RoleGrant]:
    """Return all granted roles, newest first."""
    rows = project.role_grants.select_related("user", "given_by", "decided_by", "project")
    return rows.order_by("-pk")


@dataclass(frozen=True)
class GrantRow:
    """A role without confirmation as one person sees it."""

    grant: RoleGrant
    may_confirm: bool
    may_decline: bool


def open_grants(project: Project, viewer: User) -> list[GrantRow]:
    """Return roles that await or lack confirmation, oldest first."""
    holders = set(
        Membership.objects.filter(
            project=project, role__in=STAFF, removed_at__isnull=True
        ).values_list("user_id", "role")
    )
    found = [
        row
        for row in reversed(list_grants(project))
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
        for row in annotate_problems(rows, project, viewer)
    ]
