"""What changes when another run becomes official, before anybody makes it so. Writes nothing.

Both runs are finished, so nothing is computed: their rows are held against each other, and the
rules of panels and of bonuses are applied to either.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import gettext, gettext_noop

from annotation.models import Assignment, PayoutBatch, PayoutRule, Task
from annotation.payouts.selectors.proposals import bonus_given, lines_of, unsettled_assignments
from crowdqc.errors import Invalid
from crowdqc.numbers import mid_sentence, plural
from evaluation.models import PanelWatch, Run, Selection
from evaluation.panels import rules as panel_choice
from evaluation.panels import watch as panel_watch
from evaluation.payouts import form as payout_form
from evaluation.payouts.bonus import Frame, Payee, apply_rule
from evaluation.payouts.selectors.evidence import TaskEvidence, gather_evidence, task_evidence
from evaluation.payouts.wage import worked_time
from evaluation.runs.exclusion_preview import TABLES, names_of
from evaluation.runs.official.selectors import official_run

LISTED = 40  # rows of one table
TITLES = {
    "workers": gettext_noop("Workers"),
    "systems": gettext_noop("Systems"),
    "texts": gettext_noop("Texts"),
}
ZERO = Decimal("0.00")
By = PayoutRule.BonusBy
Place = tuple[int, str]  # whose, dimension


@dataclass(frozen=True)
class BoardPlace:
    """Where somebody stands on a board of a run; ``rank`` by the estimate, 1 the best."""

    rank: int | None
    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Move:
    """A place before and after; None where the run has no such row."""

    name: str
    dimension: str
    before: BoardPlace | None
    after: BoardPlace | None

    @property
    def _ranks(self) -> tuple[int | None, int | None]:
        before, after = self.before, self.after
        return before.rank if before else None, after.rank if after else None

    @property
    def steps(self) -> int | None:
        """Return how many ranks it goes up (above 0) or down; None if not on both boards."""
        before, after = self._ranks
        return None if before is None or after is None else before - after

    @property
    def moves(self) -> bool:
        """Whether the rank changes."""
        before, after = self._ranks
        return before != after


@dataclass(frozen=True)
class Table:
    """Those who move, the largest step first."""

    title: str
    rows: list[Move]
    moved: int
    n: int


@dataclass(frozen=True)
class PanelEffect:
    """A panel by one of its rules: who comes under it, and who no longer does."""

    panel: str
    panel_id: int
    rule: str
    more: list[str]
    fewer: list[str]


@dataclass(frozen=True)
class BonusRow:
    worker: str
    before: Decimal
    after: Decimal


@dataclass(frozen=True)
class Bonuses:
    """What the task's rule gives for work that waits, by either run."""

    rows: list[BonusRow]  # where it differs
    people: int
    before: Decimal
    after: Decimal


@dataclass(frozen=True)
class Pending:
    """A proposal that stands: it keeps its amounts. ``gives`` is what the rule would give anew."""

    number: int
    run: int | None
    bonus: Decimal
    gives: Decimal | None


@dataclass(frozen=True)
class OfficialEffect:
    """Everything that the page shows before the click."""

    now: Run | None
    run: Run
    sentence: str
    tables: list[Table]
    panels: list[PanelEffect]
    bonuses: Bonuses | None
    pending: list[Pending]


def effect(run: Run) -> OfficialEffect:
    """Return what changes if this run replaces the official one."""
    now = official_run(run.task)
    tables = [found for name in TABLES if (found := _table(name, now, run)).n]
    panels = [*_watched(now, run), *_selected(now, run)]
    pays = PayoutRule.objects.filter(task=run.task).exclude(bonus_by=By.NONE).first()
    around = task_evidence(run.task, run)
    bonuses = _bonuses(run.task, now, around) if pays is not None else None
    return OfficialEffect(
        now,
        run,
        _sentence(now, tables, panels, bonuses),
        tables,
        panels,
        bonuses,
        [_pending(batch, around, pays) for batch in _open(run.task)],
    )


