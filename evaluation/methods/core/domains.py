"""Standing over several tasks of one domain: how far people lie apart, joined over its tasks.

Tasks differ in difficulty, in who took part and in how far apart their scores lie, so neither
scores nor ranks of different tasks are averaged. Only differences between authors within one task
enter, each with how sure it is, and they are joined as trials are in a network meta-analysis:

    y_it = theta_i + mu_t + u_it + e_it,    u_it ~ N(0, tau^2),    Cov(e_t) = V_t known.

The level mu_t of a task is free, so a harder task moves nobody; theta is the standing of an author
around 0, the mean of a board; u is how one author's standing changes from task to task. tau^2 is
the value at which the generalised Q statistic equals its degrees of freedom (Paule and Mandel 1982;
its interval: Jackson et al. 2014, "Methods for calculating confidence and credible intervals for
the residual between-study variance in random effects meta-regression models"). There the factor of
Hartung and Knapp is 1, so intervals are t with those degrees of freedom (Knapp and Hartung 2003);
where tau^2 is cut at 0 they are wider than they need to be. Comparisons within a board are
simultaneous over all pairs, by the largest standardised difference of a multivariate t (Hothorn,
Bretz and Westfall 2008). Two things are taken as known that are estimated: the covariances V_t, and
that answers to one question err independently once the question's own level is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from evaluation.methods.core import bootstrap
from evaluation.methods.core.base import BadShape, EmptyData, FloatArray, IntArray, index_array
from evaluation.methods.core.components import components
from evaluation.methods.core.inference import t_quantile
from evaluation.methods.core.units import BOARD, too_few_units

NAME, VERSION = "domain", "1.0"
DRAWS = 4000
MOST_DRAWN = 250  # authors up to which all pairs are drawn; above, the bound is Bonferroni's
MIN_FREEDOM = 10  # of a task's residuals, below which their spread is not known well enough
MOST_STEPS = 200


class NotEnough(EmptyData):
    """A task that cannot enter, and why."""


@dataclass(frozen=True, eq=False)
class Part:
    """One connected component of one task: its authors' scores there, up to a common constant.

    ``author`` (m,) indexes the authors of the domain, each once; ``score`` (m,) in the unit that
    all parts share; ``cov`` (m, m) is its sampling covariance, of which only what it says of
    differences is used; ``answers`` (m,) counts what each score rests on.
    """

    author: IntArray
    score: FloatArray
    cov: FloatArray
    answers: IntArray


@dataclass(frozen=True, eq=False)
class Board:
    """Authors (k,) whom shared tasks connect, best first.

    ``estimate`` is the standing around the board's mean, ``low``/``high`` its interval (NaN where
    ``reason`` says why), ``rank_low``/``rank_high`` the possible ranks and ``group`` the group that
    cannot be separated (0 without). ``tau`` with its interval is how much an author's standing
    changes from task to task; ``freedom`` what intervals rest on; ``parts`` which parts joined.
    """

    author: IntArray
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    group: IntArray
    separable: NDArray[np.bool_]
    tasks: IntArray
    answers: IntArray
    parts: tuple[int, ...]
    tau: float
    tau_low: float
    tau_high: float
    freedom: int
    reason: str


def adjust_scores(
    author: Sequence[int] | IntArray, question: Sequence[int] | IntArray, score: FloatArray
) -> Part:
    """A part from scores (n,) of answers: author effects beside question effects, least squares.

    The unit is the spread of a single answer around both effects (the residual standard deviation),
    so that tasks whose scores lie close together count like others, and who took part does not
    change the unit, as it would with a minimum and a maximum or with the authors' own spread.
    Several answers of an author to a question count as their mean. ``author`` may be any integers;
    the part has each once, ascending. Raises EmptyData, BadShape, NotEnough.
    """
    names, who = np.unique(np.asarray(author, dtype=np.int64), return_inverse=True)
    asked, where = np.unique(np.asarray(question, dtype=np.int64), return_inverse=True)
    values = np.asarray(score, dtype=np.float64)
    if values.shape != who.shape or where.shape != who.shape:
        raise BadShape(f"{len(who)} authors, {len(where)} questions and {len(values)} scores")
    if not len(values) or not np.isfinite(values).all():
        raise EmptyData("there is no score, or one that is not a number")
    given = np.bincount(who)
    cell, at = np.unique(where * len(names) + who, return_inverse=True)
    values = np.bincount(at, weights=values) / np.bincount(at)
    q, w = np.divmod(cell, len(names))
    part, _ = components(w, q, len(names), len(asked))
    if len(names) < 2 or part.max() > 1:
        raise NotEnough("its authors share too few questions to be compared with each other")
    mean = np.bincount(q, weights=values) / np.bincount(q)
    shown = np.zeros((len(asked), len(names)))
    shown[q, w] = 1.0
    inverse = np.linalg.pinv(
        np.diag(np.bincount(w).astype(np.float64)) - (shown / shown.sum(1)[:, None]).T @ shown,
        hermitian=True,
    )
    effect = inverse @ np.bincount(w, weights=values - mean[q])
    level = mean - (shown @ effect) / shown.sum(axis=1)
    freedom = len(values) - len(names) - len(asked) + 1
    if freedom < MIN_FREEDOM:
        raise NotEnough(
            f"{max(0, freedom)} answers more than authors and questions need; the spread of a "
            f"single answer is known from {MIN_FREEDOM} on"
        )
    spread = float(np.sqrt(((values - effect[w] - level[q]) ** 2).sum() / freedom))
    if spread < 1e-9:
        raise NotEnough("its scores do not vary, so differences have no unit")
    return Part(names, effect / spread, inverse, given)


def pool(
    parts: Sequence[Part], authors: int, *, rng: np.random.Generator, level: float = 0.95
) -> list[Board]:
    """Boards of the ``authors`` whom ``parts`` connect, the largest first; see the module.

    A part that shares no author with another one makes no board: its own task's board says more.
    """
    used = [k for k, part in enumerate(parts) if len(part.author) > 1]
    if not used:
        return []
    for k in used:
        index_array("author", parts[k].author, authors)
    who = np.concatenate([parts[k].author for k in used])
    which = np.concatenate([np.full(len(parts[k].author), k) for k in used])
    _, number = components(who, which, authors, len(parts))
    boards = []
    for component in range(1, int(number.max()) + 1):
        inside = [k for k in used if number[k] == component]
        if len(inside) > 1:
            boards.append(_board([parts[k] for k in inside], tuple(inside), rng, level))
    return boards


@dataclass(frozen=True, eq=False)
class _Rows:
    """All differences within tasks as independent rows: value (N,), design (N, k-1), variance."""

    value: FloatArray
    design: FloatArray
    variance: FloatArray
    basis: FloatArray  # (k, k-1): free coordinates to standings that sum to 0

    @property
    def freedom(self) -> int:
        """Return the residual degrees of freedom: rows less columns of the design."""
        return len(self.value) - self.design.shape[1]

    def solve(self, tau2: float) -> tuple[FloatArray, FloatArray, float, float]:
        """Coordinates, their covariance, Q at this tau^2, and how steeply Q falls there."""
        weight = 1.0 / (self.variance + tau2)
        inverse = np.linalg.inv((self.design * weight[:, None]).T @ self.design)
        beta = inverse @ (self.design.T @ (weight * self.value))
        rest = weight * (self.value - self.design @ beta)
        # The coordinates minimise Q, so only the weights' own change counts in its slope.
        return (
            beta,
            np.asarray(inverse, dtype=np.float64),
            float((rest**2 / weight).sum()),
            float((rest**2).sum()),
        )


def _around(size: int) -> FloatArray:
    """(size, size-1): an orthonormal basis of what sums to 0."""
    return np.asarray(np.linalg.qr(np.eye(size) - 1.0 / size)[0][:, : size - 1])


def _rows(parts: Sequence[Part], authors: IntArray) -> _Rows:
    basis, value, design, variance = _around(len(authors)), [], [], []
    for part in parts:
        around = _around(len(part.author))
        own, turn = np.linalg.eigh(around.T @ part.cov @ around)
        free = turn.T @ around.T
        place = np.searchsorted(authors, part.author)
        value.append(free @ part.score)
        design.append(free @ basis[place])
        variance.append(np.maximum(own, 1e-12))
    return _Rows(np.concatenate(value), np.vstack(design), np.concatenate(variance), basis)


def _tau2(rows: _Rows, target: float) -> float:
    """tau^2 at which Q, which falls in it, equals ``target``; 0 where it is never above it.

    Q is convex in tau^2, so Newton's steps from 0 come up from below and never pass the value.
    """
    tau2 = 0.0
    for _ in range(MOST_STEPS):
        *_, q, slope = rows.solve(tau2)
        if q - target <= 1e-10 * target:
            break
        tau2 += (q - target) / slope
    return tau2


def _board(
    parts: Sequence[Part], numbers: tuple[int, ...], rng: np.random.Generator, level: float
) -> Board:
    authors = np.unique(np.concatenate([part.author for part in parts]))
    rows, k = _rows(parts, authors), len(authors)
    freedom, tail = rows.freedom, (1 - level) / 2
    tau2 = _tau2(rows, freedom) if freedom else 0.0
    beta, inverse, *_ = rows.solve(tau2)
    estimate, cov = rows.basis @ beta, rows.basis @ inverse @ rows.basis.T
    low, high = np.full(k, np.nan), np.full(k, np.nan)
    apart = np.zeros((k, k), dtype=bool)
    bounds, reason = (np.nan, np.nan), too_few_units(len(parts), "tasks", BOARD)
    if freedom and not reason:
        reach = float(t_quantile(level, freedom)) * np.sqrt(np.diag(cov))
        low, high = estimate - reach, estimate + reach
        apart = _apart(estimate, cov, freedom, rng, level)
        upper, lower = (
            float(scipy.special.chdtri(freedom, 1 - tail)),
            float(scipy.special.chdtri(freedom, tail)),
        )
        bounds = (_tau2(rows, lower) ** 0.5, _tau2(rows, upper) ** 0.5)
    elif not freedom:
        reason = (
            "tasks are joined by one author each, which does not show how much a standing "
            "changes from task to task"
        )
    best, worst = bootstrap.rank_ranges(estimate, apart)
    group = bootstrap.groups(estimate, apart)
    order = np.argsort(-estimate, kind="stable")
    held = [np.searchsorted(authors, part.author) for part in parts]
    tasks = np.bincount(np.concatenate(held), minlength=k)
    answers = np.bincount(
        np.concatenate(held), weights=np.concatenate([part.answers for part in parts]), minlength=k
    ).astype(np.int64)
    known = not reason
    return Board(
        authors[order],
        estimate[order],
        low[order],
        high[order],
        best[order] * known,
        worst[order] * known,
        group[order] * known,
        apart[np.ix_(order, order)],
        tasks[order],
        answers[order],
        numbers,
        tau2**0.5 if freedom else float("nan"),
        *bounds,
        freedom,
        reason,
    )


def _apart(
    point: FloatArray, cov: FloatArray, freedom: int, rng: np.random.Generator, level: float
) -> NDArray[np.bool_]:
    """(k, k): where the simultaneous interval of the difference leaves out 0."""
    k, spread = len(point), np.diag(cov)
    error = np.sqrt(np.maximum(spread[:, None] + spread[None, :] - 2 * cov, 0.0))
    usable = error > 1e-12
    if k > MOST_DRAWN:
        critical = float(t_quantile(level, freedom, k * (k - 1) // 2))
    else:
        values, vectors = np.linalg.eigh(cov)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws = rng.standard_normal((DRAWS, k)) @ root.T
        draws *= np.sqrt(freedom / rng.chisquare(freedom, DRAWS))[:, None]
        critical = float(np.quantile(bootstrap.largest(draws, error, usable), level))
    apart: NDArray[np.bool_] = usable & (np.abs(point[:, None] - point[None, :]) > critical * error)
    return apart
