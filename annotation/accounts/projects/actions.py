"""Projects, memberships, invitations and consent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet, Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from annotation.accounts import pseudonyms, quotas
from annotation.accounts.organisations import actions as organisations
from annotation.accounts.projects.consent_words import (
    CONSENT_TEXT,
    PARAGRAPHS,
    WHO_RUNS,
    depends_on_type,
    fill_consent,
    unwrap,
)
from annotation.accounts.roles import actions as roles
from annotation.accounts.roles.selectors import accept_problem
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.security.stepup import require_recent
from annotation.models import (
    AgreedText,
    Assignment,
    Consent,
    ConsentText,
    Invitation,
    Membership,
    Organisation,
    Project,
    Role,
    User,
)
from annotation.notifications.actions.notices import notify
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_amount, clean_text
from annotation.records.installation_state import require_feature
from crowdqc import currencies, limits
from crowdqc.database.compiled import CompiledQuery, Placeholder
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed

SALT = "crowdqc.invitation"
MAX_NAME = 120


def _clean_project_name(name: str) -> str:
    """Return the project's name; Invalid names the limit if it is too long."""
    name = clean_text(name, "name", MAX_NAME)
    if not name:
        raise Invalid(gettext("A project needs a name."), fields={"name": gettext("Write a name.")})
    return name


@transaction.atomic
def create_project(
    *,
    by: User,
    name: str,
    currency: str = "EUR",
    also_manager: bool = False,
    organisation: Organisation | None = None,
) -> Project:
    """Create a project; its owner becomes requester and, if asked, manager.

    One of an organisation has its currency, and begins with its settings.
    """
    name = _clean_project_name(name)
    settings: Mapping[str, Any] = {}
    if organisation is not None:
        organisation = organisations.lock_organisation(organisation)
        organisations.require_joiner(organisation, by)
        currency, settings = organisation.currency, organisations.default_settings(organisation)
    why_not = currencies.currency_problem(currency)
    if why_not:
        raise Invalid(why_not, fields={"currency": why_not})
    User.objects.select_for_update(no_key=True).get(pk=by.pk)  # projects are counted in turn
    if not by.is_superuser:
        require_feature("projects")
    quotas.require_quota("projects", by)
    limits.require_try(limits.PROJECTS, by.pk, gettext("You have made many projects today."))
    project = Project.objects.create(name=name, owner=by, currency=currency, **settings)
    given = [Role.REQUESTER, Role.MANAGER] if also_manager else [Role.REQUESTER]
    for role in given:
        roles.set_role(project=project, user=by, role=role)
    ConsentText.objects.create(
        project=project, number=1, text=CONSENT_TEXT, devices=True, created_by=by
    )
    more = {"organisation": organisation.name} if organisation is not None else {}
    record(by=by, project=project, action="project.create", on=project, roles=given, **more)
    return project


# Days of each promise to workers, at least and at most.
DAYS = {"reply_days": (3, 365), "answer_days": (1, 60), "decide_days": (1, 90)}


@transaction.atomic
def change_project(
    *,
    by: User,
    project: Project,
    name: str,
    budget: Decimal | None,
    hourly_floor: Decimal | None,
    single_approval: bool,
    reply_days: int | None = None,
    answer_days: int | None = None,
    decide_days: int | None = None,
    show_scores: bool | None = None,
    correction_limit: Decimal | None = None,
) -> Project:
    """Change settings; only the owner may change the two-person rule.

    What is None stays as it is. The owner and all managers are told of changed rules of money.
    New days hold for rejections and replies from now on: nobody who was told a day loses it.
    """
    project = Project.objects.select_for_update().get(pk=project.pk)
    rules = {"budget": budget, "hourly_floor": hourly_floor, "single_approval": single_approval}
    if correction_limit is not None:
        rules["correction_limit"] = clean_amount(correction_limit, "correction_limit")
    changed = [at for at, value in rules.items() if getattr(project, at) != value]
    if project.owner_id != by.pk and {"single_approval", "correction_limit"} & set(changed):
        raise NotAllowed(
            gettext("Only the owner of the project may change when a second person is needed.")
        )
    name = _clean_project_name(name)
    wanted = {"reply_days": reply_days, "answer_days": answer_days, "decide_days": decide_days}
    new = {at: _clean_days(at, value) for at, value in wanted.items() if value is not None}
    new |= {} if show_scores is None else {"show_scores": show_scores}
    if changed:
        require_recent(by, gettext("change budget and payment rules"))
        log_event(Kind.RULES, user=by, project=project, what=", ".join(changed))
    before = {at: _audit_value(getattr(project, at)) for at in (*rules, *new)}
    project.name = name
    for at, value in (rules | new).items():
        setattr(project, at, value)
    project.save()
    entry = record(
        by=by,
        project=project,
        action="project.change",
        on=project,
        before=before,
        **{at: _audit_value(value) for at, value in (rules | new).items()},
    )
    if changed:
        roles.notify_managers(
            project,
            kind="project.rules",
            key=f"project.rules:{entry.pk}",
            text=lambda: _rules_words(project, changed),
        )
    return project


