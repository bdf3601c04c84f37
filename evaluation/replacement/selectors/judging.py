"""What the page says of how a model judges: leanings, calibration, drift, versions, the panel."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import count, format_signed, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.agreement import known_estimate
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.calibration import Said, reliability_curve
from evaluation.methods.core.inference import Claim, t_quantile
from evaluation.methods.replacement.behavior import LENGTH, POSITION, REPETITION, SELF
from evaluation.methods.replacement.data import ACCURACY
from evaluation.models import Run
from evaluation.replacement.selectors.naming import label_words, short_names
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
    leanings = leaning_rows(told, opened, classes=classes)
    return context | {
        "classes": classes,
        "leanings": leanings,
        "verdict": _leans(names[opened], leanings["rows"]),
        "calibration": calibration_rows(run, told, opened, classes=classes),
        "drift": drift_rows(told, opened, classes=classes),
        "versions": version_rows(told, names),
        "panel": panel_rows(run, told, names),
    }


def claim_of(told: Told, table: str, row: Told) -> Claim:
    """What may be said of a difference, simultaneously over all models and kinds of its table."""
    name, prefix = ("agreement", "") if table == "drift" else ("difference", "difference_")
    low, middle, high = row[f"{prefix}low"], row[name], row[f"{prefix}high"]
    family = sum(not _none(one) for one in _differences(told, table))
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


def _of(told: Told, table: str, model: int) -> list[Told]:
    return [row for row in told.get(table, []) if row["model"] == model]


def leaning_rows(told: Told, model: int, *, classes: bool) -> dict[str, Any]:
    """A row a leaning: the model's share, people's, and the difference with its interval."""
    rows = _of(told, "leaning", model)
    ends = [
        row[name]
        for row in rows
        for name in ("difference_low", "difference_high")
        if not _none(row)
    ]
    scale = Scale.around(
        [one for one in ends if one is not None] or [0.0], width=WIDTH, include=[0]
    )
    return {
        "axis": charts.forest_axis(scale),
        "rows": [_leaning(told, row, scale, classes=classes) for row in rows],
    }


def _leans(name: str, rows: Sequence[Told]) -> Verdict:
    """How many leanings of a model are shown to be other than people's."""
    tested = [row for row in rows if not _none(row)]
    shown = [row["title"] for row in tested if row["leans"]]
    told = {"name": name, "which": ", ".join(map(str, shown)), "of": count(len(tested))}
    if not tested:
        return Verdict(_("No leaning of %(name)s could be tested on these answers.") % told)
    if shown:
        return Verdict(_("%(name)s leans otherwise than people: %(which)s.") % told)
    return Verdict(_("%(name)s is not shown to lean otherwise than people.") % told)


def _leaning(told: Told, row: Told, scale: Scale, *, classes: bool) -> dict[str, Any]:
    title, said = (TITLES if classes else TITLES | RATED)[row["kind"]]
    one: dict[str, Any] = {
        **row,
        "title": title,
        "said": said,
        "plot": "",
        "verdict": "",
        "leans": False,
    }
    if row["reason"]:
        return one
    if row["kind"] == REPETITION:
        return one | {
            "verdict": _("%(judge)s of %(items)s")
            % {"judge": score(row["judge"], 2), "items": plural(row["n"], "item")}
        }
    low, high = row["difference_low"], row["difference_high"]
    claim = claim_of(told, "leaning", row)
    words = {1: _("More than people"), -1: _("Less than people"), 0: _("Not shown")}
    return one | {
        "difference_said": format_signed(row["difference"]),
        "leans": claim.is_sure,
        "verdict": words[claim.direction],
        "plot": charts.forest_cell(
            scale, known_estimate(row["difference"], low, high), reference=0.0, name=str(title)
        ),
    }


def _none(row: Told) -> bool:
    return bool(row["reason"]) or row.get("kind") == REPETITION


