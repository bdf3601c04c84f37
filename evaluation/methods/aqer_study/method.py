"""How well each method grades language models, held against experts, by number of workers.

The study of Geva et al. 2025, section 6.2 (Figure 3) and App. L: systems' answers were graded by
experts; M workers are drawn, every method scores the systems' answers from their answers alone,
and Pearson's r of scores and grades is taken for each system. The published intervals are over
draws of workers; here the questions are taken as drawn too, which is what a reader wants to know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.method_correlations import compare_correlations
from evaluation.methods.agreement.significance import fisher_z
from evaluation.methods.aqer import method as aqer
from evaluation.methods.baselines import chai, rasa, roy
from evaluation.methods.baselines.baselines import BASELINES
from evaluation.methods.core.base import (
    BadParameter,
    BadShape,
    EmptyData,
    FloatArray,
    Hooks,
    IntArray,
    Result,
    Texts,
    TooFewWorkers,
    of_rows,
)
from evaluation.methods.core.inference import Spread, family_level, jackknife_spread, t_quantile
from evaluation.methods.core.params import Param, Params, choice, real_number, whole_number
from evaluation.methods.core.units import CORRELATION, LEAST
from evaluation.methods.text.corpus import Responses

POOLED = -1


@dataclass(frozen=True, eq=False)
class Drawn:
    """The systems' answers (s,): whose, to which question, and the experts' grade of each."""

    system: IntArray
    question: IntArray
    grade: FloatArray
    systems: int
    questions: int


@dataclass(frozen=True, eq=False)
class _Z:
    """Fisher's z of each draw (d,), and with each question left out (d, q); NaN if undefined.

    ``answers`` (q,) are each question's graded ones.
    """

    whole: FloatArray
    without: FloatArray
    answers: IntArray

    @property
    def questions(self) -> int:
        """Count the questions."""
        return len(self.answers)


def by_system(frame: Drawn, scores: FloatArray, level: float, least: int) -> list[dict[str, Any]]:
    """A row a system and one pooled: mean r over draws with both intervals (see aqer_study.fit).

    ``scores`` (draws, s). A system with fewer than ``least`` graded questions has NaN for r.
    """
    rows = []
    for system in (POOLED, *range(frame.systems)):
        found = _z(frame, scores, system)
        row: dict[str, Any] = {"system": system, "questions": found.questions}
        if found.questions < least:
            found = replace(found, whole=np.full(len(scores), np.nan))
        rows.append(row | _interval_row(found, level))
    return rows


def compare_r(
    frame: Drawn, scores: FloatArray, with_aqer: FloatArray, level: float
) -> dict[str, Any]:
    """Pooled r less AQER's on the same draws, with the bounds of that difference at ``level``.

    Both are means over draws of Fisher's z, turned back to r; so are those that leave out one
    question at a time (jackknife). The draws' own error is carried over to r by the slope of tanh.
    0 within the bounds: the two cannot be separated. ``reason``: why there are no bounds.
    """
    one, other = _z(frame, scores, POOLED), _z(frame, with_aqer, POOLED)
    both = np.isfinite(one.whole) & np.isfinite(other.whole)
    none = {"difference": np.nan, "low": np.nan, "high": np.nan, "questions": one.questions}
    if not both.any():
        return {**none, "reason": "no draw has a correlation of both"}
    sides = [_turned_back(side, both) for side in (one, other)]
    gap = sides[0].r - sides[1].r
    told = {**none, "difference": gap}
    spread = jackknife_spread(sides[0].without - sides[1].without, one.answers, noun="questions")
    if why := spread.why_no_interval(LEAST[CORRELATION]):
        return {**told, "reason": why}
    drawn = sides[0].drawn - sides[1].drawn
    over_draws = float(drawn.var(ddof=1)) / len(drawn) if len(drawn) > 1 else 0.0
    reach = replace(spread, variance=spread.variance + over_draws).reach(level)
    return {**told, "low": gap - reach, "high": gap + reach, "reason": ""}


@dataclass(frozen=True, eq=False)
class _R:
    """A method's r at the mean of z, without each question (q,), and each draw's share (d,)."""

    r: float
    without: FloatArray
    drawn: FloatArray


def _turned_back(found: _Z, rows: NDArray[np.bool_]) -> _R:
    """Of the draws ``rows`` (d,) that have a correlation."""
    whole, without = found.whole[rows], found.without[rows]
    without = np.where(np.isfinite(without), without, whole[:, None])
    mean = float(whole.mean())
    return _R(float(np.tanh(mean)), np.tanh(without.mean(axis=0)), whole / np.cosh(mean) ** 2)


def _interval_row(found: _Z, level: float) -> dict[str, Any]:
    defined = np.isfinite(found.whole)
    told = dict.fromkeys(("r", "low", "high", "draw_low", "draw_high"), np.nan)
    told["defined"] = int(defined.sum())
    if not defined.any():
        return told
    mean, spread = _mean_spread(found)
    told["r"] = float(np.tanh(mean))
    if not spread.why_no_interval(LEAST[CORRELATION]):
        reach = spread.reach(level)
        told.update(low=float(np.tanh(mean - reach)), high=float(np.tanh(mean + reach)))
    r = np.tanh(found.whole[defined])
    if len(r) > 1:
        of_draws = float(r.std(ddof=1) / np.sqrt(len(r)))
        width = float(t_quantile(level, len(r) - 1)) * of_draws
        told.update(draw_low=float(r.mean()) - width, draw_high=float(r.mean()) + width)
    return told


def _mean_spread(found: _Z) -> tuple[float, Spread]:
    """Mean over the draws that have one; its spread over questions and draws together."""
    kept = found.whole[np.isfinite(found.whole)]
    mean, draws = float(kept.mean()), len(kept)
    left = found.without[np.isfinite(found.whole)]
    left = np.where(np.isfinite(left), left, kept[:, None]).mean(axis=0)
    spread = jackknife_spread(left, found.answers, noun="questions")
    over_draws = float(kept.var(ddof=1)) / draws if draws > 1 else 0.0
    return mean, replace(spread, variance=spread.variance + over_draws)


def _z(frame: Drawn, scores: FloatArray, system: int) -> _Z:
    rows = np.isfinite(frame.grade)
    if system != POOLED:
        rows &= frame.system == system
    asked, question = np.unique(frame.question[rows], return_inverse=True)
    x, y = scores[:, rows], frame.grade[rows]
    known = np.isfinite(x)
    sums = [
        _by_question(values, question, len(asked))
        for values in (
            known.astype(float),
            np.where(known, x, 0),
            np.where(known, y, 0),
            np.where(known, x * x, 0),
            np.where(known, y * y, 0),
            np.where(known, x * y, 0),
        )
    ]
    whole = _fisher([part.sum(axis=1) for part in sums])
    without = _fisher([part.sum(axis=1, keepdims=True) - part for part in sums])
    return _Z(whole, without, np.bincount(question))


def _by_question(values: FloatArray, question: IntArray, size: int) -> FloatArray:
    member = np.zeros((len(question), size))
    member[np.arange(len(question)), question] = 1
    found: FloatArray = values @ member
    return found


def _fisher(sums: Sequence[FloatArray]) -> FloatArray:
    """Fisher's z of Pearson's r from sums; NaN under 3 answers or where one side is constant.

    ``sums`` are those of 1, x, y, x squared, y squared and x times y.
    """
    n, x, y, xx, yy, xy = sums
    safe = np.maximum(n, 1)
    spread_x, spread_y = xx - x * x / safe, yy - y * y / safe
    product = spread_x * spread_y
    flat = (n < 3) | (spread_x <= 1e-12 * np.maximum(xx, 1e-300)) | (spread_y <= 1e-12 * yy)
    r = (xy - x * y / safe) / np.sqrt(np.where(flat, 1, product))
    z: FloatArray = np.where(flat, np.nan, fisher_z(r))
    return z


NAME, VERSION = "aqer_study", "1.3"
WORKERS, ANSWERS = "workers", "answers"
JUDGE, CHAI = "judge", "chai"
POOLED_ROW = POOLED  # the row of all systems together
AQER = "aqer"


def _check_sizes(value: Any) -> None:
    if not isinstance(value, (list, tuple)) or not value:
        raise BadParameter("sizes must be a list of numbers of workers")
    for one in value:
        if isinstance(one, bool) or not isinstance(one, int) or not 2 <= one <= 1000:
            raise BadParameter(f"sizes is {one!r}; whole numbers from 2 to 1000")


def _check_methods(value: Any) -> None:
    unknown = sorted(set(value) - set(SCORERS))
    if unknown:
        raise BadParameter(f"methods: {unknown[0]!r} is not known")
    if AQER not in value:
        raise BadParameter("methods must hold aqer, which the others are held against")


PARAMS = Params(
    NAME,
    (
        Param("sizes", [5, 10, 15], rule=_check_sizes),
        whole_number("repetitions", 25, 2, 500),
        choice("draw", WORKERS, (WORKERS, ANSWERS)),
        Param(
            "methods",
            [
                AQER,
                "aqer_uniterated",
                "aqer_leave_one_out",
                "rasa",
                CHAI,
                "roy",
                "bert_score",
                "f1",
                "rouge_l",
                "bleu1",
                "bleu4",
                "majority",
            ],
            rule=_check_methods,
        ),
        real_number("level", 0.95, above=0.5, below=1),
    ),
    version=VERSION,
)
DEFAULTS = PARAMS.defaults
COMPARED = ("method", "size", "difference", "low", "high", "questions", "family", "reason")
MIN_QUESTIONS = LEAST[CORRELATION]  # below it no correlation is told


@dataclass(frozen=True, eq=False)
class Study:
    """Workers' answers, the systems' answers outside of them, and what experts gave these.

    ``texts`` and ``responses`` are the same answers as vectors and as words; each has the
    systems' answers as ``outside``. ``grade`` (s,) are expert grades (0-100) of the systems'
    answers in the order in which these were given, NaN where there is none; ``judge`` (s,) what
    a language model gave them, or None.
    """

    texts: Texts
    responses: Responses
    grade: FloatArray
    judge: FloatArray | None = None

    def __post_init__(self) -> None:
        """Raise BadShape or EmptyData where the parts do not fit."""
        outside = self.texts.outside
        if outside is None or self.responses.outside is None:
            raise EmptyData("no system has answered; there is nothing to hold against grades")
        size = len(outside)
        for name, values in (("grade", self.grade), ("judge", self.judge)):
            if values is not None and np.shape(values) != (size,):
                raise BadShape(f"{name} has shape {np.shape(values)}; there are {size} answers")
        if len(self.responses.outside) != size or len(self.responses) != len(self.texts):
            raise BadShape("texts and responses do not hold the same answers")
        if not np.isfinite(self.grade).any():
            raise EmptyData("no answer of a system has a grade yet")


Scorer = Callable[[Texts, Responses, np.random.Generator], Result]


def _aqer(**params: Any) -> Scorer:
    return lambda texts, responses, rng: aqer.fit(texts, rng=rng, resamples=0, **params)


def _words(fit: Callable[..., Result]) -> Scorer:
    return lambda texts, responses, rng: fit(responses, rng=rng, resamples=0)


SCORERS: dict[str, tuple[str, Scorer]] = {
    AQER: ("AQER", _aqer(leave_one_out=False)),
    "aqer_uniterated": ("AQER, un-iterated", _aqer(vote="mean", leave_one_out=False)),
    "aqer_leave_one_out": ("AQER, leave-one-out", _aqer(leave_one_out=True)),
    "rasa": ("RASA", lambda texts, responses, rng: rasa.fit(texts, rng=rng, resamples=0)),
    CHAI: (
        chai.METHOD.title,
        lambda texts, responses, rng: chai.fit(chai.Dual(texts, responses), rng=rng, resamples=0),
    ),
    "roy": ("Roy et al. (2016)", _words(roy.fit)),
    **{slug: (one.title, _words(one.fit)) for slug, one in BASELINES.items()},
}
TITLES = {slug: title for slug, (title, _) in SCORERS.items()} | {JUDGE: "Language model as judge"}


def _frame(data: Study) -> Drawn:
    """The graded answers of systems, as draws are held against them."""
    outside = data.texts.outside
    assert outside is not None  # Study says so  # noqa: S101
    return Drawn(
        _input_order(outside, outside.worker),
        _input_order(outside, outside.question),
        data.grade,
        len(outside.workers),
        len(outside.questions),
    )


def _tick(hooks: Hooks, before: int, total: int, done: int) -> None:
    hooks.step("draws", before + done, total)


def fit(
    data: Study, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Pearson's r of each method's scores with the grades, by number of workers and by system.

    Parameters: ``sizes`` (numbers M of workers; those beyond what there is are left out and
    told), ``repetitions`` draws of each, ``draw`` 'workers' (M workers, as published) or
    'answers' (M answers to each question, for crowds in which nobody answered everything),
    ``methods`` (names in SCORERS, aqer among them), ``level``.

    Tables: ``system`` with a row a method, size and system (index; -1: all answers pooled): ``r``
    the mean over draws (of Fisher's z), ``low``/``high`` over questions and draws together
    (jackknife over questions, plus the draws' own error), ``draw_low``/``draw_high`` over draws
    alone as published, ``questions``, ``defined`` draws. ``against`` with a row a method and
    size: its pooled r less AQER's on the same draws, with an interval of that difference. The
    intervals of a size hold all at once (Bonferroni over its ``family`` of methods). ``measures``:
    at the largest size, Pearson's r and Spearman's rho over all answers and their differences from
    AQER's by BCa over questions and draws, with Holm's p-values.
    The judge, who sees no worker, is the same at every size. Raises TooFewWorkers, BadParameter,
    Cancelled.
    """
    settings, hooks = PARAMS.settings(params), hooks or Hooks()
    there = _largest(data.texts, settings["draw"])
    sizes = [size for size in settings["sizes"] if size <= there]
    if not sizes:
        raise TooFewWorkers(f"there are {there} {settings['draw']} to draw from, fewer than asked")
    frame = _frame(data)
    rows: list[dict[str, Any]] = []
    against: list[dict[str, Any]] = []
    total = len(sizes) * settings["repetitions"]
    scores: dict[str, FloatArray] = {}
    for at, size in enumerate(sizes):
        before = at * settings["repetitions"]
        tick = partial(_tick, hooks, before, total)
        scores = _scores(data, size, settings, rng, tick)
        family = len(scores) - 1
        for slug, drawn in scores.items():
            told = by_system(frame, drawn, settings["level"], MIN_QUESTIONS)
            rows += [{"method": slug, "size": size, **row} for row in told]
            if slug != AQER:
                level = family_level(settings["level"], family)
                gap = compare_r(frame, drawn, scores[AQER], level)
                against.append({"method": slug, "size": size, **gap, "family": family})
    measures = compare_correlations(
        scores,
        data.grade,
        frame.question,
        base=AQER,
        rng=rng,
        level=settings["level"],
        noun="questions",
    )
    return PARAMS.result(
        settings,
        {
            "system": of_rows(rows),
            "against": of_rows(against, COMPARED),
            "measures": measures,
        },
        {
            "sizes": sizes,
            "left_out": [s for s in settings["sizes"] if s > there],
            "there": there,
            "graded": int(np.isfinite(data.grade).sum()),
            "titles": {slug: TITLES[slug] for slug in dict.fromkeys(row["method"] for row in rows)},
        },
    )