def _rules_words(project: Project, changed: list[str]) -> str:
    said = gettext("Payment rules changed in %(project)s: %(rules)s.")
    return said % {"project": project.name, "rules": ", ".join(str(RULES[at]) for at in changed)}


RULES = {
    "budget": gettext_lazy("the budget"),
    "hourly_floor": gettext_lazy("the hourly floor"),
    "single_approval": gettext_lazy("approval by one person"),
    "correction_limit": gettext_lazy("the limit of corrections"),
}


def _audit_value(value: Any) -> Any:
    """Return a setting in a form for the audit log."""
    return str(value) if isinstance(value, Decimal) else value


def _clean_days(name: str, days: int) -> int:
    low, high = DAYS[name]
    if not low <= days <= high:
        raise Invalid(
            gettext("%(name)s is out of range.") % {"name": name},
            fields={name: gettext("%(low)s to %(high)s days.") % {"low": low, "high": high}},
        )
    return days


def add_worker(
    *, project: Project, user: User | None, external_id: str = "", pseudonym: str = ""
) -> Membership:
    """Return the worker's membership, created under a free pseudonym if missing."""
    who = Q(user=user) if user else Q(external_id=external_id)
    for _ in range(200):
        found = Membership.objects.filter(who, project=project, role=Role.WORKER).first()
        if found:
            if found.removed_at:
                raise NotAllowed(gettext("You were removed from this project."))
            return found
        if user is not None:
            quotas.require_quota("workers", project)
        try:
            with transaction.atomic():
                return Membership.objects.create(
                    project=project,
                    user=user,
                    role=Role.WORKER,
                    pseudonym=pseudonym or pseudonyms.propose_pseudonym(),
                    external_id=external_id,
                )
        except IntegrityError:
            pseudonym = ""  # the name is taken, or somebody else just made this membership
    raise Conflict(gettext("No free pseudonym was found; try again."))


def add_member(*, project: Project, user: User, role: str) -> Membership:
    """Return the person's membership in ``role``, created or restored if missing."""
    if role == Role.WORKER:
        return add_worker(project=project, user=user)
    return roles.set_role(project=project, user=user, role=role)


@transaction.atomic
def remove_member(*, by: User, member: Membership) -> None:
    """End a membership; a worker's answers, log and money stay.

    Roles that move money are ended by the owner, a manager or the person themself, and what the
    person had proposed stops with the last of them. Raises NotAllowed or Conflict otherwise.
    """
    staff = member.role != Role.WORKER
    project = roles.lock_for_removal(member) if staff else member.project
    roles.check_removal(project, member, by)
    if staff:
        require_recent(by, gettext("change roles"))
        log_event(Kind.ROLE_REMOVED, user=member.user, project=project, role=member.role)
    member.removed_at = timezone.now()
    member.save(update_fields=["removed_at"])
    entry = record(by=by, project=project, action="member.remove", on=member, role=member.role)
    if staff and member.user is not None:
        roles.cancel_open_work(by=by, project=project, user=member.user)
        role = member.get_role_display()
        roles.notify_managers(
            project,
            key=f"roles.changed:removed:{entry.pk}",
            text=lambda: (
                gettext("The role of a %(role)s in %(name)s was ended.")
                % {"role": role, "name": project.name}
            ),
        )


