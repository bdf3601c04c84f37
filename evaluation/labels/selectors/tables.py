"""Agreement, classes and the comparison of methods, from the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import gettext, gettext_lazy

from crowdqc.files.cells import csv_text
from crowdqc.numbers import count, percent, plural, score
from evaluation.charts import boards as charts
from evaluation.charts import labels as label_charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.calibration import Said, reliability_curve
from evaluation.labels.selectors.study import NAMES, ShownField
from evaluation.labels.selectors.workers import matrix
from evaluation.methods.labels.items import CALIBRATED, COMPARED
from evaluation.runs.results import votes_used

AGREEMENT = ("agreement", "data", "compare", "class", "pairs", "other_fields", votes_used.FIGURE)
CLASSES = ("class", "pooled", "certainty", votes_used.FIGURE)
COMPARE = ("compare", "reliability", "certainty", "paired", "class", votes_used.FIGURE)
COEFFICIENTS = {
    "krippendorff_nominal": (
        gettext_lazy("Krippendorff’s alpha"),
        gettext_lazy("corrects for chance, allows missing labels"),
    ),
    "krippendorff_ordinal": (
        gettext_lazy("Krippendorff’s alpha, ordinal"),
        gettext_lazy("labels near in order differ less"),
    ),
    "krippendorff_interval": (
        gettext_lazy("Krippendorff’s alpha, interval"),
        gettext_lazy("by the distance of the labels"),
    ),
    "krippendorff_own": (
        gettext_lazy("Krippendorff’s alpha, own distances"),
        gettext_lazy("by the distances that were given"),
    ),
    "fleiss": (gettext_lazy("Fleiss’ kappa"), gettext_lazy("corrects for chance")),
    "gwet_ac1": (
        gettext_lazy("Gwet’s AC1"),
        gettext_lazy("less affected when one class is frequent"),
    ),
    "masi": (
        gettext_lazy("Krippendorff’s alpha, MASI"),
        gettext_lazy("sets of options; those that overlap agree in part"),
    ),
    "spans_exact": (
        gettext_lazy("F1, exact spans"),
        gettext_lazy("same start, end and label; does not correct for chance"),
    ),
    "spans_overlap": (
        gettext_lazy("F1, overlapping spans"),
        gettext_lazy("share a character and the label"),
    ),
    "spans_characters": (
        gettext_lazy("F1, characters"),
        gettext_lazy("every marked character counts once"),
    ),
    "cohen_mean": (
        gettext_lazy("Cohen’s kappa, mean of pairs"),
        gettext_lazy("two workers at a time, corrects for chance"),
    ),
}
TERMS = {"fleiss": "kappa", "cohen_mean": "kappa", "gwet_ac1": "ac1", "masi": "alpha"}
SAID = {
    "dawid_skene": gettext_lazy("a confusion matrix per worker"),
    "mace": gettext_lazy("one competence per worker"),
    "glad": gettext_lazy("one ability per worker, one difficulty per item"),
    "majority": gettext_lazy("every worker counts the same"),
}
ORDER = ("dawid_skene", "mace", "glad", "majority")
PAIRS = 20  # of workers on a page
WEAK = 0.67  # alpha below which single labels are not relied on
LEVEL = 0.05
Told = Mapping[str, Any]


# Agreement -------------------------------------------------------------------------------------


def agreement(told: Told, field: ShownField, summary: Told) -> dict[str, Any]:
    """Coefficients of all workers and without those who are no better than guessing; by class."""
    rows = [row for row in told["agreement"] if _is_told(row)]
    scale = _scale(rows)
    others = summary["workers"] - summary["better"] if summary["better"] else 0
    heads = {
        "all": gettext("All %(workers)s") % {"workers": plural(summary["workers"], "worker")},
        "better": gettext(
            "Without the %(others)s who are not better than guessing: they were chosen "
            "on the same labels, so this is an upper limit"
        )
        % {"others": count(others)},
    }
    return {
        "axis": charts.forest_axis(scale),
        "groups": [
            {"heading": heads[scope], "rows": found}
            for scope in heads
            if (scope == "all" or others)
            and (found := [_coefficient(row, scale) for row in rows if row["scope"] == scope])
        ],
        "by_class": [
            {**_coefficient(row, scale), "name": field.word(row["label"])}
            for row in rows
            if row["scope"] == "class"
        ],
        "data": told["data"],
    }


def other_fields(told: Told) -> list[dict[str, Any]]:
    """Agreement in the task's fields of several options and of spans; none in older runs."""
    return [
        {
            **one,
            "axis": charts.forest_axis(scale),
            "rows": [_coefficient(row, scale) for row in one["rows"]],
        }
        for one in told.get("other_fields", [])
        for scale in [_scale(one["rows"])]
    ]


