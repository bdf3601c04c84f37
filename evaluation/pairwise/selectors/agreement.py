"""Agreement between judges: raw, corrected, what noise gives, cross-fitted; and who lowers it.

Everything is read from the rows and figures of the core run and of the checks that follow it. A
corrected alpha is only ever part of a ``Line`` that holds what it must be read against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Assignment, Exclusion, Task
from annotation.models.assignments import AssignmentState
from annotation.task_types.pairwise.sides import LEFT
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import format_signed, interval, listed, plural, score, word
from crowdqc.numbers import percent as share_words
from evaluation.charts import agreement as drawn
from evaluation.charts import boards as charts
from evaluation.models import Run, RunState, WorkerScore
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.run import CHECKS
from evaluation.pairwise.selectors.hard import read_hard
from evaluation.pairwise.selectors.order.taus import Taus, taus
from evaluation.pairwise.selectors.runs import ShownRun, shown_run
from evaluation.pairwise.selectors.trust import (
    Fact,
    Note,
    agreement_in_words,
    agrees_enough,
    graph_words,
    note_of,
    order_facts,
    reads_crossfit,
    recipe,
    trust_notes,
)
from evaluation.pairwise.selectors.workers import one_side, sides, withhold_competence
from evaluation.results.cells import Cell, beside, chip, hidden, link
from evaluation.results.columns import Column, head_column
from evaluation.results.findings import Action, Finding, Screen, arrange
from evaluation.results.rows import typed
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.next_actions import choose_action
from evaluation.runs.results import everybody
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.shell import percent
from evaluation.runs.selectors.verdicts import Verdict
from evaluation.runs.study_state import StudyState

CORE_FIGURES = (
    "agreement",
    "drift",
    "side",
    "straight",
    "straight_worker",
    "interdependence",
    "diagnostics",
    "recipe",
    everybody.FIGURE,
)
CHECK_FIGURES = ("corrected", "without", "worst", "pair", "split", "diagnostics", "recipe")
SHOWN_PARTS = 60
SHOWN_WORKERS, MOST_WORKERS = 5, 12
STRAIGHT_SHARE = 0.5  # of judgments with one answer throughout, from which on it is worth a look
SAME = 0.0005  # a change of alpha that is none
WHOLE = ("corrected", "shuffled_null", "cross_fitted")  # shown together or not at all
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """A dimension (or their mean): alpha in its four forms, None where it is not known."""

    name: str
    label: str
    raw: float | None
    low: float | None
    high: float | None
    corrected: float | None
    null: float | None
    crossfit: float | None
    cross_low: float | None
    cross_high: float | None
    removed: float | None
    thin: float | None
    unknown: float | None
    why: str
    no_interval: str  # why the raw figure has none, or ""
    plot: SafeString
    heat: Mapping[str, str]  # form -> class of its step

    @property
    def down_to_raw(self) -> bool:
        """Whether the cross-fitted value's interval reaches down to the raw one."""
        return self.raw is not None and self.cross_low is not None and self.cross_low <= self.raw


@dataclass(frozen=True)
class ChecksProgress:
    """Why the checks are not there: in work, ended without a result, or never asked for."""

    run: Run | None
    percent: int
    step: str
    reason: str

    @property
    def active(self) -> bool:
        return self.run is not None and not self.reason


@dataclass(frozen=True)
class Lowering:
    """A worker, and what alpha would be without them."""

    id: int
    name: str
    judgments: int
    straight: float | None
    seconds: float | None
    competence: float | None
    low: float | None
    high: float | None
    alpha: float
    change: float
    cross: float | None
    cross_change: float | None
    cross_low: float | None  # of the change, for all workers at once
    cross_high: float | None
    beyond_chance: bool  # of the raw figure

    @property
    def lowers(self) -> bool:
        """Whether both figures are surely higher without the worker."""
        return self.beyond_chance and self.cross_low is not None and self.cross_low > 0

    @property
    def straight_much(self) -> bool:
        """Whether the worker's share of straight judgments is conspicuous."""
        return self.straight is not None and self.straight >= STRAIGHT_SHARE


@dataclass(frozen=True)
class GraphPart:
    """Workers and pairs that are connected with one another."""

    workers: int
    pairs: int
    judgments: int


