"""Correlations of drawn scores with grades: means over draws, intervals over questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from evaluation.methods.checklists.correlation import jackknife_error
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.units import CORRELATION, too_few

POOLED = -1
NEARLY = 1 - 1e-12


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
    """Fisher's z of each draw (d,), and with each question left out (d, q); NaN if undefined."""

    whole: FloatArray
    without: FloatArray
    questions: int


def by_system(frame: Drawn, scores: FloatArray, level: float, least: int) -> list[dict[str, Any]]:
    """A row a system and one pooled: mean r over draws with both intervals (see aqer_study.fit).

    ``scores`` (draws, s). A system with fewer than ``least`` graded questions has NaN for r.
    """
    rows = []
    for system in (POOLED, *range(frame.systems)):
        found = _z(frame, scores, system)
        row: dict[str, Any] = {"system": system, "questions": found.questions}
        if found.questions < least:
            found = _Z(np.full(len(scores), np.nan), found.without, found.questions)
        rows.append(row | _told(found, level))
    return rows


def compared(
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
    if why := too_few(one.questions, "questions", CORRELATION):
        return {**told, "reason": why}
    left = sides[0].without - sides[1].without
    drawn = sides[0].drawn - sides[1].drawn
    over_draws = float(drawn.var(ddof=1)) / len(drawn) if len(drawn) > 1 else 0.0
    error = (jackknife_error(left) ** 2 + over_draws) ** 0.5
    reach = float(-stdtrit(one.questions - 1, (1 - level) / 2)) * error
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


def _told(found: _Z, level: float) -> dict[str, Any]:
    defined = np.isfinite(found.whole)
    told = dict.fromkeys(("r", "low", "high", "draw_low", "draw_high"), np.nan)
    told["defined"] = int(defined.sum())
    if not defined.any():
        return told
    mean, error = _mean_error(found)
    reach = -stdtrit(max(found.questions - 1, 1), (1 - level) / 2) * error
    told.update(
        r=float(np.tanh(mean)), low=float(np.tanh(mean - reach)), high=float(np.tanh(mean + reach))
    )
    r = np.tanh(found.whole[defined])
    if len(r) > 1:
        spread = float(r.std(ddof=1) / np.sqrt(len(r)))
        width = float(-stdtrit(len(r) - 1, (1 - level) / 2)) * spread
        told.update(draw_low=float(r.mean()) - width, draw_high=float(r.mean()) + width)
    return told


def _mean_error(found: _Z) -> tuple[float, float]:
    """Mean over draws and its standard error over questions (jackknife) and draws together."""
    kept = found.whole[np.isfinite(found.whole)]
    if not len(kept):
        return float("nan"), float("nan")
    mean, draws = float(kept.mean()), len(kept)
    left = found.without[np.isfinite(found.whole)]
    left = np.where(np.isfinite(left), left, kept[:, None]).mean(axis=0)
    q = len(left)
    over_questions = (q - 1) / q * float(((left - left.mean()) ** 2).sum()) if q > 1 else np.nan
    over_draws = float(kept.var(ddof=1)) / draws if draws > 1 else 0.0
    return mean, float(np.sqrt(over_questions + over_draws))


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
    return _Z(whole, without, len(asked))


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
    z: FloatArray = np.where(flat, np.nan, np.arctanh(np.clip(r, -NEARLY, NEARLY)))
    return z
