"""Language models as judges beside people: CrowdRAG's Table 9 with its direction put right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Answer, Task
from annotation.work.snapshots.judgments import AskedDimension, system_names
from crowdqc.numbers import interval, listed, percent, plural, score
from evaluation.charts import agreement as drawn
from evaluation.charts import boards as charts
from evaluation.charts.agreement import WIDE
from evaluation.charts.boards import Estimate
from evaluation.methods.replacement.annotator import ITEMS, PEOPLE
from evaluation.models import Run, RunFigure, SystemScore, WorkerScore
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.results import POOLED
from evaluation.results.boards import rank_words
from evaluation.results.cells import Cell, beside, bold
from evaluation.results.columns import PLOT, Column, Format, head_column
from evaluation.results.findings import Action, Finding
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.rows import typed
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.recipes import recipe_pairs
from evaluation.runs.selectors.verdicts import Verdict

BOARD_FIGURES = ("judge_system", "judge_tau")
NONE = gettext_noop("not compared")


@dataclass(frozen=True)
class Place:
    """A system on one of the two boards."""

    rank: str
    plot: SafeString


@dataclass(frozen=True)
class SystemPlaces:
    """A system on both boards; ``is_apart``: no rank is possible on both."""

    name: str
    people: Place
    judge: Place
    is_apart: bool


@dataclass(frozen=True)
class JudgeBoard:
    """A judge's board beside people's, on one dimension."""

    lines: Sequence[SystemPlaces]
    people_axis: SafeString
    judge_axis: SafeString
    sentence: str

    def table(self, judge: str, dimension: str) -> ResultTable:
        """The board of a judge of this name."""
        people, model = _("People"), _("The model")
        rank = Column.number("", _("Rank"), term="rank", classes="nowrap")
        plot = replace(PLOT, label=_("Bradley-Terry score"))
        columns = [
            head_column("name", _("System"), classes="nowrap"),
            replace(rank, key="people.rank", short=people, group=people),
            replace(plot, key="people.plot", axis=self.people_axis, group=people),
            replace(rank, short=model, group=model, html=_judge_rank),
            replace(plot, key="judge.plot", axis=self.judge_axis, group=model),
        ]
        title = _("Systems on people’s board and on that of %(name)s, %(dimension)s") % {
            "name": judge,
            "dimension": dimension,
        }
        return plain_table(title, columns, self.lines, classes="data two-line judge-board")


def _judge_rank(row: SystemPlaces) -> SafeString:
    return beside(row.judge.rank, _("apart") if row.is_apart else "")


def boards_by_judge(run: Run, told: Row, dimension: str) -> dict[int, JudgeBoard]:
    """The boards of each judge on one dimension ("" for all together), by the judge's id."""
    rows = [row for row in told.get("judge_system", []) if row["dimension"] == dimension]
    if not rows:
        return {}
    people = {
        row["system_id"]: row
        for row in SystemScore.objects.filter(run=run, dimension=dimension)
        .order_by("component", "-estimate")
        .values(
            "system_id",
            "system__name",
            "system__prompt_strategy",
            "component",
            "estimate",
            "low",
            "high",
            "rank_low",
            "rank_high",
        )
    }
    taus = {
        row["machine"]: row for row in told.get("judge_tau", []) if row["dimension"] == dimension
    }
    found = {}
    for machine in dict.fromkeys(row["machine"] for row in rows):
        own = {row["system"]: row for row in rows if row["machine"] == machine}
        found[machine] = _beside(people, own, taus.get(machine, {}))
    return found


def _beside(people: Mapping[int, Row], own: Mapping[int, Row], tau: Row) -> JudgeBoard:
    scales = [_scale(side.values()) for side in (people, own)]
    lines = []
    for pk, row in people.items():
        name = ", ".join(filter(None, (row["system__name"], row["system__prompt_strategy"])))
        theirs = own.get(pk, {})
        ends = [row.get("rank_low"), row.get("rank_high")]
        others = [theirs.get("rank_low"), theirs.get("rank_high")]
        known = all((*ends, *others))
        is_apart = known and (ends[1] < others[0] or others[1] < ends[0])  # type: ignore[operator]
        lines.append(
            SystemPlaces(
                name, _place(row, scales[0], name), _place(theirs, scales[1], name), is_apart
            )
        )
    people_axis, judge_axis = (charts.forest_axis(scale) for scale in scales)
    return JudgeBoard(lines, people_axis, judge_axis, _tau_words(tau))