@dataclass(frozen=True)
class Agreement:
    """The page; ``checks`` are the figures of the run that follows the core, if it is done."""

    lines: list[Line]
    mean: Line | None
    axis: SafeString
    top: float  # of the heat map
    waiting: ChecksProgress | None
    workers: list[Lowering]
    of_workers: list[str]  # what the table of workers says, a sentence each
    excluded: list[Exclusion]
    overtaken: bool  # somebody was left out, or taken in again, since the run began
    notes: list[Note]
    sentence: str
    screen: Screen
    no_interval: str
    graph: list[str]
    parts: list[Row]
    order: list[Fact]
    taus: Taus | None
    recipe: list[tuple[str, str]]
    checks: Mapping[str, Any]

    @property
    def ready(self) -> bool:
        return self.waiting is None

    def worker_table(self, task: Task, *, may_write: bool) -> ResultTable:
        """Table of the workers without whom agreement would rise most.

        ``may_write``: shows links to leave one out.
        """
        columns = [
            head_column("name", _("Worker"), html=partial(_worker, task=task), classes="nowrap"),
            Column.count("judgments", _("Judgments")),
            Column.share(
                "straight", _("Same answer on all %(n)s") % {"n": len(self.lines)}, cell=_straight
            ),
            Column.duration("seconds", _("Median time per pair"), _("a pair")),
            Column.number(
                "competence", _("Competence"), term="competence", html=_competence, classes="nowrap"
            ),
            Column.score("alpha", _("Raw α without"), digits=3),
            Column.signed("change", _("Change"), digits=3),
            Column.score(
                "cross",
                _("Cross-fit α without"),
                digits=3,
                term="cross-fit",
                missing=_("not computed"),
            ),
            Column.number("cross_change", _("Change"), html=_cross_change, classes="nowrap"),
        ]
        if may_write:
            preview = hidden(_("Remove from task…"))
            html = partial(_preview, task=task)
            columns.append(Column.link("id", preview, html=html, classes="l1r"))
        title = _("Workers without whom agreement would be higher")
        return plain_table(title, columns, self.workers)

    def part_table(self) -> ResultTable:
        """The parts of the graph of workers and pairs."""
        columns = [
            Column.count("workers", _("Workers")),
            Column.count("pairs", _("Pairs")),
            Column.count("judgments", _("Judgments")),
        ]
        parts = [typed(GraphPart, row) for row in self.parts[:SHOWN_PARTS]]
        return plain_table(_("Parts of the graph"), columns, parts, classes="data")


def _worker(row: Lowering, *, task: Task) -> SafeString:
    url = reverse("pair_worker", args=[task.project_id, task.pk, row.id])
    lowers = chip(_("lowers agreement"), "warn") if row.lowers else ""
    return format_html("{} {}", link(url, row.name), lowers)


def _straight(row: Lowering) -> Cell:
    marked = "num paste" if row.straight_much else "num"
    return Cell(share_words(row.straight), marked, _("Same on all"))


def _competence(row: Lowering) -> SafeString:
    span = "" if row.low is None else interval(row.low, row.high, 2)
    return beside(score(row.competence, 2), span)


def _cross_change(row: Lowering) -> SafeString | str:
    if row.cross is None:
        return ""
    span = "" if row.cross_low is None else interval(row.cross_low, row.cross_high, 3)
    return beside(format_signed(row.cross_change, 3), span)


def _preview(row: Lowering, *, task: Task) -> SafeString:
    url = reverse("task_exclude", args=[task.project_id, task.pk, row.id])
    return link(url, _("Remove from task…"), "")


