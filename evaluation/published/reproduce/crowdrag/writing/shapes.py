"""Figures 1 to 5 of the writing study as numbers: quantiles, shares and densities.

The paper draws them; no row has a printed figure. Medians carry their quartiles in the note.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evaluation.published.reproduce.crowdrag.data import ORIGINS, STYLES
from evaluation.published.reproduce.crowdrag.writing.cells import WHO, Figures, cell, number
from evaluation.published.reproduce.rows import Row

RANKS = (1, 5, 10, 15, 20)
SCORES = (10, 50, 75)  # 25 has rows of its own
PARTS = ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 0.9), (0.9, 1.0))
DRAWN = "published as a figure only"


def shape_rows(printed: Figures, ours: Figures) -> Iterator[Row]:
    """Compare every printed distribution, by origin and style."""
    for group in ORIGINS:
        for style in STYLES:
            name = f"{style}, {WHO[group]}"
            for measure in ("words", "statements", "documents"):
                found = cell(printed["general"], group, style)[measure]
                quantity = f"{measure} per response, {name}"
                yield _middle("Figure 1", quantity, "marks read as published", found)
            yield from _rank_rows(cell(ours["ranks"], group, style), name)
            shares = cell(printed["reuse"], group, style)["cumulative"]
            for score in SCORES:
                quantity = f"statements under BLEU {score}, {name}"
                protocol = "sentence BLEU-8, lines of the passage as references"
                yield Row("Figure 3", quantity, protocol, None, shares[score - 1], DRAWN)
            yield from _density_rows(
                ours["edges"]["position"], cell(ours["position"], group, style)["density"], name
            )
        for text in ("text", "source"):
            found = cell(ours["readability"], group)[text]
            quantity = f"Flesch reading ease, {text}, {WHO[group]}"
            yield _middle("Figure 5", quantity, "syllables as spoken", found)


def _middle(table: str, quantity: str, protocol: str, found: Figures) -> Row:
    low, q1, q3, high = (number(found[name]) for name in ("p5", "q1", "q3", "p95"))
    note = f"quartiles {q1:.1f} to {q3:.1f}, 5 to 95 % {low:.1f} to {high:.1f}; {DRAWN}"
    return Row(table, quantity, f"median, {protocol}", None, number(found["median"]), note)


def _rank_rows(found: Figures, name: str) -> Iterator[Row]:
    """Figure 2, left: how often the passage of a rank is cited."""
    for rank in (one for one in RANKS if one <= len(found["probability"])):
        share = number(found["probability"][rank - 1])
        yield Row("Figure 2", f"probability of being cited, rank {rank}, {name}", "share", None,
                  share, DRAWN)  # fmt: skip


def _density_rows(edges: list[float], density: list[float], name: str) -> Iterator[Row]:
    """Figure 4: citations in a part of the text against even ones, 1 if they were even."""
    opens = np.array(edges[:-1])
    for low, high in PARTS:
        inside = (opens > low - 1e-9) & (opens < high - 1e-9)
        value = float(np.mean([number(value) for value in np.array(density)[inside]]))
        quantity = f"density of citations, {low:g} to {high:g} of the text, {name}"
        yield Row("Figure 4", quantity, "1 is even", None, value, DRAWN)
