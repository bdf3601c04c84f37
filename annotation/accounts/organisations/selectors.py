"""Read organisations and who belongs to them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotation.access import ORGANISATION_ROLES, is_installation_owner, readers_by_organisation
from annotation.models import (
    Organisation,
    OrganisationMember,
    OrganisationRole,
    Project,
    Role,
    User,
)
from crowdqc.errors import Missing


def list_organisations(user: Any) -> QuerySet[Organisation]:
    """Return the person's organisations, all to an owner of the installation, with counts.

    ``own_role`` is the person's own, None where an owner of the installation has none.
    """
    rows = Organisation.objects.filter(closed_at=None)
    if not is_installation_owner(user):
        rows = rows.filter(members__user_id=user.pk)
    own = OrganisationMember.objects.filter(organisation=OuterRef("pk"), user_id=user.pk)
    return Organisation.objects.filter(pk__in=rows.values("pk")).annotate(
        people=Count("members", distinct=True),
        owners=Count("members", filter=Q(members__role=OrganisationRole.OWNER), distinct=True),
        project_count=Count("projects", distinct=True),
        own_role=Subquery(own.values("role")),
    )


def get_organisation(user: Any, organisation_id: int) -> Organisation:
    """Return an organisation with ``own_role``; Missing for whoever does not belong to it."""
    found = list_organisations(user).filter(pk=organisation_id).first()
    if found is None:
        raise Missing(_("There is no such organisation, or you do not belong to it."))
    return found


def may_change(organisation: Organisation, user: Any) -> bool:
    """Whether the person changes the organisation: its owners, and those of the installation."""
    return is_installation_owner(user) or is_member(organisation, user, OrganisationRole.OWNER)


def is_member(organisation: Organisation, user: Any, *roles: str) -> bool:
    """Whether the person belongs to the organisation now (in one of ``roles``)."""
    rows = OrganisationMember.objects.filter(organisation=organisation, user_id=user.pk)
    return (rows.filter(role__in=roles) if roles else rows).exists()


def list_members(organisation: Organisation) -> list[OrganisationMember]:
    """Return who belongs to it, owners first."""
    rows = organisation.members.select_related("user").order_by("user__display_name", "pk")
    return sorted(rows, key=lambda row: row.role != OrganisationRole.OWNER)


def list_sole_ownerships(user: User) -> list[str]:
    """Return the names of organisations whose only owner the person is."""
    others = OrganisationMember.objects.filter(
        organisation=OuterRef("organisation"), role=OrganisationRole.OWNER, user__is_active=True
    ).exclude(user=user)
    rows = OrganisationMember.objects.filter(
        ~Exists(others), user=user, role=OrganisationRole.OWNER, organisation__closed_at=None
    )
    return list(rows.values_list("organisation__name", flat=True))


def list_own_organisations(user: User) -> list[Organisation]:
    """Return the open organisations in which the person may begin a project."""
    return list(Organisation.objects.filter(closed_at=None, members__user=user))


def list_readers(project: Project) -> list[tuple[OrganisationMember, str]]:
    """Return who sees a project by its organisation, each with the role there."""
    if project.organisation_id is None:
        return []
    rows = readers_by_organisation().filter(project=project.pk)
    rows = rows.select_related("user").order_by("pk")
    return [(row, str(Role(ORGANISATION_ROLES[row.role]).label)) for row in rows]