def _scale(rows: Any) -> charts.Scale:
    values: list[float | None] = [0.0]
    for row in rows:
        values += [row["low"], row["high"], row["estimate"]]
    return charts.Scale.around(values, width=WIDE, count=4)


def _place(row: Row, scale: charts.Scale, name: str) -> Place:
    estimate = None
    if row.get("component") and row.get("estimate") is not None:
        estimate = Estimate(row["estimate"], row["low"], row["high"])
    rank = rank_words(row.get("rank_low") or None, row.get("rank_high") or None)
    if not estimate:
        rank = _(NONE)
    elif row.get("component", 0) > 1:
        rank = _("%(rank)s, board %(board)s") % {"rank": rank, "board": row["component"]}
    plot = charts.forest_cell(scale, estimate, reference=0.0, name=name)
    return Place(rank, plot)


def _tau_words(tau: Row) -> str:
    """Say how far the two boards agree, with the interval or why there is none."""
    told = {"systems": plural(tau.get("systems", 0), "system"), "why": tau.get("reason", "")}
    if tau.get("tau") is None:
        told["why"] = told["why"] or _("nothing to compare")
        return _("No Kendall’s τ with people’s board: %(why)s.") % told
    told["tau"] = score(tau["tau"], 2)
    if tau.get("low") is None:
        said = _("Kendall’s τ with people’s board %(tau)s, over %(systems)s; no interval: %(why)s.")
        return said % told
    told |= {
        "interval": interval(tau["low"], tau["high"], 2),
        "topics": plural(tau["topics"], "topic"),
    }
    return (
        _(
            "Kendall’s τ with people’s board %(tau)s (95%%: %(interval)s), over %(systems)s and "
            "%(topics)s."
        )
        % told
    )


FIGURES = (
    "judge",
    "judge_pair",
    "person",
    "diagnostics",
    "recipe",
    *BOARD_FIGURES,
)
CORRECTED = "Table 9, corrected"
ALL = gettext_noop("All together")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Share:
    """A figure with its interval and what it was counted over."""

    value: float | None
    low: float | None
    high: float | None
    n: int = 0


@dataclass(frozen=True)
class Judge:
    """One model, or one way of prompting it."""

    name: str
    lines: Sequence[JudgeLine]
    sentence: str
    reason: str  # which figures on the dimension have no interval, and why
    board: JudgeBoard | None  # none: a run from before judges had boards
    dimension: str  # of its sentence and its board

    def table(self, axis: SafeString) -> ResultTable:
        """Table of the model's agreement by dimension, all together first."""
        first = self.lines[:1]
        return plain_table(
            _("%(name)s with itself, with estimated labels, and with people") % {"name": self.name},
            _line_columns(),
            self.lines,
            axis=axis,
            classes="data two-line judges",
            row_class=lambda row: "every" if row in first else "",
        )

    def board_table(self) -> ResultTable | None:
        """Table of the model's board; None if it has none."""
        return self.board.table(self.name, self.dimension) if self.board else None


def _line_columns() -> list[Column]:
    orders, labels = _("Both orders"), _("With estimated labels")
    people = _("With the majority of people, decisive votes")
    itself = Column.score("itself.value", "α", _("α with itself"), term="alpha")
    share = Column.share("", "")
    return [
        head_column("label", _("Dimension"), classes="nowrap"),
        replace(share, key="same", label=_("Same label"), short=_("Same both ways"), group=orders),
        replace(itself, short=_("α with itself"), group=orders),
        replace(itself, short="", html=_alpha, classes="nowrap l1r", group=labels),
        replace(share, key="decisive.value", label=_("Decisive agree"), group=labels),
        replace(PLOT, label=_("Plot"), group=people),
        replace(
            share, key="majority.value", label=_("Model"), short=_("With people"), group=people
        ),
        replace(share, key="person.value", label=_("One person"), group=people),
        replace(share, key="neutral", label=_("Neutral")),
        Column.score("rho", _("ρ with others"), term="rho"),
    ]


