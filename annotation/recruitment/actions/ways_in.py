"""A task's ways in: adding and changing them. Their secrets go in here and come out nowhere."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from annotation.accounts.roles.actions import notify_managers
from annotation.accounts.roles.selectors import can_give_roles
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import require_strength
from annotation.models import Recruitment, Task, User
from annotation.records.actions.audit import record
from annotation.recruitment.actions.key_sets import request_key_set
from annotation.recruitment.platforms import entry_params as coming
from annotation.recruitment.platforms import prolific, webhook
from annotation.recruitment.platforms.entry_params import OUTCOMES
from annotation.recruitment.platforms.prolific import PURPOSE
from crowdqc import numbers
from crowdqc.errors import Invalid, NotAllowed
from crowdqc.outbound import addresses
from crowdqc.sealing import sealed

JWKS = f"{prolific.API}/.well-known/study/jwks.json"
ISSUER = "https://www.prolific.com"
TEXTS = (
    "name",
    "study_id",
    "entry",
    "return_url",
    "jwks_url",
    "audience",
    "issuer",
    "api_url",
    "fee_percent",
    "active",
    "study_currency",
)
PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
MOST_LINKS = 5000


@transaction.atomic
def add(*, by: User, task: Task, kind: str, fields: Mapping[str, Any]) -> Recruitment:
    """A new way into the task; Invalid names the field."""
    if kind not in Recruitment.Kind.values:
        raise Invalid(gettext("There is no such kind."), fields={"kind": gettext("Choose one.")})
    made = Recruitment(
        task=task, kind=kind, currency=task.project.currency, created_by=by, parameters={}
    )
    return _save(by, made, fields, "recruitment.add")


@transaction.atomic
def change(*, by: User, recruitment: Recruitment, fields: Mapping[str, Any]) -> Recruitment:
    """Change a way in; an empty secret leaves the one that is there."""
    return _save(by, recruitment, fields, "recruitment.change")


def _save(by: User, row: Recruitment, fields: Mapping[str, Any], action: str) -> Recruitment:
    before, was = row.api_url if row.token_sealed else "", _api_of(row)
    for name in TEXTS:
        if name in fields:
            value = fields[name]
            setattr(row, name, value.strip() if isinstance(value, str) else value)
    row.parameters = _parameters(row, fields)
    row.codes = {name: fields[f"code_{name}"] for name in OUTCOMES if fields.get(f"code_{name}")}
    _check(row)
    sends = bool(fields.get("token")) or _api_of(row) != was
    if sends:
        _may_send_through(row, by)
    if fields.get("token"):
        row.token_sealed = sealed.seal(_secret(fields["token"], "token"), PURPOSE)
    if fields.get("webhook"):
        row.webhook_sealed = sealed.seal(_secret(fields["webhook"], "webhook"), webhook.PURPOSE)
    if row.kind == Recruitment.Kind.PROLIFIC and row.token_sealed and not row.api_url:
        row.api_url = prolific.API
    moved = bool(before) and addresses.origin(row.api_url) != addresses.origin(before)
    if moved and not fields.get("token"):
        hint = gettext("The token belongs to the address before; enter one with the new address.")
        raise Invalid(gettext("The token would go elsewhere."), fields={"api_url": hint})
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        hint = gettext("Another recruitment has this study.")
        raise Invalid(hint, fields={"study_id": hint}) from error
    if row.entry == Recruitment.Entry.JWT:  # the first person who comes is to find its keys
        request_key_set(url=row.jwks_url)
    entry = record(
        by=by,
        project=row.task.project,
        action=action,
        on=row,
        entry=row.entry,
        active=row.active,
        token_set=bool(fields.get("token")),
    )
    if sends:
        log_event(Kind.RULES, user=by, project=row.task.project, what="platform access")
        notify_managers(
            row.task.project,
            kind="project.rules",
            key=f"project.rules:{entry.pk}",
            text=lambda: (
                gettext("How payments leave %(project)s changed: platform access of %(way)s.")
                % {"project": row.task.project.name, "way": row.name}
            ),
        )
    return row


def _api_of(row: Recruitment) -> str:
    """Return the address that payments are sent to; empty stands for the platform's own."""
    return row.api_url or prolific.API


def _may_send_through(row: Recruitment, by: User) -> None:
    """Raise unless the person may say by which token, and to where, approved money leaves.

    Whoever names the server decides what was "paid", so this is for those who give roles.
    """
    if not can_give_roles(row.task.project, by):
        raise NotAllowed(
            gettext(
                "Only the owner and managers may enter the API token or address that payments use."
            )
        )
    require_strength(row.task.project, by, gettext("change how payments are sent"))


