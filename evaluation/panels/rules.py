"""Who of a run's workers a rule chooses for a panel, and who stands at its border. Writes nothing.

Ranks are ranges: a run stores for each worker how many are surely above and surely below, from one
simultaneous comparison of all. Where a run stores no such comparison, two workers count as told
apart only where their intervals do not overlap, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from crowdqc.errors import Invalid
from crowdqc.numbers import count, parse_real, parse_whole
from evaluation.methods.workers.claims import family_bounds
from evaluation.models import Run, Selection, WorkerScore

Rule = Selection.Rule
IN, OUT = "chosen", "not chosen"
FEW, APART, GONE = "no interval", "another board", "cannot be let in"
NO_INTERVAL = gettext_noop("the run gives no interval")
NOT_SCORED = gettext_noop("not scored")
NOT_HERE = gettext_noop("no longer in the project")
COLUMNS = (
    "worker_id",
    "worker__pseudonym",
    "worker__removed_at",
    "component",
    "estimate",
    "low",
    "high",
    "n",
    "rank_low",
    "rank_high",
    "extra",
)


@dataclass
class Row:
    """A worker of the run: what is known, and what the rule makes of them."""

    worker: int
    name: str
    component: int
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    rank_low: int | None
    rank_high: int | None
    why: str  # why there is no interval, or why they cannot be let in
    gone: bool = False
    place: str = OUT
    border: bool = False  # on either side of the rule, as far as anybody can tell

    @property
    def chosen(self) -> bool:
        """Whether the rule takes the worker into the panel."""
        return self.place == IN

    @property
    def sure(self) -> bool:
        """Whether the row has an estimate with an interval."""
        return self.low is not None and self.high is not None and self.estimate is not None

    def as_dict(self) -> dict[str, Any]:
        """The row as a selection keeps it."""
        names = (
            "worker",
            "name",
            "component",
            "estimate",
            "low",
            "high",
            "n",
            "rank_low",
            "rank_high",
            "why",
            "place",
            "border",
        )
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class RuleRequest:
    """A rule with its parameters, as somebody asked for it."""

    rule: str
    k: int | None = None
    threshold: float | None = None
    dimension: str = ""
    part: int = 1
    workers: tuple[int, ...] = ()  # by hand

    def params(self) -> dict[str, Any]:
        """Parameters of the rule, as a selection stores them."""
        told: dict[str, Any] = {"dimension": self.dimension, "part": self.part}
        if self.rule == Rule.TOP:
            told["k"] = self.k
        if self.rule == Rule.THRESHOLD:
            told["threshold"] = self.threshold
        if self.rule == Rule.HAND:
            told["workers"] = sorted(self.workers)
        return told


@dataclass
class Choice:
    """What a rule chooses of a run's workers."""

    rows: list[Row]
    wanted: RuleRequest
    adjusted: bool  # ranked by question-adjusted scores
    by_overlap: bool  # the run compares no workers; their intervals are held against each other
    sentences: list[str] = field(default_factory=list)

    @property
    def chosen(self) -> list[Row]:
        return [row for row in self.rows if row.chosen]

    @property
    def border(self) -> list[Row]:
        """Return the workers at the rule's border, on either side."""
        return [row for row in self.rows if row.border]

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """The rows by their place, in the order of the page."""
        heads = (
            (IN, _("Chosen")),
            (OUT, _("Not chosen")),
            (GONE, _("Cannot be let in")),
            (FEW, _("No interval, so no place in the order")),
            (APART, _("On another board: they compare with nobody here")),
        )
        found = [(head, [row for row in self.rows if row.place == place]) for place, head in heads]
        return [(head, rows) for head, rows in found if rows]