def _alpha(row: JudgeLine) -> SafeString:
    span = "" if row.gold.low is None else interval(row.gold.low, row.gold.high, 2)
    return beside(bold(score(row.gold.value, 2)), span)


@dataclass(frozen=True)
class JudgeLine:
    """One model on one dimension (or on all together)."""

    label: str
    same: float | None  # share of pairs with the same label in both orders
    pairs_both: int
    itself: Share  # alpha of the two orders
    gold: Share  # alpha with the estimated label
    decisive: Share  # agreement with gold where both are decisive
    majority: Share  # with the majority of people
    person: Share  # one person with the majority of the others
    neutral: float | None
    rho: float | None
    reason: str  # why there is no interval
    plot: SafeString


def judges(
    run: Run, published: Run | None, asked: Sequence[AskedDimension], dimension: str = ""
) -> dict[str, Any] | None:
    """Everything on the page; None where no model has judged.

    ``dimension`` is that of the sentences and boards ("" for all together).
    """
    told = figures_of(run, *FIGURES)
    if not told.get("judge"):
        return None
    labels = {one.name: one.label for one in asked}
    people = {row["dimension"]: row for row in told["person"]}
    machines = list(dict.fromkeys(row["machine"] for row in told["judge"]))
    names = system_names(machines)
    ends = ("majority", "majority_low", "majority_high")
    scale = drawn.Scale.around(
        [row[key] for row in (*told["judge"], *told["person"]) for key in ends],
        width=drawn.WIDE,
        count=4,
        include=[0.5],
    )
    boards = boards_by_judge(run, told, dimension)
    made = [
        _judge(
            names.get(pk, str(pk)),
            [row for row in told["judge"] if row["machine"] == pk],
            people,
            labels,
            scale=scale,
            board=boards.get(pk),
            dimension=dimension,
        )
        for pk in machines
    ]
    axis = charts.forest_axis(scale)
    counts = told["diagnostics"]["counts"]
    # The page.
    return {
        "judges": [(one, one.table(axis)) for one in made],
        "pairs": _pairs(told.get("judge_pair", []), names, labels),
        # what the printed table and the corrected one say, by prompting
        "published": _printed(published),
        "sentence": _sentence(made, counts["machine_judgments"]),
        "findings": _findings(run, made),
        "recipe": recipe_pairs(run, told["recipe"]),
    }


def _findings(run: Run, made: Sequence[Judge]) -> list[Finding | None]:
    """Say what is found on the one judge, and how to learn whether it may do people's work."""
    if len(made) != 1:
        return []
    url = reverse("replacement", args=[run.project_id, run.task_id])
    found = Verdict(made[0].sentence).finding("judge")
    if not can_be_tested(run):
        return [found]
    return [found, MESSAGES.find("test_model", action=Action(_("Test the model"), url))]


def can_be_tested(run: Run) -> bool:
    """Whether so many people judged so many pairs as the test of a model takes at the least."""
    rows = WorkerScore.objects.filter(run=run, n__gte=ITEMS).exclude(dimension=POOLED)
    return rows.values("worker").distinct().count() >= PEOPLE


def _share(row: Row, name: str, n: str = "n") -> Share:
    return Share(row.get(name), row.get(f"{name}_low"), row.get(f"{name}_high"), row.get(n) or 0)


def _judge(
    name: str,
    rows: Sequence[Row],
    people: Mapping[str, Row],
    labels: Mapping[str, str],
    *,
    scale: drawn.Scale,
    board: JudgeBoard | None,
    dimension: str = "",
) -> Judge:
    lines = [_line(row, people.get(row["dimension"], {}), labels, scale) for row in rows]
    chosen = next(
        (line for row, line in zip(rows, lines, strict=True) if row["dimension"] == dimension),
        lines[0],
    )
    sentence = ""
    if chosen.same is not None:
        sentence = _("%(dimension)s: same label in both orders on %(same)s of %(pairs)s.") % {
            "dimension": chosen.label,
            "same": percent(chosen.same),
            "pairs": plural(chosen.pairs_both, "pair"),
        }
    return Judge(name, lines, sentence, _no_interval(chosen), board, chosen.label)


