"""A task's rule applied to the lines of a proposal: every bonus with the reason for it.

Pure. The lower end of an interval or the whole range of ranks decides, never an estimate alone.
What is needed to meet the hourly floor comes before what is a reward, and caps bind both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.models import PayoutRule
from annotation.payouts.notes import english
from crowdqc.money import as_decimal, round_money
from crowdqc.numbers import duration, money, plain_decimal
from crowdqc.numbers import score as digits
from evaluation.models import WorkerScore
from evaluation.payouts.selectors.evidence import Evidence
from evaluation.payouts.wage import WorkedTime

By = PayoutRule.BonusBy
ZERO = Decimal("0.00")


@dataclass(frozen=True)
class Payee:
    """What the bonus rule needs to know of one line."""

    evidence: Evidence
    base: Decimal
    worked: WorkedTime | None
    takes_part: bool = True  # a rejected line gets nothing and uses up no cap


@dataclass(frozen=True)
class Bonus:
    """The bonus of one line: how much, and why; or why there is none."""

    amount: Decimal = ZERO
    note: str = ""


@dataclass(frozen=True)
class Frame:
    """What limits all bonuses: floor, currency, and bonuses paid before."""

    currency: str
    floor: Decimal | None = None
    run: int | None = None
    given: Mapping[int, Decimal] | None = None  # worker -> bonus of this task so far

    def bonus_before(self, worker: int) -> Decimal:
        """Return the bonus that a worker was given before; 0 without any."""
        return (self.given or {}).get(worker, ZERO)


@english
def apply_rule(rule: PayoutRule, payees: Sequence[Payee], frame: Frame) -> list[Bonus]:
    """The bonus of every line, in their order; the order itself changes nobody's total share."""
    steps = [_add_flat(rule, one, _by_step(rule, one, frame)) for one in payees]
    floors = [_to_floor(rule, one, frame) for one in payees]
    wanted = [max(step.amount, floor) for step, floor in zip(steps, floors, strict=True)]
    each = _capped_each(rule, payees, wanted, frame)
    paid = _capped_total(rule, each, [min(a, b) for a, b in zip(floors, each, strict=True)], frame)
    found = []
    for at, one in enumerate(payees):
        said = _bonus_reasons(one, steps[at], floors[at], frame)
        if each[at] < wanted[at]:
            said.append(f"cut by the cap of {money(rule.cap_each, frame.currency)} a person")
        if paid[at] < each[at]:
            said.append(f"cut to its share of {money(rule.cap_total, frame.currency)} in total")
        found.append(Bonus(paid[at], "; ".join(said)[:200]))
    return found


def _by_step(rule: PayoutRule, one: Payee, frame: Frame) -> Bonus:
    """The best step that is reached for certain."""
    if rule.bonus_by == By.NONE or not one.takes_part:
        return Bonus()
    ranked, score = rule.bonus_by == By.RANK, one.evidence.score
    why_not = _why_uncertain(score, ranked, frame)
    if why_not or score is None:
        return Bonus(note=f"no bonus: {why_not}")
    run = f" in run {frame.run}"
    if ranked:
        place = score.rank_high or 0
        told = f"rank {place}" if score.rank_low == place else f"ranks {score.rank_low}–{place}"
        step = next((row for row in rule.steps if place <= row["at"]), None)
        reached = f"within the first {step['at']}" if step else ""
    else:
        low = score.low or 0.0
        told = f"lower end {digits(low)}"
        step = next((row for row in rule.steps if low >= row["at"]), None)
        reached = f"reaches {digits(step['at'])}" if step else ""
    if step is None:
        return Bonus(note=f"no bonus: {told}, no step is reached{run}")
    return Bonus(as_decimal(step["bonus"]), f"{told} {reached}{run}")


def _add_flat(rule: PayoutRule, one: Payee, step: Bonus) -> Bonus:
    """The share of the base that everybody gets, beside what a step gives."""
    if not rule.flat_percent or not one.takes_part:
        return step
    flat = round_money(one.base * rule.flat_percent / 100)
    note = f"{plain_decimal(rule.flat_percent)}% of the base"
    return Bonus(step.amount + flat, f"{step.note}; {note}" if step.amount else note)


def _why_uncertain(score: WorkerScore | None, ranked: bool, frame: Frame) -> str:
    """Say why a worker's rank or interval is unknown; empty if it is known."""
    if frame.run is None:
        return "no run is finished yet"
    if score is None or score.estimate is None:
        return f"not scored in run {frame.run}"
    if (score.rank_high if ranked else score.low) is None:
        return f"no {'rank' if ranked else 'interval'} in run {frame.run}"
    if ranked and score.component > 1:
        return "shares no questions with most, so ranks do not compare"
    return ""


def _to_floor(rule: PayoutRule, one: Payee, frame: Frame) -> Decimal:
    """Return what the base lacks of the hourly floor, where the rule fills that up."""
    if not (rule.top_up and one.takes_part and one.worked and frame.floor):
        return ZERO
    return max(ZERO, one.worked.needed(frame.floor) - one.base)


def _capped_each(
    rule: PayoutRule, payees: Sequence[Payee], wanted: Sequence[Decimal], frame: Frame
) -> list[Decimal]:
    """Cap bonuses at so much a person in this task, with what they were given before."""
    if rule.cap_each is None:
        return list(wanted)
    left: dict[int, Decimal] = {}
    found = []
    for one, want in zip(payees, wanted, strict=True):
        worker = one.evidence.assignment.worker_id
        free = left.get(worker, max(ZERO, rule.cap_each - frame.bonus_before(worker)))
        found.append(min(want, free))
        left[worker] = free - found[-1]
    return found


def _capped_total(
    rule: PayoutRule, wanted: Sequence[Decimal], floors: Sequence[Decimal], frame: Frame
) -> list[Decimal]:
    """Cap bonuses of this task in all: the floors first, then the rest by one share."""
    before = sum((frame.given or {}).values(), ZERO)
    if rule.cap_total is None or before + sum(wanted, ZERO) <= rule.cap_total:
        return list(wanted)
    left = max(0, _cents(rule.cap_total - before))
    least, most = [_cents(one) for one in floors], [_cents(one) for one in wanted]
    if sum(least) >= left:
        paid = [one * left // sum(least) for one in least] if sum(least) else [0] * len(least)
    else:
        spare, over = left - sum(least), sum(most) - sum(least)
        paid = [a + (b - a) * spare // over for a, b in zip(least, most, strict=True)]
    return [as_decimal(one) / 100 for one in paid]


def _cents(amount: Decimal) -> int:
    return int(amount * 100)


def _bonus_reasons(one: Payee, step: Bonus, floor: Decimal, frame: Frame) -> list[str]:
    """Why this much was wanted: the step, or what the floor needs, or why neither."""
    if floor > step.amount and one.worked and frame.floor:
        reached = [step.note] if step.amount else []
        time = f"{duration(one.worked.seconds)}, {one.worked.how}"
        return [*reached, f"raised to {money(frame.floor, frame.currency)} an hour ({time})"]
    return [step.note] if step.note else []
