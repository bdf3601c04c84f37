"""Erasing what people wrote: all of one worker's on request, everybody's after the days kept.

Texts, explanations, quotes, drafts, questionnaires and logs go; so do the names by which others
know the person. What stays: the pseudonym, ids, choices (judgments, ratings, ticks), decisions,
the audit log and every amount. The evaluation app calls this after it has cleared its own.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from django.db import connection, models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from annotation.accounts.organisations.actions import remove_member
from annotation.accounts.security import log as security_log
from annotation.accounts.security.stepup import needs_stepup
from annotation.accounts.signing import actions as account_actions
from annotation.files.stored.actions import forget
from annotation.formats.actions.export_files import delete_files
from annotation.formats.uploads.actions import drop_stale, drop_uploads_naming
from annotation.models import (
    Answer,
    ApiToken,
    Assignment,
    AssignmentItem,
    Candidate,
    ChoiceValue,
    Conversation,
    ExportFile,
    Item,
    KeptReply,
    Membership,
    Notice,
    OrganisationMember,
    PanelMember,
    Payment,
    PaymentAttempt,
    PaymentDetails,
    PlatformEvent,
    Recording,
    Rejection,
    Role,
    SavedView,
    SpanValue,
    Statement,
    TextValue,
    User,
    Visit,
    WorkerOrigin,
)
from annotation.models.assignments import AssignmentState
from annotation.privacy.actions import retention
from annotation.privacy.name_places import GONE, erased_request
from annotation.privacy.selectors import erasure as reads
from annotation.privacy.selectors.erasure import Person, events_naming, person_of, statements_naming
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.work.actions.leases import revoke_lease
from crowdqc.errors import Conflict, NotAllowed
from crowdqc.numbers import plural


def forget_names(*, worker: Membership) -> None:
    """Erase the names that others have for a worker, each in the places declared for it.

    Part of the transaction that finishes an erasure, with the guards of frozen rows open.
    """
    person = person_of(worker)
    for pk, payload in events_naming(person):
        PlatformEvent.objects.filter(pk=pk).update(payload=payload)
    for pk, rows in statements_naming(person):
        Statement.objects.filter(pk=pk).update(rows=rows)
    drop_uploads_naming(project=worker.project, names={worker.external_id, worker.pseudonym} - {""})
    PaymentDetails.objects.filter(worker=worker).delete()
    WorkerOrigin.objects.filter(worker=worker).delete()
    _forget_payments(person)
    for visit in Visit.objects.filter(worker=worker):
        beside = Visit.objects.filter(recruitment=visit.recruitment_id)
        visit.session = visit.session and free_name(beside, "session", visit.pk)
        visit.participant = free_name(beside, "participant", visit.pk)
        visit.bound = visit.return_to = ""
        visit.save(update_fields=["participant", "session", "bound", "return_to"])


def _forget_payments(person: Person) -> None:
    """Erase what the platform and we exchanged on payments to this person, ids included."""
    sessions = {name for names in person.by_recruitment.values() for name in names.sessions}
    payments = Payment.objects.filter(worker=person.worker)
    payments.exclude(error="").update(error=GONE)
    for tried in PaymentAttempt.objects.filter(payment__in=payments):
        request = erased_request(tried.request, sessions)
        # A status came with the platform's words; without one the words are ours.
        error = GONE if tried.error and tried.status is not None else tried.error
        if (request, error) != (tried.request, tried.error):
            PaymentAttempt.objects.filter(pk=tried.pk).update(request=request, error=error)


def free_name(rows: models.QuerySet[Any], column: str, pk: int) -> str:
    """Return a free name ``erased-<pk>``, with a random ending if somebody uses that name."""
    name = f"erased-{pk}"
    while rows.filter(**{column: name}).exists():
        name = f"erased-{pk}-{secrets.token_hex(4)}"
    return name


AT_ONCE = 50  # assignments a transaction
WHY = {
    "worker": "Erased on the worker’s request.",
    "due": "Erased after the days that the project keeps texts.",
}


@contextmanager
def erasing() -> Iterator[None]:
    """Open the database's guards of frozen rows for what follows in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('crowdqc.erasing', 'on', true)")
        yield
        cursor.execute("SELECT set_config('crowdqc.erasing', 'off', true)")