def pairs(told: Told, names: Mapping[int, str], page: Any) -> dict[str, Any] | None:
    """Cohen's kappa of every two workers, PAIRS a page, the lowest first; None in older runs."""
    found = told.get("pairs")
    if not found:
        return None
    shown = Paginator(found["rows"], PAIRS).get_page(page)
    scale = _scale([{**row, "value": row["kappa"]} for row in found["rows"]])
    return {
        **found,
        "page": shown,
        "axis": charts.forest_axis(scale),
        "rows": [
            {
                **row,
                "names": [names.get(pk, gettext("a deleted worker")) for pk in row["workers"]],
                "plot": charts.forest_cell(
                    scale,
                    Estimate(row["kappa"], row["low"], row["high"]),
                    name=gettext("Cohen’s kappa"),
                    height=charts.ROW,
                ),
            }
            for row in shown.object_list
        ],
    }


def _is_told(row: Told) -> bool:
    """Whether a coefficient has a value, or a reason that concerns these labels."""
    return row["value"] is not None or row["coefficient"] in (
        "krippendorff_nominal",
        "fleiss",
        "gwet_ac1",
    )


def _term(row: Told) -> str:
    """The term of the glossary that a coefficient is; empty where it is none."""
    of_alpha = "alpha" if row["coefficient"].startswith("krippendorff") else ""
    return TERMS.get(row["coefficient"], of_alpha)


def _scale(rows: Sequence[Told]) -> Scale:
    values = [value for row in rows for value in (row["value"], row["low"], row["high"])]
    return Scale.around(values, width=290.0, include=[0.0, 0.8])


def _coefficient(row: Told, scale: Scale) -> dict[str, Any]:
    name, said = COEFFICIENTS.get(row["coefficient"], (row["coefficient"], ""))
    value = row["value"]
    estimate = None if value is None else Estimate(value, row["low"], row["high"])
    return {
        **row,
        "name": name,
        "said": said,
        "term": _term(row),
        "plot": charts.forest_cell(
            scale,
            estimate,
            name=str(name),
            height=charts.ROW if row["scope"] == "class" else charts.TWO_LINES,
        ),
    }


def rail_agreement(told: Told) -> list[tuple[str, Told]]:
    """The three coefficients beside other pages."""
    short = {
        "krippendorff_nominal": gettext("Krippendorff’s α"),
        "fleiss": gettext("Fleiss’ κ"),
        "gwet_ac1": gettext("Gwet’s AC1"),
    }
    found = {row["coefficient"]: row for row in told["agreement"] if row["scope"] == "all"}
    return [
        (label, {**found[name], "term": _term(found[name])})
        for name, label in short.items()
        if name in found
    ]


# Classes ---------------------------------------------------------------------------------------


def classes(told: Told, field: ShownField) -> dict[str, Any]:
    """Prevalence of the classes, and what all workers together take for what."""
    rows = told["class"]
    values = [row[name] for row in rows for name in ("prevalence", "low", "high", "majority_share")]
    scale = Scale.around(values, width=270.0, count=4, include=[0.0])
    pooled = told["pooled"]
    return {
        "axis": label_charts.share_axis(scale),
        "rows": [
            {
                **row,
                "name": field.word(row["label"]),
                "span": share_span(row["low"], row["high"]),
                "plot": label_charts.prevalence_cell(
                    scale,
                    Estimate(row["prevalence"], row["low"], row["high"]),
                    row["majority_share"],
                    name=field.word(row["label"]),
                )
                if row["prevalence"] is not None
                else "",
            }
            for row in rows
        ],
        "matrix": matrix(pooled["probability"], field, [code for code, _ in field.options]),
        "in_words": confusion_words(pooled, field),
        "any_known": any(row["known"] for row in rows),
        "certainty": told["certainty"],
    }


