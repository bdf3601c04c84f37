"""The form of a proposal: one line an assignment, parsed with every fault beside its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from annotation.actions.payouts import MIN_REASON, REASONS, Line
from annotation.models import PayoutLine
from crowdqc.errors import Invalid
from evaluation.selectors.evidence import Evidence

Decision = PayoutLine.Decision
ZERO = Decimal("0.00")
CENT = Decimal("0.01")
MOST = Decimal(100_000)


@dataclass
class DraftLine:
    """One line as it stands in the form."""

    evidence: Evidence
    decision: str
    base: str
    bonus: str = "0.00"
    reason_code: str = ""
    reason: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    line: Line | None = None

    @property
    def pay(self) -> Decimal:
        """What approving it pays; 0 while it is held, rejected or wrong."""
        if self.line is None or self.line.decision != Decision.APPROVE:
            return ZERO
        return (self.line.base or ZERO) + self.line.bonus


@dataclass(frozen=True)
class Totals:
    """What the form as it stands would propose."""

    people: int
    approve: int
    hold: int
    reject: int
    base: Decimal
    bonus: Decimal
    wrong: int

    @property
    def pay(self) -> Decimal:
        return self.base + self.bonus


def start(rows: Sequence[Evidence], decision: str = "") -> list[DraftLine]:
    """The form as it opens: approved at the agreed pay; what stands out is to be looked at."""
    return check([
        DraftLine(
            evidence=row,
            decision=decision or (Decision.HOLD if row.look_first else Decision.APPROVE),
            base=str(row.assignment.pay),
        )
        for row in rows
    ])  # fmt: skip


def read(rows: Sequence[Evidence], post: Mapping[str, str]) -> list[DraftLine]:
    """The form as it was sent."""
    return check([
        DraftLine(
            evidence=row,
            decision=post.get(f"decision_{row.assignment.pk}", ""),
            base=post.get(f"base_{row.assignment.pk}", ""),
            bonus=post.get(f"bonus_{row.assignment.pk}", ""),
            reason_code=post.get(f"code_{row.assignment.pk}", ""),
            reason=post.get(f"reason_{row.assignment.pk}", ""),
        )
        for row in rows
    ])  # fmt: skip


def check(lines: list[DraftLine]) -> list[DraftLine]:
    """Turn what is written into lines; faults stand beside their field."""
    for draft in lines:
        draft.errors.clear()
        agreed = draft.evidence.assignment.pay
        base = _amount(draft, "base", draft.base, agreed)
        if base is not None and base > agreed:
            draft.errors["base"] = f"{agreed} at most; the rest is a bonus"
        bonus = _amount(draft, "bonus", draft.bonus, ZERO)
        if draft.decision not in Decision.values:
            draft.errors["decision"] = "Choose one"
        rejected = draft.decision == Decision.REJECT
        if rejected:
            draft.errors.pop("base", None)
            draft.errors.pop("bonus", None)
            if draft.reason_code not in REASONS:
                draft.errors["code"] = "Choose a reason"
            if len(draft.reason.strip()) < MIN_REASON:
                draft.errors["reason"] = f"The worker reads this: at least {MIN_REASON} characters"
        draft.line = None
        if not draft.errors:
            draft.line = Line(
                assignment_id=draft.evidence.assignment.pk,
                decision=draft.decision,
                base=None if rejected else base,
                bonus=ZERO if rejected or bonus is None else bonus,
                reason_code=draft.reason_code if rejected else "",
                reason=draft.reason.strip() if rejected else "",
            )
    return lines


def amount(text: str, default: Decimal) -> Decimal:
    """An amount as people write it, ``1.80`` or ``1,80``; Invalid when it is none."""
    text = text.strip().replace(",", ".")
    if not text:
        return default
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise Invalid("An amount, as 1.80") from error
    if not value.is_finite() or not 0 <= value <= MOST or value != value.quantize(CENT):
        raise Invalid("0 or more, two decimals")
    return value.quantize(CENT)


def _amount(draft: DraftLine, name: str, text: str, default: Decimal) -> Decimal | None:
    try:
        return amount(text, default)
    except Invalid as error:
        draft.errors[name] = error.message
        return None


def give_bonus(lines: Sequence[DraftLine], ranks: int, bonus: Decimal) -> int:
    """Write a bonus into every approved line whose worker cannot rank below ``ranks``.

    The whole range of ranks must lie within: who may be 3rd to 6th is not "among the first 4".
    Returns how many lines got it.
    """
    given = 0
    for draft in lines:
        score = draft.evidence.score
        if draft.decision != Decision.APPROVE or score is None or score.rank_high is None:
            continue
        if score.rank_high <= ranks:
            draft.bonus = str(bonus)
            given += 1
    return given


def totals(lines: Sequence[DraftLine]) -> Totals:
    """The sums of the form."""
    ready = [draft.line for draft in lines if draft.line is not None]
    paid = [line for line in ready if line.decision == Decision.APPROVE]
    ids = {line.assignment_id for line in paid}
    return Totals(
        people=len({
            d.evidence.assignment.worker_id for d in lines if d.evidence.assignment.pk in ids
        }),
        approve=len(paid),
        hold=sum(line.decision == Decision.HOLD for line in ready),
        reject=sum(line.decision == Decision.REJECT for line in ready),
        base=sum((line.base or ZERO for line in paid), ZERO),
        bonus=sum((line.bonus for line in paid), ZERO),
        wrong=sum(bool(draft.errors) for draft in lines),
    )  # fmt: skip
