"""The sections of a writing task's results: charts with the tables that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from crowdqc.numbers import count, percent, plural, score
from evaluation.charts import writing as charts
from evaluation.charts.writing import SOURCES, ByRank
from evaluation.writing.dataset import MODELS, PEOPLE
from evaluation.writing.selectors.facts import (
    ALL,
    EstimateInWords,
    NamedFigures,
    Row,
    bins,
    estimate_in_words,
    figure,
    group_label,
    legend,
    mean_of,
)

MEASURES = (
    ("words", gettext_noop("Words")),
    ("statements", gettext_noop("Statements")),
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
OTHER_STYLE = gettext_noop("same topic, another style")


@dataclass(frozen=True)
class Panel:
    """A chart with its title."""

    title: str
    svg: SafeString


@dataclass(frozen=True)
class Line:
    """A row of a table: a group, and a cell a column."""

    group: str
    n: int
    cells: list[Any]


@dataclass(frozen=True)
class Block:
    """Rows of one style."""

    label: str
    lines: list[Line] = field(default_factory=list)


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
        "measures": [label for _, label in MEASURES],
        "legend": legend(told.groups),
        "table": [
            Block(label, [_general_line(group, row) for group, row in rows])
            for label, rows in told.cells("general")
        ],
        "reading": _overview_words(everyone),
    }


def _key_figures(told: NamedFigures, everyone: dict[str, Row | None]) -> Iterator[dict[str, Any]]:
    counts = told.run.snapshot.counts if told.run.snapshot else {}
    yield {
        "label": gettext("Responses"),
        "value": count(counts.get("answers", 0)),
        "of": gettext("of people, %(models)s of models")
        % {"models": count(counts["system_answers"])}
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
                parts.append((group_label(group).lower(), mean_of(row[name], _topics(row), digits)))
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
        "measure": what.lower(),
        "style": style.lower(),
    }
    return Panel(what, charts.distribution(named, told.edges(name), what=title))


def _general_line(group: str, row: Row) -> Line:
    topics = _topics(row)
    cells: list[Any] = []
    for name in ("words", "statements", "citations", "documents"):
        one = row[name]
        cells.append((mean_of(one, topics), _spread(one)))
    for name in ("citations_per_document", "documents_per_statement", "words_per_statement"):
        cells.append((estimate_in_words(row[name], 1 if name == "words_per_statement" else 2), ""))
    return Line(group_label(group), row["responses"], cells)


def _spread(one: Row) -> str:
    if not one["n"]:
        return ""
    return f"{one['median']:.0f}, {one['q1']:.0f}–{one['q3']:.0f}"


# Documents ------------------------------------------------------------------------------------


def passages(told: NamedFigures) -> dict[str, Any]:
    """Table 3 and Figure 2: which passages are cited, and in which order."""
    everyone = [(group, told.cell("ranks", group, ALL)) for group in told.groups]
    rows = [(group, row) for group, row in everyone if row is not None]
    return {
        "styles": [*(told.style(name) for name in told.styles), gettext("All")],
        "overlap": _paired(told, "overlap"),
        "order": _paired(told, "order"),
        "chart": charts.by_rank(
            [ByRank(g, row["probability"], *_ends(told, row)) for g, row in rows],
            what=gettext("How often a passage is cited, by its rank"),
        ),
        "legend": legend(group for group, _ in rows),
        "ranks": [
            (rank + 1, [_at_rank(told, row, rank) for _, row in rows])
            for rank in range(max((len(row["probability"]) for _, row in rows), default=0))
        ],
        "heads": [group_label(group) for group, _ in rows],
        "medians": [
            Block(
                label,
                [
                    Line(
                        group_label(group),
                        row["responses"],
                        [estimate_in_words(row["cited"], 1), estimate_in_words(row["uncited"], 1)],
                    )
                    for group, row in cells
                ],
            )
            for label, cells in told.cells("ranks")
        ],
    }


def _ends(told: NamedFigures, row: Row) -> tuple[list[float | None], list[float | None]]:
    """Both ends of the band at each rank; none from topics too few for an interval."""
    if told.few:
        return [None] * len(row["low"]), [None] * len(row["high"])
    return row["low"], row["high"]


def _at_rank(told: NamedFigures, row: Row, rank: int) -> EstimateInWords:
    value = row["probability"][rank] if rank < len(row["probability"]) else None
    if value is None:
        return EstimateInWords("none")
    low, high = (ends[rank] for ends in _ends(told, row))
    if low is None or high is None:
        return EstimateInWords(percent(value))
    return EstimateInWords(percent(value), f"{100 * low:.0f}–{100 * high:.0f}%")


def _paired(told: NamedFigures, name: str) -> list[dict[str, Any]]:
    """Rows of pairings with a cell a style, those within a style first."""
    found: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in told.rows(name):
        key = (row["scope"], row["first"], row["second"])
        found.setdefault(key, {})[row["style"]] = row
    made = []
    for (scope, first, second), by_style in found.items():
        cells = [_pairing(by_style.get(style), second) for style in [*told.styles, ALL]]
        if any(pairs for _, pairs, _ in cells):
            note = (
                gettext(OTHER_STYLE)
                if scope == "topic"
                else gettext("same topic and style")
                if second
                else ""
            )
            # A pairing of sets of citations: a cell for each style, the last one for all.
            made.append(
                {
                    "label": gettext(PAIRS.get((first, second), f"{first}, {second}")),
                    "note": note,
                    "cells": cells,
                }
            )
    return sorted(made, key=lambda row: row["note"] == gettext(OTHER_STYLE))


def _pairing(row: Row | None, second: str) -> tuple[EstimateInWords, int, str]:
    if row is None or row.get("value") is None:
        return EstimateInWords("" if row is None else "none"), 0, ""
    chance = row.get("chance")
    note = (
        gettext("by chance %(chance)s") % {"chance": score(chance, 2)}
        if chance is not None and second
        else ""
    )
    return estimate_in_words(row), row.get("pairs", 0), note


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
                    % {"style": label.lower()},
                ),
            )
            for label, rows in cells
        ],
        "threshold": threshold,
        "heavy": told.frame["heavy"],
        "legend": legend(told.groups),
        "table": [
            Block(
                label,
                [
                    Line(
                        group_label(group),
                        row["pairs"],
                        [
                            estimate_in_words(row["mean"], 1),
                            figure(row["median"], 1),
                            estimate_in_words(row["below"], 1, share=True),
                            estimate_in_words(row["heavy"], 1, share=True),
                        ],
                    )
                    for group, row in rows
                ],
            )
            for label, rows in cells
        ],
        "bins": bins(
            edges,
            [
                (f"{label}, {group_label(group).lower()}", [percent(v) for v in row["cumulative"]])
                for label, rows in cells
                for group, row in rows
            ],
        ),
        "bins_of": gettext("Share of pairs below the upper end of each bin"),
    }


def citations(told: NamedFigures) -> dict[str, Any]:
    """Figure 4: where in the text citations stand."""
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
                    % {"style": label.lower()},
                ),
            )
            for label, rows in cells
        ],
        "legend": legend(told.groups),
        "table": [
            Block(
                label,
                [
                    Line(
                        group_label(group),
                        row["marks"],
                        [
                            estimate_in_words(row["first"], 0, share=True),
                            estimate_in_words(row["last"], 0, share=True),
                        ],
                    )
                    for group, row in rows
                ],
            )
            for label, rows in cells
        ],
        "bins": bins(
            edges,
            [
                (f"{label}, {group_label(group).lower()}", [score(v, 2) for v in row["density"]])
                for label, rows in cells
                for group, row in rows
            ],
            digits=2,
        ),
        "bins_of": gettext("Density in each part of the text; 1 is an even spread"),
    }


def readability(told: NamedFigures) -> dict[str, Any]:
    """Figure 5: how easily texts and their sources read."""
    edges, cells = told.edges("readability"), told.cells("readability")
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
        "table": [
            Block(
                label,
                [
                    Line(
                        group_label(group),
                        row["text"]["n"],
                        [
                            _quartiles(row["text"]),
                            _quartiles(row["source"]),
                            estimate_in_words(row["difference"], 1),
                        ],
                    )
                    for group, row in in_style
                ],
            )
            for label, in_style in cells
        ],
        "bins": bins(
            edges,
            [
                (_part_label(group, part), [count(n) for n in row[part]["histogram"]])
                for group, row in rows
                for part in ("text", "source")
            ],
        ),
        "bins_of": gettext("Responses in each bin; what lies outside is in the first or last one"),
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
