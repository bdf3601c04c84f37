"""Table 1 and Figure 1 of the writing study, with the text of section 4.1."""

from __future__ import annotations

import numpy as np

from evaluation.published.reproduce.crowdrag.data import ORIGINS, STYLES
from evaluation.published.reproduce.crowdrag.writing.cells import (
    AS_CUT,
    MEAN_OF_STYLES,
    WHO,
    Figures,
    cell,
    figure_row,
    value_of,
)
from evaluation.published.reproduce.crowdrag.writing.data import Writing
from evaluation.published.reproduce.rows import Row


def general_rows(found: Writing, printed: Figures) -> list[Row]:
    """Table 1 and Figure 1 with the text of section 4.1."""
    rows = _size_rows(found, printed)
    for quantity, name, values in (
        ("documents per response", "documents", (6.3, 9.2)),
        ("citations per document", "citations_per_document", (2.1, 1.35)),
        ("documents per statement", "documents_per_statement", (1.62, 1.93)),
    ):
        for group, target in zip(ORIGINS, values, strict=True):
            each = [value_of(cell(printed["general"], group, style)[name]) for style in STYLES]
            rows.append(
                figure_row(
                    "section 4.1",
                    f"{quantity}, {WHO[group]}",
                    MEAN_OF_STYLES,
                    (target, float(np.mean(each))),
                    AS_CUT,
                )
            )
    for group, target in zip(ORIGINS, (4.4, 10.8), strict=True):
        measured = cell(printed["general"], group, "bullet")["documents"]["mean"]
        rows.append(
            figure_row(
                "section 4.2",
                f"documents per response, bullet, {WHO[group]}",
                "mean",
                (target, measured),
                "printed cut off, not rounded",
            )
        )
    return rows


def _size_rows(found: Writing, printed: Figures) -> list[Row]:
    """Compare how many responses there are, and how long they are."""
    data = found.data
    spaced = np.array([len(text.split(" ")) for text in data.texts])
    human = data.group == ORIGINS.index("human")
    return [
        Row("Table 1", "responses", "all", 1806, len(data)),
        *(
            Row(
                "Table 1",
                f"responses, {style}, {WHO[group]}",
                "all",
                301,
                cell(printed["general"], group, style)["responses"],
            )
            for group in ORIGINS
            for style in STYLES
        ),
        Row(
            "Table 1",
            "words per response, human",
            "median, split at single spaces",
            270,
            float(np.median(spaced[human])),
            "printed as about 270",
        ),
        Row(
            "Table 1",
            "words per response, all",
            "median, split at single spaces",
            None,
            float(np.median(spaced)),
            "marks count as words here and in the paper; without them "
            f"the human median is {cell(printed['general'], 'human')['words']['median']:.0f}",
        ),
        Row(
            "section 4.1",
            "human responses under 50 words",
            "split at single spaces",
            None,
            int((spaced[human] < 50).sum()),
            "said to be left out of Figure 1; they are in all other figures, here as there",
        ),
    ]