def rows_of(run: Run, dimension: str = "") -> list[Row]:
    """The run's workers on one dimension, the best estimate first; two queries."""
    out = dict(run.task.exclusions.in_force().values_list("worker_id", "reason"))
    found = []
    for values in WorkerScore.objects.filter(run=run, dimension=dimension).values_list(*COLUMNS):
        pk, name, removed, component, estimate, low, high, n, first, last, extra = values
        why = extra.get("no_interval", "")
        if low is None and not why:
            # English, as a selection keeps it; translated where it is shown.
            why = NO_INTERVAL if estimate is not None else NOT_SCORED
        if removed is not None:
            why = NOT_HERE
        elif pk in out:
            why = f"left out of results: {out[pk]}"
        found.append(
            Row(
                pk,
                name,
                component,
                estimate,
                low,
                high,
                n,
                first,
                last,
                why,
                gone=removed is not None or pk in out,
            )
        )
    found.sort(key=lambda row: (row.component or 10**6, -(row.estimate or 0.0), row.name))
    return found


def is_question_adjusted(run: Run, part: int) -> bool:
    """Whether a board of the run ranks by question-adjusted scores."""
    first = WorkerScore.objects.filter(run=run, dimension="", component=part).first()
    return first is not None and first.extra.get("by") == "adjusted"


def parts(rows: Iterable[Row]) -> dict[int, int]:
    """Count the workers on each board, by its number."""
    sizes: dict[int, int] = {}
    for row in rows:
        if row.component:
            sizes[row.component] = sizes.get(row.component, 0) + 1
    return dict(sorted(sizes.items()))


def bounds_of_all(rows: Collection[Row]) -> tuple[list[float], list[float]]:
    """Widen the intervals of these rows so that they hold for all at once."""
    known = np.array([(row.estimate, row.low, row.high) for row in rows], dtype=np.float64)
    low, high = family_bounds(*known.reshape(-1, 3).T)
    return low.tolist(), high.tolist()


def _rank_by_overlap(rows: Collection[Row]) -> None:
    """Ranges of ranks from intervals alone: apart are only those that do not overlap."""
    lows, highs = bounds_of_all(rows)
    for row, low, high in zip(rows, lows, highs, strict=True):
        row.rank_low = 1 + sum(other > high for other in lows)
        row.rank_high = len(rows) - sum(other < low for other in highs)


def choose(run: Run, wanted: RuleRequest) -> Choice:
    """Apply a rule to a finished run. Raises Invalid naming ``rule``, ``k`` or ``threshold``."""
    _check(wanted)
    rows = rows_of(run, wanted.dimension)
    board = [row for row in rows if row.component == wanted.part and row.sure]
    by_overlap = bool(board) and any(row.rank_low is None for row in board)
    if by_overlap:
        _rank_by_overlap(board)
    for row in rows:
        if row.component and row.component != wanted.part:
            row.place = APART
        elif not row.sure:
            row.place = FEW
    made = Choice(rows, wanted, is_question_adjusted(run, wanted.part), by_overlap)
    apply_rule(made, board)
    for row in rows:
        if row.gone:
            row.place = GONE
    made.sentences += _aside(made)
    return made


def apply_rule(made: Choice, board: list[Row]) -> None:
    """Apply the chosen rule to the rows of a board, setting the place of each."""
    of = {Rule.TOP: _top, Rule.THRESHOLD: _threshold, Rule.HAND: _hand}
    of[Rule(made.wanted.rule)](made, board)


def _check(wanted: RuleRequest) -> None:
    if wanted.rule not in Rule.values:
        raise Invalid(_("Choose a rule."), fields={"rule": _("top, threshold or hand.")})
    if wanted.rule == Rule.TOP and (wanted.k is None or not 1 <= wanted.k <= 10_000):
        raise Invalid(_("Say how many."), fields={"k": _("A whole number from 1.")})
    if wanted.rule == Rule.THRESHOLD and wanted.threshold is None:
        raise Invalid(_("Give the threshold."), fields={"threshold": _("A number, as 0.6.")})


def names(rows: Iterable[Row]) -> str:
    """Join the rows' names, like ``teal-owl, red-fox and blue-jay``."""
    told = [row.name for row in rows]
    return get_text_list(told, _("and"))