def _no_interval(line: JudgeLine) -> str:
    """Name the figures without an interval, with the reason; "" if all have one."""
    figures = (
        (_("α with itself"), line.itself),
        (_("α with estimated labels"), line.gold),
        (_("agreement with people"), line.majority),
    )
    bare = [name for name, one in figures if one.value is not None and one.low is None]
    if not bare or not line.reason:
        return ""
    return _("No interval for %(figures)s: %(reason)s.") % {
        "figures": listed(bare),
        "reason": line.reason,
    }


def _line(row: Row, person: Row, labels: Mapping[str, str], scale: drawn.Scale) -> JudgeLine:
    name = row["dimension"]
    label = labels.get(name, name) if name else _(ALL)
    majority, one = _share(row, "majority", "majority_n"), _share(person, "majority", "majority_n")
    plot = drawn.share_cell(
        scale,
        drawn.known_estimate(majority.value, majority.low, majority.high),
        against=drawn.known_estimate(one.value, one.low, one.high),
        middle=0.5,
        name=label,
    )
    return typed(
        JudgeLine,
        row,
        label=label,
        itself=_share(row, "consistency", "pairs_both"),
        gold=_share(row, "alpha"),
        decisive=_share(row, "decisive", "decisive_n"),
        majority=majority,
        person=one,
        reason=row.get("reason") or person.get("reason") or "",
        plot=plot,
    )


def _pairs(
    rows: Sequence[Row], names: Mapping[int, str], labels: Mapping[str, str]
) -> ResultTable | None:
    """Agreement of every two models, by dimension; None of fewer than two."""
    found: dict[tuple[int, int], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["machine_a"], row["machine_b"]), {})[row["dimension"]] = row
    if not found:
        return None
    dimensions = list(dict.fromkeys(row["dimension"] for row in rows if row["dimension"]))
    lines = []
    for (a, b), by in found.items():
        alphas = [score(by.get(name, {}).get("alpha"), 2) for name in dimensions]
        mean = bold(score(by.get("", {}).get("alpha"), 2))
        cells = [*(Cell(text, "num") for text in alphas), Cell(mean, "num")]
        lines.append(MatrixRow(names.get(a, str(a)), cells, note=names.get(b, str(b))))
    heads = [*(labels.get(name, name) for name in dimensions), _("Mean")]
    title = _("Agreement of models with each other")
    return matrix_table(title, _("Models"), heads, lines, format=Format.SCORE, classes="data")


def _sentence(made: Sequence[Judge], labels: int) -> str:
    who = made[0].name if len(made) == 1 else plural(len(made), "judge")
    return _("%(who)s, %(calls)s, in canonical order beside people’s estimated labels.") % {
        "who": who,
        "calls": plural(labels, "call"),
    }


def _printed(published: Run | None) -> list[Row]:
    """The mean alpha with gold as printed and as corrected, from the published result's tables."""
    if published is None:
        return []
    figure = RunFigure.objects.filter(run=published, name="tables").first()
    rows = figure.data if figure is not None else []
    found: dict[str, Row] = {}  # the first protocol of each prompting is the printed one, mended
    for row in rows:
        name = row["quantity"]
        means = name.startswith("alpha of the LLM with gold") and name.endswith("mean")
        if row["table"] == CORRECTED and means:
            found.setdefault(name, row)
    return list(found.values())


def newer_votes(task: Task, run: Run) -> list[tuple[str, int]]:
    """Votes of models that came after the run shown: the judge's name, and how many."""
    seen = run.snapshot.counts.get("max_id", 0) if run.snapshot else 0
    rows = (
        Answer.objects.filter(
            item__task=task, system__isnull=False, counts=True, pk__gt=seen, stage=Answer.Stage.MAIN
        )
        .values_list("system_id")
        .annotate(n=Count("pk"))
        .order_by("system_id")
    )
    counted = dict(rows)
    names = system_names(list(counted))
    return [(names[pk], n) for pk, n in counted.items()]