def agreement(
    task: Task,
    runs: ShownRun,
    asked: Sequence[AskedDimension],
    study: StudyState | None = None,
    *warnings: Finding | None,
) -> Agreement | None:
    """Return the content of the agreement page; None if the run has no agreement."""
    if runs.core is None:
        return None
    core = figures_of(runs.core, *CORE_FIGURES)
    if "agreement" not in core:
        return None
    checks = figures_of(runs.checks, *CHECK_FIGURES) if runs.checks else {}
    labels = {one.name: one.label for one in asked}
    lines, mean, axis, top = _lines(core["agreement"], checks.get("corrected", []), labels)
    said = core["diagnostics"]
    tests = [row for row in checks.get("without", []) if not row["dimension"]]
    reading = mean or (lines[0] if lines else None)
    early = core["recipe"]["params"].get("early", 7)
    worst = checks.get("worst", [])
    lowering = _lowering(task, runs.core, core, checks.get("without", []), worst, start=reading)
    unknown = _why_unknown(worst)
    exclusions = list(task.exclusions.select_related("worker", "by"))
    read_worker = _look_at_worker(task, runs.core, lowering, reading)
    unread = reading is None or reading.raw is None
    read_pairs = None
    if reading is not None and not unread and not agrees_enough(reading):
        read_pairs = read_hard(runs.core, checks)
    return Agreement(
        lines=lines,
        mean=mean,
        axis=axis,
        top=top,
        waiting=None if "corrected" in checks else checks_progress(runs),
        workers=lowering,
        of_workers=_of_workers(lowering, len(tests), unknown) if tests else [],
        excluded=[one for one in exclusions if one.undone_at is None],
        overtaken=any(
            max(one.created_at, one.undone_at or one.created_at) > runs.core.created_at
            for one in exclusions
        ),
        notes=trust_notes(reading, lines) if "corrected" in checks and reading else [],
        sentence=_sentence(said["counts"]),
        screen=arrange(
            [
                Verdict(agreement_in_words(reading), _note(core, reading)).finding("agreement"),
                choose_action(study, read_worker, read_pairs, settled=not unread),
                *warnings,
            ]
        ),
        no_interval=reading.no_interval if reading else "",
        graph=graph_words(said.get("components", [])),
        parts=said.get("components", []),
        order=order_facts(core, early, len(lines)),
        taus=taus(core, labels),
        recipe=recipe(runs, core, checks),
        checks=checks,
    )


def agreement_facts(run: Run) -> list[tuple[str, str]]:
    """Agreement of the mean of all dimensions in words and figures, the one to be read first."""
    core = figures_of(run, "agreement")
    if "agreement" not in core:
        return []
    checks = shown_run(run.task, run.number).checks
    checked = figures_of(checks, "corrected").get("corrected", []) if checks else []
    lines, mean, *_drawn = _lines(core["agreement"], checked, {})
    reading = mean or (lines[0] if lines else None)
    if reading is None or reading.raw is None:
        return [(_("Agreement"), agreement_in_words(reading))]
    figures = [
        (_("Agreement, cross-fit α"), reading.crossfit, reading.cross_low, reading.cross_high),
        (_("Agreement, raw α"), reading.raw, reading.low, reading.high),
    ]
    return [
        (_("Agreement"), " ".join(filter(None, [agreement_in_words(reading), note_of(reading)]))),
        *(
            (
                label,
                score(value, 2) if low is None else f"{score(value, 2)} ({interval(low, high, 2)})",
            )
            for label, value, low, high in figures
            if value is not None
        ),
    ]


def _note(core: Row, reading: Line | None) -> str:
    """What stands below the verdict, and what agreement is with workers who were left out."""
    with_all = everybody.words(core, reading.name if reading else "")
    return " ".join(part for part in (note_of(reading), with_all) if part)


def _look_at_worker(
    task: Task, run: Run, workers: Sequence[Lowering], reading: Line | None
) -> Finding | None:
    """Whoever lowers both figures beyond chance, and why to read their votes, if anybody.

    Somebody who chose one side every time comes first; then who lowers the figure to be read most.
    """
    lowering = [one for one in workers if one.lowers]
    if not lowering or reading is None:
        return None
    chosen = sides(task, [one.id for one in lowering])
    habit = next(
        (one for one in lowering if one.id in chosen and one_side(chosen[one.id]) is not None), None
    )
    worst = habit or max(lowering, key=lambda one: one.cross_change or 0.0)
    page = reverse("pair_worker", args=[run.project_id, run.task_id, worst.id])
    label = _("Votes of %(name)s") % {"name": worst.name}
    action = Action(label, f"{page}?run={run.number}")
    if habit is not None:
        left = one_side(chosen[habit.id]) == LEFT
        return MESSAGES.find(
            "read_votes_left" if left else "read_votes_right",
            action=action,
            name=worst.name,
        )
    crossed = reads_crossfit(reading)
    return MESSAGES.find(
        "read_votes_agreement",
        action=action,
        name=worst.name,
        start=score(reading.crossfit if crossed else reading.raw, 2),
        without=score(worst.cross if crossed else worst.alpha, 2),
    )


