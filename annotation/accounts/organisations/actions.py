"""Organisations: founded by owners of the installation, run by their own owners.

``by`` is None where a command acts. Roles in an organisation reach its projects at once
(``annotation.access``), and end there at once; no row of a project says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import is_installation_owner
from annotation.accounts.organisations.selectors import is_member, may_change
from annotation.accounts.roles.actions import cancel_open_work, lock_roles
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import require_recent
from annotation.accounts.signing.selectors import find_proven_user, has_unverified_address_only
from annotation.models import Organisation, OrganisationMember, OrganisationRole, Project, User
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import VISITOR, record
from annotation.records.cleaning import clean_amount, clean_text
from crowdqc import currencies, limits
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.web.terms import Words

MAX_NAME = 120
# What a new project takes over, and how low and high it may be.
DAYS = {"decide_days": (1, 90), "answer_days_kept": (1, 3650)}
SETTINGS = ("model_budget", "hourly_floor", *DAYS)
PEOPLE = gettext_lazy("change who belongs to an organisation")


def refuse_others(organisation: Organisation, by: User | None) -> None:
    """Refuse all but owners of it or of the installation."""
    if by is not None and not may_change(organisation, by):
        raise NotAllowed(_("Only an owner of the organisation may do this."))


def require_owner(organisation: Organisation, by: User | None, doing: Words) -> None:
    """Refuse all but owners of it or of the installation, with a fresh proof of who they are."""
    refuse_others(organisation, by)
    if by is not None:
        require_recent(by, doing)


def lock_organisation(organisation: Organisation) -> Organisation:
    """Lock an organisation's row; Conflict once it is closed."""
    row = Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    if row.closed_at is not None:
        raise Conflict(_("This organisation is closed."))
    return row


def _clean_name(name: str, pk: int | None = None) -> str:
    name = " ".join(clean_text(name, "name", MAX_NAME).split())
    same = Organisation.objects.filter(name__iexact=name, closed_at=None).exclude(pk=pk or 0)
    if not name or same.exists():
        hint = _("Taken already.") if name else _("Write a name.")
        raise Invalid(_("An organisation needs a name of its own."), fields={"name": hint})
    return name


def _require_founder(by: User | None) -> None:
    """Only these name organisations, so that a group of sign-on leads where they meant it to."""
    if by is not None and not is_installation_owner(by):
        raise NotAllowed(_("Only an owner of the installation may do this."))


@transaction.atomic
def create_organisation(
    *, by: User | None, name: str, owner: User, currency: str = "EUR"
) -> Organisation:
    """Found an organisation with its first owner. Raises Invalid for a name that is taken."""
    _require_founder(by)
    why_not = currencies.currency_problem(currency)
    if why_not:
        raise Invalid(why_not, fields={"currency": why_not})
    row = Organisation.objects.create(name=_clean_name(name), currency=currency)
    record(by=by, project=None, action="organisation.create", on=row, name=row.name)
    set_member(by=by, organisation=row, user=owner, role=OrganisationRole.OWNER)
    return row


@transaction.atomic
def rename_organisation(*, by: User | None, organisation: Organisation, name: str) -> Organisation:
    """Give it another name; groups of sign-on that name the one before lead nowhere then."""
    _require_founder(by)
    row = lock_organisation(organisation)
    before, row.name = row.name, _clean_name(name, row.pk)
    row.save(update_fields=["name"])
    record(by=by, project=None, action="organisation.rename", on=row, before=before, name=row.name)
    return row


@transaction.atomic
def change_settings(*, by: User | None, organisation: Organisation, **values: Any) -> Organisation:
    """Change the budget of models, or what new projects begin with (``SETTINGS``).

    What is left out stays. Raises Invalid, naming the field.
    """
    require_owner(organisation, by, _("change the settings of an organisation"))
    row = lock_organisation(organisation)
    before = {name: _plain(getattr(row, name)) for name in values}
    for name, value in values.items():
        setattr(row, name, _clean_setting(name, value))
    row.save(update_fields=list(values))
    after = {name: _plain(getattr(row, name)) for name in values}
    record(by=by, project=None, action="organisation.change", on=row, before=before, after=after)
    return row


