"""What every page of rescaled ratings shares, and its overview, ensembles and variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from annotation.models import Membership, Task
from annotation.task_types.ready_made import translate_ready_made
from crowdqc.numbers import count, format_signed, general, interval, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.models import Run, RunFigure, RunState
from evaluation.rescaling import calls as rescaling_calls
from evaluation.rescaling.messages import MESSAGES
from evaluation.rescaling.prompts import VARIANTS, Variant
from evaluation.rescaling.run import SLUG
from evaluation.results.cells import link, note_below
from evaluation.results.columns import PLOT, Column, Format, head_column
from evaluation.results.findings import Action, Finding
from evaluation.results.stored_texts import translate_figures
from evaluation.results.tables import BOARD, ResultTable, plain_table
from evaluation.runs.selectors.verdicts import Verdict, change

Row = Mapping[str, Any]
# View -> its label and the figures that it needs.
VIEWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "overview": (gettext_noop("Agreement"), ("aggregate", "diagnostics")),
    "scale": (gettext_noop("Use of the scale"), ("aggregate", "by_label")),
    "pairs": (gettext_noop("Pairs of people"), ("aggregate", "pair", "pair_incomplete", "changes")),
    "moved": (gettext_noop("What moved"), ("aggregate",)),
    "ensemble": (gettext_noop("Ensembles"), ("aggregate", "ensembles")),
    "variants": (gettext_noop("Prompts compared"), ("aggregate",)),
    "scorer": (gettext_noop("Learned scorer"), ("aggregate",)),
}
SETTINGS = {
    "all": gettext_noop("All"),
    "incomplete": gettext_noop("Incomplete"),
    "no ties": gettext_noop("No ties"),
}
SHOWN_RUNS = 30
NARROW = 170.0  # px, for two plots in a row
FEW = gettext_noop("too few items in common")
CONSTANT = gettext_noop("undefined")
UNMOVED = gettext_noop("nobody’s order changes")


@dataclass(frozen=True)
class NamedFigures:
    """A run's figures, with the names of its workers."""

    run: Run
    frame: Row
    figures: Mapping[str, Any]
    names: Mapping[int, str]

    @property
    def level(self) -> int:
        """Level of the intervals in per cent."""
        return round(100 * self.frame["level"])

    @property
    def best(self) -> str:
        """The label of the scale's highest point."""
        return str(self.frame["points"][-1][1])

    def rows(self, name: str) -> list[Row]:
        """Rows of a figure; empty if the run has none."""
        return list(self.figures.get(name, []))


def finished(task: Task) -> QuerySet[Run]:
    """The task's finished rescaling runs, the newest first."""
    rows = Run.objects.filter(task=task, method=SLUG, state=RunState.DONE).order_by("-id")
    return rows.select_related("snapshot").defer("snapshot__answer_ids")


def figures_and_names(run: Run, view: str) -> NamedFigures:
    """The figures that a view needs and the names of the run's workers, in two queries."""
    names = ("frame", "recipe", *VIEWS[view][1])
    rows = RunFigure.objects.filter(run=run, name__in=names).values_list("name", "data")
    figures = translate_figures(dict(rows))
    workers = Membership.objects.filter(scores__run=run).values_list("pk", "pseudonym")
    return NamedFigures(run, figures["frame"], figures, dict(workers))


def variant_of(calls: Row) -> Variant | None:
    """Return the built-in variant of the prompt behind the scores; None for another prompt."""
    return VARIANTS.get(str(calls.get("variant", "")))


def told_words(calls: Row) -> str:
    """Say what the model was told: the variant's label, or the import's own words."""
    variant = variant_of(calls)
    if calls["source"] == "import" or variant is None:
        return str(calls["prompt"])
    return gettext(variant.label)


