"""Visits of recruited people: entry, assignment, and completion code.

Whoever comes first with a name keeps it: a visit belongs to the browser that holds its secret.
Nothing that stands openly in an address (an id, a session) lets anybody into somebody's work.
"""

from __future__ import annotations

import datetime as dt
import secrets
from urllib.parse import quote

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.projects.actions import add_worker
from annotation.models import (
    Assignment,
    Membership,
    PlatformEvent,
    Recruitment,
    Role,
    UsedEntry,
    User,
    Visit,
)
from annotation.models.assignments import AssignmentState
from annotation.models.recruitment import CAN_START
from annotation.records.actions.audit import VISITOR, record
from annotation.recruitment.platforms.entry_params import (
    ASK,
    LEAVING,
    EntryParams,
    Refused,
    digest,
    external_id,
)
from annotation.recruitment.platforms.webhook import Event
from annotation.work.actions.leases import return_assignment, revoke_lease
from annotation.work.selectors.known import mark_assignment
from crowdqc import limits
from crowdqc.errors import Conflict, Invalid, LimitExceeded

STATUS = "submission.status.change"
ENDED = ("RETURNED", "TIMED-OUT", "TIMED_OUT")


@transaction.atomic
def receive_event(*, recruitment: Recruitment, event: Event) -> PlatformEvent:
    """Store an event and apply it; a repeated one changes nothing."""
    payload = {**event.payload, "happened": event.at.timestamp()}
    kept, made = PlatformEvent.objects.get_or_create(
        recruitment=recruitment,
        event_id=event.id,
        defaults={"kind": event.kind, "payload": payload},
    )
    if made:
        apply_stored_event(kept)
    return kept


def apply_stored_event(event: PlatformEvent) -> None:
    """Apply one stored event, or record why it has no effect (yet)."""
    event.note = _effect(event)
    event.applied_at = None if event.note == UNKNOWN else timezone.now()
    event.save(update_fields=["note", "applied_at"])


UNKNOWN = "Nobody came with this submission yet."


def _effect(event: PlatformEvent) -> str:
    if event.kind != STATUS:
        return _("Not about a submission.")
    told = event.payload
    visit = (
        Visit.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment", "recruitment__task__project")
        .filter(recruitment_id=event.recruitment_id, session=str(told.get("resource_id", "")))
        .exclude(session="")
        .first()
    )
    if visit is None:
        return UNKNOWN
    if told.get("participant_id") not in (None, visit.participant):
        return _("It names another participant than came with this submission.")
    at = dt.datetime.fromtimestamp(told["happened"], dt.UTC)
    if visit.status_at is not None and at < visit.status_at:
        return _("Older than what is known (%(status)s).") % {"status": visit.status}
    visit.status, visit.status_at = str(told.get("status", ""))[:30].upper(), at
    visit.save(update_fields=["status", "status_at"])
    project = visit.recruitment.task.project
    record(by=None, project=project, action="visit.status", on=visit, status=visit.status)
    work = _active_lease(visit)
    if visit.status in ENDED and work is not None:
        revoke_lease(by=None, assignment=work)
        return _("The slots are free again.")
    return ""


def _active_lease(visit: Visit) -> Assignment | None:
    """Return the visit's assignment in progress, or the quiz before it."""
    work = visit.assignment
    if work is None:
        quizzes = Assignment.objects.filter(
            task_id=visit.recruitment.task_id, worker_id=visit.worker_id, quiz__isnull=False
        )
        work = quizzes.select_related("worker", "task__project").order_by("-pk").first()
    return work if work is not None and work.state == AssignmentState.LEASED else None


PROLIFIC_DONE = "https://app.prolific.com/submissions/complete?cc={code}"


def _elsewhere() -> Refused:
    return Refused(
        _("This entry was opened in another browser before, and belongs to that one."),
        _(
            "Open it in the browser where you began. If that is not possible, write to whoever "
            "runs the study, on the platform you came from."
        ),
        code="other-browser",
        status=409,
    )


def record_refusal(*, recruitment: Recruitment, error: Refused) -> None:
    """Record that somebody was refused and why, without who they claimed to be.

    Anybody can be turned away as often as they like, and the audit log only grows: so many an
    hour stand there for each way in.
    """
    if not limits.count_try(limits.REFUSALS, recruitment.pk):
        return
    record(
        by=None,
        project=recruitment.task.project,
        action="entry.refused",
        on=recruitment,
        why=error.code,
    )