def _clean_setting(name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise Invalid(_("There is no such setting."), fields={name: ", ".join(SETTINGS)})
    if value is None and name != "decide_days":
        return None
    if name not in DAYS:
        return clean_amount(value, name)
    low, high = DAYS[name]
    if not isinstance(value, int) or not low <= value <= high:
        hint = _("%(low)s to %(high)s days.") % {"low": low, "high": high}
        raise Invalid(_("The days are out of range."), fields={name: hint})
    return value


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


# -- people ----------------------------------------------------------------------------------------


def find_person(by: User | None, name: str) -> User:
    """Return whose name or verified address this is; Invalid for anybody else.

    An address that an account only claims leads to nobody. Tries are counted, so that nobody
    looks through the accounts.
    """
    if by is not None and not is_installation_owner(by):
        limits.require_try(limits.LOOKUPS, by.pk, _("You looked for too many people."))
    user = find_proven_user(name)
    if (
        user is None
        or not user.is_active
        or user.username.startswith(VISITOR)
        or has_unverified_address_only(user)
    ):
        text = _("Nobody here has this user name or verified address.")
        raise Invalid(text, fields={"person": text})
    return user


@transaction.atomic
def set_member(
    *, by: User | None, organisation: Organisation, user: User, role: str
) -> OrganisationMember:
    """Let somebody in, or change their role. Raises Conflict for the last owner.

    A role that follows a group of sign-on is changed there.
    """
    if role not in OrganisationRole.values:
        raise Invalid(_("There is no such role."), fields={"role": _("Choose a role.")})
    require_owner(organisation, by, PEOPLE)
    row = lock_organisation(organisation)
    member = OrganisationMember.objects.filter(organisation=row, user=user).first()
    if member is not None and member.role == role:
        return member
    if member is not None and member.by_group:
        raise Conflict(_("This role follows a group of single sign-on. Change it there."))
    if member is not None:
        _require_another_owner(member)
    return write_role(by=by, organisation=row, user=user, role=role)


def change_member(*, by: User | None, organisation: Organisation, user: User, role: str) -> None:
    """Give or change somebody's role; "" ends it."""
    if role:
        set_member(by=by, organisation=organisation, user=user, role=role)
        return
    member = organisation.members.filter(user=user).select_related("organisation").first()
    if member is not None:
        remove_member(by=by, member=member)


@transaction.atomic
def remove_member(*, by: User | None, member: OrganisationMember) -> None:
    """End somebody's role, and with it what it gave in each project; anybody may leave.

    One that follows a group of sign-on comes back at the next sign-in by it.
    """
    if by is None or by.pk != member.user_id:
        require_owner(member.organisation, by, PEOPLE)
    row = lock_organisation(member.organisation)
    found = OrganisationMember.objects.filter(pk=member.pk).select_related("user").first()
    if found is not None:
        _require_another_owner(found)
        end_role(by=by, organisation=row, member=found)


def _require_another_owner(member: OrganisationMember) -> None:
    others = OrganisationMember.objects.filter(
        organisation=member.organisation_id, role=OrganisationRole.OWNER, user__is_active=True
    ).exclude(pk=member.pk)
    if member.role == OrganisationRole.OWNER and not others.exists():
        raise Conflict(_("An organisation keeps one owner. Make somebody else an owner first."))


def write_role(
    *, by: User | None, organisation: Organisation, user: User, role: str, by_group: bool = False
) -> OrganisationMember:
    """Write a role into a locked organisation, audited; the person is notified."""
    owned = OrganisationMember.objects.filter(
        organisation=organisation, user=user, role=OrganisationRole.OWNER
    ).exists()
    member, _made = OrganisationMember.objects.update_or_create(
        organisation=organisation, user=user, defaults={"role": role, "by_group": by_group}
    )
    log_event(Kind.ROLE_GIVEN, user=user, role=role, organisation=organisation.pk)
    entry = record(
        by=by, project=None, action="organisation.member", on=organisation,
        member=user.pk, role=role, by_group=by_group,
    )  # fmt: skip
    if owned:
        _end_work(by, organisation.projects.all(), user)
    label = member.get_role_display()
    notify(
        to=[user],
        kind="roles.changed",
        key=f"organisation.member:{entry.pk}",
        text=lambda: (
            _("Your role in the organisation %(name)s: %(role)s.")
            % {"name": organisation.name, "role": label}
        ),
        url=reverse("organisation", args=[organisation.pk]),
    )
    return member


def end_role(*, by: User | None, organisation: Organisation, member: OrganisationMember) -> None:
    """End a role in a locked organisation, audited; the person is notified."""
    user, by_group = member.user, member.by_group
    member.delete()
    log_event(Kind.ROLE_REMOVED, user=user, organisation=organisation.pk)
    entry = record(
        by=by, project=None, action="organisation.leave", on=organisation,
        member=user.pk, by_group=by_group,
    )  # fmt: skip
    _end_work(by, organisation.projects.all(), user)
    notify(
        to=[user],
        kind="roles.changed",
        key=f"organisation.leave:{entry.pk}",
        text=lambda: (
            _("You no longer belong to the organisation %(name)s.") % {"name": organisation.name}
        ),
    )


def move_roles(*, user: User, into: User) -> None:
    """Give an account's roles to the account it is merged into, which keeps the higher of two."""
    held = {row.organisation_id: row for row in OrganisationMember.objects.filter(user=into)}
    for member in OrganisationMember.objects.select_for_update().filter(user=user):
        same = held.get(member.organisation_id)
        if same is not None and same.role == OrganisationRole.OWNER:
            member.delete()
            continue
        if same is not None:
            same.delete()
        member.user = into
        member.save(update_fields=["user"])


def _end_work(by: User | None, projects: Any, user: User) -> None:
    """Revoke what somebody began in projects by a role that the organisation gave them."""
    began = Q(invitations__created_by=user, invitations__revoked_at=None)
    for project in projects.filter(began).distinct().order_by("pk"):
        cancel_open_work(by=by, project=lock_roles(project), user=user)


def end_work_in(*, by: User | None, organisation: Organisation, project: Project) -> None:
    """Do so for everybody, when a project leaves an organisation."""
    for member in organisation.members.select_related("user"):
        _end_work(by, Project.objects.filter(pk=project.pk), member.user)


def require_joiner(organisation: Organisation, by: User) -> None:
    """Refuse whoever may not bring a project into the organisation."""
    if organisation.closed_at is not None or not is_member(organisation, by):
        raise NotAllowed(_("You do not belong to this organisation."))


def default_settings(organisation: Organisation) -> Mapping[str, Any]:
    """Return what a new project of the organisation begins with, by field."""
    return {
        "organisation": organisation,
        "hourly_floor": organisation.hourly_floor,
        "answer_days_kept": organisation.answer_days_kept,
        "decide_days": organisation.decide_days,
    }
