"""A proposal as its page shows it: lines by person, evidence of one, checks before approving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import (
    LedgerEntry,
    PayoutBatch,
    PayoutLine,
    PayoutRule,
    Project,
    Task,
    User,
)
from annotation.models.decisions import OVERTURNED
from annotation.payouts.actions.bonus_rule import bases_of
from annotation.payouts.actions.rules import reason_cannot_decide
from annotation.payouts.details.selectors import API, MISSING, WAYS, ways_of_assignments
from annotation.payouts.selectors.proposals import lines_of
from annotation.task_types import get_type
from crowdqc.numbers import count, money, plain_decimal, plural, score
from evaluation.models import Run, WorkerScore
from evaluation.payouts.selectors.evidence import (
    UNCOUNTED,
    Evidence,
    Note,
    TaskEvidence,
    gather_evidence,
    task_evidence,
    uncounted_note,
)
from evaluation.payouts.wage import worked_time

Decision = PayoutLine.Decision
ZERO = Decimal("0.00")
NAMED = 6  # people named in one check
DECIDED = {
    "approve": gettext_lazy("Approved"),
    "hold": gettext_lazy("Held"),
    "reject": gettext_lazy("Rejected"),
}
ORDER = (Decision.HOLD, Decision.REJECT, Decision.APPROVE, OVERTURNED)  # of the groups of a page
DEFAULT_MARKS = {"approve": "done", "hold": "warn", "reject": "bad", OVERTURNED: "waiting"}


@dataclass(frozen=True)
class Choices:
    """The lines that an approver ticked: to pay, and to reject. All others are held."""

    pay: frozenset[int] = frozenset()
    reject: frozenset[int] = frozenset()

    @property
    def query(self) -> str:
        """The choices as the query string of the proposal's page."""
        fields = [("counting", "1"), ("pay", _joined(self.pay)), ("reject", _joined(self.reject))]
        return urlencode([(name, value) for name, value in fields if value], safe=",")

    def __contains__(self, line: PayoutLine) -> bool:
        return line.pk in (self.reject if line.decision == Decision.REJECT else self.pay)


def _joined(ids: frozenset[int]) -> str:
    return ",".join(map(str, sorted(ids)))


@dataclass(frozen=True)
class Person:
    """The lines of one person with one outcome: a row of the table."""

    lines: tuple[PayoutLine, ...]
    evidence: tuple[Evidence, ...]
    decision: str  # as proposed; once approved, what became of the lines
    of: int  # this person's assignments in the proposal
    goes: bool  # paid or, for a rejection, written by an approval as ticked now
    decided: bool = False  # the proposal was approved
    selected: bool = False

    @property
    def key(self) -> int:
        return self.lines[0].pk

    @property
    def value(self) -> str:
        """The ids of the lines, as the checkbox sends them."""
        return ",".join(str(line.pk) for line in self.lines)

    @property
    def worker(self) -> Any:
        return self.lines[0].assignment.worker

    @property
    def rejected(self) -> bool:
        return self.decision == Decision.REJECT

    @property
    def held(self) -> bool:
        """Whether the person's work is held."""
        return self.decision == Decision.HOLD

    @property
    def flagged(self) -> bool:
        """Whether something in the work asks for a look."""
        return any(e.look_first for e in self.evidence)

    @property
    def may_be_rejected(self) -> bool:
        """Whether no rejection of the work was overturned before."""
        return not any(e.overturned for e in self.evidence)

    @property
    def overturned(self) -> bool:
        return self.decision == OVERTURNED

    @property
    def word(self) -> str:
        """What is proposed for the person or, once it is decided, what became of it."""
        if self.overturned:
            return _("Overturned")
        return str(DECIDED[self.decision] if self.decided else Decision(self.decision).label)

    @property
    def mark(self) -> str:
        """Return the CSS class that marks the decision."""
        return DEFAULT_MARKS[self.decision]

    @property
    def paid(self) -> int:
        """Count the person's assignments that will be paid."""
        return len(self.lines) if self.goes and not self.rejected else 0

    @property
    def base(self) -> Decimal:
        return sum((line.base for line in self.lines), ZERO)

    @property
    def bonus(self) -> Decimal:
        return sum((line.bonus for line in self.lines), ZERO)

    @property
    def pay(self) -> Decimal:
        return self.base + self.bonus

    @property
    def bonus_notes(self) -> list[str]:
        """Why each bonus, each reason once."""
        return list(dict.fromkeys(line.bonus_note for line in self.lines if line.bonus_note))

    @property
    def reasons_for_less(self) -> list[str]:
        """Why less than agreed is paid, as the worker will read it."""
        if self.rejected or self.overturned:
            return []
        return [line.reason for line in self.lines if line.base < line.assignment.pay]

    @property
    def score(self) -> WorkerScore | None:
        return self.evidence[0].score

    @property
    def pasted(self) -> float | None:
        """Pasted of all that was put in, over these assignments; None without a log."""
        logs = [e.log for e in self.evidence if e.pasted is not None]
        put_in = sum(log.pasted_chars + log.typed_chars for log in logs)
        if not logs:
            return None
        return sum(log.pasted_chars for log in logs) / put_in if put_in else 0.0

    @property
    def much_pasted(self) -> bool:
        return any(note.kind == "Paste" for e in self.evidence for note in e.notes)

    @property
    def notes(self) -> list[Note]:
        """What stands out in the person's work, each thing once."""
        found = dict.fromkeys(note for e in self.evidence for note in e.notes)
        notes = [note for note in found if note.kind != UNCOUNTED]
        uncounted = sum(e.facts.uncounted for e in self.evidence)
        if uncounted:
            notes.append(uncounted_note(uncounted, sum(e.facts.answers for e in self.evidence)))
        return notes


