"""Invitations by mail: one personal link per address.

An address of a worker is kept until its mail left or was given up (a few hours), then only enough
of it to know the row by, until somebody joined or the link closed. Workers who have an account and
have proven that the address is theirs find the link among their notices.

A link to any other role is for the address it was written for, which is kept until the link ends.
It leaves by mail only: a notice says that there is one, without it.
"""

from __future__ import annotations

import datetime as dt
import re

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from annotation.accounts.projects.actions import invitation_token, invite
from annotation.models import Invitation, Project, Role, User
from annotation.notifications.actions.notices import notify, send_mail_soon
from crowdqc.errors import Invalid, LimitExceeded

MOST_AT_ONCE = 200
MOST_A_DAY = 500


def parse_addresses(text: str) -> list[str]:
    """Parse pasted addresses without duplicates; Invalid names the first bad one."""
    found = dict.fromkeys(part.lower() for part in re.split(r"[\s,;<>]+", text) if part)
    for one in found:
        try:
            validate_email(one)
        except ValidationError:
            wrong = gettext("“%(one)s” is no e-mail address.") % {"one": one[:80]}
            raise Invalid(
                wrong, fields={"emails": gettext("%(wrong)s Write one a line.") % {"wrong": wrong}}
            ) from None
    if len(found) > MOST_AT_ONCE:
        sentence = gettext("%(found)s addresses; %(most_at_once)s at once is the most.") % {
            "found": len(found),
            "most_at_once": MOST_AT_ONCE,
        }
        raise Invalid(sentence, fields={"emails": sentence})
    return list(found)


def mask_address(address: str) -> str:
    """Mask as ``a…@example.org``, enough to recognise the row."""
    name, _, host = address.rpartition("@")
    return f"{name[:1]}…@{host}"[:80]


@transaction.atomic
def invite_by_mail(
    *, by: User, project: Project, role: str, emails: str, days: int = 14, note: str = ""
) -> list[Invitation]:
    """Create and mail a link for each address; Invalid names what is wrong."""
    addresses = parse_addresses(emails)
    if not addresses:
        raise Invalid(
            gettext("There is no address."), fields={"emails": gettext("Write one a line.")}
        )
    User.objects.select_for_update(no_key=True).get(pk=by.pk)  # one after another, to be counted
    since = timezone.now() - dt.timedelta(days=1)
    mailed = Invitation.objects.filter(created_by=by, created_at__gt=since).exclude(
        sent_to="", mail_attempts=0
    )
    if mailed.count() + len(addresses) > MOST_A_DAY:
        raise LimitExceeded(
            gettext("%(most_a_day)s invitations a day leave by mail. Send the others tomorrow.")
            % {"most_a_day": MOST_A_DAY}
        )
    verified = _find_verified_users(addresses)
    made = []
    for address in addresses:
        bound = "" if role == Role.WORKER else address
        one = invite(by=by, project=project, role=role, days=days, note=note, bound_to=bound)
        one.sent_to = mask_address(address)
        person = verified.get(address)
        if person is not None:
            _notify_invited(one, person)
        if person is None or bound:
            one.email, one.mail_at = address, timezone.now()
        one.save(update_fields=["sent_to", "email", "mail_at"])
        made.append(one)
    send_mail_soon()
    return made


def _find_verified_users(addresses: list[str]) -> dict[str, User]:
    """Return users who have verified each of these addresses."""
    rows = EmailAddress.objects.annotate(address=Lower("email")).filter(
        address__in=addresses, verified=True
    )
    return {row.address: row.user for row in rows.select_related("user")}


def _notify_invited(invitation: Invitation, person: User) -> None:
    """Notify users: workers get the link, others only that it came."""
    project, works = invitation.project, invitation.role == Role.WORKER

    def text() -> str:
        named = {"project": project.name, "role": Role(invitation.role).label}
        told = gettext("You are invited to “%(project)s” as %(role)s.") % named
        if works:
            return told
        link = gettext("The link is in the mail that was sent to %(address)s.")
        return f"{told} {link % {'address': invitation.sent_to}}"

    url = reverse("join", args=[invitation_token(invitation)]) if works else ""
    notify(
        to=[person],
        kind="invitation",
        key=f"invitation:{invitation.pk}",
        project=project,
        text=text,
        url=url,
        mail=works,
    )
