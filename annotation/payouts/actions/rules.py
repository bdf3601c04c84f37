"""Who may decide about money, and what a line of a proposal must look like."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import STAFF, find_roles
from annotation.accounts.roles.selectors import (
    Ties,
    find_confirmation,
    list_administrators,
    list_managers,
    load_grants,
    load_ties,
    ties_of,
)
from annotation.accounts.security.stepup import require_strength
from annotation.models import (
    Assignment,
    Membership,
    PayoutBatch,
    PayoutLine,
    Project,
    Rejection,
    Role,
    User,
)
from annotation.models.assignments import AssignmentState
from annotation.payouts.actions.reasons import MAX_REASON, MIN_LESS, clean_reason
from annotation.records.cleaning import clean_amount, clean_text
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.web.terms import Words

Decision = PayoutLine.Decision
NAMED = 3  # people named in one sentence


@dataclass(frozen=True)
class ProposedLine:
    """What is proposed for one assignment; ``base`` None means the pay of its version."""

    assignment_id: int
    decision: str = Decision.APPROVE
    base: Decimal | None = None
    bonus: Decimal = Decimal("0.00")
    reason_code: str = ""
    reason: str = ""  # of a rejection, or of a base under the agreed pay
    bonus_note: str = ""  # what rule gave the bonus; empty for one that a person wrote
    leave_out: bool = False  # of a rejection: its answers do not count
    collect_again: bool = False  # and other workers are asked for them


def why_not_decide_in(project: Project, by: User) -> str:
    """Return why this person may not approve payouts in the project; "" if they may.

    Managers approve; so does the owner while the project is set to single approval.
    """
    if project.single_approval and project.owner_id == by.pk:
        return ""
    manages = Membership.objects.filter(
        project=project, user=by, role=Role.MANAGER, removed_at__isnull=True
    )
    return "" if manages.exists() else _("Only a manager of this project may decide this.")


def reason_cannot_decide(batch: PayoutBatch, by: User) -> str:
    """Why this person may not approve the batch; "" when they may. The one place for it."""
    project = batch.project
    if batch.state == PayoutBatch.State.PROPOSED and not may_propose(project, batch.proposed_by):
        return str(GONE)
    why_not = why_not_second(project, batch.proposed_by, by, load_ties(project))
    if why_not:
        return why_not
    if batch.lines.filter(assignment__worker__user=by).exists():
        return str(OWN_WORK)
    return why_not_decide_in(project, by)


GONE = gettext_lazy("Whoever proposed it was removed from the project. Propose it anew.")
OWN_WORK = gettext_lazy("It is about work of yours; somebody else must approve it.")


def why_not_second(project: Project, proposer: User, by: User, chain: Ties) -> str:
    """Why this person is no second one beside the proposer; "" when they are.

    Nobody approves what they proposed, or what somebody proposed whom they let in or who let
    them in, unless the owner allows approval by one person.
    """
    if project.single_approval:
        return ""
    if proposer.pk == by.pk:
        return _("You proposed it; somebody else must approve it.")
    if chain.are_tied(proposer.pk, by.pk):
        return _("Nobody has confirmed yet that you and %(proposer)s are two people.") % {
            "proposer": proposer
        }
    return ""


def needs_note(project: Project, proposer: User, by: User) -> bool:
    """Return whether proposer and approver are the same or tied, which the approval then notes."""
    return proposer.pk == by.pk or load_ties(project).are_tied(proposer.pk, by.pk)


def approvers(project: Project, proposer: User) -> list[User]:
    """List the people who may approve proposals of this person."""
    return find_approvers(project, proposer)[0]


def why_nobody_approves(project: Project, proposer: User) -> str:
    """What has to happen before anybody may approve proposals of this person; "" if one may."""
    gap = find_approvers(project, proposer)[1]
    return f"{gap.text} {gap.single_approval}" if gap else ""


@dataclass(frozen=True)
class ApprovalGap:
    """What has to happen before anybody may approve the proposals of one person."""

    text: str
    single_approval: str  # what the owner can do instead
    confirmers: tuple[User, ...] = ()  # who may confirm somebody now
    person: User | None = None  # whom
    inviters: tuple[User, ...] = ()  # who may invite a manager, where that leads on


def find_approvers(project: Project, proposer: User) -> tuple[list[User], ApprovalGap | None]:
    """List who may approve proposals of this person; if nobody, with what has to happen first."""
    managers, grants = list_managers(project), load_grants(project)
    people, chain = {one.pk: one for one in managers}, ties_of(grants)
    if project.single_approval:
        people[project.owner_id] = project.owner
    found = [one for one in people.values() if not why_not_second(project, proposer, one, chain)]
    if found:
        return found, None
    text = _("In a team of two, %(owner)s can allow approval by one person in the settings.")
    alone = text % {"owner": project.owner}
    confirmation = find_confirmation(grants, managers, proposer)
    if confirmation is None:
        givers = list(dict.fromkeys([project.owner, *managers]))
        return [], _gap_without_manager(project, proposer, givers, chain, alone)
    person, by = confirmation.grant.user, confirmation.by
    if by:
        said = _("%(names)s must confirm %(person)s.") % {"names": _either(by), "person": person}
    else:
        said = _("%(person)s must be confirmed on the server: %(command)s") % {
            "person": person,
            "command": f"manage.py confirm_manager {project.pk} {person.username}",
        }
    return [], ApprovalGap(said, alone, tuple(by), person)


def _gap_without_manager(
    project: Project, proposer: User, givers: Sequence[User], chain: Ties, alone: str
) -> ApprovalGap:
    """Whom to invite, and who confirms them where whoever invites them is tied to the proposer."""
    others = [one for one in list_administrators() if not chain.are_tied(one.pk, proposer.pk)]
    invited = project.invitations.filter(
        role=Role.MANAGER,
        revoked_at__isnull=True,
        expires_at__gt=timezone.now(),
        uses__lt=F("max_uses"),
    )
    by = invited.values_list("created_by_id", flat=True)
    if by:
        if others and all(chain.are_tied(one, proposer.pk) for one in by):
            text = _("The invited manager has not joined yet. %(names)s then confirms them.")
            return ApprovalGap(text % {"names": _either(others)}, alone)
        return ApprovalGap(_("The invited manager has not joined yet."), alone)
    free = [one for one in givers if not chain.are_tied(one.pk, proposer.pk)]
    if free:
        text = _("%(names)s must invite a second manager.") % {"names": _either(free)}
        return ApprovalGap(text, alone, inviters=tuple(free))
    if others:
        text = _("First invite a second manager, then %(names)s confirms them.")
        return ApprovalGap(text % {"names": _either(others)}, alone, inviters=tuple(givers))
    text = _("A second manager must be invited, and confirmed on the server: %(command)s")
    command = f"manage.py confirm_manager {project.pk}"
    return ApprovalGap(text % {"command": command}, alone)


def _either(people: Sequence[User]) -> str:
    return " / ".join(str(one) for one in people[:NAMED])


def may_propose(project: Project, person: User) -> bool:
    """Whether the person is requester or manager of the project now, and can sign in."""
    return person.is_active and proposers(project).filter(user=person).exists()


def proposers(project: Project) -> QuerySet[Membership, int]:
    """The ids of everybody who may propose in the project."""
    rows = Membership.objects.filter(
        project=project,
        role__in=(Role.REQUESTER, Role.MANAGER),
        removed_at__isnull=True,
        user__is_active=True,
    )
    return rows.values_list("user_id", flat=True)


DECIDE, BOOK = gettext_lazy("decide about payments"), gettext_lazy("book a payment")


def require_decider(project: Project, by: User, doing: Words = DECIDE) -> None:
    """Raise NotAllowed unless the person may decide about money in the project, and proved it."""
    why_not = why_not_decide_in(project, by)
    if why_not:
        raise NotAllowed(why_not)
    require_strength(project, by, doing)


def require_proposer(project: Project, by: User) -> None:
    """Raise NotAllowed unless the person is requester or manager of the project."""
    if may_propose(project, by):
        return
    if find_roles(by, project.pk)[1].intersection(STAFF):
        raise NotAllowed(
            _("A role by the organisation decides about no pay. Ask the owner to invite you.")
        )
    raise NotAllowed(_("This needs the role of requester or manager in this project."))


def roles_of(project: Project, person: User) -> list[str]:
    """List the person's current roles in the project, apart from worker."""
    rows = Membership.objects.filter(project=project, user=person, removed_at__isnull=True)
    return sorted(rows.exclude(role=Role.WORKER).values_list("role", flat=True))