@transaction.atomic
def request_erasure(
    *, by: User, worker: Membership, although_undecided: bool = False
) -> Membership:
    """Request a worker's erasure; they leave the project now.

    By a requester or manager, or by the worker. Leases are returned, agreements and seats on
    panels end. Raises Conflict while payments are on their way, and while something waits for a
    decision: only the worker may go ahead then, told what it means.
    """
    worker = (
        Membership.objects.select_for_update(of=("self",))
        .select_related("project")
        .get(pk=worker.pk)
    )
    own = worker.user_id is not None and worker.user_id == by.pk
    staff = Membership.objects.filter(
        project=worker.project_id,
        user=by,
        removed_at__isnull=True,
        role__in=(Role.REQUESTER, Role.MANAGER),
    )
    if not own and not staff.exists():
        raise NotAllowed(gettext("Nobody erases somebody else's work here."))
    if worker.role != Role.WORKER:
        raise Conflict(gettext("Only a worker’s work is erased; remove others from the project."))
    if worker.erase_asked_at:
        return worker
    found = reads.held_data(worker)
    if found.on_the_way:
        raise Conflict(
            gettext(
                "%(on_the_way)s on the way. Erase when they are confirmed: their numbers are "
                "needed until then."
            )
            % {"on_the_way": plural(found.on_the_way, "payment is", "payments are")}
        )
    if found.undecided and not (own and although_undecided):
        raise Conflict(
            gettext(
                "Not decided yet: %(undecided)s. Decide that first: afterwards nobody can "
                "read what it is about."
            )
            % {"undecided": ", ".join(found.undecided)},
            code="undecided",
        )
    now = timezone.now()
    for lease in worker.assignments.filter(state=AssignmentState.LEASED):
        revoke_lease(by=by, assignment=lease)
    worker.consents.filter(withdrawn_at__isnull=True).update(withdrawn_at=now)
    PanelMember.objects.filter(worker=worker, until__isnull=True).update(until=now, ended_by=by)
    worker.erase_asked_at, worker.removed_at = now, worker.removed_at or now
    worker.save(update_fields=["erase_asked_at", "removed_at"])
    record(
        by=by,
        project=worker.project,
        action="worker.erase_ask",
        on=worker,
        own=own,
        undecided=found.unsettled + found.to_answer,
    )
    return worker


@transaction.atomic
def erase_words(*, assignments: Sequence[int], by: User | None, why: str) -> int:
    """Erase the texts, speech, spans, questionnaires and drafts of at most AT_ONCE assignments.

    Returns how many of them held any. Idempotent.
    """
    rows = list(
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .filter(pk__in=assignments)
        .select_related("task__project")
        .order_by("pk")
    )
    answers = list(
        Answer.objects.filter(assignment__in=[row.pk for row in rows]).values_list(
            "pk", "assignment_id", "stage"
        )
    )
    ids = [pk for pk, _, _ in answers]
    forms = [pk for pk, _, stage in answers if stage != Answer.Stage.MAIN]
    texts = _count_by(TextValue.objects.filter(answer__in=ids))
    TextValue.objects.filter(answer__in=ids).delete()
    SpanValue.objects.filter(answer__in=ids).delete()
    Answer.objects.filter(pk__in=ids, meta__isnull=False).update(meta=None)
    ChoiceValue.objects.filter(answer__in=forms).delete()
    # Without what was written nothing is left of such an answer that could count.
    textual = [row.pk for row in rows if get_type(row.task.type).is_typed]
    # The slot stays taken: nobody is asked, and paid, again for what somebody had taken back.
    Answer.objects.filter(assignment__in=textual, counts=True).update(
        counts=False, uncounted_reason=WHY[why]
    )
    drafts = set(_blank_drafts(rows))
    voices = Recording.objects.filter(entry__assignment__in=rows)
    spoken = Counter(voices.values_list("entry__assignment", flat=True))
    sounds = list(voices.values_list("stored", flat=True))
    voices.delete()
    forget(sounds)
    blank_texts(Candidate.objects.filter(source_answer__in=ids))
    Rejection.objects.filter(assignment__in=rows).exclude(reply="").update(reply=GONE)
    for row in rows:
        if texts.get(row.pk) or row.pk in drafts or row.pk in spoken:
            record(
                by=by,
                project=row.task.project,
                action="answers.erase",
                on=row,
                why=why,
                texts=texts.get(row.pk, 0),
                recordings=spoken[row.pk],
            )
    return len({*texts, *drafts, *spoken})


def _count_by(texts: models.QuerySet[TextValue]) -> dict[int, int]:
    rows = texts.values("answer__assignment").annotate(n=models.Count("pk"))
    return dict(rows.values_list("answer__assignment", "n"))


