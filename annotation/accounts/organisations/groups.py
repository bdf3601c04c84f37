"""Roles that follow the groups which the provider of single sign-on names at a sign-in."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Lower

from annotation.accounts.organisations.actions import end_role, write_role
from annotation.models import Organisation, OrganisationMember, OrganisationRole, User

logger = logging.getLogger(__name__)


def named_groups(claims: Mapping[str, Any]) -> set[str]:
    """Return the groups that a provider names; a claim that is missing names none."""
    named = claims.get(settings.OIDC_GROUPS_CLAIM)
    listed = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return {name for name in listed if isinstance(name, str)}


def wanted_roles(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the role in each organisation, by its name in lower case; of two the higher."""
    wanted: dict[str, str] = {}
    for group in named_groups(claims) & settings.OIDC_GROUPS.keys():
        for organisation, role in settings.OIDC_GROUPS[group]:
            name = organisation.lower()
            if wanted.get(name) != OrganisationRole.OWNER:
                wanted[name] = role
    return wanted


@transaction.atomic
def follow_groups(*, user: User, claims: Mapping[str, Any]) -> None:
    """Give, change and end the roles that came by groups; what owners gave stays as it is."""
    wanted = wanted_roles(claims)
    mine = OrganisationMember.objects.filter(user=user)
    following = list(mine.filter(by_group=True).values_list("organisation", flat=True))
    if not wanted and not following:
        return
    named = Organisation.objects.filter(closed_at=None).annotate(key=Lower("name"))
    found = {row.pk: row.key for row in named.filter(key__in=wanted)}
    if unknown := sorted(set(wanted) - set(found.values())):
        logger.warning("OIDC_GROUPS names organisations that are not there: %s", unknown)
    rows = Organisation.objects.select_for_update(no_key=True).filter(pk__in=[*found, *following])
    locked = list(rows.order_by("pk"))
    held = {row.organisation_id: row for row in mine.select_related("user")}
    for organisation in locked:
        member = held.get(organisation.pk)
        role = wanted.get(found.get(organisation.pk, ""))
        if member is not None and (not member.by_group or member.role == role):
            continue
        if role is not None:
            write_role(by=user, organisation=organisation, user=user, role=role, by_group=True)
        elif member is not None:
            end_role(by=user, organisation=organisation, member=member)
