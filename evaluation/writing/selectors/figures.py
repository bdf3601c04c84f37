"""The sections of a writing task's results: charts with the tables that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import floatformat
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from crowdqc.numbers import count, general, mid_sentence, percent, percent_interval, plural, score
from evaluation.charts import writing as charts
from evaluation.charts.writing import SOURCES, ByRank
from evaluation.results.cells import Cell, bold, note_below
from evaluation.results.columns import Format
from evaluation.results.matrices import MatrixRow, matrix_table
from evaluation.results.tables import Group, ResultTable
from evaluation.writing.dataset import MODELS, PEOPLE
from evaluation.writing.selectors.facts import (
    ALL,
    EstimateInWords,
    NamedFigures,
    Row,
    bins,
    by_style,
    cells_of,
    estimate_in_words,
    figure,
    group_label,
    legend,
    mean_of,
)

MEASURES = (
    ("words", gettext_noop("Words")),
    ("statements", gettext_noop("Statements made")),
    ("documents", gettext_noop("Different passages cited")),
)
PAIRS = {
    (PEOPLE, ""): gettext_noop("People and the ranking"),
    (MODELS, ""): gettext_noop("Models and the ranking"),
    (PEOPLE, MODELS): gettext_noop("People and models"),
    (MODELS, PEOPLE): gettext_noop("People and models"),
    (PEOPLE, PEOPLE): gettext_noop("Two people"),
    (MODELS, MODELS): gettext_noop("Two models"),
}
# Figure of a group -> its head, and what stands beside it on a narrow screen.
GENERAL = {
    "words": (gettext_noop("Words"), gettext_noop("words")),
    "statements": (gettext_noop("Statements made"), gettext_noop("statements")),
    "citations": (gettext_noop("Citations"), gettext_noop("citations")),
    "documents": (gettext_noop("Different passages"), gettext_noop("different passages")),
    "citations_per_document": (
        gettext_noop("Citations per passage"),
        gettext_noop("citations a passage"),
    ),
    "documents_per_statement": (
        gettext_noop("Passages per statement"),
        gettext_noop("passages a statement"),
    ),
    "words_per_statement": (
        gettext_noop("Words per statement"),
        gettext_noop("words a statement"),
    ),
}
MEANS = ("words", "statements", "citations", "documents")
OTHER_STYLE = gettext_noop("same topic, another style")


@dataclass(frozen=True)
class Panel:
    """A chart with its title."""

    title: str
    svg: SafeString


def _topics(row: Row) -> int | None:
    found: int | None = row["words_per_statement"].get("topics")
    return found


# General characteristics ----------------------------------------------------------------------


def overview(told: NamedFigures) -> dict[str, Any]:
    """Figure 1 and key figures: length, statements, citations."""
    everyone = {group: told.cell("general", group, ALL) for group in told.groups}
    return {
        "figures": list(_key_figures(told, everyone)),
        "rows": [
            (label, [_distribution(told, rows, *measure, label) for measure in MEASURES])
            for label, rows in told.cells("general")
        ],
        "legend": legend(told.groups),
        "table": _general_table(told),
        "reading": _overview_words(everyone),
    }


def _key_figures(told: NamedFigures, everyone: dict[str, Row | None]) -> Iterator[dict[str, Any]]:
    counts = told.run.snapshot.counts if told.run.snapshot else {}
    short = {row["group"]: row["responses"] for row in told.frame.get("left_out", [])}
    models = counts.get("system_answers", 0) - short.get(MODELS, 0)
    yield {
        "label": gettext("Responses"),
        "value": count(counts.get("answers", 0) - short.get(PEOPLE, 0)),
        "of": gettext("of people, %(models)s of models") % {"models": count(models)}
        if counts.get("system_answers")
        else gettext("of people"),
        "note": gettext("on %(topics)s") % {"topics": plural(counts.get("questions", 0), "topic")},
    }
    for name, label in (
        ("words", gettext("Words a response")),
        ("documents", gettext("Passages cited a response")),
    ):
        parts = []
        for group, row in everyone.items():
            if row is not None and row[name].get("mean") is not None:
                digits = 0 if name == "words" else 1
                parts.append(
                    (mid_sentence(group_label(group)), mean_of(row[name], _topics(row), digits))
                )
        if parts:
            first, rest = parts[0], parts[1:]
            yield {
                "label": label,
                "value": first[1].value,
                "of": first[0],
                "note": " ".join(f"{cell.value} {group}" for group, cell in rest)
                or first[1].interval
                or first[1].reason,
            }
    people = everyone.get(PEOPLE)
    if people is not None:
        uncited = people["uncited"]
        yield {
            "label": gettext("Cite nothing"),
            "value": count(uncited),
            "of": gettext("of %(responses)s people’s responses")
            % {"responses": count(people["responses"])},
            "note": gettext("%(citations)s of no passage")
            % {"citations": plural(people["unknown"], "citation")},
        }


def _overview_words(everyone: dict[str, Row | None]) -> str:
    """The difference in a sentence, where there is one to tell."""
    people, models = everyone.get(PEOPLE), everyone.get(MODELS)
    if not people or not models or people["documents"]["mean"] is None:
        return ""
    one, two = people["documents"]["mean"], models["documents"]["mean"]
    if two is None:
        return ""
    return gettext(
        "People and models write %(people_words)s and %(model_words)s words on average; people "
        "cite %(people_passages)s different passages a response, models %(model_passages)s."
    ) % {
        "people_words": f"{people['words']['mean']:.0f}",
        "model_words": f"{models['words']['mean']:.0f}",
        "people_passages": score(one, 1),
        "model_passages": score(two, 1),
    }


def _distribution(
    told: NamedFigures, rows: Sequence[tuple[str, Row]], name: str, what: str, style: str
) -> Panel:
    named = [(group, row[name]["histogram"], row[name]["median"]) for group, row in rows]
    title = gettext("%(measure)s a response, %(style)s") % {
        "measure": mid_sentence(gettext(what)),
        "style": mid_sentence(style),
    }
    return Panel(gettext(what), charts.distribution(named, told.edges(name), what=title))


def _general_table(told: NamedFigures) -> ResultTable:
    def cells(row: Row) -> list[Cell]:
        topics = _topics(row)
        made = [Cell(count(row["responses"]), "num l1r", gettext("Responses"))]
        for name, (_, label) in GENERAL.items():
            if name in MEANS:
                one = mean_of(row[name], topics)
                html: SafeString | str = note_below(
                    one.html(told.too_few_topics), _spread(row[name])
                )
            else:
                digits = 1 if name == "words_per_statement" else 2
                html = estimate_in_words(row[name], digits).html(told.too_few_topics)
            made.append(Cell(html, "num full", gettext(label)))
        return made

    heads = [gettext("Responses"), *(gettext(head) for head, _ in GENERAL.values())]
    title = gettext("Length and citations by style and origin")
    look = "data two-line writing stacked"
    return by_style(told, "general", title, heads, cells, classes=look)


def _spread(one: Row) -> str:
    if not one["n"]:
        return ""
    median, q1, q3 = (general(round(one[name], 1)) for name in ("median", "q1", "q3"))
    return f"{median}, {q1}–{q3}"


# Documents ------------------------------------------------------------------------------------


def passages(told: NamedFigures) -> dict[str, Any]:
    """Table 3 and Figure 2: which passages are cited, and in which order."""
    everyone = [(group, told.cell("ranks", group, ALL)) for group in told.groups]
    rows = [(group, row) for group, row in everyone if row is not None]
    return {
        "overlap": _paired(told, "overlap", gettext("Same passages")),
        "order": _paired(told, "order", gettext("Same order")),
        "chart": charts.by_rank(
            [ByRank(g, row["probability"], *_ends(told, row)) for g, row in rows],
            what=gettext("How often a passage is cited, by its rank"),
        ),
        "legend": legend(group for group, _ in rows),
        "rank_table": matrix_table(
            gettext("Share of responses that cite each rank"),
            gettext("Rank"),
            [group_label(group) for group, _ in rows],
            [
                MatrixRow(
                    str(rank + 1),
                    [
                        Cell(_at_rank(told, row, rank).html(told.too_few_topics), "num")
                        for _, row in rows
                    ],
                )
                for rank in range(max((len(row["probability"]) for _, row in rows), default=0))
            ],
            format=Format.NUMBER,
            name_classes="n",
            classes="data bins",
        ),
        "medians": _median_table(told),
    }


def _median_table(told: NamedFigures) -> ResultTable:
    ends = (("cited", gettext("cited")), ("uncited", gettext("uncited")))
    groups = []
    for style, rows in told.cells("ranks"):
        lines = []
        for group, row in rows:
            n = format_html('<span class="dim n">{}</span>', count(row["responses"]))
            name = format_html("{} {}", bold(group_label(group)), n)
            cells = [
                Cell(estimate_in_words(row[end], 1).html(told.too_few_topics), "num", label)
                for end, label in ends
            ]
            lines.append(MatrixRow(name, cells))
        groups.append(Group(style, lines))
    return matrix_table(
        gettext("Median rank of cited and uncited passages"),
        gettext("Origin"),
        [gettext("Cited"), gettext("Uncited")],
        groups,
        format=Format.NUMBER,
        name_classes="nowrap",
        classes="data two-line writing tight-rows",
    )


def _ends(told: NamedFigures, row: Row) -> tuple[list[float | None], list[float | None]]:
    """Return both ends of the band at each rank; none from topics too few for an interval."""
    if told.too_few_topics:
        return [None] * len(row["low"]), [None] * len(row["high"])
    return row["low"], row["high"]


def _at_rank(told: NamedFigures, row: Row, rank: int) -> EstimateInWords:
    value = row["probability"][rank] if rank < len(row["probability"]) else None
    if value is None:
        return EstimateInWords("none")
    low, high = (ends[rank] for ends in _ends(told, row))
    if low is None or high is None:
        return EstimateInWords(percent(value))
    return EstimateInWords(percent(value), percent_interval(low, high))


def _paired(told: NamedFigures, name: str, heading: str) -> ResultTable | None:
    """Pairings of sets of citations with a column a style, those within a style first."""
    found: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in told.rows(name):
        key = (row["scope"], row["first"], row["second"])
        found.setdefault(key, {})[row["style"]] = row
    within, across = [], []
    for (scope, first, second), styles in found.items():
        rows = [styles.get(style) for style in [*told.styles, ALL]]
        if not any(row and row.get("value") is not None and row.get("pairs") for row in rows):
            continue
        note = gettext("same topic and style") if second else ""
        label = bold(gettext(PAIRS.get((first, second), f"{first}, {second}")))
        cells = [_pairing(told, row, second) for row in rows]
        if scope == "topic":
            across.append(MatrixRow(label, cells, note=gettext(OTHER_STYLE)))
        else:
            within.append(MatrixRow(label, cells, note=note))
    if not found or not within + across:
        return None
    said = {"heading": heading, "level": told.level}
    return matrix_table(
        gettext("%(heading)s, by style, with %(level)s%% intervals") % said,
        gettext("Between"),
        [*(told.style(name) for name in told.styles), gettext("All")],
        within + across,
        format=Format.NUMBER,
        classes="data pairings",
    )


def _pairing(told: NamedFigures, row: Row | None, second: str) -> Cell:
    if row is None or row.get("value") is None:
        return Cell(EstimateInWords("" if row is None else "none").html(), "num")
    chance, pairs = row.get("chance"), row.get("pairs", 0)
    note = plural(pairs, "pair") if pairs else ""
    if note and chance is not None and second:
        note += ", " + gettext("by chance %(chance)s") % {"chance": score(chance, 2)}
    return Cell(note_below(estimate_in_words(row).html(told.too_few_topics), note), "num")


# Reuse, position, readability -------------------------------------------------------------------


def reuse(told: NamedFigures) -> dict[str, Any]:
    """Figure 3: how closely statements follow the passages that they cite."""
    threshold, edges = told.frame["threshold"], told.edges("bleu")
    cells = told.cells("reuse")
    return {
        "panels": [
            Panel(
                label,
                charts.cumulative(
                    [(group, row["cumulative"]) for group, row in rows],
                    edges,
                    threshold=threshold,
                    what=gettext("Cumulated share of statements, %(style)s")
                    % {"style": mid_sentence(label)},
                ),
            )
            for label, rows in cells
        ],
        "legend": legend(told.groups),
        "table": _reuse_table(told),
        "bins": bins(
            gettext("Share of pairs below the upper end of each bin"),
            "BLEU",
            edges,
            [
                (
                    f"{label}, {mid_sentence(group_label(group))}",
                    [percent(v) for v in row["cumulative"]],
                )
                for label, rows in cells
                for group, row in rows
            ],
        ),
    }


def _reuse_table(told: NamedFigures) -> ResultTable:
    below_said = {"threshold": floatformat(told.frame["threshold"])}
    heavy_said = {"heavy": floatformat(told.frame["heavy"])}
    labels = (
        *(gettext("mean"), gettext("median")),
        gettext("below %(threshold)s") % below_said,
        gettext("from %(heavy)s on") % heavy_said,
    )

    def cells(row: Row) -> list[Cell]:
        values: tuple[EstimateInWords | str, ...] = (
            estimate_in_words(row["mean"], 1),
            figure(row["median"], 1),
            estimate_in_words(row["below"], 1, share=True),
            estimate_in_words(row["heavy"], 1, share=True),
        )
        return cells_of(told, row["pairs"], *zip(values, labels, strict=True))

    heads = [
        *(gettext("Pairs"), gettext("Mean"), gettext("Median")),
        gettext("Below %(threshold)s") % below_said,
        gettext("From %(heavy)s on") % heavy_said,
    ]
    return by_style(told, "reuse", gettext("Sentence BLEU by style and origin"), heads, cells)


def citations(told: NamedFigures) -> dict[str, Any]:
    """Draw Figure 4: where in the text citations are."""
    cells = told.cells("position")
    top = max((v for _, rows in cells for _, row in rows for v in row["density"] if v), default=1.0)
    edges = told.edges("position")
    return {
        "panels": [
            Panel(
                label,
                charts.density(
                    [(group, row["density"], row["first"]["value"]) for group, row in rows],
                    top=1.08 * top,
                    what=gettext("Density of citations over the text, %(style)s")
                    % {"style": mid_sentence(label)},
                ),
            )
            for label, rows in cells
        ],
        "legend": legend(told.groups),
        "table": by_style(
            told,
            "position",
            gettext("Place of the first and the last citation"),
            [gettext("Marks"), gettext("First citation"), gettext("Last citation")],
            lambda row: cells_of(
                *(told, row["marks"]),
                (estimate_in_words(row["first"], 0, share=True), gettext("first")),
                (estimate_in_words(row["last"], 0, share=True), gettext("last")),
            ),
            classes="data two-line writing small",
        ),
        "bins": bins(
            gettext("Density in each part of the text; 1 is an even spread"),
            gettext("Part of the text"),
            edges,
            [
                (
                    f"{label}, {mid_sentence(group_label(group))}",
                    [score(v, 2) for v in row["density"]],
                )
                for label, rows in cells
                for group, row in rows
            ],
            digits=2,
        ),
    }


def readability(told: NamedFigures) -> dict[str, Any]:
    """Figure 5: how easily texts and their sources read."""
    edges = told.edges("readability")
    everyone = [(group, told.cell("readability", group, ALL)) for group in told.groups]
    rows = [(group, row) for group, row in everyone if row is not None]
    tops = [
        max(charts.shares(row[k]["histogram"]), default=0.0)
        for _, row in rows
        for k in ("text", "source")
    ]
    return {
        "panels": [
            Panel(
                group_label(group),
                charts.readability(
                    [
                        (group, row["text"]["histogram"], row["text"]["median"]),
                        (SOURCES, row["source"]["histogram"], row["source"]["median"]),
                    ],
                    edges,
                    top=max(tops, default=0.0) or 1.0,
                    what=gettext("Reading ease, %(group)s") % {"group": group},
                ),
            )
            for group, row in rows
        ],
        "legend": legend([*told.groups, SOURCES]),
        "table": by_style(
            told,
            "readability",
            gettext("Reading ease by style and origin"),
            [
                *(gettext("Responses"), gettext("Text"), gettext("Its sources")),
                gettext("Text less sources"),
            ],
            lambda row: cells_of(
                *(told, row["text"]["n"]),
                (_quartiles(row["text"]), gettext("text")),
                (_quartiles(row["source"]), gettext("sources")),
                (estimate_in_words(row["difference"], 1), gettext("less sources")),
            ),
        ),
        "bins": bins(
            gettext("Responses in each bin; what lies outside is in the first or last one"),
            gettext("Reading ease"),
            edges,
            [
                (_part_label(group, part), [count(n) for n in row[part]["histogram"]])
                for group, row in rows
                for part in ("text", "source")
            ],
        ),
    }


def _part_label(group: str, part: str) -> str:
    said = gettext("%(group)s, texts") if part == "text" else gettext("%(group)s, sources")
    return said % {"group": group_label(group)}


def _quartiles(row: Row) -> EstimateInWords:
    if not row.get("n"):
        return EstimateInWords("none")
    return EstimateInWords(
        f"{row['median']:.0f}",
        gettext("%(low)s to %(high)s") % {"low": f"{row['q1']:.0f}", "high": f"{row['q3']:.0f}"},
    )
