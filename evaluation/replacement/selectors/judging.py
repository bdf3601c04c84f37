"""What the page says of how a model judges: leanings, calibration, drift, versions, the panel."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import count, format_signed, general, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.calibration import Forecasts, reliability_curve
from evaluation.methods.core.inference import Claim, t_quantile
from evaluation.methods.replacement.behavior import LENGTH, POSITION, REPETITION, SELF
from evaluation.methods.replacement.data import ACCURACY
from evaluation.models import Run
from evaluation.replacement.selectors.naming import label_words, short_names
from evaluation.results.cells import beside, bold, dim
from evaluation.results.columns import (
    PLOT,
    Column,
    head_column,
    interval_column,
    reasons_beside_names,
)
from evaluation.results.estimates import (
    DIFFERENCE,
    EstimateRow,
    drawn,
    estimate_columns,
    with_interval,
)
from evaluation.results.findings import arrange
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.selectors.verdicts import Verdict

Told = Mapping[str, Any]
FIGURES = (
    *("leaning", "calibration", "reliability", "drift", "version", "panel", "weight"),
    *("frame", "recipe"),
)
TITLES = {
    POSITION: (gettext_lazy("Position"), gettext_lazy("chooses the text shown first")),
    LENGTH: (gettext_lazy("Length"), gettext_lazy("chooses the longer text")),
    SELF: (gettext_lazy("Self-preference"), gettext_lazy("chooses the text that it wrote itself")),
    REPETITION: (gettext_lazy("Repetition"), gettext_lazy("answers the same when asked again")),
}
RATED = {
    LENGTH: (gettext_lazy("Length"), gettext_lazy("rates long texts higher, in points")),
    SELF: (gettext_lazy("Self-preference"), gettext_lazy("rates its own texts higher, in points")),
}
WIDTH = 220.0
ITEMS = Column.count("n", gettext_lazy("Items"))
BECAUSE = gettext_lazy("None, because %(reason)s.")


@dataclass(frozen=True)
class Leaning(EstimateRow):
    """The difference of a model to people in one leaning; of a repetition the model alone."""

    judge: float | None = None
    people: float | None = None
    verdict: str = ""
    leans: bool = False
    is_tested: bool = False


LEANINGS = reasons_beside_names(
    head_column("name", gettext_lazy("Leaning"), html=lambda row: beside(row.name, row.detail)),
    Column.number("judge", gettext_lazy("Model"), html=lambda row: bold(score(row.judge, 2))),
    Column.score("people", gettext_lazy("People"), missing=gettext_lazy("none")),
    replace(PLOT, label=gettext_lazy("Difference, interval")),
    DIFFERENCE,
    interval_column(),
    ITEMS,
    Column.text(
        "verdict",
        gettext_lazy("Result"),
        html=lambda row: row.verdict if row.leans or not row.is_tested else dim(row.verdict),
    ),
)


def page(run: Run, told: Told, model: int | None) -> dict[str, Any]:
    """The context of the page with one model opened; ``none`` where the run has no such tables."""
    names = short_names(told)
    opened = model if model is not None and 0 <= model < len(names) else 0
    context: dict[str, Any] = {
        "models": list(enumerate(names)),
        "opened": opened,
        "name": names[opened],
        "none": not told.get("leaning"),
    }
    if context["none"]:
        return context
    classes = told["frame"]["score"] == ACCURACY
    leanings = leaning_table(told, opened, names[opened], classes=classes)
    return context | {
        "classes": classes,
        "leanings": leanings,
        "screen": arrange([_leans(names[opened], leanings.groups[0].rows).finding("leaning")]),
        "calibration": calibration(run, told, opened, names[opened], classes=classes),
        "drift": drift(told, opened, names[opened], classes=classes),
        "versions": version_table(told, names, classes=classes),
        "panel": panel(run, told, names),
    }


def claim_of(told: Told, table: str, row: Told) -> Claim:
    """Make a claim about a difference, simultaneous over all models and kinds of its table."""
    name, prefix = ("agreement", "") if table == "drift" else ("difference", "difference_")
    low, middle, high = row[f"{prefix}low"], row[name], row[f"{prefix}high"]
    family = sum(not _is_missing(one) for one in _differences(told, table))
    freedom = row.get("freedom") or row["n"] - 1
    half = max(high - middle, middle - low)
    half *= float(t_quantile(0.95, freedom, family)) / float(t_quantile(0.95, freedom))
    return Claim(
        table,
        middle,
        middle - half,
        middle + half,
        n=row["n"],
        compared_with=family,
        simultaneous_over=family,
        adjustment="bonferroni",
    )


def _differences(told: Told, table: str) -> list[Told]:
    return [row for row in told.get(table, []) if table != "drift" or row["part"] < 0]


def _model_rows(told: Told, table: str, model: int) -> list[Told]:
    return [row for row in told.get(table, []) if row["model"] == model]


def leaning_table(told: Told, model: int, name: str, *, classes: bool) -> ResultTable:
    """A row a leaning: the model's share, people's, and the difference with its interval."""
    rows = [_leaning(told, row, classes=classes) for row in _model_rows(told, "leaning", model)]
    tested = [row for row in rows if row.is_tested]
    ends = [end for row in tested for end in (row.low, row.high) if end is not None]
    scale = Scale.around(ends or [0.0], width=WIDTH, include=[0])
    plots = {row.name: row for row in drawn(tested, scale, reference=0.0)}
    title = _("Leanings of %(name)s, with 95%% CIs") % {"name": name}
    shown = [plots.get(row.name, row) for row in rows]
    return plain_table(title, LEANINGS, shown, axis=charts.forest_axis(scale))


def _leans(name: str, rows: Sequence[Leaning]) -> Verdict:
    """Say how many leanings of a model are shown to be other than people's."""
    tested = [row for row in rows if row.is_tested]
    shown = [row.name for row in tested if row.leans]
    told = {"name": name, "which": ", ".join(map(str, shown)), "of": count(len(tested))}
    if not tested:
        return Verdict(_("No leaning of %(name)s could be tested on these answers.") % told)
    if shown:
        return Verdict(_("%(name)s leans otherwise than people: %(which)s.") % told)
    return Verdict(_("%(name)s is not shown to lean otherwise than people.") % told)


