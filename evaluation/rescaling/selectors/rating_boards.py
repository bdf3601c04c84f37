"""Results of a rating task: agreement a scale, mean of every source, how workers use the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.task_types import get_type
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import listed, plural, word
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.models import CandidateScore, Run, RunFigure, SystemScore, WorkerScore
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.results.columns import PLOT, Column, Format, interval_column, name_column
from evaluation.results.tables import Group, ResultTable, plain_table
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.verdicts import Place, Verdict, highest

SHOWN_WORKERS = 200
SEVERAL = 3  # sources from which on the last is not just the other one of two
MOVED = 10  # texts listed whose mean the correction moves most


@dataclass(frozen=True)
class SourceMean:
    """The mean rating of a source's texts on one scale."""

    name: str
    detail: str
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    why: str  # why there is no interval
    plot: SafeString | str = ""
    url: str = ""
    beside: str = ""


@dataclass(frozen=True)
class ScaleBoard:
    """One scale: its agreement, and its sources, the highest mean first."""

    asked: AskedDimension
    alpha: Mapping[str, Any]
    axis: SafeString | str
    rows: Sequence[SourceMean]

    def table(self) -> ResultTable:
        """Its sources as a page and a link show them."""
        title = _("Mean rating of every source on %(scale)s, with 95%% CIs") % {
            "scale": self.asked.label
        }
        return plain_table(title, MEANS, self.rows, axis=self.axis, classes="data board")


MEANS = (
    name_column(gettext_lazy("Source")),
    PLOT,
    Column("estimate", gettext_lazy("Mean"), Format.SCORE, digits=2, is_main=True),
    interval_column(2, needs_interval=False, reason="why"),
    Column("n", gettext_lazy("Ratings"), Format.COUNT, short=gettext_lazy("Ratings")),
)


def _with_plots(rows: Sequence[SourceMean]) -> tuple[SafeString, list[SourceMean]]:
    """The axis of the means' intervals, and the rows with these drawn along it."""
    scale = Scale.around([value for row in rows for value in (row.low, row.high, row.estimate)])
    drawn = []
    for row in rows:
        known = None if row.estimate is None else Estimate(row.estimate, row.low, row.high)
        drawn.append(replace(row, plot=charts.forest_cell(scale, known, name=row.name)))
    return charts.forest_axis(scale), drawn


def boards(run: Run, asked: Sequence[AskedDimension]) -> list[ScaleBoard]:
    """A board a scale; two queries."""
    agreement = {
        row["dimension"]: row for row in RunFigure.objects.get(run=run, name="agreement").data
    }
    means: dict[str, list[SourceMean]] = {}
    scores = SystemScore.objects.filter(run=run).order_by("-estimate", "system_id")
    for one in scores.select_related("system"):
        mean = SourceMean(
            one.system.name,
            one.system.prompt_strategy,
            one.estimate,
            one.low,
            one.high,
            one.n,
            why=one.extra.get("no_interval") or "",
        )
        means.setdefault(one.dimension, []).append(mean)
    return [
        ScaleBoard(one, agreement.get(one.name, {}), *_with_plots(means.get(one.name, [])))
        for one in asked
    ]


KINDS = ("stratum", "stratum_system")


@dataclass(frozen=True)
class KindsOfText:
    """The boards of a scale by one column of its texts, or the reason why it does not split."""

    label: str
    reason: str = ""
    table: ResultTable | None = None
    note: str = ""


def kinds(run: Run, told: Mapping[str, Any], dimension: str) -> list[KindsOfText]:
    """The board of a scale by every column of its texts, or why a column does not split it."""
    rows = [row for row in told.get("stratum") or () if row["dimension"] == dimension]
    if not rows:
        return []
    known = SystemScore.objects.filter(run=run, dimension=dimension)
    names = {
        pk: (name, detail)
        for pk, name, detail in known.values_list(
            "system_id", "system__name", "system__prompt_strategy"
        )
    }
    return [
        _by_kind(told, dimension, column, rows, names)
        for column in dict.fromkeys(row["column"] for row in rows)
    ]


