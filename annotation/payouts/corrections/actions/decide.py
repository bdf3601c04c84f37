"""Approving and declining what was proposed to be booked."""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.roles.selectors import load_ties
from annotation.accounts.security.stepup import require_recent, require_strength
from annotation.models import Correction, User
from annotation.notifications.actions.notices import notify
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import statements
from annotation.payouts.actions.payments import settle_corrected
from annotation.payouts.actions.rules import (
    GONE,
    may_propose,
    needs_note,
    why_not_decide_in,
    why_not_second,
)
from annotation.records.actions.audit import record
from annotation.records.cleaning import clean_text
from crowdqc.errors import Conflict, Invalid, NotAllowed
from crowdqc.numbers import money

State = Correction.State


def reason_cannot_approve(correction: Correction, by: User) -> str:
    """Why this person may not approve the correction; "" when they may: the rule of payouts."""
    project = correction.project
    why_not = why_not_decide_in(project, by)
    if why_not:
        return why_not
    if not may_propose(project, correction.proposed_by):
        return str(GONE)
    return why_not_second(project, correction.proposed_by, by, load_ties(project))


def _locked(correction: Correction) -> Correction:
    return (
        Correction.objects.select_for_update(of=("self",), no_key=True)
        .select_related("project", "task__project", "statement", "proposed_by")
        .get(pk=correction.pk)
    )


@transaction.atomic
def approve_correction(*, by: User, correction: Correction) -> Correction:
    """Approve and book a proposed correction, once.

    Raises NotAllowed for whoever is no independent second person, or whose account it is about,
    Conflict where it was declined or would book something else by now.
    """
    require_recent(by, _("approve corrections"))
    correction = _locked(correction)
    if correction.state == State.APPROVED and correction.decided_by_id == by.pk:
        return correction
    if correction.state != State.PROPOSED:
        raise Conflict(_("It was decided already. Nothing was booked."))
    why_not = reason_cannot_approve(correction, by)
    if why_not:
        raise NotAllowed(why_not, code="may-not-approve")
    require_strength(correction.project, by, _("approve corrections"))
    if correction.statement is not None and correction.place is not None:
        statements.write_row(
            by=by,
            statement=correction.statement,
            place=correction.place,
            most=correction.amount,
        )
    else:
        correction.entry = books.write_correction(
            by=by,
            task=correction.task,
            debit=correction.debit,
            credit=correction.credit,
            amount=correction.amount,
            memo=correction.memo,
            key=correction.key,
        )
        settle_corrected(correction.project, correction.debit, correction.credit)
    correction.single_approval = needs_note(correction.project, correction.proposed_by, by)
    _decided(correction, State.APPROVED, by, "")
    return correction


@transaction.atomic
def decline_correction(*, by: User, correction: Correction, note: str) -> Correction:
    """Decline a proposed correction, or withdraw one's own."""
    correction = _locked(correction)
    require_recent(by, _("decide about corrections"))
    own = correction.proposed_by_id == by.pk
    why_not = "" if own else reason_cannot_approve(correction, by)
    if why_not:
        raise NotAllowed(why_not, code="may-not-approve")
    if correction.state == State.DECLINED:
        return correction
    if correction.state != State.PROPOSED:
        raise Conflict(_("It was booked already."))
    note = clean_text(note, "note", 300)
    if not note and not own:
        raise Invalid(_("Tell the proposer why."), fields={"note": _("Write a sentence.")})
    _decided(correction, State.DECLINED, by, note)
    return correction


def _decided(correction: Correction, state: str, by: User, note: str) -> None:
    correction.state, correction.decided_by = state, by
    correction.decided_at, correction.decision_note = timezone.now(), note
    correction.save(
        update_fields=[
            "state",
            "decided_by",
            "decided_at",
            "decision_note",
            "entry",
            "single_approval",
        ]
    )
    project, approved = correction.project, state == State.APPROVED
    record(
        by=by,
        project=project,
        on=correction,
        amount=str(correction.amount),
        action="correction.approve" if approved else "correction.decline",
    )
    if correction.proposed_by_id != by.pk:
        amount = money(correction.amount, correction.currency)
        notify(
            to=[correction.proposed_by],
            kind="correction.decided",
            project=project,
            key=f"correction.decided:{correction.pk}",
            text=lambda: (
                (
                    _("A correction of %(amount)s in %(project)s was approved.")
                    if approved
                    else _("A correction of %(amount)s in %(project)s was declined.")
                )
                % {"amount": amount, "project": project.name}
            ),
            url=reverse("ledger", args=[project.pk]) + "#corrections",
        )
