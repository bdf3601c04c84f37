"""CrowdRAG's Table 7: grades by Bradley-Terry from gold labels, and who differs from whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.significance import wilcoxon_bh
from evaluation.methods.bradley_terry.grades import rao_kupper_grades
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.pairwise.factors import Factor, compare_factors
from evaluation.published.reproduce.crowdrag import published
from evaluation.published.reproduce.crowdrag.agreement import occurrence
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS, ORIGINS, STYLES, CrowdRag
from evaluation.published.reproduce.crowdrag.rows import FINDING
from evaluation.published.reproduce.rows import Row

RECIPE = "Rao-Kupper ties, threshold .05, regularisation .2, both directions of a pair"
DIFFER = "dimensions where LLM and human differ over all styles, of 7"
WHO = ("human", "LLM", "both")


@dataclass(frozen=True, eq=False)
class Refitted:
    """Grades 1-6 (responses, 7) and what the model leaves open.

    ``grade`` has equal merits in the order of the responses' names, ``as_published`` in the
    published order; ``tied`` marks grades whose merit another response of the table shares.
    """

    grade: IntArray
    as_published: IntArray
    tied: NDArray[np.bool_]


def grades(data: CrowdRag) -> Refitted:
    """Grades from the published gold labels, every topic and dimension by itself."""
    gold, graded, size = data.gold, data.graded, len(DIMENSIONS)
    one, two = data.left[gold.pair], data.right[gold.pair]
    left, right = np.where(gold.flipped, two, one), np.where(gold.flipped, one, two)
    found = rao_kupper_grades(
        np.repeat(left, size),
        np.repeat(right, size),
        gold.label.ravel(),
        (graded.topic[left][:, None] * size + np.arange(size)).ravel(),
        players=len(graded.responses),
        tables=size * len(graded.topics),
    )
    cell = found["player"], found["table"] % size
    published_order = np.lexsort((graded.grade[cell], found["merit"], found["table"]))
    ranked = np.empty(len(published_order), dtype=np.int64)
    ranked[published_order] = occurrence(found["table"]) + 1  # the tables are sorted and so stay
    return Refitted(
        _placed(cell, found["grade"], graded.grade.shape),
        _placed(cell, ranked, graded.grade.shape),
        _placed(cell, found["grade_low"] < found["grade_high"], graded.grade.shape).astype(bool),
    )


def _placed(cell: tuple[IntArray, IntArray], values: Any, shape: tuple[int, ...]) -> IntArray:
    out = np.zeros(shape, dtype=np.int64)
    out[cell] = values
    return out


def grade_rows(data: CrowdRag) -> list[Row]:
    """Compare Table 7: mean grades, share equal to the published ones, Wilcoxon's tests."""
    found, theirs = grades(data), data.graded.grade
    tied, apart = int(found.tied.sum()), int((found.grade != theirs).sum())
    name = f"share of {theirs.size:,} grades equal to the published ones"
    rows = [
        Row(
            "Table 7",
            f"{name}, equal merits in the published order",
            RECIPE,
            1.0,
            float((found.as_published == theirs).mean()),
            f"{tied} grades share their merit with another: their order is arbitrary, in the "
            "published code by the rounding errors of the optimiser",
        ),
        Row(
            "Table 7",
            f"{name}, equal merits by name",
            RECIPE,
            1.0,
            float((found.grade == theirs).mean()),
            f"all {apart} that differ are among the {tied}"
            if not (found.grade != theirs)[~found.tied].any()
            else "differs beyond equal merits",
        ),
    ]
    means = _mean_rows(data, found.as_published)
    return [*rows, *means, *wilcoxon_rows(data), *style_rows(data)]


def _mean_rows(data: CrowdRag, grade: IntArray) -> Iterator[Row]:
    """Means over topics by style and origin, as printed to one decimal."""
    style, origin = data.graded.style, data.graded.origin
    cells: dict[str, NDArray[np.bool_]] = {}
    for k, name in enumerate(STYLES):
        for j, who in enumerate(WHO):
            cells[f"{name}, {who}"] = (style == k) & ((origin == j) | (who == "both"))
    for j, who in enumerate(WHO[:2]):
        cells[f"all styles, {who}"] = origin == j
    for name, rows_in in cells.items():
        means: FloatArray = grade[rows_in].mean(axis=0)
        column = name.split(", ")
        k = WHO.index(column[1])
        printed = [
            *(one[k] for one in published.TABLE7[column[0]]),
            published.TABLE7_MEAN[column[0]][k],
        ]
        for what, target, value in zip(
            (*published.SHORT, "mean"), printed, (*means, means.mean()), strict=True
        ):
            said = _one_decimal(target, float(value))
            if what == "mean" and said == "differs":
                said = f"the printed column has the mean {np.mean(printed[:-1]):.2f}"
            yield Row("Table 7", f"mean grade, {name}, {what}", RECIPE, target, float(value), said)


