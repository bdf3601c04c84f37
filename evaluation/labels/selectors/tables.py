"""Agreement, classes and the comparison of methods, from the figures of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.paginator import Paginator
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from crowdqc.numbers import count, percent, plural, score
from crowdqc.web.terms import Words
from evaluation.charts import boards as charts
from evaluation.charts import labels as label_charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.calibration import Forecasts, reliability_curve
from evaluation.labels.selectors.study import NAMES, ShownField, fraction
from evaluation.labels.selectors.workers import matrix
from evaluation.methods.labels.items import CALIBRATED, COMPARED
from evaluation.models import ItemLabel, Run
from evaluation.results.cells import bold, empty_cell
from evaluation.results.columns import PLOT, Column, Format, head_column, interval_column
from evaluation.results.estimates import EstimateRow, drawn, estimate_columns
from evaluation.results.files import stored
from evaluation.results.tables import Group, ResultTable, plain_table
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
VALUES = estimate_columns(
    head_column("name", gettext_lazy("Coefficient"), format=Format.NAME, note="detail"),
    gettext_lazy("Value"),
)
CLASS_VALUES = estimate_columns(gettext_lazy("Class"), gettext_lazy("Alpha"), term="alpha")
PAIR_VALUES = estimate_columns(
    head_column("name", gettext_lazy("Workers"), classes="nowrap"),
    gettext_lazy("Kappa"),
    term="kappa",
    count=Column.count("n", gettext_lazy("Shared items"), gettext_lazy("Shared")),
)
WIDE = "data two-line coefficients"
PAIRS = 20  # of workers on a page
WEAK = 0.67  # alpha below which single labels are not relied on
LEVEL = 0.05
Told = Mapping[str, Any]


# Agreement -------------------------------------------------------------------------------------


def agreement(told: Told, field: ShownField, summary: Told) -> dict[str, Any]:
    """Return the coefficients of agreement: all workers, better ones, by class."""
    rows = [row for row in told["agreement"] if _is_shown(row)]
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
    groups = [
        Group(heads[scope], _coefficients(found, scale))
        for scope in heads
        if (scope == "all" or others) and (found := [row for row in rows if row["scope"] == scope])
    ]
    by_class = [_estimate(row, field.word(row["label"])) for row in rows if row["scope"] == "class"]
    look: dict[str, Any] = {"axis": charts.forest_axis(scale), "classes": WIDE}
    title = gettext("Krippendorff’s alpha of each class, with 95% CIs")
    return {
        "coefficients": ResultTable(
            gettext("Coefficients of agreement, with 95% CIs"), VALUES, groups, **look
        ),
        "by_class": by_class and plain_table(title, CLASS_VALUES, drawn(by_class, scale), **look),
        "data": told["data"],
    }


def other_fields(told: Told) -> list[tuple[Told, ResultTable]]:
    """Return the agreement in fields of several options and of spans; [] for older runs."""
    made = []
    for one in told.get("other_fields", []):
        scale = _scale(one["rows"])
        title = gettext("Agreement in “%(label)s”, with 95%% CIs") % {"label": one["label"]}
        rows, axis = _coefficients(one["rows"], scale), charts.forest_axis(scale)
        made.append((one, plain_table(title, VALUES, rows, axis=axis, classes=WIDE)))
    return made


def pairs(told: Told, names: Mapping[int, str], page: Any) -> dict[str, Any] | None:
    """Return a page of Cohen's kappa for every two workers, lowest first; None for older runs."""
    found = told.get("pairs")
    if not found:
        return None
    shown = Paginator(found["rows"], PAIRS).get_page(page)
    scale = _scale([{**row, "value": row["kappa"]} for row in found["rows"]])
    rows = []
    for row in shown.object_list:
        first, second = (names.get(pk, gettext("a deleted worker")) for pk in row["workers"])
        name = gettext("%(value)s and %(value2)s") % {"value": first, "value2": second}
        rows.append(EstimateRow(name, row["kappa"], row["low"], row["high"], row["n"]))
    return {
        **found,
        "page": shown,
        "table": plain_table(
            gettext("Cohen’s kappa of pairs of workers, with 95% CIs"),
            PAIR_VALUES,
            drawn(rows, scale),
            axis=charts.forest_axis(scale),
            classes="data coefficients",
        ),
    }