def _blank_drafts(rows: Sequence[Assignment]) -> list[int]:
    """Empty the drafts of these assignments; returns which had any."""
    drafts = AssignmentItem.objects.filter(assignment__in=rows).exclude(draft={})
    found = list(drafts.values_list("assignment_id", flat=True))
    drafts.update(draft={})
    versions = AssignmentItem.objects.filter(assignment__in=rows, draft_versions__isnull=False)
    versions.update(draft_versions=None)
    return found


def blank_texts(texts: models.QuerySet[Candidate]) -> None:
    """Empty frozen texts under judgment and ask nobody about them any more; their keys stay."""
    ids = list(texts.exclude(text="").values_list("pk", flat=True))
    if not ids:
        return
    with erasing():
        Candidate.objects.filter(pk__in=ids).update(text="", words=0)
    items = Item.objects.filter(Q(first__in=ids) | Q(second__in=ids))
    items.update(redundancy=F("held"))


def finish(*, worker: int) -> Membership:
    """Erase the logs, names and messages of a worker whose texts are gone; idempotent."""
    member = Membership.objects.select_related("project", "user").get(pk=worker)
    if member.erased_at or not member.erase_asked_at:
        return member
    retention.erase_logs_of_erased(worker=member)
    with transaction.atomic():
        member = (
            Membership.objects.select_for_update(of=("self",))
            .select_related("project", "user")
            .get(pk=worker)
        )
        if member.erased_at:
            return member
        blank_texts(Candidate.objects.filter(author=member))
        Conversation.objects.filter(worker=member).delete()  # with its messages
        _forget_searches(member)
        with erasing():
            forget_names(worker=member)
        if member.user is not None:
            _forget_messages(member.user, member)
        # Files that were made or taken in of this project may hold what has just gone.
        delete_files(ExportFile.objects.filter(project=member.project))
        rows = Membership.objects.filter(project=member.project)
        member.external_id = free_name(rows, "external_id", member.pk)
        member.user, member.erased_at = None, timezone.now()
        member.save(update_fields=["external_id", "user", "erased_at"])
        record(by=None, project=member.project, action="worker.erase", on=member)
    return member


def _forget_searches(member: Membership) -> None:
    """Delete saved views that look for an id of the person's, of a file or a platform."""
    ids = {member.external_id, *member.visits.values_list("participant", flat=True)} - {""}
    for one in ids:
        looked_for = urlencode({"q": one})
        same = Q(query=looked_for) | Q(query__startswith=f"{looked_for}&")
        SavedView.objects.filter(same, project=member.project).delete()


def _forget_messages(user: User, member: Membership) -> None:
    Notice.objects.filter(user=user, project=member.project).delete()
    ApiToken.objects.filter(user=user, project=member.project).delete()
    KeptReply.objects.filter(user=user).delete()


@needs_stepup(gettext_lazy("close the account"))
@transaction.atomic
def forget_account(*, by: User) -> None:
    """Take every name off one's own account and close it, when no project is left.

    The row itself stays without a name, since the audit log points at it. Raises Conflict while
    the person still belongs to a project or owns one.
    """
    user = User.objects.select_for_update().get(pk=by.pk)
    left = reads.keeps_account(user)
    if left:
        raise Conflict(left)
    for member in OrganisationMember.objects.filter(user=user).select_related("organisation"):
        remove_member(by=user, member=member)
    user.username = free_name(User.objects.all(), "username", user.pk)
    user.email = user.display_name = user.first_name = user.last_name = ""
    user.is_active = user.wants_mail = False
    user.set_unusable_password()
    user.save()
    for model in (ApiToken, KeptReply, Notice, SavedView):
        model._default_manager.filter(user=user).delete()
    account_actions.erase_account_data(by=user)
    with erasing():
        security_log.erase_person(user)
    record(by=user, project=None, action="account.erase", on=user)


# -- what is kept for some days only -----------------------------------------------------------

KEPT_DAYS = 30  # what was received, sent or made, and has done its work


def sweep(now: dt.datetime | None = None) -> int:
    """Delete payloads, replies, files and uploads that are no longer needed; return how many rows.

    Messages as well, after the days that their project keeps texts.
    """
    now = now or timezone.now()
    before = now - dt.timedelta(days=KEPT_DAYS)
    gone = (
        PlatformEvent.objects.filter(received_at__lt=before, applied_at__isnull=False)
        .exclude(payload={})
        .update(payload={})
    )
    gone += reads.old_messages(now).delete()[0]
    return gone + drop_stale(before=before) + security_log.delete_old_events(now)
