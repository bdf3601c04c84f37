"""What every page of rescaled ratings shares, and its overview, ensembles and variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext as _

from annotation.models import Membership, Task
from crowdqc.numbers import count, format_signed, interval, percent, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.models import Run, RunFigure, RunState
from evaluation.rescaling import calls as rescaling_calls
from evaluation.rescaling.prompts import VARIANTS, Variant
from evaluation.rescaling.run import SLUG
from evaluation.runs.selectors.verdicts import NextStep, Verdict, change

Row = Mapping[str, Any]
# View -> its label and the figures that it needs.
VIEWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "overview": (gettext_noop("Agreement"), ("aggregate", "diagnostics")),
    "scale": (gettext_noop("Use of the scale"), ("aggregate", "by_label")),
    "pairs": (gettext_noop("Pairs of people"), ("aggregate", "pair", "pair_incomplete", "changes")),
    "moved": (gettext_noop("What moved"), ("aggregate",)),
    "ensemble": (gettext_noop("Ensembles"), ("aggregate", "ensembles")),
    "variants": (gettext_noop("Prompts compared"), ("aggregate",)),
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
        """Of the intervals, in per cent."""
        return round(100 * self.frame["level"])

    @property
    def best(self) -> str:
        """The label of the scale's highest point."""
        return str(self.frame["points"][-1][1])

    def rows(self, name: str) -> list[Row]:
        """The rows of a figure; none where the run found no agreement."""
        return list(self.figures.get(name, []))


def finished(task: Task) -> QuerySet[Run]:
    """The task's finished rescaling runs, the newest first."""
    rows = Run.objects.filter(task=task, method=SLUG, state=RunState.DONE).order_by("-id")
    return rows.select_related("snapshot").defer("snapshot__answer_ids")


def figures_and_names(run: Run, view: str) -> NamedFigures:
    """The figures that a view needs and the names of the run's workers, in two queries."""
    names = ("frame", "recipe", *VIEWS[view][1])
    figures = dict(RunFigure.objects.filter(run=run, name__in=names).values_list("name", "data"))
    workers = Membership.objects.filter(scores__run=run).values_list("pk", "pseudonym")
    return NamedFigures(run, figures["frame"], figures, dict(workers))


def variant_of(calls: Row) -> Variant | None:
    """The variant of the prompt that gave the scores, where it is one of ours."""
    return VARIANTS.get(str(calls.get("variant", "")))


def told_words(calls: Row) -> str:
    """What the model was told, in words: an import says it in its own."""
    variant = variant_of(calls)
    if calls["source"] == "import" or variant is None:
        return str(calls["prompt"])
    return gettext(variant.label)


def sentence(told: NamedFigures) -> str:
    """What was rescaled, of whom, by which model."""
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
        "scale": told.frame["label"],
        "model": calls["model"],
    }


def raised(told: NamedFigures) -> Verdict:
    """Whether people agree more after rescaling, by the interval over items."""
    rows = told.rows("aggregate")
    if not rows:
        return Verdict("")
    row, said = _whole(rows), raised_words(rows)
    ends = {"before": score(row["before"], 2), "after": score(row["after"], 2)}
    note = (
        _(
            "Rescaling gives each rating a score by what its explanation says. Mean agreement of "
            "two people (Kendall’s τ-b, 1 is full agreement): %(before)s before, %(after)s after."
        )
        % ends
    )
    own = [told.run.project_id, told.run.task_id]
    if row["low"] is not None and row["low"] > 0:
        moved = f"{reverse('rescaling', args=own)}?view=moved&run={told.run.number}"
        step = NextStep(
            _("Use the rescaled scores; first see what moved most."), _("What moved"), moved
        )
    else:
        plain = reverse("rating_results", args=own)
        step = NextStep(_("Use the ratings as people gave them."), _("Ratings as given"), plain)
    return Verdict(said, note).then(step)


def raised_words(rows: Sequence[Row]) -> str:
    """The sentence alone, of the rows of the figure; empty without any."""
    if not rows:
        return ""
    row = _whole(rows)
    return change(
        row["low"],
        row["high"],
        up=_("People agree more after the ratings were adjusted by their explanations."),
        down=_("People agree less after the ratings were adjusted by their explanations."),
        unknown=_("Adjusting the ratings by their explanations made no provable difference."),
    )


def _whole(rows: Sequence[Row]) -> Row:
    return next((one for one in rows if one["setting"] == "all"), rows[0])


def recipe(told: NamedFigures) -> list[tuple[str, str]]:
    """What gives the same numbers again."""
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
        ("ensemble λ", f"{params['ensemble']:g}"),
        (
            gettext("no ties"),
            gettext("noise %(noise)s, %(draws)s draws")
            % {"noise": f"{params['noise']:g}", "draws": params["draws"]},
        ),
        ("interval", gettext("jackknife over items, %(level)s%%") % {"level": told.level}),
        ("seed", str(run.seed)),
        ("snapshot", found["snapshot"][:8]),
    ]
    return [*pairs, ("result", run.result_hash[:8])] if run.result_hash else pairs