def build_line(batch: PayoutBatch, assignment: Assignment, line: ProposedLine) -> PayoutLine:
    """The checked row of one proposed line."""
    name = assignment.worker.pseudonym
    if line.decision not in Decision.values:
        raise Invalid(
            _("%(name)s: there is no such decision.") % {"name": name},
            fields={"decision": _("Choose one.")},
        )
    if line.decision == Decision.REJECT:
        code, text = clean_reason(name, line.reason_code, line.reason)
        check_rejection_effects(leave_out=line.leave_out, collect_again=line.collect_again)
        return PayoutLine(
            batch=batch,
            assignment=assignment,
            decision=line.decision,
            base=Decimal(0),
            bonus=Decimal(0),
            reason_code=code,
            reason=text,
            leaves_out=line.leave_out,
            collects_again=line.collect_again,
        )
    base = assignment.pay if line.base is None else clean_amount(line.base, "base")
    return PayoutLine(
        batch=batch,
        assignment=assignment,
        decision=line.decision,
        base=base,
        bonus=clean_amount(line.bonus, "bonus"),
        bonus_note=clean_text(line.bonus_note, "bonus_note", 200) if line.bonus else "",
        reason=clean_less(assignment, base, line.reason),
    )


def check_rejection_effects(*, leave_out: bool, collect_again: bool) -> None:
    """Raise Invalid where answers are to be collected again although they go on counting."""
    if collect_again and not leave_out:
        raise Invalid(str(STILL_COUNT), fields={"collect_again": str(STILL_COUNT)})