def _why_unknown(worst: Sequence[Row]) -> str:
    """Why nobody knows what agreement would be without one worker; "" where it is known."""
    if any(row.get("cross_low") is not None for row in worst):
        return ""
    reason = next((row["reason"] for row in worst if row.get("reason")), "")
    return reason or _("this run is from before that was computed")


def _of_workers(workers: Sequence[Lowering], tested: int, unknown: str) -> list[str]:
    """Who lowers agreement beyond chance, or that nobody does, or why that is not known."""
    lowering = [one.name for one in workers if one.lowers]
    rest = [one for one in workers if one.beyond_chance and not one.lowers]
    same = [
        one.name for one in rest if one.cross_change is not None and abs(one.cross_change) < SAME
    ]
    raw = [one.name for one in rest if one.name not in same]
    told = {
        "names": listed(lowering),
        "raw": listed(raw),
        "same": listed(same),
        "tested": plural(tested, "worker"),
        "why": unknown,
    }
    if unknown:
        said = [
            _("Whether a single worker lowers agreement is not known: %(why)s.") % told,
            _("So these changes alone are no reason to leave anybody out."),
        ]
    elif lowering:
        said = [
            _(
                "These lower agreement by more than chance: %(names)s. The 95%% intervals of the "
                "change hold for all %(tested)s at once."
            )
            % told
        ]
    else:
        said = [
            _(
                "No single worker lowers agreement by more than chance. Somebody always comes "
                "first; the 95%% intervals of the change hold for all %(tested)s at once."
            )
            % told
        ]
    if same:
        said.append(
            _(
                "Without %(same)s the raw figure rises by more than chance, and the cross-fit "
                "figure stays the same: it leaves these votes out already."
            )
            % told
        )
    if raw and not unknown:
        said.append(
            _(
                "Without %(raw)s the raw figure rises by more than chance. The cross-fit figure is "
                "not shown to change: it leaves out workers who mostly guess already."
            )
            % told
        )
    return said


def _sentence(counts: Mapping[str, int]) -> str:
    told = {
        "judgments": plural(counts["first_judgments"], "judgment"),
        "pairs": plural(counts["pairs"], "pair"),
        "workers": plural(counts["workers"], "worker"),
    }
    said = _("Krippendorff’s α, ordinal, from %(judgments)s of %(pairs)s by %(workers)s.")
    return said % told


# The table -------------------------------------------------------------------------------------


def _lines(
    raw: Sequence[Row], checked: Sequence[Row], labels: Mapping[str, str]
) -> tuple[list[Line], Line | None, SafeString, float]:
    """Lines of the dimensions, that of their mean, the plot's axis, and the heat map's top."""
    found = {row["dimension"]: row for row in checked}
    forms = (*WHOLE, "cross_low", "cross_high")
    values = [row["alpha"] for row in raw] + [row[form] for row in checked for form in forms]
    scale, top = drawn.agreement_scale(values), drawn.heat_top(values)
    made = {}
    for row in raw:
        name = row["dimension"]
        label = labels.get(name, name)
        if not name:
            label = _("Mean of %(n)s") % {"n": word(len(raw) - 1)}
        made[name] = _line(label, row, found.get(name, {}), scale, top)
    mean = made.pop("", None)
    lines = list(made.values())
    return lines, mean if len(lines) > 1 else None, charts.forest_axis(scale), top


def _line(label: str, raw: Row, checked: Row, scale: drawn.Scale, top: float) -> Line:
    """One row; of the checks nothing is shown where any of what belongs together is missing."""
    whole = all(checked.get(part) is not None for part in WHOLE)
    corrected, null, crossfit = (checked[part] if whole else None for part in WHOLE)
    ends = (checked.get("cross_low"), checked.get("cross_high")) if whole else (None, None)
    plot = drawn.four_estimates(
        scale,
        raw=raw["alpha"],
        corrected=corrected,
        null=null,
        crossfit=drawn.known_estimate(crossfit, *ends),
        name=label,
    )
    heat = {"raw": raw["alpha"], "corrected": corrected, "crossfit": crossfit}
    return Line(
        name=raw["dimension"],
        label=label,
        raw=raw["alpha"],
        low=raw["low"],
        high=raw["high"],
        corrected=corrected,
        null=null,
        crossfit=crossfit,
        cross_low=ends[0],
        cross_high=ends[1],
        removed=checked.get("removed_share"),
        thin=checked.get("thin_share"),
        unknown=checked.get("unknown_share"),
        why=checked.get("reason") or raw["reason"],
        no_interval=raw["reason"] if raw["alpha"] is not None and raw["low"] is None else "",
        plot=plot,
        heat={form: drawn.heat_step(value, top) for form, value in heat.items()},
    )


