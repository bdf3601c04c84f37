"""Approving many at once: whole proposals, or in them what is proposed for some people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.security.stepup import ConfirmationNeeded, require_strength
from annotation.models import Membership, PayoutBatch, PayoutLine, Project, User
from annotation.payouts.actions.proposals import approve_payout, total
from annotation.payouts.actions.rules import reason_cannot_decide
from annotation.payouts.selectors.proposals import proposed_lines
from crowdqc.errors import DomainError, Invalid
from crowdqc.money import parse_plain_amount
from crowdqc.numbers import money, parse_whole, plural

NOTHING = gettext_lazy("No pay is proposed for them.")
REJECTS = gettext_lazy("It rejects work; open it and read the reasons first.")
UNSEEN = Decimal("-1")  # no total is this
Reasons = dict[int, str]
Seen = Mapping[int, Decimal]  # proposal -> the amount that the person saw


def amounts_seen(sent: Mapping[str, str]) -> dict[int, Decimal]:
    """Read the amounts that the person saw from the form fields ``seen_<proposal id>``."""
    found = {}
    for name, value in sent.items():
        number = parse_whole(name.removeprefix("seen_"))
        if number is None:
            raise Invalid(_("An amount is not a number."), fields={name: _("Load the page again.")})
        found[number] = parse_plain_amount(value, field=name)
    return found


class ProposedPay:
    """What open proposals would pay some people, and what one person may approve of it."""

    def __init__(self, *, by: User, project: Project, workers: Collection[Membership]) -> None:
        self.by, self.project = by, project
        lines = list(proposed_lines(project).filter(assignment__worker__in=workers))
        self.lines: dict[int, list[PayoutLine]] = {}
        self.batches: dict[int, PayoutBatch] = {}
        for line in lines:
            self.lines.setdefault(line.batch_id, []).append(line)
            self.batches[line.batch_id] = line.batch
        self.against = {pk: reason_cannot_decide(one, by) for pk, one in self.batches.items()}

    @property
    def open(self) -> list[int]:
        """Ids of the proposals that this person may decide."""
        return [pk for pk, why_not in self.against.items() if not why_not]

    def reasons(self, workers: Iterable[Membership]) -> Reasons:
        """Why nothing of somebody's can be approved."""
        left = {worker.pk: str(NOTHING) for worker in workers}
        for pk, why_not in self.against.items():
            left |= {w: why_not for w in self.workers_in(pk) if left[w] == str(NOTHING) and why_not}
        for pk in self.open:
            for worker in self.workers_in(pk):
                left.pop(worker, None)
        return left

    def workers_in(self, batch: int) -> set[int]:
        """The workers whom a proposal would pay."""
        return {line.assignment.worker_id for line in self.lines[batch]}

    def amount(self, batch: int) -> Decimal:
        """Return what the proposal with this id would pay these people."""
        return sum((line.base + line.bonus for line in self.lines[batch]), Decimal(0))

    def effects(self) -> list[str]:
        """Return what approving writes, a sentence for each proposal."""
        told = []
        for pk in self.open:
            batch, people = self.batches[pk], len(self.workers_in(pk))
            others = batch.lines.count() - len(self.lines[pk])
            said = _("Proposal %(number)s: %(people)s, %(amount)s.") % {
                "number": batch.number,
                "people": plural(people, "person", "people"),
                "amount": money(self.amount(pk), self.project.currency),
            }
            if others:
                said += " " + _("%(others)s in it can be proposed again.") % {
                    "others": plural(others, "other assignment")
                }
            told.append(said)
        return told


def approve_pay_of(
    *, by: User, project: Project, workers: Collection[Membership], seen: Seen
) -> Reasons:
    """Approve what is proposed for these workers, each proposal in a transaction of its own.

    ``seen`` is the amount of each proposal that the person saw. Lines of other people in the same
    proposals are held and may be proposed again. Returns why somebody's pay was not approved.
    """
    require_strength(project, by, _("approve payments"))
    pay = ProposedPay(by=by, project=project, workers=workers)
    left, done = pay.reasons(workers), set[int]()
    for pk in pay.open:
        of = pay.workers_in(pk)
        lines = [line.pk for line in pay.lines[pk]]
        why_not = _approve(by, pay.batches[pk], seen, lines)
        if why_not:
            left |= {worker: why_not for worker in of - done}
        else:
            done |= of
    return {worker: why for worker, why in left.items() if worker not in done}


def _approve(by: User, batch: PayoutBatch, seen: Seen, lines: Sequence[int] | None = None) -> str:
    """Approve a proposal, or these lines of it, for the amount that was seen; why not, or ""."""
    try:
        approve_payout(
            by=by, batch=batch, expected_total=seen.get(batch.pk, UNSEEN), line_ids=lines
        )
    except ConfirmationNeeded:
        raise
    except DomainError as error:
        return error.message
    return ""


def reasons_against(*, by: User, batches: Iterable[PayoutBatch]) -> Reasons:
    """Return why proposals cannot be approved in bulk, by proposal."""
    left = {}
    for batch in batches:
        why_not = reason_cannot_decide(batch, by)
        if batch.state != PayoutBatch.State.PROPOSED:
            why_not = _("It is decided already.")
        elif not why_not and batch.lines.filter(decision=PayoutLine.Decision.REJECT).exists():
            why_not = str(REJECTS)
        if why_not:
            left[batch.pk] = why_not
    return left


def approve_proposals(
    *, by: User, project: Project, batches: Collection[PayoutBatch], seen: Seen
) -> Reasons:
    """Approve whole proposals, each in a transaction of its own, for the amounts that were seen.

    What is held in them stays held. Returns why one was not approved.
    """
    require_strength(project, by, _("approve payments"))
    left = reasons_against(by=by, batches=batches)
    for batch in batches:
        if batch.pk not in left and (why_not := _approve(by, batch, seen)):
            left[batch.pk] = why_not
    return left


def totals_of(batches: Iterable[PayoutBatch]) -> dict[int, Decimal]:
    """Return by proposal what approving it would pay."""
    return {batch.pk: total(batch) for batch in batches}