STILL_COUNT = gettext_lazy("Only answers that are left out are collected again.")


def why_not_base(assignment: Assignment, base: Decimal) -> str:
    """Return why this base pay is not allowed for the assignment; "" if it is."""
    agreed = assignment.pay
    if base > agreed:
        return _("%(agreed)s at most; the rest is a bonus") % {"agreed": agreed}
    if base < agreed and not base:
        return _("Paying nothing is a rejection, which the worker may reply to")
    return ""


def clean_less(assignment: Assignment, base: Decimal, reason: str) -> str:
    """Return the reason of a line that pays less than agreed; Invalid if it lacks one."""
    name = assignment.worker.pseudonym
    why_not = why_not_base(assignment, base)
    if why_not:
        raise Invalid(f"{name}: {why_not}.", fields={"base": f"{why_not}."})
    reason = clean_text(reason, "reason", MAX_REASON)
    if base < assignment.pay and len(reason) < MIN_LESS:
        raise Invalid(
            _("%(name)s: %(base)s is under the agreed %(pay)s; the worker reads why.")
            % {"name": name, "base": base, "pay": assignment.pay},
            fields={"reason": _("At least %(min_less)s characters.") % {"min_less": MIN_LESS}},
        )
    return reason


def check_proposable(lines: Sequence[ProposedLine], rows: dict[int, Assignment]) -> None:
    """Raise unless every line names a submitted assignment that nothing else decides about."""
    for line in lines:
        row = rows.get(line.assignment_id)
        if row is None:
            raise Invalid(
                _("Assignment %(assignment_id)s is not one of this task.")
                % {"assignment_id": line.assignment_id},
                fields={"lines": str(line.assignment_id)},
            )
        if row.state != AssignmentState.SUBMITTED:
            raise Conflict(
                _("%(pseudonym)s has not submitted assignment %(row_pk)s.")
                % {"pseudonym": row.worker.pseudonym, "row_pk": row.pk}
            )
        if row.settled_at:
            raise Conflict(
                _("Assignment %(row_pk)s of %(pseudonym)s is settled already.")
                % {"row_pk": row.pk, "pseudonym": row.worker.pseudonym}
            )
    busy = PayoutLine.objects.filter(assignment__in=rows, live=True).select_related("batch").first()
    if busy:
        raise Conflict(
            _("Assignment %(assignment_id)s is in proposal %(batch_number)s already.")
            % {"assignment_id": busy.assignment_id, "batch_number": busy.batch.number}
        )
    rejected = [line.assignment_id for line in lines if line.decision == Decision.REJECT]
    before = Rejection.objects.filter(assignment__in=rejected).first()
    if before:
        raise Conflict(
            _(
                "The rejection of assignment %(assignment_id)s was overturned; it cannot be "
                "rejected a second time. Choose “Approve” or “Look first”."
            )
            % {"assignment_id": before.assignment_id},
            code="rejected-before",
        )


def lock_workers(workers: Collection[int]) -> list[int]:
    """Lock people before any of their payments, so that a deduction is taken once."""
    rows = Membership.objects.select_for_update(no_key=True).filter(pk__in=workers).order_by("pk")
    return list(rows.values_list("pk", flat=True))