def _by_kind(
    told: Mapping[str, Any],
    dimension: str,
    column: str,
    rows: Sequence[Mapping[str, Any]],
    names: Mapping[int, tuple[str, str]],
) -> KindsOfText:
    own = [row for row in rows if row["column"] == column]
    label = column.replace("_", " ").capitalize()
    if not own[0]["stratum"]:
        return KindsOfText(label, own[0]["reason"])
    stored = [
        row
        for row in told["stratum_system"]
        if (row["dimension"], row["column"]) == (dimension, column)
    ]
    stored.sort(key=lambda row: (-row["estimate"], row["system"]))
    removed = (_("a removed source"), "")
    means = [
        SourceMean(
            *names.get(row["system"], removed),
            row["estimate"],
            row["low"],
            row["high"],
            row["n"],
            why=row.get("no_interval") or "",
        )
        for row in stored
    ]
    axis, drawn = _with_plots(means)
    title = _("Mean rating by %(label)s, with 95%% CIs") % {"label": label.lower()}
    groups = [
        Group(
            _kind_heading(kind),
            [
                mean
                for row, mean in zip(stored, drawn, strict=True)
                if row["stratum"] == kind["stratum"]
            ],
        )
        for kind in own
    ]
    table = ResultTable(title, MEANS, groups, axis=axis, classes="data board two-line kinds")
    note = _(
        "Intervals hold for these %(boards)s boards at once (95%%). A whole kind can be rated "
        "lower because it is harder: compare sources within one kind."
    ) % {"boards": word(sum(not row["reason"] for row in own))}
    return KindsOfText(label, table=table, note=note)


def _kind_heading(kind: Mapping[str, Any]) -> SafeString:
    basis = f"{plural(kind['texts'], 'text')}, {plural(kind['votes'], 'rating')}."
    if kind["reason"]:
        basis += " " + _("No board: %(why)s.") % {"why": kind["reason"]}
    return format_html('{}. <span class="dim">{}</span>', kind["stratum"], basis)


METHOD = gettext_noop(
    "People rated single texts on a scale. A score is the mean rating of a source’s "
    "texts. The interval shows how sure that is. A mean treats the points of the scale "
    "as equally far apart."
)


def best_of(scale: ScaleBoard, others: Sequence[ScaleBoard] = ()) -> Place:
    """Whether one source has surely the highest mean on a scale, and on which others none has."""
    place = highest(scale.rows, _("mean on %(scale)s") % {"scale": scale.asked.label})
    unsure = [one.asked.label for one in others if one is not scale and highest(one.rows, "").open]
    said = [place.note]
    if place.sentence and unsure:
        told = {"scales": listed(unsure)}
        said.append(_("No source is shown to be above all others on %(scales)s.") % told)
    last: dict[str, list[str]] = {}
    for one in others or [scale]:
        last.setdefault(lowest(one.rows), []).append(one.asked.label)
    for name, scales in last.items():
        if name:
            told = {"name": name, "scales": listed(scales)}
            said.append(_("%(name)s is below all others on %(scales)s.") % told)
    return replace(place, note=" ".join(one for one in said if one))


def lowest(rows: Sequence[SourceMean]) -> str:
    """Whose interval lies below those of all others, if anybody's."""
    known = [row for row in rows if row.estimate is not None and row.low is not None]
    if len(known) < SEVERAL or len(known) < len(rows):
        return ""
    last, *others = sorted(known, key=lambda row: row.estimate or 0.0)
    is_last = all((last.high or 0.0) < (row.low or 0.0) for row in others)
    return last.name if is_last else ""