def sentence(told: NamedFigures) -> str:
    """Say what was rescaled, of how many people, by which model."""
    counts, calls = told.figures["recipe"]["counts"], told.figures["recipe"]["calls"]
    said = (
        gettext(
            "%(ratings)s of %(items)s by %(workers)s on %(scale)s; scores of %(model)s, imported."
        )
        if calls["source"] == "import"
        else gettext("%(ratings)s of %(items)s by %(workers)s on %(scale)s; scores of %(model)s.")
    )
    return said % {
        "ratings": plural(counts["answers"], "rating"),
        "items": plural(counts["questions"], "item"),
        "workers": plural(counts["workers"], "worker"),
        "scale": translate_ready_made(told.frame["label"]),
        "model": calls["model"],
    }


def agreement_findings(told: NamedFigures) -> list[Finding | None]:
    """Whether people agree more after rescaling, by the interval over items, and which to use."""
    rows = told.rows("aggregate")
    if not rows:
        return []
    row = _overall_row(rows)
    note = _("Mean agreement of two people, Kendall’s τ-b: %(before)s before, %(after)s after.")
    note %= {"before": score(row["before"], 2), "after": score(row["after"], 2)}
    verdict = Verdict(raised_words(rows), note).finding("agreement_rises")
    own = [told.run.project_id, told.run.task_id]
    if row["low"] is not None and row["low"] > 0:
        moved = f"{reverse('rescaling', args=own)}?view=moved&run={told.run.number}"
        return [verdict, MESSAGES.find("use_rescaled", action=Action(_("What moved"), moved))]
    plain = Action(_("Ratings as given"), reverse("rating_results", args=own))
    return [verdict, MESSAGES.find("use_as_given", action=plain)]


def raised_words(rows: Sequence[Row]) -> str:
    """The sentence alone, of the rows of the figure; empty without any."""
    if not rows:
        return ""
    row = _overall_row(rows)
    return change(
        row["low"],
        row["high"],
        up=_("People agree more after the ratings were adjusted by their explanations."),
        down=_("People agree less after the ratings were adjusted by their explanations."),
        unknown=_("Adjusting the ratings by their explanations made no provable difference."),
    )


def _overall_row(rows: Sequence[Row]) -> Row:
    return next((one for one in rows if one["setting"] == "all"), rows[0])


def recipe(told: NamedFigures) -> list[tuple[str, str]]:
    """List method, model and parameters that reproduce the run, as (name, value)."""
    found, run = told.figures["recipe"], told.run
    calls, params = found["calls"], found["params"]
    pairs = [
        (
            "method",
            gettext("Explanation-based rescaling %(version)s") % {"version": found["version"]},
        ),
        ("scale", told.frame["scale"]),
        ("scores", f"{calls['model']}, {calls['prompt']}"),
        ("calls", f"{count(calls['calls'])}, {calls['digest'][:8]}"),
        ("ensemble λ", general(params["ensemble"])),
        (
            gettext("no ties"),
            gettext("noise %(noise)s, %(draws)s draws")
            % {"noise": general(params["noise"]), "draws": params["draws"]},
        ),
        ("interval", gettext("jackknife over items, %(level)s%%") % {"level": told.level}),
        ("seed", str(run.seed)),
        ("snapshot", found["snapshot"][:8]),
    ]
    return [*pairs, ("result", run.result_hash[:8])] if run.result_hash else pairs


def key_figures(told: NamedFigures) -> list[dict[str, Any]]:
    """List the numbers of ratings with a score, and of the others by reason."""
    frame, counts = told.frame, told.figures["recipe"]["counts"]
    missing = frame["no_explanation"] + frame["no_number"]
    rows = [
        {
            "label": gettext("Ratings"),
            "value": count(frame["ratings"]),
            "of": gettext("of %(items)s") % {"items": plural(counts["questions"], "item")},
            "note": gettext("by %(workers)s") % {"workers": plural(counts["workers"], "worker")},
        },
        {
            "label": gettext("Explained"),
            "value": count(frame["explained"]),
            "of": gettext("of %(total)s") % {"total": count(frame["ratings"])},
            "note": gettext("%(missing)s without an explanation")
            % {"missing": count(frame["no_explanation"])},
        },
        {
            "label": gettext("Means instead of a score"),
            "value": count(missing),
            "of": gettext("of %(total)s") % {"total": count(frame["ratings"])},
            "note": gettext("%(missing)s where the model gave no number")
            % {"missing": count(frame["no_number"])},
        },
    ]
    for row in told.rows("aggregate"):
        if row["setting"] != "no ties":
            rows.append(
                {
                    "label": gettext("Change of τ-b, %(setting)s")
                    % {"setting": gettext(SETTINGS[row["setting"]]).lower()},
                    "value": format_signed(row["difference"], 3),
                    "of": "",
                    "note": _interval(row, told.level) or gettext("no interval"),
                }
            )
    return rows


