"""How long responses are, how many statements and citations they have (section 4.1)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.writing.data import Responses
from evaluation.methods.writing.documents import cells
from evaluation.methods.writing.draws import Draws, nice_edges
from evaluation.methods.writing.statements import Statements, without_marks

_WORD = re.compile(r"\w[\w'’-]*")
MEASURES = ("words", "statements", "citations", "documents")


def word_counts(data: Responses) -> IntArray:
    """Words (n,) as the editor counts them: no citation marks, no signs standing alone."""
    return np.array([len(_WORD.findall(text)) for text in without_marks(data)], dtype=np.int64)


def measures(data: Responses, statements: Statements) -> dict[str, FloatArray]:
    """The measures (n,) of every response by name."""
    found = {
        "words": word_counts(data),
        "statements": np.bincount(statements.response, minlength=len(data)),
        "citations": data.citations,
        "documents": data.cites.sum(axis=1),
    }
    return {name: values.astype(np.float64) for name, values in found.items()}


def general(
    statements: Statements,
    measured: dict[str, FloatArray],
    edges: dict[str, FloatArray],
    draws: Draws,
) -> list[dict[str, Any]]:
    """Rows of ``figures["general"]``; averages per document and per statement are over all of
    them, not first within a response."""
    data = statements.data
    pairs = np.bincount(statements.response[statements.pairs[:, 0]], minlength=len(data)).astype(
        np.float64
    )
    rows = []
    for group, style, mine in cells(data):
        topic, own = data.topic[mine], {name: of[mine] for name, of in measured.items()}
        rows.append(
            {
                "group": group,
                "style": style,
                "responses": int(mine.sum()),
                "uncited": int((own["documents"] == 0).sum()),
                "unknown": int(data.unknown[mine].sum()),
                **{name: draws.distribution(own[name], topic, edges[name]) for name in MEASURES},
                "citations_per_document": draws.ratio(own["citations"], own["documents"], topic),
                "documents_per_statement": draws.ratio(pairs[mine], own["statements"], topic),
                "words_per_statement": draws.ratio(own["words"], own["statements"], topic),
            }
        )
    return rows


def edges_of(measured: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Edges of bins for each measure, shared by all cells."""
    return {name: nice_edges(measured[name]) for name in MEASURES}