def confusion_words(pooled: Told, field: ShownField) -> list[tuple[str, str]]:
    """Three sentences on the pooled matrix: the largest confusion, the rarest row, the diagonal."""
    grid, votes = pooled["probability"], pooled["votes"]
    names = [label for _, label in field.options]
    known = [at for at, n in enumerate(votes) if n >= 1]
    cells = [
        (grid[t][g], t, g)
        for t in known
        for g in range(len(names))
        if t != g and grid[t][g] is not None
    ]
    found = []
    if cells:
        share, true, given = max(cells)
        found.append(
            (
                gettext("“%(true)s” is taken for “%(given)s”")
                % {"true": names[true], "given": names[given]},
                gettext("in %(share)s of 100 labels, more than any other confusion.")
                % {"share": round(100 * share)},
            )
        )
    if len(known) > 1:
        rare = min(known, key=lambda at: votes[at])
        found.append(
            (
                gettext("“%(label)s” is the rarest;") % {"label": names[rare]},
                gettext("its row rests on %(votes)s labels.")
                % {"votes": count(round(votes[rare]))},
            )
        )
        right = sorted(grid[at][at] for at in known if grid[at][at] is not None)
        found.append(
            (
                gettext("The most likely label is given"),
                gettext("in %(low)s to %(high)s of 100 labels, by class.")
                % {"low": round(100 * right[0]), "high": round(100 * right[-1])},
            )
        )
    return found


# Methods ---------------------------------------------------------------------------------------


def compare(told: Told, single: tuple[int, int]) -> dict[str, Any]:
    """Methods by known answers; ``single``: single labels right, and how many there are."""
    by_name = {row["method"]: row for row in told["compare"]}
    rows = [by_name[name] for name in ORDER if name in by_name]
    ends = [
        value
        for row in rows
        for value in (row["low"], row["high"], _share(row))
        if value is not None
    ]
    low = min([*ends, single[0] / single[1] if single[1] else 1.0, 0.9], default=0.5)
    scale = Scale.around([math.floor(low * 10) / 10, 1.0], width=220.0)
    return {
        "axis": charts.forest_axis(scale),
        "compared": [_method(row, scale, told["certainty"]) for row in rows],
        "single": {
            "right": single[0],
            "n": single[1],
            "plot": charts.forest_cell(
                scale,
                Estimate(single[0] / single[1]),
                name=gettext("Single label"),
                height=charts.TWO_LINES,
            ),
        }
        if single[1]
        else None,
        "known": max((row["n"] for row in rows), default=0),
        "calibrated": [
            {**row, "name": NAMES[row["method"]]} for row in rows if row["brier"] is not None
        ],
        "least_calibrated": CALIBRATED,
        "unseen": max((row.get("held_out_n") or 0 for row in rows), default=0),
        "curves": curves(told),
        "which": which_one(told),
    }


def curves(told: Told) -> list[dict[str, Any]]:
    """A reliability curve a method; none of a run without enough known answers, or an older one."""
    found = []
    for name in ORDER:
        rows = [row for row in told.get("reliability") or () if row["method"] == name]
        points = [
            Said(row["confidence"], Estimate(row["right"], row["low"], row["high"]), row["n"])
            for row in rows
        ]
        if points:
            drawn = reliability_curve(
                points,
                name=str(NAMES[name]),
                across="posterior",
                up=gettext("share of labels that are right"),
            )
            found.append({"name": NAMES[name], "chart": drawn, "rows": rows})
    return found


# Columns of figures that are files of their own.
FIGURES_CSV = {
    "compare": ("method", *COMPARED),
    "reliability": ("method", "confidence", "right", "low", "high", "n"),
}


def figures_csv(told: Told, table: str) -> str:
    """A table of FIGURES_CSV as CSV; a column that an older run does not have is empty."""
    columns = FIGURES_CSV[table]
    rows = told.get(table) or ()
    return csv_text([columns, *([row.get(name) for name in columns] for row in rows)])


def _share(row: Told) -> float | None:
    return row["right"] / row["n"] if row["n"] else None


def _whole(value: float) -> str:
    """``18``, or ``17.5`` where a tie was shared."""
    return count(value) if float(value).is_integer() else f"{value:.1f}"