def _interval(row: Row, level: int) -> str:
    if row["low"] is None or row["high"] is None:
        return ""
    said = (
        gettext("%(level)s%%: %(low)s to %(high)s: may be none")
        if row["low"] <= 0 <= row["high"]
        else gettext("%(level)s%%: %(low)s to %(high)s")
    )
    ends = {"low": format_signed(row["low"], 3), "high": format_signed(row["high"], 3)}
    return said % {"level": level, **ends}


def overview(told: NamedFigures) -> dict[str, Any]:
    """Table 8 with the intervals that the paper lacks, and what each protocol is."""
    params, rows = told.figures["recipe"]["params"], told.rows("aggregate")
    protocols = {
        "all": gettext(
            "every item that two people share; repeated ratings of one item are all paired"
        ),
        "incomplete": gettext("without the items that both rated “%(best)s”, where ties decide")
        % {"best": told.best},
        "no ties": gettext("noise of sd %(noise)s breaks ties; mean of %(draws)s")
        % {"noise": score(params["noise"], 2), "draws": plural(params["draws"], "draw")},
    }
    changes = [
        Change.of(
            row,
            gettext(SETTINGS[row["setting"]]),
            note=protocols[row["setting"]],
            why=gettext("noise is no sample")
            if row["setting"] == "no ties"
            else _missing_reason(row),
        )
        for row in rows
    ]
    title = gettext(
        "Agreement before and after rescaling, by protocol, with %(level)s%% intervals of the "
        "change"
    ) % {"level": told.level}
    name = head_column("label", gettext("Items"), note="note")
    columns = [*change_columns(name, told.level), PAIRS]
    return {
        "figures": key_figures(told),
        "table": change_table(title, columns, changes, change_scale(changes), f"{BOARD} protocols")
        if rows
        else None,
        "diagnostics": told.figures.get("diagnostics", {}),
        "steps": [
            told.names.get(pk, str(pk))
            for pk in told.figures.get("diagnostics", {}).get("not_monotone", [])
        ],
    }


@dataclass(frozen=True)
class Change:
    """An agreement before and after, with the interval of its change or why there is none."""

    label: str
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    why: str
    n: int  # pairs of people, or ratings that two people share
    note: str = ""
    undefined: int = 0
    plot: SafeString | str = ""

    @classmethod
    def of(cls, row: Row, label: str, *, note: str = "", why: str = "") -> Change:
        """Make a change from a row of a figure; ``why`` explains a missing interval."""
        low, high, difference = row["low"], row["high"], row["difference"]
        if difference is None:
            why = gettext(CONSTANT)
        elif low is not None and low == high:
            low, high, why = None, None, gettext(UNMOVED)
        return cls(
            label,
            row["before"],
            row["after"],
            difference,
            low,
            high,
            why or gettext(FEW),
            row["pairs"],
            note,
            row.get("undefined", 0),
        )

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None

    def drawn(self, scale: Scale) -> Change:
        """Return the change with its interval drawn."""
        known = None
        if self.difference is not None:
            known = Estimate(self.difference, self.low, self.high)
        plot = charts.forest_cell(scale, known, reference=0.0, name=self.label)
        return replace(self, plot=plot)


PAIRS = Column.count(
    "n",
    gettext_lazy("Pairs"),
    html=lambda row: note_below(
        count(row.n),
        row.undefined and gettext("%(undefined)s undefined") % {"undefined": count(row.undefined)},
    ),
)