@transaction.atomic
def take_back_worker(*, by: User, worker: Membership) -> None:
    """Let a removed worker work in the project again; Conflict once they are being erased."""
    worker = Membership.objects.select_for_update(no_key=True).get(pk=worker.pk)
    if worker.erase_asked_at:
        raise Conflict(gettext("What is kept of them was erased, and they cannot be taken back."))
    if worker.removed_at is None:
        return
    worker.removed_at = None
    worker.save(update_fields=["removed_at"])
    record(by=by, project=worker.project, action="member.take_back", on=worker)


@transaction.atomic
def invite(
    *,
    by: User,
    project: Project,
    role: str,
    days: int = 14,
    max_uses: int = 1,
    note: str = "",
    bound_to: str = "",
) -> Invitation:
    """Create an invitation; ``invitation_token`` gives its link.

    One to a role that moves money is given by the owner or a manager, leaves by mail only
    (``invite_by_mail``) and is ``token_project_id`` the address it was written for.
    """
    if role not in Role.values:
        raise Invalid(gettext("There is no such role."), fields={"role": gettext("Choose a role.")})
    if role != Role.WORKER:
        require_recent(by, gettext("give a role"))
        roles.require_giver(project, by)
    if not 1 <= days <= 365:
        raise Invalid(
            gettext("The days are out of range."), fields={"days": gettext("1 to 365 days.")}
        )
    if not 1 <= max_uses <= 10_000:
        raise Invalid(
            gettext("The cap is out of range."), fields={"max_uses": gettext("1 to 10,000 people.")}
        )
    if role != Role.WORKER and max_uses != 1:
        raise Invalid(
            gettext("Open links are for workers."),
            fields={"max_uses": gettext("One person for this role.")},
        )
    if role != Role.WORKER and not bound_to:
        raise Invalid(
            gettext("Invitations to this role are sent by e-mail."),
            fields={"emails": gettext("Enter the person’s e-mail address.")},
        )
    quotas.require_project_quota("invitations", project)
    invitation = Invitation.objects.create(
        project=project,
        role=role,
        note=note.strip()[:120],
        created_by=by,
        expires_at=timezone.now() + dt.timedelta(days=days),
        max_uses=max_uses,
        bound_to=bound_to,
    )
    record(
        by=by, project=project, action="invitation.create", on=invitation, role=role, cap=max_uses
    )
    if role != Role.WORKER:
        roles.notify_managers(
            project,
            key=f"roles.changed:invited:{invitation.pk}",
            text=lambda: _invited_words(project, invitation),
        )
    return invitation


def _invited_words(project: Project, invitation: Invitation) -> str:
    said = gettext("Somebody was invited to %(project)s as %(role)s.")
    return said % {"project": project.name, "role": invitation.get_role_display()}


@transaction.atomic
def revoke_invitation(*, by: User, invitation: Invitation) -> None:
    """Close a link; who already joined stays."""
    if invitation.role != Role.WORKER:
        roles.require_giver(invitation.project, by)
    if invitation.revoked_at is None:
        invitation.revoked_at = timezone.now()
        _end_invitation(invitation, "revoked_at")
        record(by=by, project=invitation.project, action="invitation.revoke", on=invitation)


def invitation_token(invitation: Invitation) -> str:
    """Return the signed part of the invitation's link."""
    return signing.dumps(invitation.pk, salt=SALT, compress=False)


def open_invitation(token: str) -> Invitation:
    """Return the invitation of a link, or raise why it is no longer valid."""
    try:
        pk: Any = signing.loads(token, salt=SALT)
    except signing.BadSignature as error:
        raise Missing(
            gettext("This invitation link is not one of ours, or it is incomplete.")
        ) from error
    invitation = Invitation.objects.filter(pk=pk).select_related("project").first()
    if invitation is None:
        raise Missing(gettext("This invitation no longer exists."))
    if invitation.revoked_at:
        raise NotAllowed(gettext("This invitation was revoked. Ask for a new one."))
    if invitation.expires_at <= timezone.now():
        raise NotAllowed(gettext("This invitation has expired. Ask for a new link."))
    return invitation