# Ranks ------------------------------------------------------------------------------------------


def _stands(name: str, run: Run | None) -> dict[Place, BoardPlace]:
    """Return every row of a run's table with its rank among the estimates of its board."""
    if run is None:
        return {}
    model, key = TABLES[name]
    rows = list(
        model._default_manager.filter(run=run).values_list(
            key, "dimension", "component", "estimate", "low", "high"
        )
    )
    boards: dict[tuple[str, int], list[float]] = {}
    for _, dimension, component, estimate, *_ in rows:
        if estimate is not None:
            boards.setdefault((dimension, component), []).append(estimate)
    for board in boards.values():
        board.sort()
    return {
        (pk, dimension): BoardPlace(
            None
            if estimate is None
            else 1 + len(board := boards[dimension, component]) - bisect_right(board, estimate),
            estimate,
            low,
            high,
        )
        for pk, dimension, component, estimate, low, high in rows
    }


def _table(name: str, now: Run | None, run: Run) -> Table:
    before, after = _stands(name, now), _stands(name, run)
    places = list(dict.fromkeys([*after, *before]))
    names = names_of(name, [pk for pk, _ in places])
    every = [
        Move(
            names.get(pk, str(pk)),
            dimension,
            before.get((pk, dimension)),
            after.get((pk, dimension)),
        )
        for pk, dimension in places
    ]
    moved = [one for one in every if one.moves]
    moved.sort(key=lambda one: (-abs(one.steps or 0), one.name, one.dimension))
    return Table(gettext(TITLES[name]), moved[:LISTED], len(moved), len(every))


# Panels -----------------------------------------------------------------------------------------


def _differ(before: Iterable[Any], after: Iterable[Any]) -> tuple[list[str], list[str]]:
    old, new = ({row.worker: row.name for row in rows} for rows in (before, after))
    more = sorted(name for pk, name in new.items() if pk not in old)
    return more, sorted(name for pk, name in old.items() if pk not in new)


def _watched(now: Run | None, run: Run) -> list[PanelEffect]:
    """Members under a panel's threshold, or surely among its best, by either run."""
    found = []
    rows = PanelWatch.objects.filter(task=run.task_id, active=True).select_related("panel")
    for watch in rows.order_by("panel__name"):
        members = set(
            watch.panel.members.filter(until__isnull=True).values_list("worker_id", flat=True)
        )
        sides = [
            {kind: [row for row in said if row.worker in members] for kind, said in told.items()}
            for told in (
                panel_watch.watch_findings(watch, now) if now else {},
                panel_watch.watch_findings(watch, run),
            )
        ]
        for kind, rule in (
            (
                panel_watch.BELOW,
                gettext("whole interval below %(threshold)s") % {"threshold": watch.threshold},
            ),
            (
                panel_watch.INCENTIVE,
                gettext("surely among the best %(incentive_ranks)s")
                % {"incentive_ranks": watch.incentive_ranks},
            ),
        ):
            more, fewer = _differ(sides[0].get(kind, []), sides[1].get(kind, []))
            if more or fewer:
                found.append(PanelEffect(watch.panel.name, watch.panel_id, rule, more, fewer))
    return found


def _selected(now: Run | None, run: Run) -> list[PanelEffect]:
    """Whom the rule of each panel's last choice on this task would choose by either run."""
    found, seen = [], set()
    rows = Selection.objects.filter(task=run.task_id).exclude(rule=Selection.Rule.HAND)
    for made in rows.select_related("panel").order_by("-pk"):
        if made.panel_id in seen:
            continue
        seen.add(made.panel_id)
        wanted = panel_choice.RuleRequest(rule=made.rule, **made.params)
        try:
            sides = [panel_choice.choose(one, wanted).chosen if one else [] for one in (now, run)]
        except Invalid:  # a rule that can no longer be read changes nothing
            continue
        more, fewer = _differ(*sides)
        if more or fewer:
            rule = (
                gettext("the best %(k)s") % {"k": wanted.k}
                if wanted.k
                else gettext("lower end from %(threshold)s") % {"threshold": wanted.threshold}
            )
            found.append(PanelEffect(made.panel.name, made.panel_id, rule, more, fewer))
    return found