def change_columns(name: Column, level: int, digits: int = 3) -> tuple[Column, ...]:
    """Return the columns of tables of changes; ``digits`` are those of the intervals."""
    return (
        name,
        Column.score("before", gettext("Before"), digits=3),
        Column.score("after", gettext("After"), digits=3),
        replace(PLOT, label=gettext("Interval of the change")),
        Column.signed("difference", gettext("Change"), digits=3, is_main=True),
        Column.number(
            "interval",
            gettext("%(level)s%% interval") % {"level": level},
            gettext("Interval"),
            html=lambda row: interval(row.low, row.high, digits) if row.has_interval else row.why,
            classes="dim interval",
        ),
    )


def change_scale(rows: Sequence[Change], **more: Any) -> Scale:
    """Make the scale for drawing these changes; it includes 0."""
    ends = [value for row in rows for value in (row.low, row.high, row.difference)]
    return Scale.around(ends, include=[0.0], **more)


def change_table(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Change],
    scale: Scale,
    classes: str = BOARD,
) -> ResultTable:
    """Make a table of changes with their intervals drawn."""
    drawn = [row.drawn(scale) for row in rows]
    return plain_table(title, columns, drawn, axis=charts.forest_axis(scale), classes=classes)


def _missing_reason(row: Row) -> str:
    """Why a change has no interval; older runs did not say."""
    return row.get("reason") or gettext(FEW)


@dataclass(frozen=True)
class Ensembles:
    """The agreement at each weight in one setting."""

    setting: str
    label: str
    table: ResultTable | None


def ensembles(told: NamedFigures) -> dict[str, Any]:
    """Table 10: the agreement at each weight, and its change against the raw ratings."""
    ends = {0.0: gettext("the explanation alone"), 1.0: gettext("the annotator’s mean alone")}
    by_setting: dict[str, list[Change]] = {"all": [], "incomplete": []}
    for row in told.rows("ensembles"):
        change = Change.of(
            {**row, "difference": _subtract(row["after"], row["before"])},
            general(row["lambda"]),
            note=ends.get(row["lambda"], ""),
            why=_missing_reason(row),
        )
        by_setting[row["setting"]].append(change)
    scale = change_scale([row for rows in by_setting.values() for row in rows])
    name = head_column("label", "λ", term="lambda", note="note", classes="nowrap")
    columns = change_columns(name, told.level)
    blocks = []
    for setting, rows in by_setting.items():
        label = gettext(SETTINGS[setting])
        title = gettext("Agreement by λ, %(label)s") % {"label": label}
        table = change_table(title, columns, rows, scale) if rows else None
        blocks.append(Ensembles(setting, label, table))
    return {"blocks": blocks, "has_pairs": blocks[0].table is not None}


