"""Rejections after the fact: the worker's one reply, and the answer they are owed."""

from __future__ import annotations

import datetime as dt
from functools import partial

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, PayoutLine, Rejection, Role, User
from annotation.notifications.actions.notices import Text, notify, people_of
from annotation.notifications.actions.webhooks import emit
from annotation.payouts.actions.rules import require_decider
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from annotation.work.actions.exclusions import count_overturned
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.numbers import long_date

MAX_REPLY = 5000
REMIND_EVERY = dt.timedelta(days=1)


@transaction.atomic
def reply_to_rejection(*, by: User, rejection: Rejection, text: str) -> Rejection:
    """The worker's one reply, which is owed an answer within the project's days.

    Raises Conflict when there is one, when it was overturned, or when the time for it is over.
    """
    rejection = (
        Rejection.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment__worker", "assignment__task__project__owner")
        .get(pk=rejection.pk)
    )
    if rejection.assignment.worker.user_id != by.pk:
        raise NotAllowed(_("Only the worker concerned may reply."))
    if rejection.replied_at:
        raise Conflict(_("You have replied already; a person will read it."))
    if rejection.outcome:
        raise Conflict(_("The rejection was taken back; no reply is needed."))
    project, now = rejection.assignment.task.project, timezone.now()
    if rejection.reply_until and now > rejection.reply_until:
        ended = timezone.localtime(rejection.reply_until)
        raise Conflict(
            _(
                "Replies to this rejection were open until %(ended)s. If something kept you "
                "from replying, write to the people who invited you: a manager may still "
                "take the rejection back."
            )
            % {"ended": long_date(ended)},
            code="window-closed",
        )
    text = clean_text(text, "reply", MAX_REPLY)
    if not text:
        raise Invalid(_("The reply is empty."), fields={"reply": _("Write your reply.")})
    rejection.reply, rejection.replied_at = text, now
    rejection.answer_by = now + dt.timedelta(days=project.answer_days)
    rejection.save(update_fields=["reply", "replied_at", "answer_by"])
    record(by=by, project=project, action="rejection.reply", on=rejection)
    _tell_managers(
        rejection,
        "rejection.replied",
        lambda: (
            _("A worker in %(project)s replied to a rejection. An answer is owed by %(day)s.")
            % _owed(rejection)
        ),
    )
    emit(project=project, event="rejection.replied", data=_event_data(rejection))
    return rejection


def _owed(rejection: Rejection) -> dict[str, str]:
    day = timezone.localtime(rejection.answer_by)
    return {"project": rejection.assignment.task.project.name, "day": long_date(day)}


def _overdue(rejection: Rejection) -> str:
    return _("An answer to a worker’s reply in %(project)s was owed by %(day)s.") % _owed(rejection)


def _event_data(rejection: Rejection) -> dict[str, object]:
    return {
        "rejection": rejection.pk,
        "assignment": rejection.assignment_id,
        "worker": rejection.assignment.worker.pseudonym,
    }


def _tell_managers(rejection: Rejection, kind: str, text: Text, again: str = "") -> None:
    """Everybody who may answer, save the worker concerned where they manage as well.

    Whoever decided the rejection is told with the others only of an answer that is overdue.
    """
    project = rejection.assignment.task.project
    people = people_of(project, Role.MANAGER)
    if project.single_approval or not people:
        people.append(project.owner)
    people = [one for one in people if one.pk != rejection.assignment.worker.user_id]
    others = [one for one in people if one.pk != rejection.rejected_by_id]
    notify(
        to=people if again else others or people,
        kind=kind,
        text=text,
        key=f"{kind}:{rejection.pk}{again}",
        project=project,
        url=reverse("rejection_list", args=[project.pk]) + f"?show=owed#rejection-{rejection.pk}",
    )


@transaction.atomic
def remind_overdue() -> int:
    """Remind managers once a day of overdue replies to rejections; return how many."""
    now = timezone.now()
    late = (
        Rejection.objects.filter(replied_at__isnull=False, outcome="", answer_by__lt=now)
        .select_related("assignment__worker", "assignment__task__project__owner")
        .order_by("answer_by")
    )
    for rejection in late:
        days = (now - rejection.answer_by) // REMIND_EVERY  # type: ignore[operator]
        _tell_managers(
            rejection,
            "rejection.overdue",
            partial(_overdue, rejection),
            again=f":{days}",
        )
    return len(late)


@transaction.atomic
def decide_reply(*, by: User, rejection: Rejection, overturn: bool, note: str) -> Rejection:
    """Answer a reply: the rejection stands, or the assignment may be proposed for pay again.

    A rejection may also be overturned before its worker has replied, which mends a mistake; that
    it stands can only be said to a reply. Raises NotAllowed without the role to decide about
    money, Conflict when it was answered already.
    """
    rejection = (
        Rejection.objects.select_for_update(of=("self",), no_key=True)
        .select_related("assignment__task__project", "assignment__worker__user", "line")
        .get(pk=rejection.pk)
    )
    project = rejection.assignment.task.project
    if rejection.assignment.worker.user_id == by.pk:
        raise NotAllowed(_("Somebody else must answer your reply."))
    require_decider(project, by)
    if rejection.outcome:
        raise Conflict(_("It was answered already."))
    if not rejection.replied_at and not overturn:
        raise Conflict(_("The worker has not replied."))
    note = clean_text(note, "note", MAX_REPLY)
    if not note:
        raise Invalid(_("The worker is owed an answer."), fields={"note": _("Write a sentence.")})
    outcome = Rejection.Outcome.OVERTURNED if overturn else Rejection.Outcome.STANDS
    rejection.outcome, rejection.outcome_note = outcome, note
    rejection.outcome_by, rejection.outcome_at = by, timezone.now()
    rejection.save(update_fields=["outcome", "outcome_note", "outcome_by", "outcome_at"])
    if overturn:
        PayoutLine.objects.filter(pk=rejection.line_id).update(live=False)
        Assignment.objects.filter(pk=rejection.assignment_id).update(settled_at=None)
        count_overturned(by=by, rejection=rejection)
    record(by=by, project=project, action="rejection.decide", on=rejection, outcome=str(outcome))
    notify(
        to=[rejection.assignment.worker.user],
        kind="rejection.decided",
        project=project,
        text=partial(_decided_text, project.name, overturn, bool(rejection.replied_at)),
        key=f"rejection.decided:{rejection.pk}",
        url=reverse("work_earnings") + ("#waiting" if overturn else "#rejected"),
    )
    emit(
        project=project,
        event="rejection.decided",
        data={**_event_data(rejection), "outcome": outcome},
    )
    return rejection


def _decided_text(project: str, overturned: bool, replied: bool) -> str:
    if overturned and replied:
        told = _(
            "Your reply in %(project)s was answered: the rejection was withdrawn, and your work "
            "awaits payment."
        )
    elif overturned:
        told = _(
            "A rejection of your work in %(project)s was withdrawn, and your work awaits payment."
        )
    elif replied:
        told = _("Your reply in %(project)s was answered: the rejection stands.")
    else:
        told = _("A rejection of your work in %(project)s stands.")
    return told % {"project": project}