@dataclass(frozen=True)
class Group:
    """The rows with one decision, under a heading of the table."""

    decision: str
    people: list[Person]

    @property
    def word(self) -> str:
        return self.people[0].word

    @property
    def assignments(self) -> int:
        return sum(len(person.lines) for person in self.people)


@dataclass(frozen=True)
class Check:
    """One line of the checks: a mark, a sentence, and where to look."""

    mark: str
    text: str
    small: str = ""
    links: tuple[tuple[str, str], ...] = ()  # address and words


@dataclass(frozen=True)
class ApprovalEffect:
    """What approving as ticked now would write."""

    people: int
    assignments: int
    of: int
    base: Decimal
    bonus: Decimal
    entries: int
    rejected: int

    @property
    def pay(self) -> Decimal:
        return self.base + self.bonus


@dataclass(frozen=True)
class PayoutPage:
    """Everything the page of one proposal shows."""

    batch: PayoutBatch
    people: list[Person]
    around: TaskEvidence
    going: ApprovalEffect
    why_not: str  # why the viewer may not approve; empty when they may
    checks: list[Check] = field(default_factory=list)
    choices: Choices | None = None  # None: as proposed

    @property
    def query(self) -> str:
        """The ticks as a query string; "" as proposed."""
        return self.choices.query if self.choices is not None else ""

    @property
    def groups(self) -> list[Group]:
        """The rows by decision, those to look at first on top."""
        found = [Group(one, [p for p in self.people if p.decision == one]) for one in ORDER]
        return [group for group in found if group.people]

    @property
    def open(self) -> bool:
        return self.batch.state == PayoutBatch.State.PROPOSED

    @property
    def selected(self) -> Person | None:
        return next((person for person in self.people if person.selected), None)

    @property
    def rule(self) -> str:
        """Sentence on how the amounts came about."""
        paid = [line for p in self.people if not p.rejected for line in p.lines]
        agreed = all(line.base == line.assignment.pay for line in paid)
        said = [_("base as agreed") if agreed else _("base by hand")]
        bonuses = [line for line in paid if line.bonus]
        by_rule = [line for line in bonuses if line.bonus_note and "by hand" not in line.bonus_note]
        if not bonuses:
            said.append(_("no bonus"))
        elif len(by_rule) == len(bonuses):
            said.append(_("bonus by rule for %(bonuses)s") % {"bonuses": len(bonuses)})
        elif by_rule:
            by_hand = len(bonuses) - len(by_rule)
            said.append(
                _("bonus by rule for %(by_rule)s, by hand for %(by_hand)s")
                % {"by_rule": len(by_rule), "by_hand": by_hand}
            )
        else:
            said.append(_("bonus by hand for %(bonuses)s") % {"bonuses": len(bonuses)})
        return "; ".join(said)

    @property
    def worker_count(self) -> int:
        return len({person.worker.pk for person in self.people})