@transaction.atomic
def enter_visit(
    *, recruitment: Recruitment, coming: EntryParams, bound: str, who: User | None
) -> Visit:
    """Return the visitor's visit; Refused if it is not theirs.

    ``bound`` is the digest of this browser's secret, ``who`` is signed in here already. The
    signature of ``coming`` was checked before.
    """
    # One row a recruitment: two clicks of one person stand in line.
    recruitment = (
        Recruitment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("task__project")
        .get(pk=recruitment.pk)
    )
    _check(recruitment, coming)
    known = recruitment.visits.select_related("worker__user", "assignment")
    visit = known.filter(participant=coming.participant).first()
    if visit is None and not recruitment.active:
        raise Refused(_("This study takes nobody any more."), ASK, code="inactive", status=410)
    fresh = _use_token(recruitment, coming, bound, who, visit)
    if visit is not None:
        return _return_visit(recruitment, visit, coming, bound, who, fresh=fresh)
    if coming.session and known.filter(session=coming.session).exists():
        raise Refused(_("This session belongs to somebody else."), ASK, code="session", status=409)
    if recruitment.entry == Recruitment.Entry.BOUND and not limits.count_try(
        limits.NEW_VISITORS, recruitment.pk
    ):
        raise LimitExceeded(_("Too many people came at once. Open the link again in an hour."))
    worker = _find_member(recruitment, coming, bound, who)
    visit = Visit.objects.create(
        recruitment=recruitment,
        participant=coming.participant,
        study=coming.study,
        session=coming.session,
        worker=worker,
        bound=bound,
        return_to=coming.submit_to,
    )
    record(by=worker.user, project=recruitment.task.project, action="entry.open", on=visit)
    _early_events(visit)
    return visit


def _check(recruitment: Recruitment, coming: EntryParams) -> None:
    signed = recruitment.entry == Recruitment.Entry.SIGNED
    if recruitment.study_id and coming.study != recruitment.study_id and not signed:
        raise Refused(_("The address names another study."), ASK, code="study")
    if coming.submit_to and coming.submit_to not in submit_addresses(recruitment):
        raise Refused(
            _("The address to hand in at is not one of this study."), ASK, code="submit-to"
        )


def submit_addresses(recruitment: Recruitment) -> list[str]:
    """Return the addresses to which a marketplace's form may be submitted."""
    wants = recruitment.parameters.get("submit_to")
    return recruitment.return_url.split() if wants else []


def _use_token(
    recruitment: Recruitment, coming: EntryParams, bound: str, who: User | None, visit: Visit | None
) -> bool:
    """Mark a signed entry as used; True for a new token of the platform."""
    if not coming.token:
        return False
    jwt = recruitment.entry == Recruitment.Entry.JWT
    # A signature can be written in several ways; what it signs cannot.
    told = coming.token.rpartition(".")[0] if jwt else coming.token
    used, made = UsedEntry.objects.get_or_create(
        recruitment=recruitment, token_hash=digest(told), defaults={"bound": bound}
    )
    mine = visit is not None and who is not None and visit.worker.user_id == who.pk
    if not made and used.bound != bound and not mine:
        raise _elsewhere()
    return made and jwt


def _return_visit(
    recruitment: Recruitment,
    visit: Visit,
    coming: EntryParams,
    bound: str,
    who: User | None,
    *,
    fresh: bool,
) -> Visit:
    if coming.session and visit.session and coming.session != visit.session:
        raise Refused(
            _("You came before under another session of this study; it can be done once."),
            _(
                "Go on with the first one, or return this one there. If that does not help, write "
                "to whoever runs the study, on the platform you came from."
            ),
            code="second-session",
            status=409,
        )
    signed_in = who is not None and visit.worker.user_id == who.pk
    if visit.bound != bound and not signed_in:
        if visit.bound and not fresh:
            raise _elsewhere()
        record(
            by=visit.worker.user, project=recruitment.task.project, action="entry.bind", on=visit
        )
        visit.bound = bound
        visit.save(update_fields=["bound"])
    return visit


def _find_member(
    recruitment: Recruitment, coming: EntryParams, bound: str, who: User | None
) -> Membership:
    """Return the person's membership; an existing one only to its owner."""
    project, name = recruitment.task.project, external_id(recruitment, coming.participant)
    member = Membership.objects.filter(project=project, external_id=name, role=Role.WORKER).first()
    if member is None or member.user_id is None:
        user = User(username=f"{VISITOR}{secrets.token_hex(12)}", wants_mail=False)
        user.set_unusable_password()
        user.save()
        if member is None:
            return add_worker(project=project, user=user, external_id=name)
        member.user = user
        member.save(update_fields=["user"])
        return member
    if member.removed_at:
        raise Refused(_("You were removed from this project."), ASK, code="removed")
    vouched = recruitment.entry != Recruitment.Entry.BOUND
    here = Q(bound=bound) | Q(bound="")
    proven = who is not None and member.user_id == who.pk
    if not (vouched or proven or member.visits.filter(here).exists()):
        raise _elsewhere()
    return member


def _early_events(visit: Visit) -> None:
    """Return the platform's events about this submission from before the visit."""
    if not visit.session:
        return
    waiting = PlatformEvent.objects.filter(
        recruitment=visit.recruitment, applied_at=None, payload__resource_id=visit.session
    )
    for event in waiting.order_by("pk"):
        apply_stored_event(event)


