"""What the pages of organisations show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext as _

from annotation.access import ORGANISATION_ROLES, is_installation_owner
from annotation.accounts.organisations.selectors import list_members
from annotation.accounts.projects.selectors import all_roles
from annotation.installation.selectors import projects_with_use
from annotation.models import (
    Organisation,
    OrganisationMember,
    OrganisationRole,
    Project,
    Role,
    User,
)
from crowdqc.numbers import count, money, small_money
from evaluation.llm.organisation import Use, use_of
from evaluation.models import LLMCall


@dataclass(frozen=True)
class ProjectRow:
    """A project of an organisation with its use, and whether the reader may open it.

    Whoever works in it reads no figure of it here either.
    """

    project: Any
    cost: Decimal
    is_open: bool
    is_hidden: bool
    may_leave: bool

    @property
    def leave_hidden(self) -> list[tuple[str, str | int]]:
        """What the form sends by which it leaves."""
        return [("do", "leave"), ("project", self.project.pk)]


def project_rows(organisation: Organisation, user: User, *, may_change: bool) -> list[ProjectRow]:
    """Return the projects with their use, by name."""
    costs = dict(
        LLMCall.objects.filter(project__organisation=organisation, cost__isnull=False)
        .order_by()
        .values_list("project")
        .annotate(total=Sum("cost"))
    )
    opened = {pk for pk, role in all_roles(user) if role != Role.WORKER}
    return [
        ProjectRow(
            row,
            costs.get(row.pk, Decimal()),
            is_open=row.pk in opened,
            is_hidden=row.pk not in opened and not is_installation_owner(user),
            may_leave=may_change or row.owner_id == user.pk,
        )
        for row in projects_with_use().filter(organisation=organisation).order_by("name", "pk")
    ]


def list_joinable(organisation: Organisation, user: User) -> list[Project]:
    """Return the person's own projects that may join: in its currency, and in no other."""
    own = Project.objects.filter(owner=user, organisation=None, archived_at=None)
    return list(own.filter(currency=organisation.currency).order_by("name", "pk"))


def budget_figure(organisation: Organisation, use: Use) -> dict[str, Any]:
    """Return what models cost of which budget, as a key figure."""
    most = organisation.model_budget
    used = use.spent + use.reserved
    figure: dict[str, Any] = {
        "label": _("Language models"),
        "value": small_money(use.spent, organisation.currency),
        "of": _("no budget")
        if most is None
        else _("of %(most)s") % {"most": money(most, organisation.currency)},
    }
    if use.reserved:
        reserved = small_money(use.reserved, organisation.currency)
        figure["note"] = _("%(reserved)s in flight") % {"reserved": reserved}
    if most:
        figure |= {"done": float(min(used, most)), "total": float(most)}
    if most is not None and used >= most:
        figure["warning"] = _("The budget is used up: nothing more is asked.")
    return figure


def figures(
    organisation: Organisation, projects: Sequence[ProjectRow], people: int
) -> list[dict[str, Any]]:
    """Return the key figures of an organisation."""
    return [
        {"label": _("Projects"), "value": count(len(projects)), "of": ""},
        {"label": _("People"), "value": count(people), "of": ""},
        budget_figure(organisation, use_of(organisation)),
    ]


def groups_of(organisation: Organisation) -> list[tuple[str, str]]:
    """Return the groups of single sign-on that give roles in it, each with the role."""
    return [
        (group, str(OrganisationRole(role).label))
        for group, given in sorted(settings.OIDC_GROUPS.items())
        for name, role in given
        if name.lower() == organisation.name.lower()
    ]


def _with_removal(member: OrganisationMember) -> OrganisationMember:
    """Set what the form sends that removes somebody."""
    member.remove_hidden = [("do", "remove_member"), ("member", member.pk)]  # type: ignore[attr-defined]
    return member


def people_page(organisation: Organisation) -> dict[str, Any]:
    """Return who belongs to it, and what each role allows in its projects."""
    return {
        "members": [_with_removal(row) for row in list_members(organisation)],
        "groups": groups_of(organisation),
        "mapped": [(role.label, Role(ORGANISATION_ROLES[role]).label) for role in OrganisationRole],
    }
