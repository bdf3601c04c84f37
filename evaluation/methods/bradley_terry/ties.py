"""How a comparison ends: Bradley-Terry with three treatments of ties, and their derivatives.

With ``x`` the log-merit of one candidate over the other (and what its side adds to it):

- 'davidson' (Davidson 1970, JASA 65:317-328): win, tie, loss are as exp(x/2), nu, exp(-x/2); the
  tie parameter is log nu;
- 'rao_kupper' (Rao and Kupper 1967, JASA 62:194-204): win 1 / (1 + theta exp(-x)), loss
  1 / (1 + theta exp(x)), tie the rest; the tie parameter is log theta, which is positive;
- 'none': win 1 / (1 + exp(-x)); a tie is half a win and half a loss.

Each log-likelihood is concave in (merits, side, tie parameter) together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.methods.core.base import FloatArray

TIES = ("davidson", "rao_kupper", "none")


@dataclass(frozen=True, eq=False)
class Terms:
    """Log-likelihood ``value`` (-inf where Rao and Kupper's parameter is not positive), and per
    cell (c,) its derivatives: ``x`` and ``t`` (tie parameter) are first ones, ``xx``, ``xt`` and
    ``tt`` minus the second ones.
    """

    value: float
    x: FloatArray
    xx: FloatArray
    t: FloatArray
    xt: FloatArray
    tt: FloatArray


def terms(
    ties: str, x: FloatArray, tie: float, counts: tuple[FloatArray, FloatArray, FloatArray]
) -> Terms:
    """Derivatives at log-odds ``x`` (c,) for ``counts`` of wins, ties and losses, each (c,)."""
    if ties == "davidson":
        return _davidson(x, tie, *counts)
    if ties == "rao_kupper":
        return _rao_kupper(x, tie, *counts)
    win, even, loss = counts
    return _plain(x, win + even / 2, loss + even / 2)


def probabilities(
    ties: str, x: FloatArray, tie: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chances (c,) of win, tie and loss; 'none' knows no tie."""
    if ties == "davidson":
        win, even, loss, _ = _shares(x, tie)
        return win, even, loss
    shift = tie if ties == "rao_kupper" else 0.0
    win, loss = scipy.special.expit(x - shift), scipy.special.expit(-x - shift)
    return win, np.expm1(2 * shift) * win * loss, loss


def scores(ties: str, x: FloatArray, tie: float) -> tuple[FloatArray, FloatArray]:
    """Return what a win, tie or loss adds to the gradient: (3, c) by log-odds, (3, c) by tie."""
    win, even, loss = probabilities(ties, x, tie)
    zero = np.zeros_like(x)
    if ties == "davidson":
        lean = (win - loss) / 2
        return np.stack([0.5 - lean, -lean, -0.5 - lean]), np.stack([-even, 1 - even, -even])
    if ties == "rao_kupper":
        up, down = 1 - win, 1 - loss
        room = 2 / -np.expm1(-2 * tie)
        return np.stack([up, up - down, -down]), np.stack([-up, room - up - down, -down])
    return np.stack([1 - win, 0.5 - win, -win]), np.stack([zero, zero, zero])


def start(ties: str, counts: tuple[FloatArray, FloatArray, FloatArray]) -> float:
    """The tie parameter that fits if all merits are equal."""
    win, even, loss = (float(count.sum()) for count in counts)
    share = even / (win + even + loss)
    return float(np.log(2 * share / (1 - share)) if ties == "davidson" else 2 * np.arctanh(share))


def _logistic(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 / (1 + exp(-x)) and its logarithm, from one exponential."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small), np.minimum(x, 0.0) - np.log1p(small)


def _shares(x: FloatArray, tie: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Davidson's chances of win, tie and loss, and the logarithm of what they were divided by."""
    half = np.abs(x) / 2
    most = np.maximum(half, tie)
    better, even, worse = np.exp(half - most), np.exp(tie - most), np.exp(-half - most)
    total = better + even + worse
    first = x >= 0
    win, loss = np.where(first, better, worse), np.where(first, worse, better)
    return win / total, even / total, loss / total, most + np.log(total)


def _plain(x: FloatArray, win: FloatArray, loss: FloatArray) -> Terms:
    chance, log_chance = _logistic(x)
    n, zero = win + loss, np.zeros_like(x)
    return Terms(
        value=float((n * log_chance - loss * x).sum()),
        x=win - n * chance,
        xx=n * chance * (1 - chance),
        t=zero,
        xt=zero,
        tt=zero,
    )


def _davidson(
    x: FloatArray, tie: float, win: FloatArray, even: FloatArray, loss: FloatArray
) -> Terms:
    n, ahead = win + even + loss, (win - loss) / 2
    p_win, p_even, p_loss, log_total = _shares(x, tie)
    lean = (p_win - p_loss) / 2
    return Terms(
        value=float((ahead * x + even * tie - n * log_total).sum()),
        x=ahead - n * lean,
        xx=n * ((p_win + p_loss) / 4 - lean**2),
        t=even - n * p_even,
        xt=-n * p_even * lean,
        tt=n * p_even * (1 - p_even),
    )


def _rao_kupper(
    x: FloatArray, tie: float, win: FloatArray, even: FloatArray, loss: FloatArray
) -> Terms:
    # A tie is as likely as a win times a loss, so it counts as one of each.
    up, down = win + even, loss + even
    (p_win, log_win), (p_loss, log_loss) = _logistic(x - tie), _logistic(-x - tie)
    v_win, v_loss = up * p_win * (1 - p_win), down * p_loss * (1 - p_loss)
    s_win, s_loss = up * (1 - p_win), down * (1 - p_loss)
    gone = -np.expm1(-2 * tie)
    room = even.sum() * (2 * tie + np.log(gone)) if tie > 0 else -np.inf
    return Terms(
        value=float((up * log_win + down * log_loss).sum() + room),
        x=s_win - s_loss,
        xx=v_win + v_loss,
        t=even * (2 / gone) - s_win - s_loss,
        xt=v_loss - v_win,
        tt=v_win + v_loss + even * (4 * (1 - gone) / gone**2),
    )
