"""The form of a proposal: one line an assignment, parsed with every fault beside its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import PayoutBatch, PayoutLine, PayoutRule, Task, User
from annotation.payouts.actions.proposals import MIN_REASON, REASONS, ProposedLine, propose_payout
from annotation.payouts.actions.reasons import MIN_LESS
from annotation.payouts.actions.rules import STILL_COUNT, why_not_base
from annotation.payouts.notes import english
from annotation.payouts.selectors.proposals import bonus_given
from crowdqc.errors import Invalid
from crowdqc.money import NotAnAmount, parse_amount
from crowdqc.numbers import money
from evaluation.panels.watch import incentives_for, take_incentives
from evaluation.payouts.bonus import Bonus, Frame, Payee, apply_rule
from evaluation.payouts.selectors.evidence import Evidence, TaskEvidence
from evaluation.payouts.selectors.review import BULK
from evaluation.payouts.wage import WorkedTime, worked_time

Decision = PayoutLine.Decision
ZERO = Decimal("0.00")
MOST = Decimal(100_000)


@dataclass(frozen=True)
class Terms:
    """What all lines of a form stand under: the task's rule, its floor, its run."""

    frame: Frame
    rule: PayoutRule | None = None
    incentives: Mapping[int, tuple[Decimal, str]] = field(default_factory=dict)  # of a worker
    usual: float | None = None  # the task's middle time

    @property
    def pays_bonus(self) -> bool:
        """Whether a rule or a promise gives anybody a bonus."""
        return self.rule is not None or bool(self.incentives)


@dataclass
class DraftLine:
    """One line as it stands in the form."""

    evidence: Evidence
    decision: str
    base: str
    bonus: str = "0.00"
    reason_code: str = ""
    reason: str = ""
    less: str = ""  # why the base is under the agreed pay
    leave_out: bool = True  # of a rejection: its answers do not count
    collect_again: bool = True  # and other workers are asked for them
    currency: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    line: ProposedLine | None = None
    given: Bonus = field(default_factory=Bonus)  # what the rule gives it
    worked: WorkedTime | None = None
    under: Decimal | None = None  # its pay by the hour, where that is under the floor
    ticked: bool = False

    @property
    def suffix(self) -> str:
        """The end of the names of its fields."""
        return f"_{self.evidence.assignment.pk}"

    @property
    def pay(self) -> Decimal:
        """Pay on approval; 0 while the line is held, rejected or invalid."""
        if self.line is None or self.line.decision != Decision.APPROVE:
            return ZERO
        return (self.line.base or ZERO) + self.line.bonus

    @property
    def may_be_rejected(self) -> bool:
        """Whether no rejection of the work was overturned before."""
        return not self.evidence.overturned

    @property
    def is_below_agreed(self) -> bool:
        """Whether the base is below the agreed pay, so that the worker is owed a reason."""
        try:
            base = amount(self.base, self.evidence.assignment.pay, self.currency)
        except NotAnAmount:
            return False
        return self.decision != Decision.REJECT and base < self.evidence.assignment.pay


@dataclass(frozen=True)
class Totals:
    """What the form as it stands would propose."""

    people: int
    approve: int
    hold: int
    reject: int  # complete or not
    base: Decimal
    bonus: Decimal
    wrong: int
    lines: int
    under: list[tuple[str, Decimal]]  # who earns less than the floor, and how much an hour
    faults: list[str]  # names of the fields that are wrong

    @property
    def pay(self) -> Decimal:
        """Return base pay and bonuses together."""
        return self.base + self.bonus

    @property
    def rejects_all(self) -> bool:
        return self.reject == self.lines


