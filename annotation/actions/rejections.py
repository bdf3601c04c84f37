"""Rejections after the fact: the worker's one reply, and the answer they are owed."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotation.models import Assignment, PayoutLine, Rejection, User
from crowdqc.errors import Conflict, Invalid, NotAllowed

from .audit import record
from .payout_rules import clean_text, require_decider

MAX_REPLY = 5000


@transaction.atomic
def reply_to_rejection(*, by: User, rejection: Rejection, text: str) -> Rejection:
    """The worker's one reply; raises Conflict when there is one, or when it was overturned."""
    rejection = (
        Rejection.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment__worker", "assignment__task__project")
        .get(pk=rejection.pk)
    )
    if rejection.assignment.worker.user_id != by.pk:
        raise NotAllowed("Only the worker concerned may reply.")
    if rejection.replied_at:
        raise Conflict("You have replied already; a person will read it.")
    if rejection.outcome:
        raise Conflict("The rejection was taken back; no reply is needed.")
    text = clean_text(text, "reply", MAX_REPLY)
    if not text:
        raise Invalid("The reply is empty.", fields={"reply": "Write your reply."})
    rejection.reply, rejection.replied_at = text, timezone.now()
    rejection.save(update_fields=["reply", "replied_at"])
    record(by=by, project=rejection.assignment.task.project, action="rejection.reply", on=rejection)
    return rejection


@transaction.atomic
def decide_reply(*, by: User, rejection: Rejection, overturn: bool, note: str) -> Rejection:
    """Answer a reply: the rejection stands, or the assignment may be proposed for pay again.

    A rejection may also be overturned before its worker has replied, which mends a mistake; that
    it stands can only be said to a reply. Raises NotAllowed without the role to decide about
    money, Conflict when it was answered already.
    """
    rejection = (
        Rejection.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment__task__project", "assignment__worker", "line")
        .get(pk=rejection.pk)
    )
    project = rejection.assignment.task.project
    if rejection.assignment.worker.user_id == by.pk:
        raise NotAllowed("Somebody else must answer your reply.")
    require_decider(project, by)
    if rejection.outcome:
        raise Conflict("It was answered already.")
    if not rejection.replied_at and not overturn:
        raise Conflict("The worker has not replied.")
    note = clean_text(note, "note", MAX_REPLY)
    if not note:
        raise Invalid("The worker is owed an answer.", fields={"note": "Write a sentence."})
    outcome = Rejection.Outcome.OVERTURNED if overturn else Rejection.Outcome.STANDS
    rejection.outcome, rejection.outcome_note = outcome, note
    rejection.outcome_by, rejection.outcome_at = by, timezone.now()
    rejection.save(update_fields=["outcome", "outcome_note", "outcome_by", "outcome_at"])
    if overturn:
        PayoutLine.objects.filter(pk=rejection.line_id).update(live=False)
        Assignment.objects.filter(pk=rejection.assignment_id).update(settled_at=None)
    record(by=by, project=project, action="rejection.decide", on=rejection, outcome=str(outcome))
    return rejection