def _parameters(row: Recruitment, fields: Mapping[str, Any]) -> dict[str, str]:
    """Our word -> the parameter's name in the address."""
    if row.kind == Recruitment.Kind.PROLIFIC:
        return dict(coming.PROLIFIC)
    words = (*coming.PANEL, "submit_to")
    found = {word: fields.get(f"parameter_{word}", "").strip() for word in words}
    for word, name in found.items():
        if name and not PARAMETER.fullmatch(name):
            hint = gettext("A letter, then letters, digits, _ . or -.")
            raise Invalid(
                gettext("This is no parameter’s name."), fields={f"parameter_{word}": hint}
            )
    if not found["participant"]:
        hint = gettext("Which parameter holds the person’s id?")
        raise Invalid(hint, fields={"parameter_participant": hint})
    return {word: name for word, name in found.items() if name}


def _check(row: Recruitment) -> None:
    if not row.name:
        raise Invalid(gettext("It needs a name."), fields={"name": gettext("Write a name.")})
    if row.entry == Recruitment.Entry.JWT:
        if row.kind == Recruitment.Kind.PROLIFIC:
            row.jwks_url, row.issuer = row.jwks_url or JWKS, row.issuer or ISSUER
        else:
            row.parameters.setdefault("token", "token")
        for name in ("jwks_url", "audience"):
            if not getattr(row, name):
                raise Invalid(
                    gettext("Signed entries need this."), fields={name: gettext("Fill this in.")}
                )
    if row.study_currency not in ("", row.task.project.currency):
        hint = gettext("The project pays in %(currency)s; the study must, too.") % {
            "currency": row.task.project.currency
        }
        raise Invalid(hint, fields={"study_currency": hint})
    if row.kind == Recruitment.Kind.PROLIFIC and not row.study_id:
        hint = gettext("The id of the study, as in its address on Prolific.")
        raise Invalid(gettext("Which study is it?"), fields={"study_id": hint})
    for name in ("jwks_url", "api_url"):
        if getattr(row, name):
            try:
                setattr(row, name, addresses.clean(getattr(row, name)))
            except Invalid as error:
                hint = next(iter(error.fields.values()), error.message)
                raise Invalid(error.message, fields={name: hint}) from None
            if not addresses.is_secure(getattr(row, name)):
                raise Invalid(
                    gettext("The address must be secure."),
                    fields={name: gettext("Begin with https://.")},
                )
    _check_way_back(row)


def _check_way_back(row: Recruitment) -> None:
    for address in row.return_url.split():
        parts = urlsplit(address)
        if parts.scheme != "https" or not parts.hostname:
            hint = gettext("It must begin with https:// and name a host.")
            raise Invalid(gettext("People cannot be sent there."), fields={"return_url": hint})
    if len(row.return_url.split()) > 1 and not row.parameters.get("submit_to"):
        raise Invalid(
            gettext("One address."),
            fields={"return_url": gettext("Several only for hand-in forms.")},
        )


def _secret(text: str, name: str) -> str:
    """A secret as it may stand in a header; Invalid never repeats it."""
    found = text.strip()
    if len(found) > 500 or not found.isascii() or not found.isprintable() or " " in found:
        hint = gettext("Letters, digits and signs without spaces, 500 at most.")
        raise Invalid(gettext("This cannot be used."), fields={name: hint})
    return found


@transaction.atomic
def links(
    *, by: User, recruitment: Recruitment, people: str, count: int | None
) -> list[tuple[str, str]]:
    """Return signed links as (participant, link) for given ids, or for ``count`` new people."""
    if recruitment.entry != Recruitment.Entry.SIGNED:
        raise Invalid(
            gettext("This way in has one address for all."),
            fields={"people": gettext("Not used here.")},
        )
    names = list(dict.fromkeys(people.split()))
    wrong = next((name for name in names if not coming.NAME.fullmatch(name)), None)
    if wrong is not None:
        hint = gettext("“%(wrong)s” is no id: letters, digits and _ . : @ -, 80 at most.") % {
            "wrong": wrong[:40]
        }
        raise Invalid(hint, fields={"people": hint})
    names += [f"p-{secrets.token_hex(5)}" for _number in range(count or 0)]
    if not 1 <= len(names) <= MOST_LINKS:
        hint = gettext("1 to %(most_links)s people.") % {"most_links": numbers.count(MOST_LINKS)}
        raise Invalid(hint, fields={"people": hint})
    record(
        by=by,
        project=recruitment.task.project,
        action="recruitment.links",
        on=recruitment,
        links=len(names),
    )
    return [(name, coming.sign_link(recruitment, name)) for name in names]