@transaction.atomic
def accept_invitation(*, by: User, token: str) -> Membership | None:
    """Join by a link once, within the link's cap.

    None: the role awaits the confirmation of a second manager.
    """
    invitation = open_invitation(token)
    if invitation.role != Role.WORKER:
        roles.lock_roles(invitation.project)
    invitation = (
        Invitation.objects.select_for_update(of=("self",))
        .select_related("project", "created_by")
        .get(pk=invitation.pk)
    )
    existing = Membership.objects.filter(
        project=invitation.project, user=by, role=invitation.role, removed_at__isnull=True
    ).first()
    if existing:
        return existing
    if roles.waiting_grant(invitation.project, by, invitation.role):
        return None
    if invitation.revoked_at:
        raise NotAllowed(gettext("This invitation was revoked. Ask for a new one."))
    if invitation.uses >= invitation.max_uses:
        raise Conflict(gettext("This invitation has been used up. Ask for a new link."))
    if why_not := accept_problem(invitation, by):
        raise NotAllowed(why_not, code="other-address")
    if invitation.role == Role.WORKER:
        member: Membership | None = add_worker(project=invitation.project, user=by)
    elif invitation.role == Role.VIEWER:
        member = roles.set_role(project=invitation.project, user=by, role=Role.VIEWER)
    else:
        member = roles.accept_role(by=by, invitation=invitation)
    invitation.uses += 1
    _end_invitation(invitation, "uses")
    record(
        by=by,
        project=invitation.project,
        action="invitation.accept",
        on=member or invitation,
        invitation=invitation.pk,
    )
    return member


def _end_invitation(invitation: Invitation, *changed: str) -> None:
    """Save the invitation as ended or used, without its address."""
    invitation.email = invitation.sent_to = ""
    if invitation.revoked_at or invitation.uses >= invitation.max_uses:
        invitation.bound_to = ""
    invitation.mail_at = None
    invitation.save(update_fields=[*changed, "email", "sent_to", "bound_to", "mail_at"])


@transaction.atomic
def change_consent_text(
    *,
    by: User,
    project: Project,
    text: str,
    retention_days: int,
    transcription: bool = False,
    devices: bool = False,
) -> ConsentText:
    """Create a new consent version; workers must agree again.

    ``transcription``: it also covers that a model writes down what is said in recordings;
    ``devices``: and that devices and networks are compared by keyed hashes.
    """
    if not text.strip():
        raise Invalid(
            gettext("The consent text is empty."), fields={"text": gettext("Write the text.")}
        )
    if not 1 <= retention_days <= 3650:
        raise Invalid(
            gettext("The days are out of range."),
            fields={"retention_days": gettext("1 to 3,650 days.")},
        )
    Project.objects.select_for_update().get(pk=project.pk)
    last = project.consent_texts.order_by("-number").first()
    new = ConsentText.objects.create(
        project=project,
        number=last.number + 1 if last else 1,
        text=text.strip(),
        retention_days=retention_days,
        transcription=transcription,
        devices=devices,
        created_by=by,
    )
    record(by=by, project=project, action="consent.change", on=new, number=new.number)
    agreed = Membership.objects.filter(
        project=project, removed_at=None, consents__withdrawn_at=None, consents__isnull=False
    )
    notify(
        to=[one.user for one in agreed.select_related("user").distinct()],
        kind="consent.changed",
        project=project,
        key=f"consent.changed:{new.pk}",
        text=lambda: (
            gettext(
                "The consent text of “%(project)s” has changed. Nothing more is recorded until you "
                "agree to it."
            )
            % {"project": project.name}
        ),
        url=reverse("work_consent", args=[project.pk]),
    )
    return new


def name_institution(
    *, by: User, project: Project, institution: str, contact: str, purpose: str = ""
) -> ConsentText:
    """Say in the consent text who runs the study, how to reach them, and what it is for.

    The rest is the text that every project begins with; without a ``purpose`` its own sentence
    stands. Raises Invalid, naming the field.
    """
    given = {"institution": institution, "contact": contact, "purpose": purpose}
    said = {name: " ".join(value.split()) for name, value in given.items()}
    for name in ("institution", "contact"):
        if not said[name]:
            raise Invalid(
                gettext("The consent names who runs the study."),
                fields={name: gettext("Fill this in.")},
            )
    opening, *rest = PARAGRAPHS
    if said["purpose"]:
        opening = f"**What you are asked to agree to.** {said['purpose']}"
    who = WHO_RUNS % said
    last = current_consent_text(project)
    return change_consent_text(
        by=by,
        project=project,
        text="\n\n".join([who, opening, *rest]),
        retention_days=last.retention_days,
        transcription=last.transcription,
        devices=last.devices,
    )


