"""Texts scored by a checklist of yes/no questions, and how well the scores follow human ones.

Jeong et al., "InteractEval" (2024). Each text gets 1 + 4 x (yes / questions answered) (eq. 1, blank
in the paper's text; from its words: the share of yes, scaled to 1-5). A question without an answer
counts in neither number, and is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.methods.agreement.rank_correlation import kendall
from evaluation.methods.checklists.correlation import correlation_rows
from evaluation.methods.core.base import (
    BadShape,
    BadVector,
    DuplicateAnswer,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Table,
    index_array,
)
from evaluation.methods.core.pairwise_tables import of_rows
from evaluation.methods.core.params import ANY_LEVEL, Params

NAME, VERSION = "checklist", "1.0"
PARAMS = Params(NAME, (ANY_LEVEL,))
DEFAULTS = PARAMS.defaults
LOWEST, RANGE = 1.0, 4.0
CORRELATION = (
    "kind",
    "setting",
    "estimate",
    "low",
    "high",
    "as_zero",
    "articles",
    "undefined",
    "n",
)


def checklist_score(yes: Any, total: Any) -> FloatArray:
    """1 + 4 x (yes / total), eq. (1): 1 where all answers are no, 5 where all are yes.

    ``yes`` and ``total`` are numbers or arrays of one shape. Raises BadVector where ``total`` is
    not positive, or ``yes`` is not within 0 and ``total``.
    """
    y, t = np.asarray(yes, dtype=np.float64), np.asarray(total, dtype=np.float64)
    if not (np.isfinite(t).all() and (t > 0).all()):
        raise BadVector("a text has no answered question, so it has no checklist score")
    if not ((y >= 0) & (y <= t)).all():
        raise BadVector("the number of yes answers must lie between 0 and the number of answers")
    return np.asarray(LOWEST + RANGE * (y / t))


@dataclass(frozen=True, eq=False)
class Checks:
    """Yes/no answers (n,) about texts: ``yes`` is 1, 0, or NaN where the answer is missing.

    ``text`` and ``question`` index ``texts`` and ``questions``. ``article`` (t,) indexes
    ``articles``: what each text was written about; ``human`` (t,) are human scores, NaN where
    there is none.
    """

    text: IntArray
    question: IntArray
    yes: FloatArray
    article: IntArray
    human: FloatArray
    texts: tuple[str, ...]
    questions: tuple[str, ...]
    articles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.text)

    @classmethod
    def build(
        cls,
        text: Sequence[int] | IntArray,
        question: Sequence[int] | IntArray,
        yes: Sequence[float] | FloatArray,
        *,
        texts: Sequence[str],
        questions: Sequence[str],
        article: Sequence[int] | IntArray | None = None,
        articles: Sequence[str] | None = None,
        human: Sequence[float] | FloatArray | None = None,
    ) -> Checks:
        """Check arrays; without ``article`` all texts are of one.

        Raises EmptyData, UnknownIndex, BadShape, BadVector (an answer that is not 0, 1 or NaN),
        DuplicateAnswer (a question answered twice for a text).
        """
        t = index_array("text", text, len(texts))
        q = index_array("question", question, len(questions))
        y = np.asarray(yes, dtype=np.float64)
        if not t.shape == q.shape == y.shape:
            raise BadShape(f"text, question, yes have shapes {t.shape}, {q.shape}, {y.shape}")
        wrong = np.flatnonzero(~(np.isnan(y) | (y == 0) | (y == 1)))
        if wrong.size:
            raise BadVector(f"yes[{wrong[0]}] is {y[wrong[0]]}; an answer is 1, 0 or missing")
        code = t * len(questions) + q
        if len(np.unique(code)) < len(code):
            raise DuplicateAnswer("a question of the checklist is answered twice for one text")
        names = ("",) if articles is None else tuple(articles)
        given = np.zeros(len(texts), dtype=np.int64) if article is None else article
        a = index_array("article", given, len(names))
        h = np.full(len(texts), np.nan) if human is None else np.asarray(human, dtype=np.float64)
        if not a.shape == h.shape == (len(texts),) or np.isinf(h).any():
            raise BadShape("article and human must hold one finite or missing value a text")
        return cls(t, q, y, a, h, tuple(texts), tuple(questions), names)


def fit(
    data: Checks, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score texts; compare with human scores where there are some. ``rng`` is not used.

    Parameter ``level`` of intervals. Estimates: tables ``text`` (text, article, yes, total,
    estimate in 1-5, NaN without an answer, component: 1, or 0 where not scored), ``question``
    (question, n, yes share, and tau-b with the human scores) and, with human scores,
    ``correlation`` (kind, setting 'sample-level' or 'pooled', estimate, low, high, as_zero,
    articles, undefined, n). Text scores have no interval: the checklist is not a sample.

    Raises EmptyData where no question has an answer, BadParameter, Cancelled.
    """
    level = PARAMS.settings(params)["level"]
    (hooks or Hooks()).step("scores", 0, 2)
    known = ~np.isnan(data.yes)
    if not known.any():
        raise EmptyData("no question of the checklist has an answer")
    total = np.bincount(data.text[known], minlength=len(data.texts))
    yes = np.bincount(data.text[known], weights=data.yes[known], minlength=len(data.texts))
    scores = np.full(len(data.texts), np.nan)
    scores[total > 0] = checklist_score(yes[total > 0], total[total > 0])
    estimates = {
        "text": Table(
            {
                "text": np.arange(len(data.texts)),
                "article": data.article,
                "component": (total > 0).astype(np.int64),
                "yes": yes.astype(np.int64),
                "total": total,
                "estimate": scores,
            }
        ),
        "question": _questions(data, known),
    }
    compared = (total > 0) & ~np.isnan(data.human)
    (hooks or Hooks()).step("correlations", 1, 2)
    if compared.any():
        estimates["correlation"] = of_rows(
            correlation_rows(scores[compared], data.human[compared], data.article[compared], level),
            CORRELATION,
        )
    return Result(
        name=NAME,
        version=VERSION,
        estimates=estimates,
        intervals={},
        diagnostics={
            "missing_answers": int((~known).sum()),
            "texts_without_answers": [data.texts[k] for k in np.flatnonzero(total == 0)],
            "texts_compared": int(compared.sum()),
            "text_intervals": "none: the checklist's questions are not a sample of questions",
        },
        converged=True,
        recipe={"method": NAME, "version": VERSION, "params": {"level": level}},
    )


def _questions(data: Checks, known: Any) -> Table:
    size = len(data.questions)
    n = np.bincount(data.question[known], minlength=size)
    yes = np.bincount(data.question[known], weights=data.yes[known], minlength=size)
    rows = known & ~np.isnan(data.human[data.text])
    tau = np.full(size, np.nan)
    if rows.any():
        tau = kendall(
            data.yes[rows], data.human[data.text[rows]], data.question[rows], groups=size
        ).value
    share = np.where(n > 0, yes / np.maximum(n, 1), np.nan)
    return Table({"question": np.arange(size), "n": n, "yes_share": share, "tau": tau})