def terms_of(task: Task, around: TaskEvidence, rows: Sequence[Evidence]) -> Terms:
    """The rule of the task with what it was used for so far, and incentives of these people."""
    rule = PayoutRule.objects.filter(task=task).first()
    frame = Frame(
        currency=task.project.currency,
        floor=task.project.hourly_floor,
        run=around.run.number if around.run else None,
        given=bonus_given(task),
    )
    people = {row.assignment.worker for row in rows}
    return Terms(frame, rule, incentives_for(task, people), around.median_seconds)


def start(rows: Sequence[Evidence], terms: Terms, decision: str = "") -> list[DraftLine]:
    """Make the lines of a new form: agreed pay, the rule's bonus; conspicuous work is held."""
    lines = [
        DraftLine(
            evidence=row,
            decision=_first_decision(row, decision),
            base=str(row.assignment.pay),
            currency=terms.frame.currency,
        )
        for row in rows
    ]
    fill_amounts(check(lines, terms), terms)
    for draft in lines:
        draft.errors.clear()  # nobody has written anything yet
    return lines


def _first_decision(row: Evidence, wanted: str) -> str:
    """The decision that a line begins with; no second rejection of the same work."""
    if wanted == Decision.REJECT and row.overturned:
        return str(Decision.HOLD)
    return wanted or str(Decision.HOLD if row.look_first else Decision.APPROVE)


def read(rows: Sequence[Evidence], post: Mapping[str, str], terms: Terms) -> list[DraftLine]:
    """The form as it was sent."""
    lines = [
        DraftLine(
            evidence=row,
            decision=post.get(f"decision_{row.assignment.pk}", ""),
            base=post.get(f"base_{row.assignment.pk}", ""),
            bonus=post.get(f"bonus_{row.assignment.pk}", ""),
            reason_code=post.get(f"code_{row.assignment.pk}", ""),
            reason=post.get(f"reason_{row.assignment.pk}", ""),
            less=post.get(f"less_{row.assignment.pk}", ""),
            leave_out=f"leave_out_{row.assignment.pk}" in post,
            collect_again=f"collect_again_{row.assignment.pk}" in post,
            currency=terms.frame.currency,
        )
        for row in rows
    ]
    return check(lines, terms)


def fill_amounts(lines: list[DraftLine], terms: Terms) -> list[DraftLine]:
    """Write what the rule gives into every line; a person may change it."""
    if terms.pays_bonus:
        for draft in lines:
            if draft.decision != Decision.REJECT:
                draft.bonus = str(draft.given.amount)
    return check(lines, terms)


LESS = "less"  # approve at a lower base
TICKED = "ticked"  # lines that a person selected


def set_ticked(lines: list[DraftLine], decision: str, terms: Terms) -> int:
    """Give the selected lines one decision, which needs no reason; returns how many these are."""
    chosen = [draft for draft in lines if draft.ticked]
    for draft in chosen:
        draft.decision = decision
    check(lines, terms)
    return len(chosen)


@dataclass(frozen=True)
class SharedDecision:
    """One decision and one reason for several lines of a form.

    ``to`` is the decision that a line has now, TICKED, or "" for every line. ``decision`` is what
    these lines get: a value of ``Decision``, LESS, or "" to keep theirs.
    """

    to: str = ""
    decision: str = ""
    base: str = ""
    reason_code: str = ""
    reason: str = ""
    leave_out: str = "on"
    collect_again: str = "on"

    @classmethod
    def read(cls, post: Mapping[str, str]) -> SharedDecision:
        """From the form's fields, whose names begin with ``shared_``."""
        return cls(**{name: post.get(f"shared_{name}", "") for name in cls.__dataclass_fields__})