@transaction.atomic
def release_visit(*, by: User, recruitment: Recruitment, participant: str) -> Visit:
    """Let the next browser with this id take the visit, after a lost device."""
    visit = recruitment.visits.filter(participant=participant.strip()).first()
    if visit is None:
        hint = _("Nobody came with this id.")
        raise Invalid(hint, fields={"participant": hint})
    UsedEntry.objects.filter(recruitment=recruitment, bound=visit.bound).delete()
    visit.bound = ""
    visit.save(update_fields=["bound"])
    record(by=by, project=recruitment.task.project, action="entry.release", on=visit)
    return visit


# The assignment of a visit -----------------------------------------------------------------------


def bind_assignment(assignment: Assignment) -> None:
    """Bind a new assignment to its visit; Conflict if none is left.

    Part of the claim. People with an account of their own have no visits and are not asked.
    """
    if not assignment.worker.external_id:
        return
    visits = Visit.objects.filter(worker_id=assignment.worker_id)
    free = visits.filter(CAN_START, recruitment__task_id=assignment.task_id)
    visit = free.order_by("-pk").first()
    if visit is not None:
        visit.assignment, visit.outcome, visit.code = assignment, "", ""
        visit.save(update_fields=["assignment", "outcome", "code"])
    elif visits.exists():
        raise Conflict(_("You came for one assignment here. For another, start on your platform."))


def rebind_visit(assignment: Assignment, by: User) -> None:
    """Move the visit back to a late submission from a newer assignment.

    One submission is one piece of work: Conflict where the later one is handed in already.
    """
    if not assignment.worker.external_id:
        return
    mine = Visit.objects.filter(
        worker_id=assignment.worker_id, recruitment__task_id=assignment.task_id
    ).select_related("assignment__worker", "assignment__task__project")
    found = list(mine.order_by("-pk"))
    if not found or any(one.assignment_id == assignment.pk for one in found):
        return
    visit = next((one for one in found if not _handed_in(one.assignment)), None)
    if visit is None:
        raise Conflict(_("You handed in other work for this study; it can be done once."))
    other = visit.assignment
    if other is not None and other.state == AssignmentState.LEASED:
        return_assignment(by=by, assignment=other)
    moved = Visit.objects.filter(pk=visit.pk, assignment=other).update(
        assignment=assignment, outcome="", code=""
    )
    if not moved:
        raise Conflict(_("This study was just gone on with elsewhere; nothing was changed."))


def _handed_in(assignment: Assignment | None) -> bool:
    return assignment is not None and assignment.state == AssignmentState.SUBMITTED


def complete_visit(assignment: Assignment) -> None:
    """Complete a visit as part of its submission."""
    if not assignment.worker.external_id:
        return
    visit = Visit.objects.filter(assignment=assignment).select_related("recruitment").first()
    if visit is None:
        return
    outcome = "completed"
    if visit.recruitment.codes.get("failed_attention") and _failed_attention(assignment):
        outcome = "failed_attention"
    _set_outcome(visit, outcome)


def _failed_attention(assignment: Assignment) -> bool:
    """Whether two known answers (or the only one) were missed.

    It chooses the code, and nothing else: no code rejects anybody here.
    """
    right = list(mark_assignment(assignment).values())
    wrong = right.count(False)
    return wrong >= 2 or (wrong == len(right) == 1)


def _set_outcome(visit: Visit, outcome: str) -> None:
    visit.outcome, visit.code = outcome, visit.recruitment.codes.get(outcome, "")
    visit.save(update_fields=["outcome", "code"])


@transaction.atomic
def leave_visit(*, by: User, visit: Visit, outcome: str) -> Visit:
    """End a visit before submission and free its slots; return the way back."""
    visit = (
        Visit.objects.select_for_update(of=("self",), no_key=True)
        .select_related("recruitment__task__project", "worker", "assignment")
        .get(pk=visit.pk)
    )
    if visit.worker.user_id != by.pk:
        raise Conflict(_("This is somebody else’s visit."))
    if outcome not in LEAVING:
        raise Invalid(_("Say why you leave."), fields={"outcome": _("Choose one.")})
    assignment = visit.assignment
    if assignment is not None and assignment.state == AssignmentState.SUBMITTED:
        raise Conflict(_("Your work is handed in already."))
    assignment = _active_lease(visit)
    if assignment is not None:
        assignment.worker = visit.worker
        return_assignment(by=by, assignment=assignment)
    _set_outcome(visit, outcome)
    record(
        by=by,
        project=visit.recruitment.task.project,
        action="entry.leave",
        on=visit,
        outcome=outcome,
    )
    return visit


def return_address(visit: Visit) -> str:
    """Return the address that takes the person back with their code, or ""."""
    recruitment = visit.recruitment
    if not visit.code or recruitment.parameters.get("submit_to"):
        return ""
    pattern = recruitment.return_url
    if not pattern and recruitment.kind == Recruitment.Kind.PROLIFIC:
        pattern = PROLIFIC_DONE
    values = {"code": visit.code, "participant": visit.participant, "session": visit.session}
    for name, value in values.items():
        pattern = pattern.replace("{" + name + "}", quote(value, safe=""))
    return pattern
