"""Boards of systems of a pairwise study and the matrix of wins, from a run's rows alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import CharField, Count, Value
from django.db.models.functions import Concat
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import count, interval, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.agreement import heat_step
from evaluation.models import CandidateScore, Run, RunState, SystemScore
from evaluation.models.runs import PUBLISHED
from evaluation.pairwise.columns import BESIDE, CONTROLLED, RAW, SYSTEMS, UNGRADED
from evaluation.pairwise.head import head_of
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.run import CORE
from evaluation.results import boards as leaderboard
from evaluation.results.boards import Board, Row
from evaluation.results.cells import Cell, Html, beside, bold, hidden, inline, link, note_below
from evaluation.results.columns import (
    Column,
)
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.tables import ResultTable
from evaluation.runs.official.selectors import in_force
from evaluation.runs.results import votes_used

FIGURES = (
    *("win", "head", "shared", "grade_mean", "diagnostics", "recipe", votes_used.FIGURE),
    *("controlled", "length"),
)
TOGETHER = gettext_noop("All together")
RUNS_OFFERED = 8
PLACE = ("component", "estimate", "low", "high", "n")
Told = Mapping[str, Any]


def default_dimension(asked: Sequence[AskedDimension]) -> str:
    """Return the overall dimension, or the first one if there is none."""
    overall = [one.name for one in asked if "overall" in one.name.lower()]
    return overall[-1] if overall else asked[0].name if asked else POOLED


def run_choices(task: Task) -> list[Run]:
    """Finished core runs and published results that a page can show, the newest first."""
    return list(
        Run.objects.filter(task=task, method__in=(CORE, PUBLISHED), state=RunState.DONE)
        .only("number", "method", "finished_at")
        .annotate(in_force=in_force())
        .order_by("-id")[:RUNS_OFFERED]
    )


def against_average(merit: float | None) -> float | None:
    """The share of decided votes that this log-merit wins from one of the mean merit, 0."""
    return None if merit is None else 1 / (1 + math.exp(-merit))


@dataclass
class SystemRow(Row):
    """A system on the board of one dimension."""

    dimension: str = POOLED
    wins: float | None = None
    grade: float | None = None
    grade_low: float | None = None
    grade_high: float | None = None
    controlled: float | None = None  # at equal length and style
    words: float | None = None  # of its texts, the median

    @property
    def label(self) -> str:
        return f"{self.name}, {self.detail}" if self.detail else self.name


def rows_of(run: Run, told: Told) -> list[SystemRow]:
    """A row a system, dimension and component (two queries)."""
    means = told.get("grade_mean", []) if _share_topics(run) else []
    grades = {(row["dimension"], row["system"]): row for row in means}
    found = SystemScore.objects.filter(run=run).values_list(
        "dimension",
        "system_id",
        "system__name",
        "system__prompt_strategy",
        *leaderboard.STORED,
    )
    return [_row(values, grades) for values in found]


def _share_topics(run: Run) -> bool:
    """Whether every topic has texts of every system: only then mean grades compare systems."""
    cell = Concat("candidate__system", Value(" "), "candidate__topic", output_field=CharField())
    texts = CandidateScore.objects.filter(run=run).order_by()
    found = texts.aggregate(
        cells=Count(cell, distinct=True),
        systems=Count("candidate__system", distinct=True),
        topics=Count("candidate__topic", distinct=True),
    )
    return bool(found["cells"] == found["systems"] * found["topics"])


def _row(values: Sequence[Any], grades: Mapping[tuple[str, int], Told]) -> SystemRow:
    dimension, pk, name, strategy, *stored = values
    component, estimate, *_ = stored
    grade = grades.get((dimension, pk), {})
    never = gettext("never compared with another system")
    return SystemRow.of(
        *(pk, name, strategy, stored),
        uniterated=None,
        why=gettext("no ranks were asked for") if component else never,
        dimension=dimension,
        wins=against_average(estimate if component else None),
        grade=grade.get("grade"),
        grade_low=grade.get("low"),
        grade_high=grade.get("high"),
    )


def groups(rows: Sequence[SystemRow]) -> list[dict[str, Any]]:
    """The groups of a dimension's rows that cannot be separated, the best of each board first.

    A border is sure (``clear_above``) where nobody of the group can stand above it; below a sure
    one are ``clear_below`` systems, 0 where it is not sure.
    """
    made: list[dict[str, Any]] = []
    for component in sorted({row.component for row in rows if row.component}):
        inside = ordered([row for row in rows if row.component == component and row.sure])
        for number in sorted({row.group for row in inside if row.group}):
            members = [row for row in inside if row.group == number]
            first = inside.index(members[0]) + 1
            lines = [row.line for row in members]
            spans = [(low, high) for low, high in lines if low is not None and high is not None]
            made.append(
                {
                    "component": component,
                    "group": number,
                    "first": first,
                    "last": first + len(members) - 1,
                    "members": [row.id for row in members],
                    "band": charts.overlap_band(spans),
                    "clear_above": first > 1 and all((row.best or 0) >= first for row in members),
                    "clear_below": 0,
                }
            )
            if made[-1]["clear_above"]:
                made[-2]["clear_below"] = len(inside) - first + 1
    return made


def ordered(rows: Sequence[SystemRow]) -> list[SystemRow]:
    """Sort systems by board, then by merit, best first."""
    return sorted(
        rows,
        key=lambda row: (
            row.component or 10**6,
            -math.inf if row.estimate is None else -row.estimate,
            row.name,
            row.detail,
        ),
    )


def with_control(
    rows: Sequence[SystemRow], told: Told, dimension: str, view: str
) -> tuple[list[SystemRow], bool]:
    """Return the rows of a view with the other score beside, and whether it exists.

    Rows have ``controlled``, ``change`` and ``words``; the diamond is the score not shown.
    """
    equal = {
        row["system"]: row for row in told.get("controlled", ()) if row["dimension"] == dimension
    }
    words = {row["system"]: row["words"] for row in told.get("length", ())}
    made = []
    for row in rows:
        found = equal.get(row.id)
        other = replace(row, words=words.get(row.id))
        if found is not None and found["component"] and row.estimate is not None:
            other.controlled = found["estimate"]
            other.uniterated, other.diamond = (
                other.controlled,
                gettext("%(controlled)s controlled for length and style")
                % {"controlled": score(other.controlled, 2)},
            )
            if view == CONTROLLED:
                other = _equal(other, found)
        made.append(other)
    return made, bool(equal)


def _equal(row: SystemRow, found: Told) -> SystemRow:
    """The row with the controlled score in the place of the raw one."""
    raw = row.estimate
    return replace(
        row,
        **{name: found[name] for name in PLACE},
        compare_low=found.get("compare_low"),
        compare_high=found.get("compare_high"),
        best=found["rank_low"] or None,
        worst=found["rank_high"] or None,
        group=found["group"] or None,
        uniterated=raw,
        diamond=gettext("raw score %(raw)s") % {"raw": score(raw, 2)},
    )


def board(
    run: Run,
    told: Told,
    asked: Sequence[AskedDimension],
    dimension: str,
    *,
    view: str = RAW,
) -> dict[str, Any]:
    """Boards, the compact table of ranks, and the sentence of the page (two queries).

    ``view`` says which score the boards are of; ``raw`` are the rows of the other one,
    ``together`` those of all dimensions together.
    """
    every = rows_of(run, told)
    raw, controlled = with_control(
        ordered([row for row in every if row.dimension == dimension]), told, dimension, RAW
    )
    rows, found = raw, groups(raw)
    if controlled and view == CONTROLLED:
        rows = ordered(with_control(raw, told, dimension, view)[0])
        found = groups(rows)
    numbers = {row.component for row in rows if row.component}
    boards = leaderboard.boards(
        rows,
        rows,
        groups=found,
        references=dict.fromkeys(numbers, 0.0),
        adjusted={},
        grouped=True,
        noun="system",
    )
    shown_score = view if controlled else RAW
    graded = any(row.grade is not None for row in rows)
    shown = BESIDE[shown_score] if controlled else SYSTEMS if graded else UNGRADED
    return {
        "tables": tables(boards, shown),
        "boards": boards,
        "compared": any(one.compared for one in boards),
        "rows": rows,
        "raw": raw,
        "together": ordered([row for row in every if row.dimension == POOLED]),
        "controlled": controlled,
        "shown_score": shown_score,
        "ranks": ranks(every, rows, asked, dimension),
        "columns": columns(asked, dimension),
        "sentence": sentence(run, told, rows, found, boards),
        "first": "" if head_of(told, dimension) else first_words(raw),
        "tally": votes_used.tally_of(told, "ranking", dimension),
    }


def tables(boards: Sequence[Board], columns: Sequence[Column]) -> list[ResultTable]:
    """A table a board of systems."""
    return [
        one.table(
            columns,
            title=_("Ranking by Bradley-Terry score"),
            note=_(
                "Compare no system here with one of another board: no chain of pairs leads from "
                "one to the other."
            ),
        )
        for one in boards
    ]


def sentence(
    run: Run,
    told: Told,
    rows: Sequence[SystemRow],
    found: list[dict[str, Any]],
    boards: Sequence[Board],
) -> str:
    """Say what the board is based on and how finely it separates systems."""
    head = f"{plural(len(rows), 'system')}. {basis(run, told)}"
    if not rows:
        return head
    if len(boards) > 1:
        board_count = {"boards": plural(len(boards), "board")}
        return head + " " + gettext("They stand on %(boards)s, which do not compare.") % board_count
    if not found:
        return head + " " + gettext("Ranks were not asked for.")
    return head


def basis(run: Run, told: Told) -> str:
    """Judgments, pairs and workers behind a run."""
    counts = told.get("diagnostics", {}).get("counts") or {}
    stored = run.snapshot.counts if run.snapshot else {}
    judged = counts.get("judgments", stored.get("answers", 0))
    pairs = counts.get("pairs", stored.get("questions", 0))
    workers = counts.get("workers", stored.get("workers", 0))
    tally = votes_used.tally_of(told)
    said = {
        "judgments": plural(judged if tally is None else tally.used, "judgment"),
        "pairs": plural(pairs, "pair"),
        "workers": plural(workers, "worker"),
    }
    return _("%(judgments)s of %(pairs)s by %(workers)s.") % said


def first_words(rows: Sequence[SystemRow]) -> str:
    """What the best of the board wins; "" where others may be the best as well."""
    top = next((row for row in rows if row.sure and row.wins is not None), None)
    if top is None or top.low is None or top.high is None or sum(r.best == 1 for r in rows) > 1:
        return ""
    span = interval(against_average(top.low), against_average(top.high), 2)
    return gettext(
        "%(top)s wins %(wins)s of the decided votes against the average system (95%% %(span)s)."
    ) % {"top": top.label, "wins": score(top.wins, 2), "span": span}


def columns(asked: Sequence[AskedDimension], dimension: str) -> list[dict[str, Any]]:
    """The dimensions as heads of the table of ranks, all together last where there are several."""
    heads = [(one.name, one.label) for one in asked]
    if len(heads) != 1:
        heads.append((POOLED, gettext(TOGETHER)))
    return [{"name": n, "label": label, "current": n == dimension} for n, label in heads]


def ranks(
    every: Sequence[SystemRow],
    rows: Sequence[SystemRow],
    asked: Sequence[AskedDimension],
    dimension: str,
) -> list[tuple[SystemRow, list[dict[str, Any]]]]:
    """A line a system, in the order of the shown board, with its ranks on every dimension."""
    at = {(row.id, row.dimension): row for row in every}
    many = {
        name
        for name in {row.dimension for row in every}
        if len({row.component for row in every if row.dimension == name and row.component}) > 1
    }
    first = {row.id: row for row in reversed(ordered(every))}
    shown = [*rows, *(row for pk, row in first.items() if pk not in {one.id for one in rows})]
    found = []
    for row in shown:
        cells = []
        for head in columns(asked, dimension):
            one = at.get((row.id, head["name"]))
            # The possible ranks of a system on one dimension.
            cells.append(
                {
                    "text": one.rank if one else "none",
                    "first": one is not None and one.best == 1,
                    "current": head["current"],
                    # 0 where there is only one
                    "board": one.component if one and head["name"] in many else 0,
                }
            )
        found.append((row, cells))
    return found


def leading_words(ranks: Sequence[tuple[SystemRow, list[dict[str, Any]]]]) -> str:
    """On how many dimensions the systems may be first that may be on the shown one."""
    columns = list(zip(*(cells for _row, cells in ranks), strict=True))
    shown = next((column for column in columns if column[0]["current"]), None)
    if shown is None:
        return ""
    first = [cell["first"] for cell in shown]
    same = sum([cell["first"] for cell in column] == first for column in columns)
    return _("the same systems may be first on %(n)s of %(all)s") % {
        "n": count(same),
        "all": count(len(columns)),
    }


def rank_table(
    ranks: Sequence[tuple[SystemRow, list[dict[str, Any]]]],
    heads: Sequence[Mapping[str, Any]],
    *,
    query: str | None,
) -> ResultTable:
    """The possible ranks; ``query``: what addresses of other dimensions keep, None for no links."""
    columns = []
    for head in heads:
        label: Html = head["label"]
        if query is not None and not head["current"]:
            label = link(f"?{urlencode({'dimension': head['name']})}{query}", label, "")
        more = "current" if head["current"] else ""
        columns.append(Column.number("", label, head_classes=more))
    return matrix_table(
        _("Possible ranks of every system on every dimension"),
        _("System"),
        columns,
        [
            MatrixRow(beside(row.name, row.detail), [_rank_cell(cell) for cell in cells])
            for row, cells in ranks
        ],
        name_classes="nowrap",
        classes="data rank-table",
    )


def _rank_cell(cell: Mapping[str, Any]) -> Cell:
    board = _("board %(n)s") % {"n": cell["board"]} if cell["board"] else ""
    marks = ("current" if cell["current"] else "", "zero" if cell["text"] == "none" else "")
    return Cell(inline(cell["text"], board), " ".join(filter(None, ["num nowrap", *marks])))


# The matrix of wins ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """Votes between two systems on a dimension, from the side of the first."""

    wins: int
    ties: int
    losses: int

    @property
    def decided(self) -> int:
        """Count the judgments that are no ties."""
        return self.wins + self.losses

    @property
    def n(self) -> int:
        """Count all judgments, ties included."""
        return self.decided + self.ties

    @property
    def share(self) -> float | None:
        """Share of the decided votes that were won; None without any."""
        return self.wins / self.decided if self.decided else None

    def plus(self, other: Meeting) -> Meeting:
        """Return the sum of these judgments and the other's."""
        return Meeting(self.wins + other.wins, self.ties + other.ties, self.losses + other.losses)

    @property
    def sentence(self) -> str:
        told = {"won": count(self.wins), "lost": count(self.losses)}
        if not self.ties:
            return gettext("%(won)s won, %(lost)s lost") % told
        told["ties"] = plural(self.ties, "tie")
        return gettext("%(won)s won, %(lost)s lost, %(ties)s") % told

    @property
    def cell(self) -> Cell:
        """The share won, with the votes below it."""
        ties = plural(self.ties, "tie") if self.ties else ""
        if self.share is None:
            return Cell(ties or gettext("never met"), "c zero")
        html = note_below(score(self.share, 2), ", ".join(filter(None, [count(self.n), ties])))
        return Cell(
            html,
            f"heat {heat_step(self.share, 1)}",
            title=self.sentence,
            figures=(self.share, self.n, self.ties),
            figure_names="|n|ties",
        )