def _leaning(told: Told, row: Told, *, classes: bool) -> Leaning:
    title, detail = (TITLES if classes else TITLES | RATED)[row["kind"]]
    if row["reason"]:
        why = BECAUSE % {"reason": row["reason"]}
        return Leaning(title, None, detail=detail, why=why, sure=False)
    known = {"n": row["n"], "detail": detail, "judge": row["judge"]}
    if row["kind"] == REPETITION:
        items = plural(row["n"], "item")
        said = _("%(judge)s of %(items)s") % {"judge": score(row["judge"], 2), "items": items}
        return Leaning(title, None, row["judge_low"], row["judge_high"], verdict=said, **known)
    claim = claim_of(told, "leaning", row)
    words = {1: _("More than people"), -1: _("Less than people"), 0: _("Not shown")}
    return Leaning(
        *(title, row["difference"], row["difference_low"], row["difference_high"]),
        people=row["people"],
        verdict=words[claim.direction],
        leans=claim.is_sure,
        is_tested=True,
        **known,
    )


def _is_missing(row: Told) -> bool:
    return bool(row["reason"]) or row.get("kind") == REPETITION


def calibration(run: Run, told: Told, model: int, name: str, *, classes: bool) -> dict[str, Any]:
    """Return for each value that the model gave what people say of these items."""
    rows = [row for row in _model_rows(told, "calibration", model) if row["n"]]
    words = label_words(run, told)
    if classes:
        scale = Scale(0.0, 1.0, WIDTH, (0.0, 0.25, 0.5, 0.75, 1.0))
    else:
        ends = [row[name] for row in rows for name in ("said", "low", "high", "value")]
        scale = Scale.around([one for one in ends if one is not None] or [0.0], width=WIDTH)
    points = _model_rows(told, "reliability", model)
    curve = _curve(points) if points else None
    found: list[EstimateRow] = []
    for row in rows:
        title = words[int(row["value"])] if classes else general(row["value"])
        one = EstimateRow(title, row["said"], row["low"], row["high"], row["n"])
        found += drawn([one], scale, reference=None if classes else row["value"])
    people = _("People who say the same") if classes else _("People’s mean")
    columns = [
        head_column("name", _("%(name)s says") % {"name": name}),
        PLOT,
        Column.score("estimate", people, _("People"), is_main=True),
        replace(interval_column(needs_interval=False), missing=_("too few items")),
        ITEMS,
    ]
    caption = _("What people say by what %(name)s says, with 95%% CIs") % {"name": name}
    table = plain_table(caption, columns, found, axis=charts.forest_axis(scale))
    return {"table": table if found else None, "curve": curve}


def _curve(rows: Sequence[Told]) -> SafeString:
    """People's mean by the number that the model gave, as a reliability curve."""
    points = [
        Forecasts(row["value"], Estimate(row["said"], row["low"], row["high"]), row["n"])
        for row in rows
    ]
    return reliability_curve(
        points, name=_("Calibration"), across=_("model’s number"), up=_("people’s mean")
    )