def payout_page(
    batch: PayoutBatch,
    viewer: User,
    *,
    choices: Choices | None = None,
    selected: int | None = None,
) -> PayoutPage:
    """Return the page with the lines of ``choices`` ticked (None: as proposed).

    A fixed number of queries, whatever the number of lines.
    """
    lines = lines_of(batch)
    around = task_evidence(batch.task, scored_by(batch))
    found = gather_evidence([line.assignment for line in lines], around)
    people = _select(_people(batch, lines, found, choices), selected)
    going = going_of(people)
    why_not = reason_cannot_decide(batch, viewer)
    page = PayoutPage(batch, people, around, going, why_not, choices=choices)
    return replace(page, checks=_checks(page))


def scored_by(batch: PayoutBatch) -> Run | None:
    """The run that the proposal was made from, whichever is official by now; None without one."""
    if batch.evidence_run is None:
        return None
    found = Run.objects.filter(project=batch.project_id, number=batch.evidence_run)
    return found.select_related("snapshot").defer("snapshot__answer_ids").first()


def _people(
    batch: PayoutBatch,
    lines: Sequence[Any],  # with their outcome
    found: dict[int, Evidence],
    choices: Choices | None,
) -> list[Person]:
    open_ = batch.state == PayoutBatch.State.PROPOSED
    groups: dict[tuple[int, str, bool], list[PayoutLine]] = {}
    of: dict[int, int] = {}
    for line in lines:
        if batch.state == PayoutBatch.State.APPROVED:
            goes = line.outcome in (Decision.APPROVE, Decision.REJECT)
        elif open_ and choices is not None:
            goes = line in choices
        else:  # as proposed, also where it was sent back
            goes = line.decision != Decision.HOLD
        worker = line.assignment.worker_id
        groups.setdefault((worker, line.outcome, goes), []).append(line)
        of[worker] = of.get(worker, 0) + 1
    people = [
        Person(
            lines=tuple(group),
            evidence=tuple(found[line.assignment_id] for line in group),
            decision=decision,
            of=of[worker],
            goes=goes,
            decided=batch.state == PayoutBatch.State.APPROVED,
        )
        for (worker, decision, goes), group in groups.items()
    ]
    return sorted(people, key=_order)


def _order(person: Person) -> tuple[int, bool, bool, float, str]:
    score = person.score.estimate if person.score else None
    group = ORDER.index(person.decision)
    return (group, not person.flagged, score is None, -(score or 0.0), person.worker.pseudonym)


def _select(people: list[Person], key: int | None) -> list[Person]:
    """Mark the row whose evidence is shown: the asked one, else the first to be looked at."""
    chosen = next((p for p in people if key in {line.pk for line in p.lines}), None)
    first = people[0] if people else None
    to_look = next((p for p in people if p.held or p.flagged), first)
    chosen = chosen or to_look
    return [replace(person, selected=person is chosen) for person in people]


def going_of(people: Sequence[Person]) -> ApprovalEffect:
    """Sums over the rows that go through."""
    paid = [person for person in people if person.goes and not person.rejected]
    lines = [line for person in paid for line in person.lines]
    return ApprovalEffect(
        people=len({person.worker.pk for person in paid}),
        assignments=len(lines),
        of=sum(len(person.lines) for person in people),
        base=sum((line.base for line in lines), ZERO),
        bonus=sum((line.bonus for line in lines), ZERO),
        entries=sum((line.base > 0) + (line.bonus > 0) for line in lines),
        rejected=sum(len(p.lines) for p in people if p.rejected and p.goes),
    )