def _subtract(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


@dataclass(frozen=True)
class PromptRow:
    """One run among those that are compared."""

    run: Run
    prompt: str
    paper: str  # its name in the paper
    model: str
    judges: bool  # the prompt lets the model judge for itself
    weight: float
    fallback: float  # share of means in place of a score
    same: bool  # of the same ratings as the run on the page
    order: int  # among the prompts of the paper
    all: Change | None
    incomplete: Change | None

    @property
    def note(self) -> str:
        """Say which run it is, and of what."""
        values = {"number": self.run.number, "paper": self.paper}
        if self.paper and not self.same:
            return _("run %(number)s; in the paper: %(paper)s; of other ratings") % values
        if self.paper:
            return _("run %(number)s; in the paper: %(paper)s") % values
        if not self.same:
            return _("run %(number)s; of other ratings") % values
        return _("run %(number)s") % values


def _prompt(row: PromptRow) -> SafeString:
    html = note_below(link(f"?view=variants&run={row.run.number}", row.prompt, ""), row.note)
    if not row.judges:
        return html
    warning = gettext("lets the model judge for itself")
    return format_html('{}<small class="chip warn">{}</small>', html, warning)


def _after_cell(change: Change | None) -> SafeString:
    """The agreement after rescaling with its change below, or why there is none."""
    if change is None or change.after is None:
        return note_below(gettext("none"), change.why if change else gettext("nothing in common"))
    note = format_signed(change.difference, 3)
    if change.has_interval:
        note += f" ({interval(change.low, change.high, 3)})"
    return format_html('<b>{}</b> <small class="nowrap">{}</small>', score(change.after), note)


def _prompt_columns() -> list[Column]:
    columns = [
        head_column("prompt", gettext("Prompt"), html=_prompt),
        Column.text("model", gettext("Model"), gettext("Model"), classes="nowrap"),
        Column.number("weight", "λ", term="lambda", html=lambda row: general(row.weight)),
        Column.share("fallback", gettext("Means instead"), digits=1),
    ]
    return [
        *columns,
        Column.number(
            "all", gettext("τ-b, all"), term="tau", html=lambda row: _after_cell(row.all)
        ),
        Column("all.plot", gettext("Change on all, with interval"), Format.PLOT),
        Column.number(
            "incomplete", gettext("τ-b, incomplete"), html=lambda row: _after_cell(row.incomplete)
        ),
        Column("incomplete.plot", gettext("Change on incomplete, with interval"), Format.PLOT),
    ]


def variants(told: NamedFigures, task: Task) -> dict[str, Any]:
    """Table 9: the runs of the task side by side, in two queries."""
    runs = list(finished(task)[:SHOWN_RUNS])
    found: dict[int, dict[str, Any]] = {run.pk: {} for run in runs}
    names = ("frame", "recipe", "aggregate")
    for pk, name, data in RunFigure.objects.filter(run__in=runs, name__in=names).values_list(
        "run_id", "name", "data"
    ):
        found[pk][name] = translate_figures(data)
    rows = [_variant(told, run, found[run.pk]) for run in runs]
    changes = [one for row in rows for one in (row.all, row.incomplete) if one is not None]
    scale = change_scale(changes, width=NARROW, count=3)
    rows = [
        replace(
            row,
            all=row.all and row.all.drawn(scale),
            incomplete=row.incomplete and row.incomplete.drawn(scale),
        )
        for row in rows
    ]
    rows.sort(key=lambda row: (row.order, row.run.number))
    table = plain_table(
        gettext("Agreement by prompt"),
        _prompt_columns(),
        rows,
        axis=charts.forest_axis(scale),
        classes=f"{BOARD} variants",
        row_class=lambda row: "current" if row.run.pk == told.run.pk else "",
    )
    return {"table": table}


def _variant(told: NamedFigures, run: Run, figures: Row) -> PromptRow:
    calls, frame = figures["recipe"]["calls"], figures["frame"]
    variant = variant_of(calls)
    aggregate = {row["setting"]: row for row in figures.get("aggregate", [])}
    changes = {
        name: Change.of(
            aggregate[name], gettext(SETTINGS[name]), why=_missing_reason(aggregate[name])
        )
        for name in ("all", "incomplete")
        if name in aggregate
    }
    missing = frame["no_explanation"] + frame["no_number"]
    return PromptRow(
        run,
        told_words(calls),
        paper=variant.paper if variant else "",
        model=calls["model"],
        judges=bool(variant and variant.judges),
        weight=figures["recipe"]["params"]["ensemble"],
        fallback=missing / frame["ratings"],
        same=(run.snapshot_id, frame["scale"]) == (told.run.snapshot_id, told.frame["scale"]),
        order=list(VARIANTS).index(variant.slug) if variant else len(VARIANTS),
        all=changes.get("all"),
        incomplete=changes.get("incomplete"),
    )


def importable(task: Task) -> list[tuple[Run, str]]:
    """Imported scores that a run could read, in words."""
    return [
        (
            run,
            f"{run.params['model_name']}: {run.params['prompt']}, "
            f"{plural(run.params['calls'], 'score')}",
        )
        for run in rescaling_calls.imports(task)
    ]