def share(lines: list[DraftLine], shared: SharedDecision, terms: Terms) -> int:
    """Write one decision and reason into the lines it is for; returns how many these are.

    Nothing is proposed by it. Every line stays a decision of its own, with its own reply of the
    worker. Raises Invalid where there is nothing to write.
    """
    if not (shared.decision or shared.reason_code or shared.reason.strip()):
        raise Invalid(
            _("Choose a decision or write a reason first."),
            fields={"shared_reason": _("Write the reason that the workers share.")},
        )
    chosen = [
        draft
        for draft in lines
        if (draft.ticked if shared.to == TICKED else shared.to in ("", draft.decision))
        and (shared.decision != Decision.REJECT or draft.may_be_rejected)
    ]
    for draft in chosen:
        if shared.decision:
            less = shared.decision == LESS
            draft.decision = str(Decision.APPROVE) if less else shared.decision
            if less:
                draft.base = shared.base
            elif draft.decision == Decision.APPROVE:
                draft.base = str(draft.evidence.assignment.pay)
        if draft.decision == Decision.REJECT:
            draft.reason_code = shared.reason_code or draft.reason_code
            draft.reason = shared.reason or draft.reason
            draft.leave_out = bool(shared.leave_out)
            draft.collect_again = bool(shared.collect_again)
        elif shared.reason and (shared.decision == LESS or draft.is_below_agreed):
            draft.less = shared.reason
    check(lines, terms)
    return len(chosen)


def check(lines: list[DraftLine], terms: Terms) -> list[DraftLine]:
    """Turn what is written into lines; faults stand beside their field."""
    for draft in lines:
        draft.errors.clear()
        draft.worked = worked_time(draft.evidence, terms.usual)
    if terms.rule is not None:
        payees = [_payee(draft) for draft in lines]
        for draft, given in zip(lines, apply_rule(terms.rule, payees, terms.frame), strict=True):
            draft.given = given
    _add_incentives(lines, terms)
    for draft in lines:
        draft.line = _line(draft, terms)
        draft.under = _rate_below_floor(draft, terms.frame.floor)
    return lines


def _add_incentives(lines: Sequence[DraftLine], terms: Terms) -> None:
    """Put what was promised to a worker on the first of their lines that may be paid."""
    done: set[int] = set()
    for draft in lines:
        worker = draft.evidence.assignment.worker_id
        if worker in done or worker not in terms.incentives or draft.decision == Decision.REJECT:
            continue
        done.add(worker)
        extra, why = terms.incentives[worker]
        base = draft.given if terms.rule is not None else Bonus()
        note = f"{base.note}; {why}" if base.amount else why
        draft.given = Bonus(base.amount + extra, note[:200])


def _payee(draft: DraftLine) -> Payee:
    try:
        base = amount(draft.base, draft.evidence.assignment.pay, draft.currency)
    except NotAnAmount:
        base = draft.evidence.assignment.pay
    return Payee(draft.evidence, base, draft.worked, draft.decision != Decision.REJECT)


def _rate_below_floor(draft: DraftLine, floor: Decimal | None) -> Decimal | None:
    if draft.line is None or draft.worked is None or not floor:
        return None
    if draft.line.decision == Decision.REJECT:
        return None
    pay = (draft.line.base or ZERO) + draft.line.bonus
    return draft.worked.rate(pay) if draft.worked.is_below_floor(pay, floor) else None


def _line(draft: DraftLine, terms: Terms) -> ProposedLine | None:
    """The line as it can be proposed, or None with its faults noted."""
    assignment, errors = draft.evidence.assignment, draft.errors
    if draft.decision not in Decision.values:
        errors["decision"] = _("Choose one")
    elif draft.decision == Decision.REJECT and not draft.may_be_rejected:
        errors["decision"] = _("A rejection of it was overturned")
    if draft.decision == Decision.REJECT:
        if draft.reason_code not in REASONS:
            errors["code"] = _("Choose a reason")
        if len(draft.reason.strip()) < MIN_REASON:
            errors["reason"] = _("The worker reads this: at least %(min_reason)s characters") % {
                "min_reason": MIN_REASON
            }
        if draft.collect_again and not draft.leave_out:
            errors["collect_again"] = str(STILL_COUNT)
        return (
            None
            if errors
            else ProposedLine(
                assignment.pk,
                draft.decision,
                reason_code=draft.reason_code,
                reason=draft.reason.strip(),
                leave_out=draft.leave_out,
                collect_again=draft.collect_again,
            )
        )
    base = _amount(draft, "base", draft.base, assignment.pay)
    if base is not None and (why_not := why_not_base(assignment, base)):
        errors["base"] = why_not
    elif draft.is_below_agreed and len(draft.less.strip()) < MIN_LESS:
        errors["less"] = _("The worker reads this: at least %(min_less)s characters") % {
            "min_less": MIN_LESS
        }
    bonus = _amount(draft, "bonus", draft.bonus, ZERO)
    if errors or bonus is None:
        return None
    return ProposedLine(
        assignment.pk,
        draft.decision,
        base=base,
        bonus=bonus,
        reason=draft.less.strip() if draft.is_below_agreed else "",
        bonus_note=_note(draft, bonus, terms),
    )


