"""Results of a rating task: agreement a scale, mean of every source, how workers use the scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.access import Access
from annotation.task_types import get_type
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import (
    decimal,
    general,
    interval,
    listed,
    mid_sentence,
    percent,
    plural,
    score,
    word,
)
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.labels.selectors.findings import agreement_words
from evaluation.methods.core.inference import Claim, family_level
from evaluation.methods.core.units import fisher
from evaluation.methods.rescaling.ratings import DEFAULTS
from evaluation.models import CandidateScore, Run, RunFigure, SystemScore, WorkerScore
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.rescaling.messages import MESSAGES
from evaluation.results.cells import beside, count_of_total, inline, link
from evaluation.results.columns import (
    PLOT,
    Column,
    head_column,
    interval_column,
    name_column,
)
from evaluation.results.findings import Finding, arrange
from evaluation.results.rows import typed
from evaluation.results.stored_texts import translate_figures, translate_stored
from evaluation.results.tables import Group, ResultTable, plain_table
from evaluation.runs.results import everybody, votes_used
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.people import names_in_files
from evaluation.runs.selectors.verdicts import Place, Verdict, highest

MANY_RATINGS = 10  # from which one value every time is a habit
SAME = 1e-9  # spread of equal ratings, but for rounding
NAMED = 3  # workers that a finding names
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
    with_all: str = ""  # agreement if workers count who were left out by hand

    @property
    def of_one_source(self) -> bool:
        """Whether there is no other source to compare with."""
        return len(self.rows) == 1

    @property
    def ends(self) -> str:
        """The lowest and the highest point of the scale; "" where it is not known."""
        points = self.asked.points
        ends = (points[0], points[-1]) if points else ()
        low, high = (decimal(point / self.asked.factor, 0) for point in ends) if ends else ("", "")
        return _("%(low)s to %(high)s") % {"low": low, "high": high} if ends else ""

    def table(self) -> ResultTable:
        """Table of the sources' means on the scale."""
        title = _("Mean rating of every source on %(scale)s, with 95%% CIs") % {
            "scale": self.asked.label
        }
        return plain_table(title, MEANS, self.rows, axis=self.axis, classes="data board")