def _is_shown(row: Told) -> bool:
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


def _estimate(row: Told, name: Words, **more: Any) -> EstimateRow:
    why = row.get("reason") or ""
    return EstimateRow(name, row["value"], row["low"], row["high"], why=why, **more)


def _coefficients(rows: Sequence[Told], scale: Scale) -> list[EstimateRow]:
    made = []
    for row in rows:
        name, detail = COEFFICIENTS.get(row["coefficient"], (row["coefficient"], ""))
        made.append(_estimate(row, name, detail=detail, term=_term(row)))
    return drawn(made, scale, height=charts.TWO_LINES)


def rail_agreement(told: Told) -> list[tuple[str, Told]]:
    """Return the three coefficients of agreement for the side of other pages."""
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


@dataclass(frozen=True)
class ClassRow(EstimateRow):
    """How frequent a class is, and how many of its known answers are labelled right."""

    majority_share: float | None = None
    known: int = 0
    right: str = ""


def classes(run: Run, told: Told, field: ShownField) -> dict[str, Any]:
    """Return the prevalence of classes, and the confusion over all workers.

    ``estimated`` and ``with_majority`` are the items that the two columns of shares are of.
    """
    found, certainty = class_shares(told), told["certainty"]
    ends = ("prevalence", "low", "high", "majority_share")
    values = [row[name] for row in found for name in ends]
    scale = Scale.around(values, width=270.0, count=4, include=[0.0])
    rows = [_class_row(row, field.word(row["label"]), scale) for row in found]
    pooled, any_known = told["pooled"], any(row.known for row in rows)
    is_estimated = any(row["prevalence"] is not None for row in found)
    codes = [code for code, _ in field.options]
    axis = label_charts.share_axis(scale) if is_estimated else ""
    right = Column.number("right", gettext("Labelled right"), gettext("Right"))
    estimated = (
        PLOT,
        Column.share("estimate", "Dawid-Skene", term="dawid-skene", is_main=True),
        interval_column(html=lambda row: share_span(row.low, row.high) or gettext("none")),
    )
    columns = [
        head_column("name", gettext("Class")),
        *(estimated if is_estimated else ()),
        Column.share("majority_share", gettext("Majority"), term="majority"),
        *((replace(KNOWN, key="known"), right) if any_known else ()),
    ]
    title = gettext("Share of each class by majority vote")
    if is_estimated:
        title = gettext(
            "Prevalence of each class by Dawid-Skene, with 95% CIs, and by majority vote"
        )
    return {
        "table": plain_table(title, columns, rows, axis=axis),
        "matrix": matrix(pooled["probability"], field, codes) if is_estimated else [],
        "in_words": confusion_words(pooled, found, field) if is_estimated else [],
        "any_known": any_known,
        "certainty": certainty,
        "estimated": ItemLabel.objects.filter(run=run, component__gt=0).count()
        if is_estimated
        else 0,
        "with_majority": certainty["items"] - certainty["ties"],
    }


def class_shares(told: Told) -> Sequence[Told]:
    """Return the classes; without estimated shares where no worker can be scored."""
    if told["summary"]["not_scored"] < told["summary"]["workers"]:
        return list(told["class"])
    return [{**row, "prevalence": None, "low": None, "high": None} for row in told["class"]]


def _class_row(row: Told, name: str, scale: Scale) -> ClassRow:
    share, low, high, majority = (
        row[key] for key in ("prevalence", "low", "high", "majority_share")
    )
    plot: SafeString | str = ""
    if share is not None:
        estimate = Estimate(share, low, high)
        plot = label_charts.prevalence_cell(scale, estimate, majority, name=name)
    known = row["known"]
    right = fraction(row["known_right"], known) if known else gettext("none")
    return ClassRow(
        name, share, low, high, plot=plot, majority_share=majority, known=known, right=right
    )


