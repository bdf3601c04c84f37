"""Which figures of each method become tables of its report."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation.bundles.manifest import FIGURES
from evaluation.bundles.tables import Bundled, Columns, Counts, FigureTable, Line, Row, Table
from evaluation.labels.selectors.tables import COEFFICIENTS
from evaluation.methods.checklists.correlation import POOLED, SAMPLE_LEVEL
from evaluation.methods.writing.signals import SIGNALS
from evaluation.writing.selectors.facts import group_label

# Pairs, ratings and labels ---------------------------------------------------------------------


def _dimension(row: Row, found: Bundled) -> str:
    return found.label(row["dimension"])


def _coefficient(row: Row, found: Bundled) -> str:
    name = row["coefficient"]
    label = str(COEFFICIENTS.get(name, (name, ""))[0])
    return f"{label}, {row['label']}" if row.get("label") else label


def _whole_or_class(row: Row) -> bool:
    return row.get("scope", "all") in ("all", "class")


UNITS = (("Units", "units"),)
PAIRS = (
    FigureTable(
        "agreement",
        "Agreement, Krippendorff’s alpha",
        Columns("Alpha", "alpha", counts=UNITS),
        _dimension,
        _whole_or_class,
    ),
)
LABELS = (
    FigureTable(
        "agreement",
        "Agreement",
        Columns("Value", "value", counts=UNITS),
        _coefficient,
        _whole_or_class,
    ),
    FigureTable(
        "class",
        "Prevalence of labels",
        Columns("Share", "prevalence"),
        lambda row, found: str(row["label"]),
        _whole_or_class,
    ),
)

# Models beside people --------------------------------------------------------------------------


def _model(row: Row, found: Bundled) -> str:
    return str(found.figures["frame"]["models"][row["model"]][1])


def _model_and_label(row: Row, found: Bundled) -> str:
    labels, at = found.figures["frame"].get("labels", ()), row.get("label")
    label = labels[at] if labels and at is not None and at >= 0 else ""
    return f"{_model(row, found)}, {label}" if label else _model(row, found)


REPLACED = (
    FigureTable(
        "model",
        "Models beside people",
        Columns("Advantage", "advantage", counts=(("Items", "items"), ("People", "people"))),
        _model,
        _whole_or_class,
    ),
    FigureTable(
        "combined",
        "Combined estimates of people and model",
        Columns("Share", "both", "both_low", "both_high", (("Labelled", "labelled"),)),
        _model_and_label,
        _whole_or_class,
    ),
)

# Live evaluations ------------------------------------------------------------------------------


def win_rates(found: Bundled) -> Iterator[Table]:
    """Of a live evaluation: whoever decided, then each model by itself."""
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
        yield Columns("Win rate", "share", counts=(("Votes", "votes"),)).table(title, lines)


# Rescaled ratings ------------------------------------------------------------------------------

SETTINGS = {
    "all": "all shared items",
    "incomplete": "without items that both rated highest",
    "no ties": "ties broken by noise",
}
PEOPLE_PAIRS = (("Before", "before"), ("After", "after"), ("Pairs of people", "pairs"))
RESCALED = (
    FigureTable(
        "aggregate",
        "Agreement of people, Kendall’s tau-b, before and after",
        Columns("Change", "difference", counts=PEOPLE_PAIRS, why="noise is no sample"),
        lambda row, found: SETTINGS[row["setting"]],
    ),
    FigureTable(
        "by_label",
        "What ratings became, from 0 to 100",
        Columns("Mean score", "mean", counts=(("n", "n"),)),
        lambda row, found: str(row["label"]),
    ),
    FigureTable(
        "ensembles",
        "Tau-b where the annotator’s own mean is mixed in by λ",
        Columns(
            "After",
            "after",
            "",
            "",
            (("Before", "before"), ("Change from", "low"), ("to", "high")),
            why="of the change, beside",
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
OF_CORRELATION = (("Sources", "articles"), ("Texts", "n"))
CHECKS = (
    FigureTable(
        "correlation",
        "Checklist scores beside human scores",
        Columns("Spearman’s ρ", counts=OF_CORRELATION, why="too few sources, or undefined"),
        _scored,
        lambda row: row["kind"] == "spearman",
    ),
    FigureTable(
        "agreement",
        "Agreement of people, Krippendorff’s alpha",
        Columns("Alpha", "alpha", counts=(("Answers", "n"), ("By two or more", "shared"))),
        _question,
    ),
    FigureTable(
        "with_people",
        "Agreement with most people over all questions, Cohen’s kappa",
        Columns("Kappa", "kappa", counts=(("Answers", "n"),)),
        _answerer,
        lambda row: row["question"] < 0,
    ),
    FigureTable(
        "signal",
        "What each question says of the human score, Kendall’s tau-b",
        Columns("Tau-b", "tau", counts=(("Adjusted p", "adjusted"), ("Texts", "n"))),
        lambda row, found: f"{_question(row, found)} ({_answerer(row, found)})",
    ),
    FigureTable(
        "compare.rows",
        "Differences from other scores in ρ with human scores",
        Columns("Difference", "difference", counts=(("Adjusted p", "adjusted"), ("Texts", "n"))),
        _compared,
    ),
)

# Responses with sources ------------------------------------------------------------------------


def _who(row: Row, found: Bundled) -> str:
    style = found.label(row["style"]) if row["style"] else "all styles"
    return f"{group_label(row['group'])}, {style}"


def _between(row: Row, found: Bundled) -> str:
    style = found.label(row["style"]) if row["style"] else "all styles"
    within = "different styles" if row["scope"] == "topic" else style
    first = group_label(row["first"])
    if not row["second"]:
        return f"{first} beside the whole ranking, {within}"
    return f"{first} and {group_label(row['second']).lower()}, {within}"


RESPONSES = (("Responses", "responses"),)


def _mean(measure: str) -> Columns:
    mean, low, high = (f"{measure}.{end}" for end in ("mean", "mean_low", "mean_high"))
    return Columns("Mean", mean, low, high, RESPONSES)


def _estimate(path: str, measure: str, counts: Counts = ()) -> Columns:
    value, low, high = (f"{path}.{end}" for end in ("value", "low", "high"))
    return Columns(measure, value, low, high, counts)


SIGNAL_LABELS = {signal.slug: signal.label for signal in SIGNALS}
WRITTEN = (
    FigureTable("general", "Words of a response", _mean("words"), _who),
    FigureTable("general", "Statements of a response", _mean("statements"), _who),
    FigureTable("general", "Passages that a response cites", _mean("documents"), _who),
    FigureTable(
        "overlap",
        "Cited passages in common (Jaccard); beside the ranking, the share cited",
        Columns("Overlap", "value", counts=(("By chance", "chance"), ("Pairs", "pairs"))),
        _between,
    ),
    FigureTable(
        "ranks",
        "Median rank of the passages that a response cites",
        _estimate("cited", "Rank", (("Not cited", "uncited.value"), *RESPONSES)),
        _who,
    ),
    FigureTable(
        "reuse",
        "Words taken over: BLEU of a statement and each passage it cites, 0 to 100",
        _estimate("mean", "Mean", (("Pairs", "pairs"),)),
        _who,
    ),
    FigureTable(
        "readability",
        "Flesch reading ease, responses minus the passages they cite",
        _estimate(
            "difference", "Difference", (("Ease of responses", "text.mean"), ("n", "text.n"))
        ),
        _who,
    ),
    FigureTable(
        "signals",
        "How often signals of the log fired",
        Columns("Share", "share", counts=(("Judged", "judged"), ("Workers", "workers"))),
        lambda row, found: str(SIGNAL_LABELS.get(row["slug"], row["slug"])),
    ),
    FigureTable(
        "forms.correlations",
        "Answers to the questionnaires that go together, Spearman’s ρ",
        Columns("ρ", "rho", counts=(("Answers", "n"), ("Workers", "workers"))),
        lambda row, found: f"{row['first']}, {row['second']}",
    ),
)
