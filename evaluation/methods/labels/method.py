"""What a crowd's labels say of its items, workers and classes, by four methods side by side.

Majority vote, Dawid-Skene (1979), MACE (Hovy et al. 2013) and GLAD (Whitehill et al. 2009). The
methods agree on easy items; where they differ, a person should look. Labels have no order unless
``ordered`` says so, and every worker labels an item once.

Tables of estimates. Indices are those of the input ``Labels``; -1 means none, NaN not known.

``worker``, a row a worker:

==================  ===========================================================================
worker              index
n                   labels given
competence          chance to label an item right, averaged over the classes (each class counts
                    the same, so that always giving the most frequent label is no better than
                    guessing); by the model that ``competence_from`` names
low, high           its interval at ``level``
chance              competence of somebody who labels without looking, however often they give
                    each label: 1 / classes given in the worker's component
mace, mace_low,     MACE's competence: chance to know, from 0
mace_high
glad                GLAD's ability: 0 labels by a coin, below 0 wrongly on purpose
known_n             labels on items whose known answer is given (``gold``)
known_right         how many of them are right
known_low,          Wilson's interval of their share; NaN below the least number (units.SHARE)
known_high
mistake_from,       the worker's most frequent confusion: label ``mistake_to`` where
mistake_to          ``mistake_from`` is true; -1 where none stands out (see workers.py)
mistake_share       how often an item of ``mistake_from`` gets ``mistake_to`` by the worker
same_label          the label that the worker always or nearly always gives, by the rule of
                    same_label.py; else -1
group               BETTER (0: low > chance), UNKNOWN (1: cannot be told from guessing),
                    ONE_LABEL (2: same_label). The group is Dawid-Skene's whatever
                    ``competence_from`` says, since MACE's interval never holds chance
reliable            1.0 where low is above the threshold ``reliable``, 0.0 where not, NaN without
                    a threshold
component           part of the crowd that is linked by items, from 1; 0: not scored, with NaN
==================  ===========================================================================

``confusion``, a row a scored worker and two labels: worker, true, given, probability, low, high
(Dawid-Skene).

``item``, a row an item: item, n, majority (-1: two labels are level), dawid_skene, mace, glad
(labels), posterior (Dawid-Skene's of its label), mace_posterior, glad_posterior, entropy (of
Dawid-Skene's posterior, nats), difficulty (GLAD's 1 / beta, 1 / e is usual), gold (-1: not known),
differ (bool: two of the methods that have a label differ), component.

``posterior``, soft labels, a row a method, item and label: method (index into METHODS), item,
label, probability (of majority: share of the votes). Items without votes are left out.

``class``, a row a label: label, prevalence, low, high (Dawid-Skene, over all scored items),
majority_share (share of the items that have a majority).

``agreement``, a row a coefficient and scope: coefficient (COEFFICIENTS), scope ("all", "better":
votes of workers better than guessing, "class": this label against all others), label (-1 but for
"class"), value, low, high, units (items, or pairs of workers' items), reason (why there is no value
or no interval, else ""). Below the least number of units there is no interval (ADR 21).

``compare``, a row a method: method (index), right (items labelled right; level labels count as
their share, as drawing one would), n (items with a known answer and votes), low, high (Wilson),
differ (items whose label is not the majority's, of those that have both), brier, calibration
(expected calibration error over ten bins); the last two NaN below CALIBRATED known answers.

``summary``, one row: workers, better, unknown, one_label (workers in each group; the rest was not
scored), items, known (with a known answer), alpha, alpha_better (nominal; without those who cannot
be told from guessing), differ (items where majority and Dawid-Skene differ), level_items (no
majority), any_differ (items with ``differ``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.core.base import Hooks, IntArray, Result
from evaluation.methods.core.params import (
    LEVEL,
    Params,
    choice,
    flag,
    real_number,
    resamples,
    whole_number,
)
from evaluation.methods.core.votes import Labels

NAME, VERSION = "labels", "1.0"
METHODS = ("majority", "dawid_skene", "mace", "glad")
BETTER, UNKNOWN, ONE_LABEL = 0, 1, 2
CALIBRATED = 20  # known answers from which calibration is told
COEFFICIENTS = (
    "krippendorff_nominal",
    "krippendorff_ordinal",
    "krippendorff_interval",
    "krippendorff_own",
    "fleiss",
    "gwet_ac1",
    "cohen_mean",
)
PARAMS = Params(
    NAME,
    (
        choice("competence_from", "dawid_skene", ("dawid_skene", "mace")),
        real_number("reliable", None, 0, 1),
        flag("ordered", False),
        whole_number("iterations", 1000, 1),
        real_number("smoothing", 0.01, 1e-10, 1e6),
        real_number("strength", 6.0, 0.1, 1e3),
        whole_number("restarts", 20, 1),
        resamples(1000),
        LEVEL,
    ),
    version=VERSION,
)


def fit(
    data: Labels,
    *,
    rng: np.random.Generator,
    gold: IntArray | None = None,
    hooks: Hooks | None = None,
    **params: Any,
) -> Result:
    """All tables of the module's docstring.

    Parameters
    ----------
    data
        Votes (n,); labels exclude each other, any number of them.
    gold
        Known answers (items,) as label indices, -1 where not known. They score workers and
        methods, and never change a label or a competence.
    rng, hooks
        Of all random draws; progress and cancellation.
    params
        ``competence_from``; ``reliable``: the competence from which a worker is called reliable
        (none by default); ``ordered``: labels have the order of ``data.labels``, so that ordinal
        and interval alpha are given; ``iterations``, ``smoothing`` and ``strength`` of
        Dawid-Skene, ``restarts`` of MACE; ``resamples`` (draws; 0: no intervals, and then nobody
        is told from guessing) and ``level`` of the intervals.

    Raises
    ------
    TooFewWorkers, TooFewLabels, BadShape or UnknownIndex (gold), BadParameter, Cancelled
    """
    raise NotImplementedError


METHOD = PARAMS.as_method(
    "Labels: majority, Dawid-Skene, MACE and GLAD", Labels, fit, internal="part of a label study"
)