def current_consent_text(project: Project) -> ConsentText:
    """Return the version in force."""
    return project.consent_texts.order_by("-number")[:1].get()


def is_usual_consent(text: ConsentText) -> bool:
    """Whether it begins as the text that every project begins with, which names no institution."""
    return unwrap(text.text).startswith(PARAGRAPHS[0])


IN_FORCE = (
    ConsentText.objects.filter(project=Placeholder("project")).order_by("-number").values("pk")
)


def _agreed() -> QuerySet[Consent]:
    """Valid agreements of a worker to the version in force, with its number."""
    return Consent.objects.filter(
        membership=Placeholder("member"), withdrawn_at__isnull=True, text=Subquery(IN_FORCE[:1])
    ).annotate(number=F("text__number"), covers_devices=F("text__devices"))


TYPE_OF_WORK = Assignment.objects.filter(pk=Placeholder("assignment")).values("task__type")
AGREED = CompiledQuery(_agreed)
AGREED_FOR_WORK = CompiledQuery(lambda: _agreed().annotate(work_type=Subquery(TYPE_OF_WORK)))


def current_consent(member: Membership, task_type: str | None = None) -> Consent | None:
    """Return the worker's valid agreement to the version in force, if any.

    ``task_type``: if it covers work of this type. ``number`` and ``covers_devices`` on it are that
    version's.
    """
    given = AGREED.first(member=member.pk, project=member.project_id)
    return given if given and (task_type is None or given.covers(task_type)) else None


def consent_for_work(assignment: Assignment) -> Consent | None:
    """``current_consent`` for the type of an assignment's task, by one query."""
    member = assignment.worker
    given = AGREED_FOR_WORK.first(
        member=member.pk, project=member.project_id, assignment=assignment.pk
    )
    return given if given and given.covers(given.work_type) else None  # type: ignore[attr-defined]


@transaction.atomic
def give_consent(
    *,
    by: User,
    member: Membership,
    text: ConsentText,
    agreed: bool,
    task_types: Collection[str] = (),
    words: str = "",
) -> Consent:
    """Record an agreement given by ticking an empty box, with the text it was given to.

    ``task_types``: what the text said that it records was that of these types of tasks alone; none:
    of all. Where the text is the same for all types, so is the agreement. ``words``: the text as
    it was read, if in another language.
    """
    if member.user_id != by.pk:
        raise NotAllowed(gettext("Nobody agrees for somebody else."))
    if not agreed:
        raise Invalid(
            gettext("Without your agreement nothing is recorded, and you cannot start."),
            fields={"agreed": gettext("Tick the box if you agree.")},
        )
    if text.pk != current_consent_text(member.project).pk:
        raise Conflict(gettext("The text has changed while you read it. Please read it again."))
    types = sorted(task_types) if depends_on_type(text.text) else []
    consent, made = Consent.objects.select_for_update().get_or_create(
        membership=member, text=text, withdrawn_at=None, defaults={"task_types": types}
    )
    if not made:
        if not consent.task_types or (types and all(map(consent.covers, types))):
            return consent
        consent.task_types = sorted({*consent.task_types, *types}) if types else []
        consent.save(update_fields=["task_types"])
    AgreedText.objects.create(
        consent=consent, task_types=types, words=words or fill_consent(text.text, types)
    )
    record(by=by, project=member.project, action="consent.give", on=consent, task_types=types)
    return consent


@transaction.atomic
def withdraw_consent(*, by: User, member: Membership) -> None:
    """Withdraw every agreement; logging stops at once."""
    if member.user_id != by.pk:
        raise NotAllowed(gettext("Nobody takes an agreement back for somebody else."))
    agreed = member.consents.filter(withdrawn_at__isnull=True)
    if agreed.update(withdrawn_at=timezone.now()):  # never refused, so it leaves no second row
        record(by=by, project=member.project, action="consent.withdraw", on=member)
