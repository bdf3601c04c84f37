"""A checklist answered by people and models: scores, agreement, and which questions carry signal.

Chu et al., "InteractEval" (2024), 3.5 and 4.3.1: each answerer's share of yes is a text's score
(eq. 1, blank in the paper's text; from its words: the share of yes, scaled to 1-5), held against
human scores within each article (eq. 2). A question without an answer counts in neither number.
What the paper leaves out stands beside: how far people agree on each question, how far a model
agrees with them, and what each question adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.checklists.agreement import (
    agreement_rows,
    majority_of,
    one_person,
    setting_of,
    signal_rows,
    with_people_rows,
)
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
    index_array,
    indices,
    of_rows,
)
from evaluation.methods.core.params import ANY_LEVEL, DRAWN, Params, resamples

NAME, VERSION = "checklist", "1.3"
PARAMS = Params(
    NAME,
    (
        resamples(2000, or_zero=False, label="Resamples", help=DRAWN),
        ANY_LEVEL,
    ),
    version=VERSION,
)
LOWEST, RANGE = 1.0, 4.0
MAJORITY = 0  # the first answerer; author k is answerer k + 1
SCORES, AGREEMENT, SIGNAL = "scores of texts", "agreement", "what each question adds"
STAGES = (SCORES, AGREEMENT, SIGNAL)
TEXT = ("answerer", "text", "yes", "total", "estimate", "weighted")
CORRELATION = (
    "answerer",
    "score",
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
AGREED = ("question", "n", "shared", "yes_share", "alpha", "low", "high", "reason")
WITH_PEOPLE = ("answerer", "question", "n", "same", "kappa", "low", "high", "reason")
SIGNALS = (
    "answerer",
    "question",
    "n",
    "setting",
    "tau",
    "low",
    "high",
    "p",
    "adjusted",
    "units",
    "undefined",
    "reason",
    "change",
    "change_low",
    "change_high",
    "change_p",
    "change_adjusted",
    "change_reason",
)
SHARES = ("answerer", "question", "n", "yes_share", "chance")
Row = dict[str, Any]


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
class Study:
    """Yes/no answers (n,) of ``authors`` about ``texts``: who, which text, which question.

    ``yes`` is 1 or 0, ``chance`` the probability of yes where a model's is known (else NaN).
    ``person`` (authors,) is True for people. ``article`` (texts,) indexes ``articles``, ``human``
    (texts,) are human scores, NaN where there is none. Build with :meth:`build`.
    """

    author: IntArray
    text: IntArray
    question: IntArray
    yes: FloatArray
    chance: FloatArray
    person: NDArray[np.bool_]
    article: IntArray
    human: FloatArray
    authors: tuple[str, ...]
    texts: tuple[str, ...]
    questions: tuple[str, ...]
    articles: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.author)

    @classmethod
    def build(
        cls,
        author: Any,
        text: Any,
        question: Any,
        yes: Any,
        *,
        person: Sequence[bool],
        authors: Sequence[str],
        texts: Sequence[str],
        questions: Sequence[str],
        article: Any,
        articles: Sequence[str],
        chance: Any = None,
        human: Any = None,
    ) -> Study:
        """Check arrays. Raises EmptyData, UnknownIndex, BadShape, BadVector, DuplicateAnswer."""
        a, t, q = indices(
            author=(author, authors), text=(text, texts), question=(question, questions)
        )
        y = np.asarray(yes, dtype=np.float64)
        c = np.full(len(y), np.nan) if chance is None else np.asarray(chance, dtype=np.float64)
        if not a.shape == t.shape == q.shape == y.shape == c.shape:
            raise BadShape("author, text, question, yes and chance must have one length")
        if not np.isin(y, (0.0, 1.0)).all():
            raise BadVector("an answer is neither 1 nor 0")
        if ((c < 0) | (c > 1)).any():
            raise BadVector("a probability of yes lies outside 0 and 1")
        code = (a * len(texts) + t) * len(questions) + q
        if len(np.unique(code)) < len(code):
            raise DuplicateAnswer("somebody answers a question twice for one text")
        of = index_array("article", article, len(articles))
        h = np.full(len(texts), np.nan) if human is None else np.asarray(human, dtype=np.float64)
        if not of.shape == h.shape == (len(texts),) or np.isinf(h).any():
            raise BadShape("article and human must hold one finite or missing value a text")
        if len(person) != len(authors):
            raise BadShape("person must say of every author whether it is one")
        return cls(
            a,
            t,
            q,
            y,
            c,
            np.asarray(person, dtype=bool),
            of,
            h,
            tuple(authors),
            tuple(texts),
            tuple(questions),
            tuple(articles),
        )

    def grid(self, author: int) -> tuple[FloatArray, FloatArray]:
        """Return an author's answers and probabilities of yes, (texts, questions); NaN: missing."""
        yes = np.full((len(self.texts), len(self.questions)), np.nan)
        chance = yes.copy()
        mine = self.author == author
        yes[self.text[mine], self.question[mine]] = self.yes[mine]
        chance[self.text[mine], self.question[mine]] = self.chance[mine]
        return yes, chance


