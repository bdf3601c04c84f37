"""From how many units an interval is told: one rule for every figure.

A unit is what was sampled: a topic, not its pairs; a worker, not their votes. An interval from few
units holds the truth less often than it says, so below the least number of its kind there is none,
and a sentence says so. The least numbers are where ``python -m tests.studies.small_samples``
measured that intervals at .95 hold the truth in .92 to .97 of simulated data sets, on average over
designs (200 data sets a design; simulation error .005 to .01). Where there is no interval, what it
would have covered follows a minus:

=================  ====  ====  ====  ====  ====  ====  ====
units                 2     3     5     6    10    15    20
=================  ====  ====  ====  ====  ====  ====  ====
share             -.990 -.992  .965  .967  .942  .946  .936
mean              -.952 -.926  .927  .923  .937  .948  .935
resampled         -.499 -.733 -.911 -.907  .938  .923  .931
alpha             -.172 -.477 -.816 -.867 -.940  .937  .939
percent           -.990 -.977 -.984 -.973  .953  .955  .965
kappa             -.539 -.756 -.902 -.923 -.935  .943  .948
rho                   - -.337 -.767 -.920  .953  .970  .963
correlation           -     -  .951  .958  .942  .947  .928
difference of r   -.998 -.968  .955  .970  .978  .942  .955
=================  ====  ====  ====  ====  ====  ====  ====

What came later, by ``python -m tests.studies.small_samples_ranked`` (150 data sets a design):

=================  ====  ====  ====  ====  ====  ====  ====
units                 2     3     5    10    15    20    30
=================  ====  ====  ====  ====  ====  ====  ====
tau                   - -1.00 -.822 -.840 -.887 -.896  .929
change of tau     -.000 -.219 -.515 -.845 -.903 -.910  .957
similarity            - -.992 -.985  .964  .957  .965  .957
board             -.990  .967  .959     -     -     -     -
=================  ====  ====  ====  ====  ====  ====  ====

"tau" (a question's yes beside human scores) and "change of tau" (under rescaling) are ``ranked``:
jackknives over texts or items. Boards cover too much from few tasks, where the variance between
tasks is cut at 0; similarities likewise where no theme is more frequent than others.

"alpha" and "kappa" are of kind ``agreement``, "rho" is ``resampled``, "difference of r" is
``correlation``. Single designs lie further off: the study prints the least and the largest.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

# Kinds of intervals.
SHARE = "share"
MEAN = "mean"
RESAMPLED = "resampled"
AGREEMENT = "agreement"
PERCENT = "percent"
CORRELATION = "correlation"
RANKED = "ranked"
SIMILARITY = "similarity"
BOARD = "board"

LEAST: dict[str, int] = {
    BOARD: 3,
    SHARE: 5,
    MEAN: 5,
    CORRELATION: 5,
    SIMILARITY: 10,
    PERCENT: 10,
    RESAMPLED: 10,
    AGREEMENT: 15,
    RANKED: 30,
}
SAME = 1e-9  # width below which resamples say nothing
ALL_SAME = "every resample gives this value, so no interval"


def too_few(units: int, noun: str, kind: str) -> str:
    """Why ``units`` (named by the plural ``noun``) give no interval of a kind; "" where they do."""
    least = LEAST[kind]
    if units >= least:
        return ""
    return f"{counted(units, noun)}; an interval needs {least}"


def simultaneous(confidence: float, family: int) -> float:
    """The level of each of ``family`` intervals that hold all at once (Bonferroni)."""
    return 1 - (1 - confidence) / max(1, family)


def counted(number: int, noun: str) -> str:
    """``1 topic``, ``5 topics`` from the plural."""
    return f"{number} {noun[:-1] if number == 1 else noun}"


def wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's (1927) interval of a share of ``n`` independent trials, or of an effective n."""
    z = float(ndtri((1 + confidence) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, float(middle - reach)), min(1.0, float(middle + reach))


def fisher(r: float, n: int, confidence: float) -> tuple[float, float]:
    """Fisher's (1921) interval of Pearson's r of ``n`` independent pairs, 4 or more."""
    reach = float(ndtri((1 + confidence) / 2)) / (n - 3) ** 0.5
    middle = float(np.arctanh(np.clip(r, -0.9999, 0.9999)))
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def effective_trials(
    share: float, variance: float, *, trials: float, units: int, confidence: float
) -> float:
    """How many independent trials a share from clustered ones is worth.

    ``trials`` over the design effect (Kish 1965, section 8.2), which is taken as 1 or more, times
    the squared ratio of the t quantiles of trials and of units, since a variance between few units
    is hardly known (Korn and Graubard 1998, "Confidence intervals for proportions with small
    expected number of positive counts"). Where all trials or none show it, the number of units.
    """
    if not 0 < share < 1:
        return float(units)
    effect = max(1.0, variance * trials / (share * (1 - share)))
    tail = (1 + confidence) / 2
    known = stdtrit(max(trials, 2.0) - 1, tail) / stdtrit(units - 1, tail)
    return float(trials / effect * min(1.0, known) ** 2)