def _input_order(outside: Texts, values: IntArray) -> IntArray:
    """Values of sorted outside answers in the order in which they were given."""
    out = np.empty(len(values), dtype=np.int64)
    out[outside.source] = values
    return out


def _largest(texts: Texts, draw: str) -> int:
    if draw == WORKERS:
        return len(np.unique(texts.worker))
    return int(np.bincount(texts.question).max())


def draw_rows(texts: Texts, size: int, draw: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw ``size`` workers (or answers per question) and return which answers (n,) remain."""
    if draw == WORKERS:
        chosen = rng.choice(np.unique(texts.worker), size=size, replace=False)
        found: NDArray[np.bool_] = np.isin(texts.worker, chosen)
        return found
    luck = rng.random(len(texts))
    order = np.lexsort((luck, texts.question))
    opens = np.searchsorted(texts.question[order], texts.question[order])
    keep = np.zeros(len(texts), dtype=bool)
    keep[order] = np.arange(len(order)) - opens < size
    return keep


def _scores(
    data: Study,
    size: int,
    settings: dict[str, Any],
    rng: np.random.Generator,
    step: Callable[[int], None],
) -> dict[str, FloatArray]:
    """Scores (draws, s) of the systems' answers by every method, on the same draws."""
    methods: Sequence[str] = settings["methods"]
    if data.responses.vectors is None:
        methods = [slug for slug in methods if slug != "bert_score"]
    if size > chai.MOST:
        methods = [slug for slug in methods if slug != CHAI]
    shape = (settings["repetitions"], len(data.grade))
    found = {slug: np.full(shape, np.nan) for slug in methods}
    for number in range(settings["repetitions"]):
        step(number)
        keep = draw_rows(data.texts, size, settings["draw"], rng)
        texts, responses = _select_answers(data.texts, keep), _select_answers(data.responses, keep)
        for slug in methods:
            try:
                table = SCORERS[slug][1](texts, responses, rng).estimates["system_answer"]
            except TooFewWorkers:
                continue  # the drawn workers share no question: this draw says nothing
            found[slug][number, table["source"]] = table["score"]
    if data.judge is not None:
        found[JUDGE] = np.tile(data.judge, (settings["repetitions"], 1))
    return found


def _select_answers(data: Any, keep: NDArray[np.bool_]) -> Any:
    """The same data with some answers only; names and outside answers stay."""
    rows = {name: getattr(data, name)[keep] for name in ("worker", "question", "source")}
    which = "vector" if isinstance(data, Texts) else "text"
    # Sources must count from 0, as methods scatter with them.
    rows["source"] = np.argsort(np.argsort(rows["source"]))
    return replace(data, **rows, **{which: getattr(data, which)[keep]})


METHOD = PARAMS.as_method("Systems against expert grades", Study, fit)