def parts(run: Run, page: Any) -> dict[str, Any]:
    """What a link shows to people without an account: the mean of every source on every scale."""
    told = reads.figures_of(run, "recipe", votes_used.FIGURE)
    found = boards(run, dimensions(run.task))
    rows = [
        SimpleNamespace(**vars(row), dimension=one.asked.name) for one in found for row in one.rows
    ]
    counts = run.snapshot.counts if run.snapshot else {}
    noun = get_type(run.task.type).noun_in(run.task.current.settings if run.task.current else {})
    first = found[0] if found and found[0].rows else None
    return {
        "scales": found,
        "boards": [
            {
                "heading": one.asked.label,
                "axis": one.axis,
                "groups": [{"heading": "", "rows": one.rows}],
            }
            for one in found
        ],
        "rows": rows,
        "verdict": best_of(first) if first else Verdict(_("No source has ratings yet.")),
        "basis": _("%(ratings)s of %(items)s by %(workers)s.")
        % {
            "ratings": plural(counts.get("answers", 0), "rating"),
            "items": plural(counts.get("questions", 0), noun),
            "workers": plural(counts.get("workers", 0), "worker"),
        },
        "method": _(METHOD),
        "measure": _("Mean rating"),
        "units": "rating,ratings",
        "notes": [],
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


def workers(run: Run, dimension: str) -> list[dict[str, Any]]:
    """How each worker uses one scale, the least like the others first."""
    rows = WorkerScore.objects.filter(run=run, dimension=dimension).values_list(
        "worker_id", "worker__pseudonym", "estimate", "low", "high", "n", "extra"
    )
    found = [
        {
            "id": pk,
            "name": name,
            "agrees": estimate,
            "low": low,
            "high": high,
            "n": n,
            "mean": extra.get("mean"),
            "spread": extra.get("spread"),
            "why": extra.get("no_interval") or "",
        }
        for pk, name, estimate, low, high, n, extra in rows
    ]
    found.sort(key=lambda row: (row["agrees"] is None, row["agrees"] or 0.0, row["name"]))
    return found[:SHOWN_WORKERS]


def corrected(
    run: Run, asked: Sequence[AskedDimension], chosen: str, people: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What correcting by the competence of raters changes; {} where a run was without it.

    Agreement of every scale, and of the ``chosen`` one the sources, the raters (of ``people``, as
    ``workers`` gives them) and the texts whose mean moves most.
    """
    names = ("corrected", "corrected_system", "rater")
    told = dict(RunFigure.objects.filter(run=run, name__in=names).values_list("name", "data"))
    if not told:
        return {}
    label = {one.name: one.label for one in asked}
    raters = {row["worker"]: row for row in told["rater"] if row["dimension"] == chosen}
    named = [{**raters[one["id"]], "name": one["name"]} for one in people if one["id"] in raters]
    return {
        "lines": [{**row, "label": label[row["dimension"]]} for row in told["corrected"]],
        "raters": sorted(
            named, key=lambda row: (row["competence"] is None, row["competence"] or 0)
        ),
        "rated_by": len(raters),
        "dropped": sum(not row["kept"] for row in raters.values()),
        **_moved(run, told["corrected_system"], chosen),
    }


def _moved(run: Run, sources: Sequence[dict[str, Any]], chosen: str) -> dict[str, Any]:
    """Means before and after, of sources and of the texts that move most."""
    after = {row["system"]: row for row in sources if row["dimension"] == chosen}
    rows = SystemScore.objects.filter(run=run, dimension=chosen)
    before = rows.order_by("-estimate", "system_id").values_list(
        "system_id", "system__name", "system__prompt_strategy", "estimate", "low", "high"
    )
    texts = CandidateScore.objects.filter(run=run, dimension=chosen).values_list(
        "candidate__key", "estimate", "n", "extra"
    )
    moved = [
        {
            "key": key,
            "mean": mean,
            "n": n,
            "corrected": extra["corrected"],
            "kept": extra["kept"],
        }
        for key, mean, n, extra in texts
        if extra["kept"] < n
    ]
    known = [row for row in moved if row["corrected"] is not None]
    known.sort(key=lambda row: (-abs(row["corrected"] - row["mean"]), row["key"]))
    return {
        "sources": [
            {
                "name": name,
                "detail": detail,
                "mean": mean,
                "low": low,
                "high": high,
                "after": after.get(pk),
            }
            for pk, name, detail, mean, low, high in before
        ],
        "texts": known[:MOVED],
        "touched": len(moved),
        "emptied": len(moved) - len(known),
    }