def calibration_rows(run: Run, told: Told, model: int, *, classes: bool) -> dict[str, Any]:
    """A row a value that the model gave: what people say of these items."""
    rows = [row for row in _of(told, "calibration", model) if row["n"]]
    words = label_words(run, told)
    if classes:
        scale = Scale(0.0, 1.0, WIDTH, (0.0, 0.25, 0.5, 0.75, 1.0))
    else:
        ends = [row[name] for row in rows for name in ("said", "low", "high", "value")]
        scale = Scale.around([one for one in ends if one is not None] or [0.0], width=WIDTH)
    points = _of(told, "reliability", model)
    curve = _curve(points) if points else None
    found = []
    for row in rows:
        title = words[int(row["value"])] if classes else f"{row['value']:g}"
        estimate = known_estimate(row["said"], row["low"], row["high"])
        reference = None if classes else row["value"]
        plot = charts.forest_cell(scale, estimate, reference=reference, name=title)
        found.append({**row, "title": title, "plot": plot})
    return {"axis": charts.forest_axis(scale), "rows": found, "curve": curve}


def _curve(rows: Sequence[Told]) -> SafeString:
    """People's mean by the number that the model gave, as a reliability curve."""
    points = [
        Said(row["value"], Estimate(row["said"], row["low"], row["high"]), row["n"]) for row in rows
    ]
    return reliability_curve(
        points, name=_("Calibration"), across=_("model’s number"), up=_("people’s mean")
    )


def drift_rows(told: Told, model: int, *, classes: bool) -> dict[str, Any]:
    """A row a part of the model's answers in time, and a sentence of the two halves."""
    rows = _of(told, "drift", model)
    whole = next((row for row in rows if row["part"] < 0), None)
    parts = [row for row in rows if row["part"] >= 0]
    if whole is None or whole["reason"]:
        return {"reason": whole["reason"] if whole else "", "rows": []}
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
    return {
        "reason": "",
        "sentence": said % change,
        "axis": charts.forest_axis(scale),
        "rows": [
            {
                **row,
                "title": _("%(since)s to %(until)s")
                % {"since": _day(row["since"]), "until": _day(row["until"])},
                "plot": charts.forest_cell(
                    scale,
                    known_estimate(row["agreement"], row["low"], row["high"]),
                    name=_("part %(part)s") % {"part": row["part"] + 1},
                ),
            }
            for row in parts
        ],
    }


def _day(days: float) -> str:
    return date_format(dt.datetime.fromtimestamp(days * 86_400, dt.UTC), "j M Y")


def version_rows(told: Told, names: Sequence[str]) -> list[dict[str, Any]]:
    """Models of one name: how much better the second agrees with people than the first."""
    return [
        {
            **row,
            "title": _("%(other)s less %(model)s")
            % {"other": names[row["other"]], "model": names[row["model"]]},
            "difference_said": "" if row["reason"] else format_signed(row["difference"]),
        }
        for row in told.get("version", [])
    ]


def panel_rows(run: Run, told: Told, names: Sequence[str]) -> dict[str, Any]:
    """All models as one judge: the estimate of each label, and the weight of each model in it."""
    words = label_words(run, told)
    rows = told.get("panel", [])
    reasons = {row["reason"] for row in rows}
    if len(reasons) == 1 and "" not in reasons:
        return {"reason": reasons.pop(), "rows": []}
    given = [row for row in rows if not row["reason"]]
    ends = [row[name] for row in given for name in ("both_low", "both_high")]
    scale = Scale.around(ends or [0.0], width=WIDTH)
    weights = {(row["label"], row["model"]): row["weight"] for row in told.get("weight", [])}
    used = sorted({model for _, model in weights})
    found = []
    for row in rows:
        title = (
            _("Share of “%(label)s”") % {"label": words[row["label"]]}
            if row["label"] >= 0
            else _("Mean")
        )
        one: dict[str, Any] = {**row, "title": title}
        if not row["reason"]:
            one["weights"] = [weights.get((row["label"], model)) for model in used]
            one["worth_said"] = count(round(row["worth"]))
            one["best_said"] = count(round(row["best"]))
            estimate = Estimate(row["both"], row["both_low"], row["both_high"])
            one["plot"] = charts.forest_cell(scale, estimate, name=title)
        found.append(one)
    return {
        "reason": "",
        "axis": charts.forest_axis(scale),
        "names": [names[model] for model in used],
        "rows": found,
    }
