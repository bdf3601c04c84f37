"""The people that rows of a project point to: pseudonyms, or accounts of those who agreed."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password

from annotation.models import Membership, Project, Role, User
from evaluation.moving.rows import Row

PSEUDONYMS, ACCOUNTS = "pseudonyms", "accounts"
ORDER = (Role.WORKER, Role.MANAGER, Role.REQUESTER, Role.VIEWER)


def describe_people(
    project: Project, ids: Collection[int], consents: Collection[str]
) -> Iterator[Row]:
    """Yield a row for each of these accounts: a pseudonym, and the address of who agreed to it."""
    roles: dict[int, list[tuple[str, str]]] = {}
    rows = Membership.objects.filter(project=project, user__in=ids).order_by("pk")
    for user, role, pseudonym in rows.values_list("user_id", "role", "pseudonym"):
        roles.setdefault(user, []).append((role, pseudonym))
    agreed = {one.lower() for one in consents}
    verified = EmailAddress.objects.filter(user__in=ids, verified=True)
    mails = {
        user: mail.lower()
        for user, mail in verified.order_by("-primary", "pk").values_list("user_id", "email")
        if mail.lower() in agreed
    }
    for pk in sorted(ids):
        held = sorted(roles.get(pk, []), key=lambda one: ORDER.index(Role(one[0])))
        role, pseudonym = held[0] if held else ("person", "")
        row: dict[str, Any] = {"id": pk, "name": pseudonym or f"{role}-{pk}"}
        if pk in mails:
            row["email"] = mails[pk]
        yield row


def match_people(rows: Iterable[Row], *, move: int) -> dict[str, int]:
    """Return each person's account here: their own where the address is verified, else a new one.

    New accounts cannot sign in and have no address.
    """
    people = list(rows)
    wanted = [one["email"] for one in people if one.get("email")]
    verified = EmailAddress.objects.filter(email__in=wanted, verified=True, user__is_active=True)
    there = {mail.lower(): user for mail, user in verified.values_list("email", "user_id")}
    found, taken = {}, set()
    for one in people:
        known = there.get(one.get("email") or "")
        if known is None or known in taken:
            known = User.objects.create(
                username=f"moved-{move}-{one['id']}-{secrets.token_hex(3)}",
                display_name=str(one["name"])[:80],
                password=make_password(None),
                is_active=False,
                wants_mail=False,
            ).pk
        taken.add(known)
        found[str(one["id"])] = known
    return found