def confusion_words(
    pooled: Told, classes: Sequence[Told], field: ShownField
) -> list[tuple[str, str]]:
    """Describe the pooled confusion: largest mistake, rarest class, diagonal.

    Only what one confusion or one class has alone, as the page rounds it, is described.
    """
    grid, votes = pooled["probability"], pooled["votes"]
    names = [label for _, label in field.options]
    known = [at for at, n in enumerate(votes) if n >= 1]
    cells = sorted(
        (-round(100 * grid[t][g]), t, g)
        for t in known
        for g in range(len(names))
        if t != g and grid[t][g] is not None
    )
    found = []
    if cells and cells[0][0] < (cells[1][0] if len(cells) > 1 else 0):
        share, true, given = cells[0]
        found.append(
            (
                gettext("“%(true)s” is taken for “%(given)s”")
                % {"true": names[true], "given": names[given]},
                gettext("in %(share)s of 100 labels, more than any other confusion.")
                % {"share": -share},
            )
        )
    rarest, second, *_ = sorted(
        (round(100 * row["prevalence"]), at) for at, row in enumerate(classes)
    )
    if rarest[0] < second[0]:
        rare = rarest[1]
        found.append(
            (
                gettext("“%(label)s” is the rarest:") % {"label": names[rare]},
                gettext("its row rests on %(votes)s labels.")
                % {"votes": count(round(votes[rare]))},
            )
        )
    right = sorted(grid[at][at] for at in known if grid[at][at] is not None)
    if len(right) > 1:
        found.append(
            (
                gettext("The most likely label is given"),
                gettext("in %(low)s to %(high)s of 100 labels, by class.")
                % {"low": round(100 * right[0]), "high": round(100 * right[-1])},
            )
        )
    return found


# Methods ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MethodRow(EstimateRow):
    """A method by the share of known answers that it labels right."""

    right: SafeString | str = ""
    brier: float | None = None
    log_score: float | None = None
    held_out: float | None = None
    differ: int | None = None
    uncertain: str = ""


METHOD = head_column("name", gettext_lazy("Method"))
KNOWN = Column.count("n", gettext_lazy("Known answers"), term="known-answer")
SCORES = (
    Column.score("brier", gettext_lazy("Brier score"), digits=3, is_public=False),
    Column.score("log_score", gettext_lazy("Log score"), digits=3, is_public=False),
)
HELD_OUT = Column.score("held_out", gettext_lazy("Left-out votes"), digits=3, is_public=False)
COUNTS = (
    Column.count(
        "differ",
        gettext_lazy("Differs from majority"),
        gettext_lazy("Differs"),
        missing=gettext_lazy("none"),
    ),
    Column.number(
        "uncertain",
        gettext_lazy("Posterior under .90"),
        gettext_lazy("Uncertain"),
        term="posterior",
    ),
)
RELIABILITY = (
    METHOD,
    Column.number("detail", gettext_lazy("Posterior")),
    Column.score("estimate", gettext_lazy("Right")),
    interval_column(needs_interval=False),
    KNOWN,
)
CALIBRATION = (
    METHOD,
    Column.score(
        "estimate",
        gettext_lazy("Expected calibration error"),
        gettext_lazy("Calibration error"),
        classes="l1r",
    ),
    KNOWN,
)


def _method_columns(*, known: int, calibrated: bool, unseen: int) -> list[Column]:
    right = replace(KNOWN, key="right", format=Format.NUMBER, short="", classes="l1r nowrap")
    return [
        replace(METHOD, format=Format.NAME, note="detail"),
        *([PLOT] if known else []),
        replace(right, html=lambda row: row.right),
        interval_column(needs_interval=False),
        *(SCORES if calibrated else ()),
        *([HELD_OUT] if unseen else []),
        *COUNTS,
    ]