def fit(
    data: Study, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Score texts by every answerer and describe the questions.

    Answerer 0 is the majority of people (left out where there are none), author k is answerer
    k + 1. Tables: ``text`` (eq. 1 of each answerer; ``weighted`` is the same of the mean
    probability of yes, for the majority of the mean share of people), ``correlation`` (of both
    scores with human ones), ``share`` (yes by answerer and question), ``agreement`` (alpha of
    people), ``with_people`` (kappa of models, and of one person (-1), with the majority),
    ``signal`` (of the majority and of each model). Question -1 is all of them together. Text
    scores have no interval: the questions are not a sample of questions.

    Raises EmptyData, BadParameter, Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    people = data.person[data.author]
    if not len(data):
        raise EmptyData("no question of the checklist has an answer")
    majority, share, _ = majority_of(
        data.text[people],
        data.question[people],
        data.yes[people],
        len(data.texts),
        len(data.questions),
    )
    grids = {k + 1: data.grid(k) for k in range(len(data.authors))}
    if people.any():
        grids = {MAJORITY: (majority, share), **grids}
    rows: dict[str, list[Row]] = {"text": [], "correlation": [], "share": []}
    for place, (answerer, grid) in enumerate(grids.items()):
        hooks.step(SCORES, place, len(grids))
        _scored(data, answerer, grid, settings["level"], rows)
    hooks.step(AGREEMENT, 0, 1)
    models = [k + 1 for k in np.flatnonzero(~data.person).tolist()]
    rows |= _agreement(data, majority, {k: grids[k][0] for k in models}, rng, settings)
    rows["signal"] = []
    tested = [k for k in (MAJORITY, *models) if k in grids]
    for place, answerer in enumerate(tested):
        hooks.step(SIGNAL, place, len(tested))
        rows["signal"] += signal_rows(
            grids[answerer][0],
            data.human,
            data.article,
            answerer=answerer,
            level=settings["level"],
        )
    return _result(data, rows, majority, settings)


def _result(
    data: Study, rows: dict[str, list[Row]], majority: FloatArray, settings: dict[str, Any]
) -> Result:
    columns = {
        "text": TEXT,
        "correlation": CORRELATION,
        "share": SHARES,
        "agreement": AGREED,
        "with_people": WITH_PEOPLE,
        "signal": SIGNALS,
    }
    answered = np.isin(np.arange(len(data.texts)), data.text[data.person[data.author]])
    return PARAMS.result(
        settings,
        {name: of_rows(rows[name], columns[name]) for name in columns},
        {
            "people": int(data.person.sum()),
            "models": int((~data.person).sum()),
            "texts": len(data.texts),
            "questions": len(data.questions),
            "texts_with_human_scores": int(np.isfinite(data.human).sum()),
            "ties": int(np.isnan(majority[answered]).sum()),
            "signal_setting": setting_of(data.article[np.isfinite(data.human)]),
            "text_intervals": "none: the checklist's questions are not a sample of questions",
        },
    )


def _weighted(yes: FloatArray, chance: FloatArray) -> FloatArray:
    """Scores (texts,) by the probability of yes; NaN where an answered question has none."""
    known = np.isfinite(yes)
    complete = (np.isfinite(chance) | ~known).all(axis=1) & known.any(axis=1)
    total = np.where(known, np.nan_to_num(chance), 0.0).sum(axis=1)
    return np.where(complete, LOWEST + RANGE * total / np.maximum(known.sum(axis=1), 1), np.nan)


def _scored(
    data: Study,
    answerer: int,
    grid: tuple[FloatArray, FloatArray],
    level: float,
    rows: dict[str, list[Row]],
) -> None:
    """Add the scores and correlations of one answerer."""
    yes, chance = grid
    known = np.isfinite(yes)
    if not known.any():
        return
    total, score = known.sum(axis=1), np.full(len(data.texts), np.nan)
    said = np.where(known, yes, 0.0).sum(axis=1)
    some = np.flatnonzero(total)
    score[some] = checklist_score(said[some], total[some])
    weighted = _weighted(yes, chance)
    rows["text"] += [
        {
            "answerer": answerer,
            "text": k,
            "yes": int(said[k]),
            "total": int(total[k]),
            "estimate": float(score[k]),
            "weighted": float(weighted[k]),
        }
        for k in some.tolist()
    ]
    rows["share"] += [
        {
            "answerer": answerer,
            "question": k,
            "n": int(known[:, k].sum()),
            "yes_share": _mean(yes[:, k]),
            "chance": _mean(chance[known[:, k], k]),
        }
        for k in range(len(data.questions))
    ]
    for name, values in (("share", score), ("chance", weighted)):
        kept = np.isfinite(values) & np.isfinite(data.human)
        if kept.any():
            rows["correlation"] += [
                {"answerer": answerer, "score": name, **row}
                for row in correlation_rows(
                    values[kept], data.human[kept], data.article[kept], level
                )
            ]


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _agreement(
    data: Study,
    majority: FloatArray,
    models: dict[int, FloatArray],
    rng: np.random.Generator,
    settings: dict[str, Any],
) -> dict[str, list[Row]]:
    mine = data.person[data.author]
    if not mine.any():
        return {"agreement": [], "with_people": []}
    drawing = {"rng": rng, "resamples": settings["resamples"], "level": settings["level"]}
    given = data.author[mine], data.text[mine], data.question[mine], data.yes[mine]
    agreed = agreement_rows(
        *given, data.article, people=len(data.authors), questions=len(data.questions), **drawing
    )
    beside = one_person(*given, data.article, questions=len(data.questions), **drawing)
    for answerer, yes in models.items():
        beside += with_people_rows(yes, majority, data.article, answerer=answerer, **drawing)
    return {"agreement": agreed, "with_people": beside}


METHOD = PARAMS.as_method("Checklist scores", Study, fit)