NOTHING = Meeting(0, 0, 0)


def win_matrix(told: Told, run: Run, dimension: str) -> dict[str, Any]:
    """Return the matrix of wins between systems on a dimension, in the board's order."""
    met: dict[tuple[int, int], Meeting] = {}
    for row in told.get("win", []):
        if row["dimension"] == dimension:
            a, b = row["system_a"], row["system_b"]
            met[a, b] = Meeting(row["wins"], row["ties"], row["losses"])
            met[b, a] = Meeting(row["losses"], row["ties"], row["wins"])
    board_rows = ordered([row for row in rows_of(run, told) if row.dimension == dimension])
    order = list(dict.fromkeys([*(row.id for row in board_rows), *(a for a, _ in sorted(met))]))
    names = judgments.system_names(order)
    lines, rows = [], []
    for a in order:
        cells = [None if a == b else met.get((a, b), NOTHING) for b in order]
        total = NOTHING
        for cell in cells:
            total = total.plus(cell or NOTHING)
        # A system's line of the matrix; a cell is None against itself.
        lines.append({"label": names[a], "cells": cells})
        share = note_below(bold(score(total.share, 2)), count(total.n))
        shown = [Cell(hidden(_("itself")), "c self") if one is None else one.cell for one in cells]
        rows.append(MatrixRow(names[a], [*shown, Cell(share, "c total")]))
    heads = [names[pk] for pk in order]
    every = sum(cell.n for key, cell in met.items() if key[0] < key[1])
    ties = sum(cell.ties for key, cell in met.items() if key[0] < key[1])
    return {
        "rows": board_rows,
        "lines": lines,
        "heads": heads,
        "table": matrix_table(
            _("Share of decided votes that the system of the row wins from the one of the column"),
            _("Wins from"),
            [*heads, _("All")],
            rows,
            name_classes="nowrap",
            classes="data heat wins",
        )
        if rows
        else None,
        "votes": every,
        "ties": ties,
        "tally": votes_used.tally_of(told, "ranking", dimension),
        "unmet": sum(1 for i, a in enumerate(order) for b in order[i + 1 :] if (a, b) not in met),
    }
