"""Which figures of each method become tables of its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evaluation.bundles.manifest import FIGURES
from evaluation.bundles.tables import Bundled, FigureTable, Line, Row, Table, measured, report_table
from evaluation.labels.selectors.tables import COEFFICIENTS
from evaluation.methods.checklists.correlation import POOLED, SAMPLE_LEVEL
from evaluation.results.columns import Column
from evaluation.turns.selectors import name_part
from evaluation.writing.selectors.facts import group_label
from evaluation.writing.words import LABELS as SIGNAL_LABELS

# Pairs, ratings and labels ---------------------------------------------------------------------


def _dimension(row: Row, found: Bundled) -> str:
    return found.label(row["dimension"])


def _coefficient(row: Row, found: Bundled) -> str:
    name = row["coefficient"]
    label = str(COEFFICIENTS.get(name, (name, ""))[0])
    return f"{label}, {found.option(row['label'])}" if row.get("label") else label


def _whole_or_class(row: Row) -> bool:
    return row.get("scope", "all") in ("all", "class")


UNITS = {"units": "Units"}
PAIRS = (
    FigureTable(
        "agreement",
        "Raw agreement, Krippendorff’s alpha",
        measured("Alpha", "alpha", UNITS),
        _dimension,
        _whole_or_class,
    ),
)
LABELS = (
    FigureTable(
        "agreement",
        "Agreement",
        measured("Value", "value", UNITS),
        _coefficient,
        _whole_or_class,
    ),
    FigureTable(
        "class",
        "Prevalence of labels",
        measured("Share", "prevalence"),
        lambda row, found: found.option(row["label"]),
        _whole_or_class,
    ),
)

# Models beside people --------------------------------------------------------------------------


def _model(row: Row, found: Bundled) -> str:
    return str(found.figures["frame"]["models"][row["model"]][1])


def _model_and_label(row: Row, found: Bundled) -> str:
    labels, at = found.figures["frame"].get("labels", ()), row.get("label")
    label = found.option(labels[at]) if labels and at is not None and at >= 0 else ""
    return f"{_model(row, found)}, {label}" if label else _model(row, found)


REPLACED = (
    FigureTable(
        "model",
        "Models beside people",
        measured("Advantage", "advantage", {"items": "Items", "people": "People"}),
        _model,
        _whole_or_class,
    ),
    FigureTable(
        "combined",
        "Combined estimates of people and model",
        measured("Share", "both", {"labelled": "Labelled"}, ends=("both_low", "both_high")),
        _model_and_label,
        _whole_or_class,
    ),
)

# Traces -----------------------------------------------------------------------------------------

RATES = {
    "both": "Fail, from the judge and people",
    "people": "Fail, from people alone",
    "agreement": "Judge agrees with people",
    "these": "Fail, as these reviewers judge",
}
REVIEWED = {"n": "Traces"}
TRACED = (
    FigureTable(
        "rates",
        "Traces that fail",
        measured("Share", counts=REVIEWED),
        lambda row, found: RATES[row["slug"]],
    ),
    FigureTable(
        "weeks",
        "Traces that fail, by week, for all weeks at once",
        measured("Share", counts=REVIEWED),
        lambda row, found: f"week of {row['monday']}",
        lambda row: not row["reason"],
    ),
    FigureTable(
        "differences",
        "Weeks minus the other weeks, for all weeks at once",
        measured("Difference", counts=REVIEWED),
        lambda row, found: f"week of {row['monday']}",
    ),
    FigureTable(
        "agreement",
        "Agreement of people",
        measured("Alpha", "value", UNITS),
        lambda row, found: "Krippendorff’s alpha",
    ),
)

# Turns ------------------------------------------------------------------------------------------

TURNED = (
    FigureTable(
        "shares",
        "Turns and calls that are wrong",
        measured("Share", counts={"units": "Turns and calls", "conversations": "Conversations"}),
        lambda row, found: name_part(row),
    ),
    FigureTable(
        "survival",
        "Conversations that have not gone wrong yet",
        measured("Share", "share", {"at_risk": "Conversations at this turn"}),
        lambda row, found: f"Until judged turn {row['place']}",
    ),
    FigureTable(
        "agreement",
        "Agreement of people on turns",
        measured("Value", "value", {"units": "Conversations"}),
        _coefficient,
    ),
    FigureTable(
        "workers",
        "Workers",
        measured("Competence", "competence", {"n": "Labels"}),
        lambda row, found: found.names["workers"][str(row["worker"])],
    ),
    FigureTable(
        "systems",
        "Models against people",
        measured("Agreement", counts={"units": "Turns and calls"}),
        lambda row, found: row["system"],
    ),
)

# Live evaluations ------------------------------------------------------------------------------


def win_rates(found: Bundled) -> Iterator[Table]:
    """Yield the tables of a live evaluation: of whoever decided, then of each model alone."""
    board = found.figures.get("board") or {}
    boards = [("Win rates", "board", board)] if board else []
    boards += [
        (f"Win rates, {one['model']} alone", f"board.judges.{at}", one)
        for at, one in enumerate(board.get("judges") or ())
    ]
    for title, where, one in boards:
        lines = [
            Line(row["system"], f"{FIGURES}:{where}.systems.{at}", row)
            for at, row in enumerate(one["systems"])
        ]
        lines.sort(key=lambda line: -(line.data["share"] or 0.0))
        yield report_table(title, measured("Win rate", "share", {"votes": "Votes"}), lines)


# Rescaled ratings ------------------------------------------------------------------------------

SETTINGS = {
    "all": "all shared items",
    "incomplete": "without items that both rated highest",
    "no ties": "ties broken by noise",
}
PEOPLE_PAIRS = {"before": "Before", "after": "After", "pairs": "Pairs of people"}
RESCALED = (
    FigureTable(
        "aggregate",
        "Agreement of people, Kendall’s tau-b, before and after",
        measured("Change", "difference", PEOPLE_PAIRS, why="noise is no sample"),
        lambda row, found: SETTINGS[row["setting"]],
    ),
    FigureTable(
        "by_label",
        "What ratings became, from 0 to 100",
        measured("Mean score", "mean", {"n": "n"}),
        lambda row, found: str(row["label"]),
    ),
    FigureTable(
        "ensembles",
        "Tau-b where the annotator’s own mean is mixed in by λ",
        measured(
            "After",
            "after",
            {"before": "Before", "low": "Change from", "high": "to"},
            ends=None,
        ),
        lambda row, found: f"λ = {row['lambda']:g}, {SETTINGS[row['setting']]}",
    ),
)

# Filled checklists -----------------------------------------------------------------------------


def _answerer(row: Row, found: Bundled) -> str:
    names = {one["component"]: one["name"] for one in found.figures["answerers"]}
    return str(names.get(row["answerer"], "One person"))


def _question(row: Row, found: Bundled) -> str:
    at = row["question"]
    return "All questions" if at < 0 else str(found.figures["asked_list"][at]["label"])


def _scored(row: Row, found: Bundled) -> str:
    by = "" if row["score"] == "share" else ", by probability or share of people"
    return f"{_answerer(row, found)}{by}, {WITHIN[row['setting']]}"


def _compared(row: Row, found: Bundled) -> str:
    one, two = (found.figures["compare"]["series"][row[at]] for at in ("first", "second"))
    return f"{one['name']} against {two['name']} ({two['condition']})"


WITHIN = {SAMPLE_LEVEL: "within sources", POOLED: "over all texts"}
OF_CORRELATION = {"articles": "Sources", "n": "Texts"}
CHECKS = (
    FigureTable(
        "correlation",
        "Checklist scores beside human scores",
        measured("Spearman’s ρ", counts=OF_CORRELATION, why="too few sources, or undefined"),
        _scored,
        lambda row: row["kind"] == "spearman",
    ),
    FigureTable(
        "agreement",
        "Agreement of people, Krippendorff’s alpha",
        measured("Alpha", "alpha", {"n": "Answers", "shared": "By two or more"}),
        _question,
    ),
    FigureTable(
        "with_people",
        "Agreement with most people over all questions, Cohen’s kappa",
        measured("Kappa", "kappa", {"n": "Answers"}),
        _answerer,
        lambda row: row["question"] < 0,
    ),
    FigureTable(
        "signal",
        "What each question says of the human score, Kendall’s tau-b",
        measured("Tau-b", "tau", {"adjusted": "Adjusted p", "n": "Texts"}),
        lambda row, found: f"{_question(row, found)} ({_answerer(row, found)})",
    ),
    FigureTable(
        "compare.rows",
        "Differences from other scores in ρ with human scores",
        measured("Difference", "difference", {"adjusted": "Adjusted p", "n": "Texts"}),
        _compared,
    ),
)

# Responses with sources ------------------------------------------------------------------------


def _group_name(row: Row, found: Bundled) -> str:
    style = found.label(row["style"]) if row["style"] else "all styles"
    return f"{group_label(row['group'])}, {style}"


def _pair_name(row: Row, found: Bundled) -> str:
    style = found.label(row["style"]) if row["style"] else "all styles"
    within = "different styles" if row["scope"] == "topic" else style
    first = group_label(row["first"])
    if not row["second"]:
        return f"{first} beside the whole ranking, {within}"
    return f"{first} and {group_label(row['second']).lower()}, {within}"


RESPONSES = {"responses": "Responses"}


def _mean(measure: str) -> tuple[Column, ...]:
    ends = (f"{measure}.mean_low", f"{measure}.mean_high")
    return measured("Mean", f"{measure}.mean", RESPONSES, ends=ends)


def _estimate(path: str, measure: str, counts: Mapping[str, str]) -> tuple[Column, ...]:
    return measured(measure, f"{path}.value", counts, ends=(f"{path}.low", f"{path}.high"))


WRITTEN = (
    FigureTable("general", "Words of a response", _mean("words"), _group_name),
    FigureTable("general", "Statements of a response", _mean("statements"), _group_name),
    FigureTable("general", "Passages that a response cites", _mean("documents"), _group_name),
    FigureTable(
        "overlap",
        "Cited passages in common (Jaccard); beside the ranking, the share cited",
        measured("Overlap", "value", {"chance": "By chance", "pairs": "Pairs"}),
        _pair_name,
    ),
    FigureTable(
        "ranks",
        "Median rank of the passages that a response cites",
        _estimate("cited", "Rank", {"uncited.value": "Not cited"} | RESPONSES),
        _group_name,
    ),
    FigureTable(
        "reuse",
        "Words taken over: BLEU of a statement and each passage it cites, 0 to 100",
        _estimate("mean", "Mean", {"pairs": "Pairs"}),
        _group_name,
    ),
    FigureTable(
        "readability",
        "Flesch reading ease, responses minus the passages they cite",
        _estimate(
            "difference",
            "Difference",
            {"text.mean": "Ease of responses", "text.n": "n"},
        ),
        _group_name,
    ),
    FigureTable(
        "signals",
        "How often signals of the log fired",
        measured("Share", "share", {"judged": "Judged", "workers": "Workers"}),
        lambda row, found: str(SIGNAL_LABELS.get(row["slug"], row["slug"])),
    ),
    FigureTable(
        "forms.correlations",
        "Answers to the questionnaires that go together, Spearman’s ρ",
        measured("ρ", "rho", {"n": "Answers", "workers": "Workers"}),
        lambda row, found: f"{row['first']}, {row['second']}",
    ),
)