def drift(told: Told, model: int, name: str, *, classes: bool) -> dict[str, Any]:
    """A row a part of the model's answers in time, and a sentence of the two halves."""
    rows = _model_rows(told, "drift", model)
    whole = next((row for row in rows if row["part"] < 0), None)
    parts = [row for row in rows if row["part"] >= 0]
    if whole is None or whole["reason"]:
        return {"reason": whole["reason"] if whole else ""}
    ends = [row[name] for row in parts for name in ("agreement", "low", "high")]
    scale = Scale.around([one for one in ends if one is not None] or [0.0], width=WIDTH)
    better = whole["agreement"] > 0 if classes else whole["agreement"] < 0
    shown = claim_of(told, "drift", whole).is_sure
    change = {
        "change": format_signed(whole["agreement"]),
        "low": score(whole["low"], 2),
        "high": score(whole["high"], 2),
    }
    if not shown:
        said = _(
            "No drift is shown: the second half differs from the first by %(change)s (95%% CI "
            "%(low)s to %(high)s)."
        )
    elif better:
        said = _(
            "The second half agrees more with people than the first: %(change)s (95%% CI %(low)s "
            "to %(high)s)."
        )
    else:
        said = _(
            "The second half agrees less with people than the first: %(change)s (95%% CI %(low)s "
            "to %(high)s)."
        )
    lines = [
        EstimateRow(
            _("%(since)s to %(until)s")
            % {"since": _day(row["since"]), "until": _day(row["until"])},
            *(row["agreement"], row["low"], row["high"], row["n"]),
        )
        for row in parts
    ]
    value = _("Agreement") if classes else _("Distance")
    columns = estimate_columns(_("Answered"), value, count=ITEMS)
    title = _("Agreement of %(name)s with people in time, with 95%% CIs") % {"name": name}
    return {
        "sentence": said % change,
        "table": plain_table(title, columns, drawn(lines, scale), axis=charts.forest_axis(scale)),
    }


def _day(days: float) -> str:
    return date_format(dt.datetime.fromtimestamp(days * 86_400, dt.UTC), "j M Y")


def version_table(told: Told, names: Sequence[str], *, classes: bool) -> ResultTable | None:
    """Models of one name: how much better the second agrees with people than the first."""
    rows = [
        EstimateRow(
            _("%(other)s less %(model)s")
            % {"other": names[row["other"]], "model": names[row["model"]]},
            *(row["difference"], row["low"], row["high"], row["n"]),
            why=BECAUSE % {"reason": row["reason"]},
            sure=not row["reason"],
        )
        for row in told.get("version", [])
    ]
    difference = _("Difference in agreement") if classes else _("Difference in distance")
    columns = reasons_beside_names(
        head_column("name", _("Versions")),
        replace(DIFFERENCE, label=difference),
        interval_column(),
        ITEMS,
    )
    title = _("Versions of one model, on the items of both")
    return plain_table(title, columns, rows, shows_title=True) if rows else None


@dataclass(frozen=True)
class PanelRow(EstimateRow):
    """The panel's estimate of one label, and what it is worth."""

    worth: int = 0
    best: int = 0
    weights: Mapping[int, float] = field(default_factory=dict)  # of models

    @property
    def written(self) -> SafeString:
        """Return the panel's estimate with its interval, for a table."""
        return with_interval(Estimate(self.estimate or 0.0, self.low, self.high), 3)


PANEL = (
    head_column("name", gettext_lazy("People and panel")),
    PLOT,
    Column.number(
        "written",
        gettext_lazy("Estimate, 95% CI"),
        gettext_lazy("Estimate"),
        term="interval",
        html=lambda row: row.written,
        classes="l1r",
    ),
    Column.count("worth", gettext_lazy("Worth, in items by people"), gettext_lazy("Worth")),
    Column.count(
        "best", gettext_lazy("Best single model"), gettext_lazy("Best single"), classes="dim"
    ),
)


def _weight(model: int, name: str) -> Column:
    return Column.number(
        "weights",
        _("Weight of %(one)s") % {"one": name},
        _("Weight"),
        html=lambda row: score(row.weights.get(model), 2),
    )


def panel(run: Run, told: Told, names: Sequence[str]) -> dict[str, Any]:
    """Return all models combined as one judge: the estimate and weights for each label."""
    words = label_words(run, told)
    rows = told.get("panel", [])
    reasons = {row["reason"] for row in rows}
    if len(reasons) == 1 and "" not in reasons:
        return {"reason": reasons.pop()}
    given = [row for row in rows if not row["reason"]]
    ends = [row[name] for row in given for name in ("both_low", "both_high")]
    scale = Scale.around(ends or [0.0], width=WIDTH)
    weights: dict[int, dict[int, float]] = {}
    for row in told.get("weight", []):
        weights.setdefault(row["label"], {})[row["model"]] = row["weight"]
    used = sorted({model for one in weights.values() for model in one})
    lines: list[EstimateRow] = []
    for row in rows:
        name = (
            _("Share of “%(label)s”") % {"label": words[row["label"]]}
            if row["label"] >= 0
            else _("Mean")
        )
        if row["reason"]:
            why = BECAUSE % {"reason": row["reason"]}
            lines.append(EstimateRow(name, None, why=why, sure=False))
            continue
        one = PanelRow(
            *(name, row["both"], row["both_low"], row["both_high"]),
            worth=round(row["worth"]),
            best=round(row["best"]),
            weights=weights.get(row["label"], {}),
        )
        lines += drawn([one], scale)
    columns = reasons_beside_names(*PANEL, *(_weight(model, names[model]) for model in used))
    title = _("Estimates of the panel with people, and the weight of each model")
    table = plain_table(title, columns, lines, axis=charts.forest_axis(scale))
    return {"table": table if lines else None}