def _one_decimal(printed: float, measured: float) -> str:
    if round(measured, 1) == printed:
        return "printed to one decimal"
    if (round(100 * measured) + 5) // 10 == round(10 * printed):
        return "printed after rounding to two decimals, then to one"
    return "differs"


def wilcoxon_rows(data: CrowdRag) -> list[Row]:
    """Human against LLM: by style as published, and over all styles as it should be."""
    by_style = _tested(data, {(k, s): [s] for k in range(len(DIMENSIONS)) for s in STYLES})
    wrong = sum(
        bool(differs) == (cell in published.NOT_SIGNIFICANT) for cell, differs in by_style.items()
    )
    printed = len(by_style) - len(published.NOT_SIGNIFICANT)
    rows = [
        Row(
            "Table 7",
            "cells (dimension, style) where LLM and human differ, of 21",
            "Wilcoxon signed rank by topic, Benjamini-Hochberg over 21",
            printed,
            sum(by_style.values()),
            f"{wrong} cells are said otherwise in the text",
        ),
    ]
    count = len(DIMENSIONS) - len(published.NOT_SIGNIFICANT_ALL)
    last = _tested(data, {(k, "all"): [STYLES[-1]] for k in range(len(DIMENSIONS))})
    return [
        *rows,
        Row(
            "Table 7",
            DIFFER,
            "as published: news alone, by topic",
            count,
            sum(last.values()),
            "the published code tests the last style of its loop only",
        ),
        *_pooled_rows(data),
    ]


def style_rows(data: CrowdRag) -> Iterator[Row]:
    """Compare every two styles on each dimension, as section 5.2 does."""
    graded = data.graded
    _, test = compare_factors(
        graded.grade.astype(np.float64), graded.topic, [Factor(graded.style, graded.origin)]
    )
    rows = test.rows()
    recipe = f"{len(graded.topics)} topics, mean of both origins, corrected over {len(rows)}"
    for (a, b), said in published.STYLES_DIFFER.items():
        own = {row["dimension"]: row for row in rows if (row["value_a"], row["value_b"]) == (a, b)}
        found = {k for k, row in own.items() if row["differs"]}
        apart = "; ".join(
            f"{published.SHORT[k]} is said otherwise ({own[k]['difference']:+.2f}, adjusted p "
            f"{own[k]['adjusted']:.3f})"
            for k in sorted(found ^ said)
        )
        name = f"dimensions where {STYLES[a]} and {STYLES[b]} differ, both origins, of {len(own)}"
        yield Row("Table 7", name, recipe, len(said), len(found), apart)
    yield Row(
        "Table 7",
        f"cells (dimension, two styles) that differ, both origins, of {len(rows)}",
        recipe,
        sum(len(said) for said in published.STYLES_DIFFER.values()),
        sum(row["differs"] for row in rows),
        "the published count is of the dimensions that the text names",
    )


def _columns(data: CrowdRag, dimension: int, styles: list[str]) -> tuple[IntArray, IntArray]:
    """Published grades of human and LLM responses, aligned by style and topic."""
    graded, sides = data.graded, []
    for origin in range(len(ORIGINS)):
        rows = np.flatnonzero(
            (graded.origin == origin) & np.isin(graded.style, [STYLES.index(s) for s in styles])
        )
        order = np.lexsort((graded.topic[rows], graded.style[rows]))
        sides.append(graded.grade[rows[order], dimension])
    return sides[1], sides[0]


def _tested(data: CrowdRag, cells: dict[tuple[int, str], list[str]]) -> dict[tuple[int, str], bool]:
    found = wilcoxon_bh(
        {f"{k} {name}": _columns(data, k, styles) for (k, name), styles in cells.items()}
    )
    return dict(zip(cells, found["differs"].tolist(), strict=True))


def _pooled_rows(data: CrowdRag) -> list[Row]:
    """Compare all styles together, and by topic means, since a topic's six grades add up to 21."""
    every = [_columns(data, k, list(STYLES)) for k in range(len(DIMENSIONS))]
    pooled = wilcoxon_bh(dict(zip(published.SHORT, every, strict=True)))
    means = [tuple(side.reshape(len(STYLES), -1).mean(axis=0) for side in pair) for pair in every]
    by_topic = wilcoxon_bh(dict(zip(published.SHORT, means, strict=True)))
    count = len(DIMENSIONS) - len(published.NOT_SIGNIFICANT_ALL)
    rows = [
        Row("Table 7, corrected", DIFFER, protocol, count, int(found["differs"].sum()), said)
        for protocol, found, said in (
            ("195 pairs of one topic and style", pooled, "all styles pooled"),
            ("65 topics, mean of the styles", by_topic, "all styles pooled"),
        )
    ]
    return rows + [
        Row(
            "Table 7, corrected",
            f"grade, LLM - human over all styles, {row['name']}",
            "195 pairs of one topic and style",
            None,
            row["difference"],
            f"adjusted p {row['adjusted']:.1e}; {FINDING}",
        )
        for row in pooled.rows()
    ]