# Checks ----------------------------------------------------------------------------------------


def _checks(page: PayoutPage) -> list[Check]:
    if not page.open:
        return []
    checks = [_budget(page, page.batch.task)]
    if page.batch.project.budget is not None:
        checks.append(_budget(page, page.batch.project))
    found = [
        _hourly(page),
        _below_agreed(page),
        _own(page),
        *_ways(page),
        *_rejections(page),
    ]
    return checks + [check for check in found if check is not None]


def _budget(page: PayoutPage, holder: Task | Project) -> Check:
    currency, before = page.batch.project.currency, LedgerEntry.objects.cost_of(holder)
    after, of_task = before + page.going.pay, isinstance(holder, Task)
    told = {"before": money(before, currency), "after": money(after, currency)}
    if holder.budget is None:
        text = (
            _("Task budget not set; spent %(before)s, after this %(after)s")
            if of_task
            else _("Project budget not set; spent %(before)s, after this %(after)s")
        )
        return Check("done", text % told)
    text = (
        _("Task budget %(budget)s, spent %(before)s, after this %(after)s")
        if of_task
        else _("Project budget %(budget)s, spent %(before)s, after this %(after)s")
    ) % {**told, "budget": money(holder.budget, currency)}

    if after > holder.budget:
        over = money(after - holder.budget, currency)
        return Check(
            "bad", text, small=_("%(over)s too much; approving will be refused.") % {"over": over}
        )
    return Check("done", text)


def _hourly(page: PayoutPage) -> Check | None:
    """Base and bonus over the time worked; every line under the floor is named with its rate."""
    currency, floor = page.batch.project.currency, page.batch.project.hourly_floor
    rates, hows, under, untimed = [], set(), [], 0
    for person in page.people:
        if not person.goes or person.rejected:
            continue
        for line, evidence in zip(person.lines, person.evidence, strict=True):
            time = worked_time(evidence, page.around.median_seconds)
            if time is None:
                untimed += 1
                continue
            rate = time.rate(line.base + line.bonus)
            rates.append(rate)
            hows.add(time.how)
            if floor and time.is_below_floor(line.base + line.bonus, floor):
                under.append(f"{person.worker.pseudonym} {money(rate, currency)}")
    if not rates:
        none = _("No hourly rates: no working time was measured")
        return Check("warn", none) if untimed else None
    lowest, told = money(min(rates), currency), "; ".join(_(one) for one in sorted(hows))
    how = _("Base and bonus over the time worked: %(how)s.") % {"how": told}
    if untimed:
        text = _("Without a measured time, and so without a rate: %(lines)s.")
        how = f"{how} {text % {'lines': plural(untimed, 'line')}}"
    if floor is None:
        text = _("Hourly pay with bonus: the lowest is %(lowest)s; no floor is set")
        return Check("done", text % {"lowest": lowest}, small=how)
    least = money(floor, currency)
    if under:
        text = (
            _("%(under)s of %(rates)s lines under %(floor)s an hour: %(named)s and %(more)s more")
            if len(under) > NAMED
            else _("%(under)s of %(rates)s lines under %(floor)s an hour: %(named)s")
        ) % {
            "under": len(under),
            "rates": len(rates),
            "floor": least,
            "named": ", ".join(under[:NAMED]),
            "more": len(under) - NAMED,
        }
        return Check("warn", text, small=how)
    text = _("No hourly pay with bonus is under %(floor)s; the lowest is %(lowest)s")
    return Check("done", text % {"floor": least, "lowest": lowest}, small=how)


def _below_agreed(page: PayoutPage) -> Check | None:
    less = sum(
        line.base < line.assignment.pay
        for person in page.people
        if person.goes and not person.rejected
        for line in person.lines
    )
    if not less:
        return None
    text = ngettext(
        "%(n)s assignment is paid less than the task promised",
        "%(n)s assignments are paid less than the task promised",
        less,
    ) % {"n": count(less)}
    return Check("warn", text, small=_("The worker reads the reason that stands with the line."))