def compare(told: Told, single: tuple[int, int]) -> dict[str, Any]:
    """Compare methods by known answers; ``single``: single labels right, and their number."""
    by_name = {row["method"]: row for row in told["compare"]}
    stored = [by_name[name] for name in ORDER if name in by_name]
    rows = [_method(row, told["certainty"]) for row in stored]
    if single[1]:
        detail = gettext("one worker, drawn at random")
        rows.append(_by_right(gettext("Single label"), *single, detail=detail, uncertain="none"))
    ends = [end for row in rows for end in (row.low, row.high, row.estimate) if end is not None]
    scale = Scale.around([math.floor(min([*ends, 0.9]) * 10) / 10, 1.0], width=220.0)
    calibrated = [
        EstimateRow(NAMES[row["method"]], row["calibration"], n=row["n"])
        for row in stored
        if row["brier"] is not None
    ]
    known = max((row["n"] for row in stored), default=0)
    unseen = max((row.get("held_out_n") or 0 for row in stored), default=0)
    title = gettext("Calibration of the methods on known answers")
    return {
        "table": plain_table(
            gettext("Methods by known answers right, with 95% CIs"),
            _method_columns(known=known, calibrated=bool(calibrated), unseen=unseen),
            drawn(rows, scale, height=charts.TWO_LINES),
            axis=charts.forest_axis(scale),
        ),
        "known": known,
        "calibrated": calibrated and plain_table(title, CALIBRATION, calibrated, classes="data"),
        "least_calibrated": CALIBRATED,
        "unseen": unseen,
        "curves": curves(told),
        "reliability": plain_table(
            gettext("Labels that are right by their posterior"),
            RELIABILITY,
            [
                EstimateRow(
                    *(NAMES[name], row["right"], row["low"], row["high"], row["n"]),
                    detail=score(row["confidence"], 2),
                )
                for name in ORDER
                for row in _reliability(told, name)
            ],
            classes="data",
        ),
        "which": compare_methods(told),
    }


def _reliability(told: Told, method: str) -> list[Told]:
    return [row for row in told.get("reliability") or () if row["method"] == method]


def curves(told: Told) -> list[tuple[Words, SafeString]]:
    """Draw a reliability curve per method; [] without enough known answers."""
    found = []
    for name in ORDER:
        points = [
            Forecasts(row["confidence"], Estimate(row["right"], row["low"], row["high"]), row["n"])
            for row in _reliability(told, name)
        ]
        if points:
            up = gettext("share of labels that are right")
            chart = reliability_curve(points, name=str(NAMES[name]), across="posterior", up=up)
            found.append((NAMES[name], chart))
    return found


# Columns of figures that are files of their own.
FILES = {
    "compare": stored("method", *COMPARED),
    "reliability": stored("method", "confidence", "right", "low", "high", "n"),
}


def _method(row: Told, certainty: Told) -> MethodRow:
    name = row["method"]
    is_majority = name == "majority"
    return _by_right(
        *(NAMES[name], row["right"], row["n"], row["low"], row["high"]),
        detail=SAID[name],
        brier=row["brier"],
        log_score=row["log_score"],
        held_out=row.get("held_out"),
        differ=None if is_majority else row["differ"],
        uncertain=plural(certainty["ties"], "tie")
        if is_majority
        else count(certainty["uncertain"].get(name)),
    )


def _by_right(
    name: Words,
    right: float,
    n: int,
    low: float | None = None,
    high: float | None = None,
    **more: Any,
) -> MethodRow:
    written = bold(fraction(right, n)) if n else empty_cell()
    return MethodRow(name, right / n if n else None, low, high, n, right=written, **more)


def compare_methods(told: Told) -> list[str]:
    """Say which method does better on the known answers, as sentences."""
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
    """List the known answers right by single labels and by method, for the page's side."""
    rows = {row["method"]: row for row in told["compare"] if row["n"]}
    if not rows:
        return []
    found = [(gettext("Single labels right"), fraction(*single))] if single[1] else []
    for name in ("majority", "dawid_skene", "mace"):
        if name in rows:
            known = fraction(rows[name]["right"], rows[name]["n"])
            found.append((gettext("%(method)s right") % {"method": NAMES[name]}, known))
    return found


def prevalence_lines(told: Told, field: ShownField) -> list[dict[str, Any]]:
    """List the estimated share of each class, for the page's side; [] where none is."""
    return [
        {
            "name": field.word(row["label"]),
            "share": percent(row["prevalence"]),
            "span": share_span(row["low"], row["high"]),
        }
        for row in class_shares(told)
        if row["prevalence"] is not None
    ]


def share_span(low: float | None, high: float | None) -> str:
    """Format an interval of shares like ``50–59%``; "" without an interval."""
    return "" if low is None or high is None else f"{round(100 * low)}–{percent(high)}"


def trust_words(alpha: Told | None) -> tuple[str, str]:
    """Judge by alpha how far single labels can be trusted: a word and the reason."""
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