def _top(made: Choice, board: list[Row]) -> None:
    """The first k of the board; at the border are those whose range of ranks crosses k."""
    k = made.wanted.k or 0
    for place, row in enumerate(board, 1):
        row.place = IN if place <= k else OUT
        row.border = len(board) > k and (row.rank_low or 0) <= k < (row.rank_high or 0)
    within = [row for row in board if row.border and row.chosen]
    without = [row for row in board if row.border and not row.chosen]
    if len(board) < k:
        made.sentences.append(
            ngettext(
                "Only %(n)s worker has an interval, so fewer than %(k)s are chosen.",
                "Only %(n)s workers have an interval, so fewer than %(k)s are chosen.",
                len(board),
            )
            % {"n": count(len(board)), "k": k}
        )
    if within and without:
        made.sentences.append(
            _(
                "Who is among the best %(k)s is not sure. In: %(within)s. Out: %(without)s. These "
                "%(n)s cannot be separated at this border."
            )
            % {
                "k": k,
                "within": names(within),
                "without": names(without),
                "n": len(within) + len(without),
            }
        )
    elif board and len(board) > k:
        made.sentences.append(_("The best %(k)s are told apart from everybody below.") % {"k": k})


def _threshold(made: Choice, board: list[Row]) -> None:
    """Choose workers whose interval lies at or above the threshold; mark those around it."""
    limit = made.wanted.threshold or 0.0
    for row, low, high in zip(board, *bounds_of_all(board), strict=True):
        row.place = IN if low >= limit else OUT
        row.border = low < limit <= high
    border = [row for row in board if row.border]
    if border:
        made.sentences.append(
            _(
                "Of %(border)s it cannot be said on which side of the threshold they stand, with "
                "all workers held against it at once. They are not chosen."
            )
            % {"border": names(border)}
        )


def _hand(made: Choice, board: list[Row]) -> None:
    """Whoever was ticked, also without an interval or on another board."""
    ticked = set(made.wanted.workers)
    unknown = ticked - {row.worker for row in made.rows}
    if unknown:
        raise Invalid(
            _("One of the chosen is not in this run."), fields={"worker": _("Of this run.")}
        )
    for row in made.rows:
        if row.worker in ticked:
            row.place = IN
    unsure = [row for row in made.chosen if not row.sure]
    if unsure:
        made.sentences.append(
            _("Chosen without an interval: %(unsure)s.") % {"unsure": names(unsure)}
        )


def _aside(made: Choice) -> list[str]:
    """List what is to be known of the order, and of which workers it says nothing."""
    told = []
    lost = [row for row in made.rows if row.place == GONE]
    if lost and made.wanted.rule == Rule.TOP:
        told.append(
            _("%(lost)s cannot be let in and would still take a place in the order.")
            % {"lost": names(lost)}
        )
    if made.adjusted:
        told.append(
            _("They answered different questions, so scores are adjusted for the questions.")
        )
    if made.by_overlap and made.wanted.rule == Rule.TOP:
        told.append(
            _(
                "This run compares no two workers; here two are told apart where their intervals "
                "do not overlap, one pair at a time."
            )
        )
    return told


def read(data: Mapping[str, Any], hand: Iterable[str] = ()) -> RuleRequest:
    """A rule as a form sends it. Raises Invalid naming the field that is no number."""

    def number(name: str, read: Callable[[str, int, int], Any]) -> Any:
        raw = str(data.get(name) or "").strip()
        value = read(raw, -(10**6), 10**6)
        if raw and value is None:
            raise Invalid(
                _("%(raw)s is no number.") % {"raw": f"{raw[:40]!r}"},
                fields={name: _("A number, as 0.6.")},
            )
        return value

    ticked = [parse_whole(one) for one in hand]
    if None in ticked:
        raise Invalid(_("Choose workers of the run."), fields={"worker": _("Of this run.")})
    return RuleRequest(
        rule=str(data.get("rule") or Rule.TOP),
        k=number("k", parse_whole),
        threshold=number("threshold", parse_real),
        dimension=str(data.get("dimension") or ""),
        part=number("part", parse_whole) or 1,
        workers=tuple(pk for pk in ticked if pk is not None),
    )