@english
def _note(draft: DraftLine, bonus: Decimal, terms: Terms) -> str:
    """Why this bonus: in the rule's words, or that a person wrote another one."""
    if not bonus or not terms.pays_bonus:
        return ""
    if bonus == draft.given.amount:
        return draft.given.note
    gives = money(draft.given.amount, terms.frame.currency)
    return f"written by hand; the rule gives {gives}"


def amount(text: str, default: Decimal, currency: str = "") -> Decimal:
    """An amount as people write it, or ``default`` for an empty field; raises NotAnAmount."""
    if not text.strip():
        return default
    return parse_amount(text, currency, high=MOST)


def _amount(draft: DraftLine, name: str, text: str, default: Decimal) -> Decimal | None:
    try:
        return amount(text, default, draft.currency)
    except NotAnAmount as error:
        draft.errors[name] = error.hint
        return None


def totals(lines: Sequence[DraftLine]) -> Totals:
    """Sum up the form's lines."""
    ready = [draft.line for draft in lines if draft.line is not None]
    paid = [line for line in ready if line.decision == Decision.APPROVE]
    ids = {line.assignment_id for line in paid}
    return Totals(
        people=len(
            {d.evidence.assignment.worker_id for d in lines if d.evidence.assignment.pk in ids}
        ),
        approve=len(paid),
        hold=sum(line.decision == Decision.HOLD for line in ready),
        reject=sum(draft.decision == Decision.REJECT for draft in lines),
        base=sum((line.base or ZERO for line in paid), ZERO),
        bonus=sum((line.bonus for line in paid), ZERO),
        wrong=sum(bool(draft.errors) for draft in lines),
        lines=len(lines),
        under=[
            (draft.evidence.assignment.worker.pseudonym, draft.under)
            for draft in lines
            if draft.under is not None
        ],
        faults=[f"{name}_{d.evidence.assignment.pk}" for d in lines for name in d.errors],
    )


@transaction.atomic
def propose_many(
    *, by: User, task: Task, key: UUID, lines: Sequence[ProposedLine], title: str, **evidence: Any
) -> list[PayoutBatch]:
    """Propose any number of assignments, ``BULK`` in a proposal; all of them or none."""
    parts = [lines[at : at + BULK] for at in range(0, len(lines), BULK)]
    return [
        propose(
            by=by,
            task=task,
            key=part_key(key, n),
            lines=part,
            title=f"{title} {n}/{len(parts)}" if title and len(parts) > 1 else title,
            **evidence,
        )
        for n, part in enumerate(parts, 1)
    ]


def part_key(key: UUID, number: int) -> UUID:
    """The key of one of the proposals that a form makes."""
    return uuid5(key, str(number))


@transaction.atomic
def propose(**proposal: Any) -> PayoutBatch:
    """Propose a payout, and bind the incentives that its lines pay."""
    batch = propose_payout(**proposal)
    if batch.state == PayoutBatch.State.PROPOSED:
        take_incentives(batch)
    return batch