def _method(row: Told, scale: Scale, certainty: Told) -> dict[str, Any]:
    name, share = row["method"], _share(row)
    estimate = None if share is None else Estimate(share, row["low"], row["high"])
    uncertain = certainty["uncertain"].get(name)
    if name == "majority":
        uncertain = plural(certainty["ties"], "tie")
    return {
        **row,
        "slug": name,
        "name": NAMES[name],
        "said": SAID[name],
        "share": share,
        "plot": charts.forest_cell(scale, estimate, name=str(NAMES[name]), height=charts.TWO_LINES),
        "uncertain": uncertain if isinstance(uncertain, str) else count(uncertain),
        "right_words": _whole(row["right"]),
    }


def which_one(told: Told) -> list[str]:
    """What the known answers say of the methods, which were tried on the same items."""
    n = max((row["n"] for row in told["compare"]), default=0)
    first = gettext(
        "Dawid-Skene is shown first: it learns which labels each worker confuses. Where workers "
        "gave few labels per class, MACE needs less: one number per worker."
    )
    if not n:
        return [
            gettext(
                "Without known answers nothing here says which method is right more often; they "
                "can only be compared with each other."
            ),
            first,
        ]
    tried = told["paired"]
    apart = [row for row in tried if row["p"] * len(tried) < LEVEL]
    if not apart:
        head = gettext("On %(known_answers)s the methods cannot be told apart.") % {
            "known_answers": plural(n, "known answer")
        }
        return [head, first]
    said = []
    for row in apart:
        more, less = NAMES[row["method"]], NAMES["dawid_skene"]
        gained, lost = row["gained"], row["lost"]
        if gained < lost:
            more, less, gained, lost = less, more, lost, gained
        said.append(
            gettext(
                "%(more)s is right more often than %(less)s: %(gained)s known answers "
                "against %(lost)s, where only one of the two is right."
            )
            % {"more": more, "less": less, "gained": count(gained), "lost": count(lost)}
        )
    return [*said, first]


def known_lines(told: Told, single: tuple[int, int]) -> list[tuple[str, str]]:
    """Known answers right, by single labels and by method, for the rail."""
    rows = {row["method"]: row for row in told["compare"] if row["n"]}
    if not rows:
        return []
    found = (
        [
            (
                gettext("Single labels right"),
                gettext("%(right)s of %(n)s") % {"right": count(single[0]), "n": count(single[1])},
            )
        ]
        if single[1]
        else []
    )
    for name in ("majority", "dawid_skene", "mace"):
        if name in rows:
            right, n = _whole(rows[name]["right"]), count(rows[name]["n"])
            found.append(
                (
                    gettext("%(method)s right") % {"method": NAMES[name]},
                    gettext("%(right)s of %(n)s") % {"right": right, "n": n},
                )
            )
    return found


def prevalence_lines(told: Told, field: ShownField) -> list[dict[str, Any]]:
    """Share of each class, for the rail."""
    return [
        {
            "name": field.word(row["label"]),
            "share": percent(row["prevalence"]),
            "span": share_span(row["low"], row["high"]),
        }
        for row in told["class"]
    ]


def share_span(low: float | None, high: float | None) -> str:
    """``50–59%``; empty without an interval."""
    return "" if low is None or high is None else f"{round(100 * low)}–{percent(high)}"


def trust_words(alpha: Told | None) -> tuple[str, str]:
    """How far single labels can be trusted by their agreement: a word and why."""
    if alpha is None or alpha["value"] is None:
        return "", ""
    if alpha["low"] is None:
        return gettext("No interval."), f"{alpha['reason'].capitalize()}."
    if alpha["high"] < WEAK:
        return (
            gettext("Weak."),
            gettext(
                "Below .67 most authors would not draw conclusions from the labels of single "
                "workers. Estimated labels can be better than that; known answers tell."
            ),
        )
    if alpha["low"] < WEAK:
        return gettext("Not sure."), gettext(
            "The interval of alpha includes %(limit)s, the usual limit."
        ) % {"limit": score(WEAK, 2)}
    return gettext("Good."), gettext(
        "Alpha lies above .67, the usual limit for tentative conclusions."
    )