def _own(page: PayoutPage) -> Check | None:
    batch = page.batch
    if any(person.worker.user_id == batch.proposed_by_id for person in page.people):
        return Check(
            "warn",
            _("%(proposed_by)s, who proposed this, is among those it pays")
            % {"proposed_by": batch.proposed_by},
        )
    return None


def _ways(page: PayoutPage) -> list[Check]:
    """How the pay leaves after an approval: each way with its people and amount."""
    lines = [line for p in page.people if p.goes and not p.rejected for line in p.lines]
    ways = ways_of_assignments([line.assignment_id for line in lines])
    found: dict[str, list[PayoutLine]] = {}
    for line in lines:
        if line.base + line.bonus > 0:
            found.setdefault(ways[line.assignment_id], []).append(line)
    checks = []
    for way in (way for way in WAYS if way in found):
        word, after = WAYS[way]
        people = len({line.assignment.worker_id for line in found[way]})
        amount = sum((line.base + line.bonus for line in found[way]), ZERO)
        told = {
            "way": word,
            "people": plural(people, "person", "people"),
            "amount": money(amount, page.batch.project.currency),
        }
        mark = {API: "done", MISSING: "warn"}.get(way, "waiting")
        text = _("%(way)s: %(people)s, %(amount)s") % told
        checks.append(Check(mark, text, small=str(after)))
    return checks


def _rejections(page: PayoutPage) -> list[Check]:
    rejected = [p for p in page.people if p.rejected and p.goes]
    if not rejected:
        return []
    reasons = [line.reason for person in rejected for line in person.lines]
    return [
        Check(
            "warn",
            _("%(rejections)s to agree with") % {"rejections": plural(len(reasons), "rejection")},
            small=_(
                "The text for the worker has %(shortest)s characters. They may reply once, "
                "for %(days)s."
            )
            % {
                "shortest": min(len(reason) for reason in reasons),
                "days": plural(page.batch.project.reply_days, "day"),
            },
            links=((f"?{page.query}&line={rejected[0].key}#evidence", _("Read it")),),
        )
    ]


By = PayoutRule.BonusBy


def score_name(task: Task) -> str:
    """Return the label of the workers' score in this task; "" if there is none."""
    bases = bases_of(task)
    if not bases:
        return ""
    return _("Competence") if By.COMPETENCE in bases else _("Score")


def why_no_bonus(task: Task) -> str:
    """Why this type of task offers no bonus by rule; empty where it offers one."""
    if bases_of(task):
        return ""
    return str(get_type(task.type).no_bonus)


def rule_words(rule: PayoutRule | None, project: Project) -> str:
    """Describe a payout rule in a sentence; "" without a rule."""
    if rule is None:
        return ""
    currency = project.currency
    said = [_("Base as agreed")]
    if rule.bonus_by == By.NONE:
        said.append(_("no bonus by score"))
    else:
        steps = ", ".join(_step(rule, row, currency) for row in rule.steps)
        said.append(
            _("bonus by %(label)s: %(steps)s") % {"label": By(rule.bonus_by).label, "steps": steps}
        )
    if rule.flat_percent:
        percent = plain_decimal(rule.flat_percent)
        said.append(_("bonus of %(percent)s%% of the base") % {"percent": percent})
    limits = (
        (project.hourly_floor if rule.top_up else None, _("raised to %(amount)s an hour")),
        (rule.cap_each, _("at most %(amount)s of bonus a person")),
        (rule.cap_total, _("at most %(amount)s of bonus in total")),
    )
    for amount, text in limits:
        if amount is not None:
            said.append(text % {"amount": money(amount, currency)})

    return "; ".join(said) + "."


def _step(rule: PayoutRule, row: dict[str, str], currency: str) -> str:
    bonus = money(float(row["bonus"]), currency)
    if rule.bonus_by == By.RANK:
        return _("first %(at)s %(bonus)s") % {"at": row["at"], "bonus": bonus}
    return _("from %(at)s %(bonus)s") % {"at": score(float(row["at"])), "bonus": bonus}
