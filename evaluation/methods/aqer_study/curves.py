"""How many questions and workers it takes: AQER on random parts of a graded crowd (App. E, F2).

Each subset is scored anew, as if nothing else had been asked, and its workers' scores are held
against their grades. The scores are AQER's raw means with the own answer left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.methods.agreement.significance import fisher_z
from evaluation.methods.aqer.rounds import PUBLISHED, iterate, mean_by_worker, prepare
from evaluation.methods.core.base import FloatArray, Hooks, IntArray, Table, Texts, of_rows
from evaluation.methods.core.units import CORRELATION, LEAST

QUESTIONS, WORKERS = "questions", "workers"
SIZES = {
    QUESTIONS: (3, 5, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200),
    WORKERS: (5, 8, 10, 12, 15, 20, 30, 40, 60, 100),
}
COLUMNS = ("kind", "size", "r", "low", "high", "r_all", "subsets", "shown", "whole")
MOST_ANSWERS = 20_000  # beyond which hundreds of fits take too long
SHOWN_AT = 1.959964  # Fisher's z, two-sided p below .05


def curves(
    texts: Texts,
    grade: FloatArray,
    *,
    rng: np.random.Generator,
    subsets: int = 50,
    hooks: Hooks | None = None,
) -> Table:
    """Pearson's r of scores with mean grades, by the number of questions and of workers.

    ``grade`` (n,) are in the order of ``texts``, NaN where there is none; questions and workers
    without a grade are left out. A row a ``kind`` and size: ``r`` the mean over ``subsets`` with
    the grades of the same answers, ``low`` and ``high`` the 2.5th and 97.5th
    percentile of the subsets, NaN at the ``whole``; ``r_all`` with the grades of all answers of
    these workers; ``shown`` of the ``subsets`` that have an r differ from 0 with p < .05. No rows
    without subsets, grades, or of more than MOST_ANSWERS.
    """
    hooks = hooks or Hooks()
    graded = np.isfinite(grade) & (subsets > 0) & (len(texts) <= MOST_ANSWERS)
    sides = {QUESTIONS: texts.question, WORKERS: texts.worker}
    every = {kind: np.unique(side[graded]) for kind, side in sides.items()}
    rows = []
    plan = [(kind, size) for kind in sides for size in sizes_of(kind, len(every[kind]))]
    for at, (kind, size) in enumerate(plan):
        hooks.step("curves", at, len(plan))
        whole = size == len(every[kind])
        found = [
            _correlate(texts, grade, np.isin(sides[kind], chosen))
            for chosen in _draws(every[kind], size, 1 if whole else subsets, rng)
        ]
        rows.append({"kind": kind, "size": size, "whole": whole, **_summary(found, whole=whole)})
    return of_rows(rows, COLUMNS)


def sizes_of(kind: str, total: int) -> list[int]:
    """List the sizes to draw, up to ``total``; [] if there are too few."""
    least = SIZES[kind][0]
    return [*(size for size in SIZES[kind] if size < total), total] if total >= least else []


def _draws(every: IntArray, size: int, count: int, rng: np.random.Generator) -> Iterator[IntArray]:
    for _ in range(count):
        yield rng.choice(every, size=size, replace=False)


def _correlate(texts: Texts, grade: FloatArray, keep: Any) -> tuple[float, float, int]:
    """r with the grades of the kept answers, with all of these workers, and of how many workers."""
    select = np.flatnonzero(keep)
    size = len(texts.workers)
    if np.bincount(texts.question[select]).max(initial=0) < 2:
        return np.nan, np.nan, 0
    rows, workers, _ = prepare(texts, select)
    options = replace(PUBLISHED, leave_one_out=True)
    score = np.full(size, np.nan)
    score[workers] = iterate(rows, options, np.random.default_rng(0)).grades
    same = mean_by_worker(grade[select], texts.worker[select], size)
    every = mean_by_worker(grade, texts.worker, size)
    return _r(score, same), _r(score, every), int(np.isfinite(score + same).sum())


def _r(one: FloatArray, other: FloatArray) -> float:
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < LEAST[CORRELATION] or min(np.ptp(one[both]), np.ptp(other[both])) < 1e-12:
        return np.nan
    return float(np.corrcoef(one[both], other[both])[0, 1])


def _summary(found: Sequence[tuple[float, float, int]], *, whole: bool) -> dict[str, Any]:
    r, r_all, n = (np.array(values, dtype=np.float64) for values in zip(*found, strict=True))
    known = np.isfinite(r)
    z = fisher_z(r[known])
    ends = (np.nan, np.nan)
    if not whole and known.sum() > 1:
        ends = tuple(np.quantile(r[known], [0.025, 0.975]))
    return {
        "r": _mean(r),
        "low": ends[0],
        "high": ends[1],
        "r_all": _mean(r_all),
        "subsets": int(known.sum()),
        "shown": int((np.abs(z) * np.sqrt(np.maximum(n[known] - 3, 0)) > SHOWN_AT).sum()),
    }


def _mean(r: FloatArray) -> float:
    known = r[np.isfinite(r)]
    return float(known.mean()) if len(known) else np.nan