MEANS = (
    name_column(gettext_lazy("Source")),
    PLOT,
    Column.score("estimate", gettext_lazy("Mean"), is_main=True),
    interval_column(needs_interval=False, reason="why"),
    Column.count("n", gettext_lazy("Ratings")),
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
    told = reads.figures_of(run, "agreement", everybody.FIGURE)
    agreement = {row["dimension"]: row for row in told["agreement"]}
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
            why=translate_stored(one.extra.get("no_interval") or ""),
        )
        means.setdefault(one.dimension, []).append(mean)
    every = [row for rows in means.values() for row in rows]
    if len({(row.name, row.detail) for row in every}) == 1:  # nobody chose its name
        means = {
            name: [replace(row, name=_("All texts"), detail="") for row in rows]
            for name, rows in means.items()
        }
    return [
        ScaleBoard(
            one,
            agreement.get(one.name, {}),
            *_with_plots(means.get(one.name, [])),
            everybody.words(told, one.name),
        )
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
    """Return a scale's board by each column of its texts, or why a column does not split them."""
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
    title = _("Mean rating by %(label)s, with 95%% CIs") % {"label": mid_sentence(label)}
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


TWO_CLASSES = "two_classes"


@dataclass(frozen=True)
class TwoClasses:
    """Agreement on whether a text gets a scale's highest points, beside that on all points."""

    label: str
    top: float | None
    share: float | None
    kappa: float | None
    low: float | None
    high: float | None
    reason: str
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    tau_all: float | None
    tau_all_low: float | None
    tau_all_high: float | None
    tau_reason: str
    pairs: int

    @property
    def why(self) -> str:
        """Reason for a missing figure or interval."""
        reasons = (("κ", self.reason), ("τ-b", self.tau_reason))
        return "; ".join(f"{name}: {reason}" for name, reason in reasons if reason)


CLASSES = (
    head_column("label", gettext_lazy("Scale"), classes="nowrap"),
    Column.number(
        "top",
        gettext_lazy("Top class from"),
        gettext_lazy("Top from"),
        html=lambda row: gettext_lazy("none") if row.top is None else general(row.top),
    ),
    Column.share("share", gettext_lazy("Ratings in it"), gettext_lazy("In it")),
    Column.score(
        *("kappa", gettext_lazy("Fleiss’ κ, two classes"), "κ"),
        term="kappa",
        bounds=("low", "high"),
        missing=gettext_lazy("none"),
    ),
    Column.score(
        *("tau", gettext_lazy("τ-b, two classes"), gettext_lazy("τ-b, two")),
        term="tau",
        bounds=("tau_low", "tau_high"),
        missing=gettext_lazy("none"),
    ),
    Column.score(
        *("tau_all", gettext_lazy("τ-b, all points"), gettext_lazy("τ-b, all")),
        bounds=("tau_all_low", "tau_all_high"),
        missing=gettext_lazy("none"),
    ),
    Column.count("pairs", gettext_lazy("Pairs of workers"), gettext_lazy("Pairs")),
    Column.text("why", gettext_lazy("Note"), classes="full dim"),
)


def two_classes(told: Mapping[str, Any], asked: Sequence[AskedDimension]) -> ResultTable | None:
    """Agreement on two classes by scale; None where a run was without it."""
    label = {one.name: one.label for one in asked}
    rows = [
        typed(TwoClasses, row, label=label[row["dimension"]])
        for row in told.get(TWO_CLASSES) or ()
        if row["dimension"] in label
    ]
    title = _("Agreement on two classes and on all points, with 95% CIs")
    return plain_table(title, CLASSES, rows) if rows else None


METHOD = gettext_noop(
    "People rated single texts on a scale. A score is the mean rating of a source’s "
    "texts. The interval shows how sure that is. A mean treats the points of the scale "
    "as equally far apart."
)


def best_of(scale: ScaleBoard, others: Sequence[ScaleBoard] = ()) -> Place:
    """Whether one source has surely the highest mean on a scale, and on which others none has."""
    if scale.of_one_source:
        return _of_texts(scale)
    place = highest(scale.rows, _("mean on %(scale)s") % {"scale": scale.asked.label})
    unsure = [one.asked.label for one in others if one is not scale and highest(one.rows, "").open]
    said = [place.note, scale.with_all]
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


def _of_texts(scale: ScaleBoard) -> Place:
    """What ratings of one source say: of its texts, and how far raters agree on them."""
    [mean], alpha = scale.rows, scale.alpha
    if mean.estimate is None:
        return Place("")
    told = {
        "texts": plural(alpha.get("texts", 0), "text"),
        "mean": score(mean.estimate, 2),
        "scale": scale.asked.label,
    }
    sentence = _("%(texts)s, mean %(mean)s on %(scale)s.") % told
    if mean.low is not None:
        told["span"] = interval(mean.low, mean.high, 2)
        sentence = _("%(texts)s, mean %(mean)s (95%% CI %(span)s) on %(scale)s.") % told
    agreement = capfirst(alpha.get("reason") or "")
    if alpha.get("alpha") is not None:
        agreement = agreement_words(alpha["alpha"], alpha["low"], alpha["high"])
    note = " ".join(one for one in (agreement, scale.with_all) if one)
    return Place(sentence, note, sure=True)


def lowest(rows: Sequence[SourceMean]) -> str:
    """Return the source whose interval is below all others; "" if there is none."""
    known = [row for row in rows if row.estimate is not None and row.low is not None]
    if len(known) < SEVERAL or len(known) < len(rows):
        return ""
    last, *others = sorted(known, key=lambda row: row.estimate or 0.0)
    is_last = all((last.high or 0.0) < (row.low or 0.0) for row in others)
    return last.name if is_last else ""


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: the mean of every source on every scale."""
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
        "tables": [replace(one.table(), heading=one.asked.label) for one in found],
        "rows": rows,
        "screen": arrange(
            [
                (best_of(first) if first else Verdict(_("No source has ratings yet."))).finding(),
                *(rater_findings(run, first.asked.name) if first else ()),
            ]
        ),
        "basis": _("%(ratings)s of %(items)s by %(workers)s.")
        % {
            "ratings": plural(counts.get("answers", 0), "rating"),
            "items": plural(counts.get("questions", 0), noun),
            "workers": plural(counts.get("workers", 0), "worker"),
        },
        "method": _(METHOD),
        "measure": _("Mean rating"),
        "units": "rating,ratings",
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


@dataclass(frozen=True)
class ScaleUse:
    """How a worker uses one scale."""

    id: int
    name: str
    url: str
    agrees: float | None  # correlation with the others
    low: float | None
    high: float | None
    n: int
    mean: float | None
    spread: float | None
    why: str  # why there is no interval
    in_file: str = ""  # what a file calls the worker


def rater_claims(run: Run, dimension: str) -> list[Claim]:
    """Claim of each rater that they follow the others, for all raters of a scale at once."""
    rows = WorkerScore.objects.filter(run=run, dimension=dimension, low__isnull=False)
    scored = list(rows.order_by("pk").values_list("estimate", "extra__shared"))
    level = {**DEFAULTS, **run.params}["level"]
    made = []
    for r, shared in scored:
        if r is None:
            continue
        low, high = fisher(r, shared, family_level(level, len(scored)))
        made.append(
            Claim(
                *("follows_others", float(r), float(low), float(high), float(level)),
                n=shared,
                compared_with=len(scored),
                simultaneous_over=len(scored),
                adjustment="bonferroni",
            )
        )
    return made


def rater_findings(run: Run, dimension: str, *, named: bool = False) -> list[Finding]:
    """Count raters who gave one value throughout, and who is not shown to follow the others.

    ``named``: the former by their pseudonyms, which people without an account never see.
    """
    found = _straight_findings(run, dimension, named=named)
    claims = rater_claims(run, dimension)
    unsure = [one for one in claims if one.direction <= 0]
    if not unsure:
        return found
    lowest = min(unsure, key=lambda one: one.estimate)
    not_shown = MESSAGES.find(
        "raters_not_shown",
        claim=lowest,
        n=len(unsure),
        workers=plural(len(claims), "rater"),
        lowest=score(lowest.estimate, 2),
        level=percent(lowest.level),
        span=interval(lowest.low, lowest.high, 2),
    )
    return [*found, not_shown]


def _straight_findings(run: Run, dimension: str, *, named: bool) -> list[Finding]:
    rows = WorkerScore.objects.filter(run=run, dimension=dimension, n__gte=MANY_RATINGS)
    fields = ("worker__pseudonym", "n", "extra__mean", "extra__spread")
    straight = [
        _("%(name)s: %(ratings)s of %(value)s")
        % {"name": name, "ratings": plural(n, "rating"), "value": general(mean)}
        for name, n, mean, spread in rows.order_by("pk").values_list(*fields)
        if spread is not None and spread < SAME
    ]
    if not straight:
        return []
    detail = f"{listed(straight, NAMED)}." if named else ""
    return [MESSAGES.find("one_rating_throughout", n=len(straight), detail=detail)]


WORKERS = (
    head_column(
        "name",
        gettext_lazy("Worker"),
        html=lambda row: inline(link(row.url, row.name), row.in_file),
        classes="nowrap",
    ),
    Column.score(
        "agrees",
        gettext_lazy("Correlation with the others"),
        gettext_lazy("Correlation"),
        missing=gettext_lazy("none"),
    ),
    interval_column(needs_interval=False, reason="why"),
    Column.score("mean", gettext_lazy("Own mean"), gettext_lazy("Mean")),
    Column.score("spread", gettext_lazy("Spread"), term="spread"),
    Column.count("n", gettext_lazy("Ratings")),
)


def worker_table(rows: Sequence[ScaleUse], scale: str) -> ResultTable:
    """Workers on a scale of this label."""
    return plain_table(_("Workers on %(scale)s") % {"scale": scale}, WORKERS, rows, classes="data")


def workers(run: Run, dimension: str, access: Access) -> list[ScaleUse]:
    """Return how each worker uses a scale, least similar to the others first."""
    rows = list(
        WorkerScore.objects.filter(run=run, dimension=dimension).values_list(
            "worker_id", "worker__pseudonym", "estimate", "low", "high", "n", "extra"
        )
    )
    names = names_in_files(access, (pk for pk, *_rest in rows))
    found = [
        ScaleUse(
            pk,
            name,
            reverse("worker_card", args=[run.project_id, pk]),
            estimate,
            low,
            high,
            n,
            extra.get("mean"),
            extra.get("spread"),
            translate_stored(extra.get("no_interval") or ""),
            names.get(pk, ""),
        )
        for pk, name, estimate, low, high, n, extra in rows
    ]
    found.sort(key=lambda row: (row.agrees is None, row.agrees or 0.0, row.name))
    return found[:SHOWN_WORKERS]


@dataclass(frozen=True)
class AlphaLine:
    """Agreement on one scale: all ratings, corrected, on shuffled ratings, cross-fitted."""

    label: str
    uncorrected: float | None
    corrected: float | None
    shuffled_null: float | None
    cross_fitted: float | None
    cross_low: float | None
    cross_high: float | None
    removed_share: float | None
    thin_share: float | None
    reason: str

    @property
    def sure(self) -> bool:
        """Whether alpha could be cross-fitted."""
        return self.cross_fitted is not None

    @property
    def why(self) -> str:
        """Return why there is no alpha, as a sentence."""
        return f"{capfirst(self.reason)}."


@dataclass(frozen=True)
class CorrectedMean:
    """The mean of a source or a text before and after; None where no rating is left."""

    name: str
    mean: float | None
    n: int
    after: float | None
    kept: int
    detail: str = ""
    low: float | None = None
    high: float | None = None
    after_low: float | None = None
    after_high: float | None = None
    no_interval: str = ""
    why: str = ""

    @property
    def sure(self) -> bool:
        """Whether any rating is left after correction."""
        return self.after is not None


@dataclass(frozen=True)
class Rater:
    """The competence of a worker on a scale, and whether the ratings are used."""

    name: str
    competence: float | None
    low: float | None
    high: float | None
    n: int
    kept: bool
    in_file: str = ""


def _alpha_table(rows: Sequence[AlphaLine]) -> ResultTable:
    ends = interval_column(low="cross_low", high="cross_high", reason="reason")
    columns = [
        head_column("label", _("Scale"), classes="nowrap"),
        Column.score("uncorrected", _("α, all ratings"), "α", term="alpha"),
        Column.score("corrected", _("Corrected"), term="corrected", needs_interval=True),
        Column.score(
            "shuffled_null", _("Shuffled null"), _("Null"), needs_interval=True, classes="dim"
        ),
        Column.score("cross_fitted", _("Cross-fit"), is_main=True, needs_interval=True),
        ends,
        Column.share("removed_share", _("Ratings removed"), _("Removed"), needs_interval=True),
        Column.share("thin_share", _("Texts under 3 ratings"), _("Under 3"), needs_interval=True),
    ]
    title = _(
        "Krippendorff’s α by scale: all ratings, corrected, on shuffled ratings, cross-fitted"
    )
    return plain_table(title, columns, rows, classes="data")


def _mean_columns() -> tuple[Column, Column]:
    return (
        Column.score("mean", _("Mean, all ratings"), _("All")),
        Column.score("after", _("Mean, corrected"), is_main=True, needs_interval=True),
    )


def _source_table(rows: Sequence[CorrectedMean]) -> ResultTable:
    before, after = _mean_columns()
    columns = [
        head_column(
            "name", _("Source"), html=lambda row: beside(row.name, row.detail), classes="nowrap"
        ),
        before,
        interval_column(needs_interval=False),
        after,
        interval_column(low="after_low", high="after_high", reason="no_interval"),
        Column.count("kept", _("Ratings kept"), _("Kept"), needs_interval=True),
    ]
    title = _("Mean of each source before and after, with 95% CIs")
    return plain_table(title, columns, rows, classes="data")


def _text_table(rows: Sequence[CorrectedMean]) -> ResultTable:
    kept = Column.number(
        "kept", _("Ratings kept"), _("Kept"), html=lambda row: count_of_total(row.kept, row.n)
    )
    columns = [head_column("name", _("Text")), *_mean_columns(), kept]
    return plain_table(_("Texts whose mean changes most"), columns, rows, classes="data")


def _rater_table(rows: Sequence[Rater], scale: str) -> ResultTable:
    columns = [
        head_column(
            "name",
            _("Worker"),
            html=lambda row: inline(row.name, row.in_file),
            classes="nowrap",
        ),
        Column.score("competence", _("Competence"), term="competence"),
        interval_column(needs_interval=False),
        Column.count("n", _("Ratings")),
        Column.text("kept", _("Ratings used"), html=lambda row: _("yes") if row.kept else _("no")),
    ]
    title = _("Competence of raters on %(scale)s") % {"scale": scale}
    return plain_table(title, columns, rows, classes="data")


def corrected(
    run: Run, asked: Sequence[AskedDimension], chosen: AskedDimension, people: Sequence[ScaleUse]
) -> dict[str, Any]:
    """Return what correction by raters' competence changes; {} if the run has none.

    Agreement of every scale, and of the ``chosen`` one the sources, the raters (of ``people``, as
    ``workers`` gives them) and the texts whose mean moves most.
    """
    names = ("corrected", "corrected_system", "rater")
    figures = RunFigure.objects.filter(run=run, name__in=names).values_list("name", "data")
    told = translate_figures(dict(figures))
    if not told:
        return {}
    label = {one.name: one.label for one in asked}
    raters = {row["worker"]: row for row in told["rater"] if row["dimension"] == chosen.name}
    named = [
        typed(Rater, raters[one.id], name=one.name, in_file=one.in_file)
        for one in people
        if one.id in raters
    ]
    named.sort(key=lambda row: (row.competence is None, row.competence or 0))
    return {
        "alphas": _alpha_table(
            [typed(AlphaLine, row, label=label[row["dimension"]]) for row in told["corrected"]]
        ),
        "raters": _rater_table(named, chosen.label) if named else None,
        "rated_by": len(raters),
        "dropped": sum(not row["kept"] for row in raters.values()),
        **_moved(run, told["corrected_system"], chosen.name),
    }


def _moved(run: Run, sources: Sequence[dict[str, Any]], chosen: str) -> dict[str, Any]:
    """Means before and after, of sources and of the texts that move most."""
    after = {row["system"]: row for row in sources if row["dimension"] == chosen}
    rows = SystemScore.objects.filter(run=run, dimension=chosen)
    before = rows.order_by("-estimate", "system_id").values_list(
        "system_id", "system__name", "system__prompt_strategy", "estimate", "low", "high", "n"
    )
    texts = CandidateScore.objects.filter(run=run, dimension=chosen).values_list(
        "candidate__key", "estimate", "n", "extra"
    )
    moved = [
        CorrectedMean(key, mean, n, extra["corrected"], extra["kept"])
        for key, mean, n, extra in texts
        if extra["kept"] < n
    ]
    known = [row for row in moved if row.after is not None]
    known.sort(key=lambda row: (-abs((row.after or 0.0) - (row.mean or 0.0)), row.name))
    return {
        "sources": _source_table([_corrected_source(row, after.get(row[0], {})) for row in before]),
        "texts": _text_table(known[:MOVED]) if known else None,
        "touched": len(moved),
        "emptied": len(moved) - len(known),
    }


def _corrected_source(before: Sequence[Any], after: Mapping[str, Any]) -> CorrectedMean:
    _pk, name, detail, mean, low, high, n = before
    return CorrectedMean(
        name,
        mean,
        n,
        after.get("estimate"),
        after.get("n", 0),
        detail,
        low,
        high,
        after.get("low"),
        after.get("high"),
        after.get("no_interval") or "",
        why=_("no rating left"),
    )