def key_figures(told: NamedFigures) -> list[dict[str, Any]]:
    """How many ratings, how many got a score, and what became of the others."""
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
    known = [value for row in rows for value in (row["low"], row["high"], row["difference"])]
    scale = Scale.around(known, include=[0.0])
    return {
        "figures": key_figures(told),
        "axis": charts.forest_axis(scale),
        "rows": [
            _changed(
                scale,
                row,
                label=gettext(SETTINGS[row["setting"]]),
                note=protocols[row["setting"]],
                reason=gettext("noise is no sample") if row["setting"] == "no ties" else _why(row),
            )
            for row in rows
        ],
        "diagnostics": told.figures.get("diagnostics", {}),
        "steps": [
            told.names.get(pk, str(pk))
            for pk in told.figures.get("diagnostics", {}).get("not_monotone", [])
        ],
    }


def _changed(
    scale: Scale, row: Row, *, label: str, note: str = "", reason: str = ""
) -> dict[str, Any]:
    low, high, difference = row["low"], row["high"], row["difference"]
    sure = low is not None and high is not None and low < high
    if difference is None:
        reason = gettext(CONSTANT)

    elif low is not None and low == high:
        reason = gettext(UNMOVED)

    # An agreement before and after, with the interval of its change or why there is none.
    return {
        "label": label,
        "note": note,
        "before": row["before"],
        "after": row["after"],
        "difference": difference,
        "interval": interval(low, high, 3) if sure else "",
        "reason": "" if sure else reason or gettext(FEW),
        "pairs": row["pairs"],
        "undefined": row.get("undefined", 0),
        "plot": charts.forest_cell(
            scale,
            None if difference is None else Estimate(difference, low, high),
            reference=0.0,
            name=label,
        ),
    }


def _why(row: Row) -> str:
    """Why a change has no interval; older runs did not say."""
    return row.get("reason") or gettext(FEW)


def ensembles(told: NamedFigures) -> dict[str, Any]:
    """Table 10: the agreement at each weight, and its change against the raw ratings."""
    blocks = []
    rows = [
        dict(row, difference=_less(row["after"], row["before"])) for row in told.rows("ensembles")
    ]
    scale = Scale.around(
        [value for row in rows for value in (row["low"], row["high"])], include=[0.0]
    )
    for setting in ("all", "incomplete"):
        own = [row for row in rows if row["setting"] == setting]
        ends = {0.0: gettext("the explanation alone"), 1.0: gettext("the annotator’s mean alone")}
        blocks.append(
            (
                setting,
                gettext(SETTINGS[setting]),
                [
                    _changed(
                        scale,
                        row,
                        label=f"{row['lambda']:g}",
                        note=ends.get(row["lambda"], ""),
                        reason=_why(row),
                    )
                    for row in own
                ],
            )
        )
    return {"blocks": blocks, "axis": charts.forest_axis(scale)}


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def variants(told: NamedFigures, task: Task) -> dict[str, Any]:
    """Table 9: the runs of the task side by side, in two queries."""
    runs = list(finished(task)[:SHOWN_RUNS])
    found: dict[int, dict[str, Any]] = {run.pk: {} for run in runs}
    names = ("frame", "recipe", "aggregate")
    for pk, name, data in RunFigure.objects.filter(run__in=runs, name__in=names).values_list(
        "run_id", "name", "data"
    ):
        found[pk][name] = data
    known = [
        value
        for figures in found.values()
        for row in figures.get("aggregate", [])
        if row["setting"] != "no ties"
        for value in (row["low"], row["high"])
    ]
    scale = Scale.around(known, include=[0.0], width=NARROW, count=3)
    order = list(VARIANTS)
    rows = [_variant(told, run, found[run.pk], scale) for run in runs]
    rows.sort(key=lambda row: (order.index(row[0]) if row[0] in order else len(order), row[1]))
    return {"rows": [row for _, _, row in rows], "axis": charts.forest_axis(scale)}


def _variant(
    told: NamedFigures, run: Run, figures: Row, scale: Scale
) -> tuple[str, int, dict[str, Any]]:
    calls, frame = figures["recipe"]["calls"], figures["frame"]
    variant = variant_of(calls)
    aggregate = {row["setting"]: row for row in figures.get("aggregate", [])}
    changed = {
        name: _changed(
            scale, aggregate[name], label=gettext(SETTINGS[name]), reason=_why(aggregate[name])
        )
        for name in ("all", "incomplete")
        if name in aggregate
    }
    missing = frame["no_explanation"] + frame["no_number"]
    same = (run.snapshot_id, frame["scale"]) == (told.run.snapshot_id, told.frame["scale"])
    # One run among those that are compared.
    row = {
        "run": run,
        "words": told_words(calls),
        "paper": variant.paper if variant else "",
        "model": calls["model"],
        "judges": bool(variant and variant.judges),
        "ensemble": figures["recipe"]["params"]["ensemble"],
        "fallback": percent(missing / frame["ratings"], 1),
        # of the same ratings as the run on the page
        "same": same,
        "all": changed.get("all"),
        "incomplete": changed.get("incomplete"),
    }
    return variant.slug if variant else "", run.number, row


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