def checks_progress(runs: ShownRun) -> ChecksProgress:
    """Return the progress of the checks, or why there are none."""
    if runs.checking is not None:
        step = next((s["name"] for s in runs.checking.progress if s["state"] == "running"), "")
        return ChecksProgress(runs.checking, percent(runs.checking), step, "")
    ended = Run.objects.filter(source=runs.core, method=CHECKS).exclude(state=RunState.DONE)
    last = ended.order_by("-id").first()
    if last is None:
        return ChecksProgress(None, 0, "", _("The checks of this run have not been asked for."))
    told = {"run": last.number, "error": last.error}
    if last.state == RunState.CANCELLED:
        return ChecksProgress(last, 0, "", _("Run %(run)s, the checks, was cancelled.") % told)
    said = _("Run %(run)s, the checks, failed. %(error)s") % told
    return ChecksProgress(last, 0, "", said.strip())


# Workers who lower it --------------------------------------------------------------------------


def _lowering(
    task: Task,
    core: Run,
    told: Mapping[str, Any],
    without: Sequence[Row],
    worst: Sequence[Row],
    *,
    start: Line | None,
) -> list[Lowering]:
    """Those without whom alpha would be highest, and who lower it by more than chance.

    Changes of the cross-fitted figure start from that of ``start``: older runs stored another one,
    of other folds.
    """
    tests = [row for row in without if not row["dimension"]]
    ranked = sorted(tests, key=lambda row: (-row["change"], row["worker"]))
    judged: dict[int, int] = {}  # pairs, each once
    for row in without:
        if row["dimension"]:
            judged[row["worker"]] = max(row["n"], judged.get(row["worker"], 0))
    crossfit = start.crossfit if start else None
    size = len(worst) or SHOWN_WORKERS
    rows = [row for at, row in enumerate(ranked) if at < size or row["lowers"]][:MOST_WORKERS]
    ids = [row["worker"] for row in rows]
    cross = {row["worker"]: row for row in worst}
    straight = {row["worker"]: row for row in told.get("straight_worker", [])}
    rated = WorkerScore.objects.filter(run=core, dimension="", worker__in=ids)
    scores = {row.worker_id: row for row in rated.select_related("worker")}
    for stored in scores.values():
        withhold_competence(stored)
    seconds = seconds_a_pair(task, ids)
    found = []
    for row in rows:
        pk = row["worker"]
        rated_as = scores.get(pk)
        other, line = cross.get(pk, {}), straight.get(pk, {})
        moved = other.get("cross_change")
        found.append(
            Lowering(
                id=pk,
                name=rated_as.worker.pseudonym if rated_as else "",
                judgments=judged.get(pk, row["n"] or 0),
                straight=line.get("share"),
                seconds=seconds.get(pk),
                competence=rated_as.estimate if rated_as else None,
                low=rated_as.low if rated_as else None,
                high=rated_as.high if rated_as else None,
                alpha=row["alpha"],
                change=row["change"],
                cross=None if moved is None or crossfit is None else crossfit + moved,
                cross_change=moved,
                cross_low=other.get("cross_low"),
                cross_high=other.get("cross_high"),
                beyond_chance=row["lowers"],
            )
        )
    return found


def seconds_a_pair(task: Task, worker_ids: Sequence[int]) -> dict[int, float]:
    """Return each worker's median seconds per pair, over assignments."""
    rows = (
        Assignment.objects.filter(
            task=task,
            worker__in=worker_ids,
            state=AssignmentState.SUBMITTED,
            opened_at__isnull=False,
        )
        .annotate(n=Count("answers"))
        .values_list("worker_id", "opened_at", "submitted_at", "n")
    )
    spent: dict[int, list[float]] = {}
    for worker, opened, submitted, n in rows:
        took = (submitted - opened).total_seconds() if submitted and opened else 0.0
        if n and took > 0:
            spent.setdefault(worker, []).append(took / n)
    return {worker: median(times) for worker, times in spent.items()}