# Money ------------------------------------------------------------------------------------------


def _bonus_by_worker(
    task: Task, rows: Sequence[Assignment], around: TaskEvidence
) -> dict[str, Decimal]:
    """Return each worker's bonus for this work by rule, promises and the scores of a run."""
    found = list(gather_evidence(rows, around, counted=False).values())
    lines = payout_form.start(found, payout_form.terms_of(task, around, found))
    sums: dict[str, Decimal] = {}
    for draft in lines:
        name = draft.evidence.assignment.worker.pseudonym
        sums[name] = sums.get(name, ZERO) + draft.given.amount
    return sums


def _bonuses(task: Task, now: Run | None, then: TaskEvidence) -> Bonuses:
    rows = list(unsettled_assignments(task))
    before, after = (
        _bonus_by_worker(task, rows, task_evidence(task, now)),
        _bonus_by_worker(task, rows, then),
    )
    changed = [
        BonusRow(name, before[name], after[name])
        for name in sorted(after)
        if before[name] != after[name]
    ]
    return Bonuses(changed, len(after), sum(before.values(), ZERO), sum(after.values(), ZERO))


def _open(task: Task) -> list[PayoutBatch]:
    rows = task.payout_batches.filter(state=PayoutBatch.State.PROPOSED).order_by("number")
    return list(rows.select_related("project"))


def _pending(batch: PayoutBatch, around: TaskEvidence, rule: PayoutRule | None) -> Pending:
    """A proposal as it stands, and what the rule would give the same lines by this run."""
    lines = lines_of(batch)
    bonus = sum((line.bonus for line in lines), ZERO)
    if rule is None:
        return Pending(batch.number, batch.evidence_run, bonus, None)
    found = gather_evidence([line.assignment for line in lines], around, counted=False)
    given = bonus_given(batch.task)
    for line in lines:  # what this proposal gives is not given before it
        if line.live and line.decision != line.Decision.REJECT:
            worker = line.assignment.worker_id
            given[worker] = given.get(worker, ZERO) - line.bonus
    frame = Frame(
        currency=batch.project.currency,
        floor=batch.project.hourly_floor,
        run=around.run.number if around.run else None,
        given=given,
    )
    payees = [
        Payee(
            found[line.assignment_id],
            line.base,
            worked_time(found[line.assignment_id], around.median_seconds),
            line.decision != line.Decision.REJECT,
        )
        for line in lines
    ]
    gives = sum((one.amount for one in apply_rule(rule, payees, frame)), ZERO)
    return Pending(batch.number, batch.evidence_run, bonus, gives)


def _sentence(
    now: Run | None, tables: Sequence[Table], panels: Sequence[PanelEffect], bonuses: Bonuses | None
) -> str:
    """The whole of it in one line."""
    if now is None:
        return gettext(
            "No run is official yet: cards, boards, panels and payouts begin to read this one."
        )
    told = [
        gettext("%(moved)s of %(ranks)s of %(table)s")
        % {
            "moved": table.moved,
            "ranks": plural(table.n, "rank"),
            "table": mid_sentence(table.title),
        }
        for table in tables
        if table.moved
    ]
    if panels:
        told.append(plural(len(panels), "panel rule"))
    if bonuses is not None and bonuses.rows:
        told.append(
            gettext("the bonus of %(workers)s") % {"workers": plural(len(bonuses.rows), "worker")}
        )
    if not told:
        return gettext("No rank, no panel and no bonus changes.")
    head = get_text_list(told, gettext("and"))
    return gettext("%(head)s would change.") % {"head": f"{head[:1].upper()}{head[1:]}"}
