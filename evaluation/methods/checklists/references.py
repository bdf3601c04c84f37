"""Baselines without a checklist: how near a text is to references, in words and in meaning.

InteractEval (Chu et al. 2024, 4.3.4, Table 3) holds checklists against such measures: METEOR of a
text against a reference, and similarity of embeddings, here the cosine of sentence vectors (the
paper's are of tokens: BERTScore, MoverScore). Of several references the best counts. Both are
scores of a text as a checklist's are, and are held against the same human scores, within each
article and over all. Scores of further measures (MoverScore, BARTScore, UniEval) are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.methods.checklists.correlation import correlation_rows
from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    index_array,
    of_rows,
)
from evaluation.methods.core.params import LEVEL, Params
from evaluation.methods.text.corpus import words
from evaluation.methods.text.meteor import meteor

NAME, VERSION = "text_references", "1.2"
PARAMS = Params(NAME, (LEVEL,), version=VERSION)
METEOR, COSINE = "meteor", "cosine"
MEASURES = (METEOR, COSINE)
CORRELATION = (
    "measure",
    "kind",
    "setting",
    "estimate",
    "low",
    "high",
    "as_zero",
    "articles",
    "undefined",
    "n",
    "flip_p",
)
SCORES = "texts"


@dataclass(frozen=True, eq=False)
class Referenced:
    """Texts (n,) with what each is compared with.

    ``strings`` (u,) are all different strings, ``vectors`` (u, d) their sentence vectors; ``text``
    (n,) and ``references`` (n lists) index them. ``article`` (n,) is what a text is about,
    ``human`` (n,) its human score, NaN where there is none. ``given`` (n,) are scores by further
    measures, NaN where there is none.
    """

    strings: tuple[str, ...]
    vectors: FloatArray
    text: IntArray
    references: tuple[tuple[int, ...], ...]
    article: IntArray
    human: FloatArray
    given: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of all measures, in the order of their components."""
        return (*MEASURES, *self.given)

    @classmethod
    def build(
        cls,
        strings: Sequence[str],
        vectors: Any,
        text: Sequence[int],
        references: Sequence[Sequence[int]],
        *,
        article: Sequence[int],
        human: Any,
        given: Mapping[str, FloatArray] | None = None,
    ) -> Referenced:
        """Check the arrays. Raises EmptyData, BadShape, BadVector, UnknownIndex."""
        if not any(references):
            raise EmptyData("no text has a reference to compare it with")
        at = index_array("text", text, len(strings))
        for one in filter(None, references):
            index_array("references", one, len(strings))
        rows = np.asarray(vectors, dtype=np.float64)
        score, of = np.asarray(human, dtype=np.float64), np.asarray(article, dtype=np.int64)
        if rows.ndim != 2 or len(rows) != len(strings):
            raise BadShape(f"vectors are {rows.shape}; there are {len(strings)} strings")
        if not np.isfinite(rows).all():
            raise BadVector("a sentence vector has an entry that is not finite")
        if not len(at) == len(references) == len(of) == len(score):
            raise BadShape("text, references, article and human must have one length")
        more = {name: np.asarray(one, dtype=np.float64) for name, one in (given or {}).items()}
        if any(one.shape != score.shape for one in more.values()):
            raise BadShape("given scores must have one entry a text")
        return cls(tuple(strings), rows, at, tuple(map(tuple, references)), of, score, more)


def fit(
    data: Referenced, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score every text that has a reference.

    Tables: ``text`` (text: its row, meteor in 0..1, cosine in -1..1, NaN where a vector is zero,
    each given measure, and how many references it has), ``correlation`` (of each measure with
    human scores, as of ``correlation_rows``, intervals at ``level``; empty without human scores of
    two texts). A text without a reference has no row; ``diagnostics["unreferenced"]`` counts them.
    Scores have no interval: nothing is sampled. Nothing is random. Raises BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    split = [words(string) for string in data.strings]
    length = np.linalg.norm(data.vectors, axis=1)
    rows, known = [], [k for k, one in enumerate(data.references) if one]
    for done, k in enumerate(known):
        hooks.step(SCORES, done, len(known))
        at, others = data.text[k], list(data.references[k])
        size = length[others] * length[at]
        cosine = np.full(len(others), np.nan)
        np.divide(data.vectors[others] @ data.vectors[at], size, out=cosine, where=size > 0)
        rows.append(
            {
                "text": k,
                METEOR: meteor(split[at], [split[one] for one in others]),
                COSINE: float(np.nanmax(cosine)) if np.isfinite(cosine).any() else np.nan,
                **{name: float(one[k]) for name, one in data.given.items()},
                "references": len(others),
            }
        )
    hooks.step(SCORES, len(known), len(known))
    return PARAMS.result(
        settings,
        {
            "text": of_rows(rows, ("text", *data.measures, "references")),
            "correlation": of_rows(_correlations(data, rows, settings["level"]), CORRELATION),
        },
        {
            "texts": len(rows),
            "unreferenced": len(data.text) - len(rows),
            "with_human_scores": int(np.isfinite(data.human[known]).sum()),
        },
    )


def _correlations(
    data: Referenced, rows: Sequence[dict[str, Any]], level: float
) -> list[dict[str, Any]]:
    at = np.array([row["text"] for row in rows])
    human, article = data.human[at], data.article[at]
    found = []
    for measure in data.measures:
        score = np.array([row[measure] for row in rows])
        both = np.isfinite(score) & np.isfinite(human)
        if both.sum() > 1:
            found += [
                {"measure": measure, **row}
                for row in correlation_rows(score[both], human[both], article[both], level)
            ]
    return found


METHOD = PARAMS.as_method("METEOR and embeddings", Referenced, fit)
