"""Read who gave which role, and who may confirm or approve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def list_administrators() -> list[User]:
    """Return the owners of the installation who can sign in."""
    return list(User.objects.filter(is_superuser=True, is_active=True).order_by("pk"))


@dataclass(frozen=True)
class Confirmation:
    """Somebody whose confirmation lets a proposal be approved, and who may give it."""

    grant: RoleGrant
    by: list[User]


def load_grants(project: Project) -> list[RoleGrant]:
    """Load the grants that ``find_confirmation`` and ties are made of, oldest first."""
    states = (State.GIVEN, State.CONFIRMED, State.WAITING)
    rows = RoleGrant.objects.filter(project=project, state__in=states)
    return list(rows.select_related("user").order_by("pk"))


def ties_of(grants: Iterable[RoleGrant]) -> Ties:
    """Return the ties that these grants of one project make, oldest first."""
    return Ties((row.user_id, row.given_by_id, row.state) for row in grants)


def find_confirmation(
    grants: Sequence[RoleGrant], managers: Sequence[User], proposer: User
) -> Confirmation | None:
    """Return the confirmation after which a manager is independent of the proposer, if any.

    One that somebody may give on a page comes first, then the newest.
    """
    others = [one.pk for one in managers if one.pk != proposer.pk]
    chain, found = ties_of(grants), []
    administrators = list_administrators() if grants else []
    for grant in reversed(grants):
        people = [*managers, *administrators]
        if grant.state == State.WAITING:
            leads_on = grant.role == Role.MANAGER and grant.user_id != proposer.pk
        else:
            sure = RoleGrant(
                user_id=grant.user_id, given_by_id=grant.given_by_id, state=State.CONFIRMED
            )
            after = ties_of([*grants, sure])
            leads_on = any(not after.are_tied(one, proposer.pk) for one in others)
        if leads_on:
            found.append(Confirmation(grant, _independent(people, grant, chain)))
    return max(found, key=lambda one: bool(one.by), default=None)


def _independent(people: Iterable[User], grant: RoleGrant, chain: Ties) -> list[User]:
    return [one for one in dict.fromkeys(people) if not _is_tied(grant, one, chain)]


def _is_tied(grant: RoleGrant, person: User, chain: Ties) -> bool:
    return chain.are_tied(person.pk, grant.user_id) or chain.are_tied(person.pk, grant.given_by_id)


def confirm_problem(grant: RoleGrant, by: User) -> str:
    """Return why this person may not confirm the role, or ""."""
    return _problem_of(grant, by, _may_confirm(grant.project, by), load_ties(grant.project))


def _may_confirm(project: Project, by: User) -> bool:
    return by.is_superuser or is_manager(project, by)


def _problem_of(grant: RoleGrant, by: User, may: bool, chain: Ties) -> str:
    if not may:
        return _("Only a manager of this project may confirm a role.")
    if _is_tied(grant, by, chain):
        return _(
            "Somebody who is independent of both must confirm this: not the person "
            "themself, who gave them the role, or somebody that either of them let in."
        )
    return ""


def annotate_problems(rows: Iterable[RoleGrant], project: Project, viewer: User) -> list[RoleGrant]:
    """Return grants with why the viewer may not confirm each."""
    may, chain = _may_confirm(project, viewer), load_ties(project)
    found = list(rows)
    for row in found:
        if row.state not in (State.WAITING, State.GIVEN):
            why_not = _("It was decided already.")
        else:
            why_not = _problem_of(row, viewer, may, chain)
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


def list_unconfirmed(owner: User) -> list[RoleGrant]:
    """Return roles that an owner of the installation may confirm, newest first.

    Only where a second person must approve: not in projects that allow approval by one.
    """
    rows = RoleGrant.objects.filter(
        state__in=(State.GIVEN, State.CONFIRMED),
        project__archived_at=None,
        project__deleted_at=None,
        project__single_approval=False,
    )
    by_project: dict[int, list[RoleGrant]] = {}
    for row in rows.select_related("project", "user", "given_by").order_by("pk"):
        by_project.setdefault(row.project_id, []).append(row)
    held = Membership.objects.filter(
        project__in=by_project, role__in=STAFF, removed_at__isnull=True, user__is_active=True
    )
    holders = set(held.values_list("project_id", "user_id"))
    found: dict[tuple[int, int], RoleGrant] = {}
    for grants in by_project.values():
        chain = ties_of(grants)
        confirmed = {row.user_id for row in grants if row.state == State.CONFIRMED}
        for row in grants:
            key = (row.project_id, row.user_id)
            if row.user_id not in confirmed and key in holders and not _is_tied(row, owner, chain):
                found[key] = row
    return sorted(found.values(), key=lambda row: -row.pk)
