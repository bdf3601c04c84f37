"""Everything that is estimated of reviewed traces: rates, agreement, and rates by week."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.methods.agreement.coefficients import alpha_interval
from evaluation.methods.core.base import DataError, Hooks, IntArray, Result, Table, of_rows
from evaluation.methods.core.inference import Claim
from evaluation.methods.core.params import LEVEL, Params, whole_number
from evaluation.methods.core.votes import Labels
from evaluation.methods.traces.rates import (
    VERSION,
    Draws,
    Population,
    estimate_rates,
    uses_judge,
)
from evaluation.methods.traces.weeks import estimate_weeks

PARAMS = Params(
    "trace_rates", (whole_number("resamples", 500, 200, 20_000), LEVEL), version=VERSION
)
RATES = ("people", "both", "agreement", "these")
ALPHA = ("value", "low", "high", "units", "reason")


@dataclass(frozen=True, eq=False)
class Traces:
    """Traces and reviews: all of them, those drawn, and votes of people ("pass", "fail") on these.

    ``weeks`` are the traces of some weeks, which ``week`` (n,) of the draws indexes, -1 for others.
    """

    draws: Draws
    population: Population
    week: IntArray
    weeks: tuple[Population, ...] = ()
    votes: Labels | None = None


def claim_row(claim: Claim) -> dict[str, Any]:
    """A claim as a row, of which ``claim_of`` makes it again."""
    return asdict(claim)


def claim_of(row: Mapping[str, Any]) -> Claim:
    """Read a claim from a stored row, in which None is a number that does not exist."""
    numbers = ("estimate", "low", "high", "effective")
    told = {name: row[name] for name in Claim.__dataclass_fields__}
    return Claim(**told | {name: np.nan if row[name] is None else row[name] for name in numbers})


def fit(
    data: Traces, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
) -> Result:
    """Estimate the share of traces that fail, of all and by week, and how far people agree.

    Estimates are rows of claims: ``rate`` (of people alone, with the judge, the judge's agreement
    with people, and as these reviewers judge), ``week`` and ``difference`` (of each week), and
    ``alpha`` (Krippendorff's). Diagnostics: ``Rates`` without its claims. Raises BadShape,
    DataError, BadParameter.
    """
    settings = PARAMS.settings(params)
    level = settings["level"]
    rates = estimate_rates(data.draws, data.population, level=level)
    inside = data.week >= 0
    weeks = estimate_weeks(
        data.draws.take(inside),
        data.week[inside],
        data.weeks,
        with_judge=uses_judge(rates.both, rates.judged),
        level=level,
    )
    columns = tuple(Claim.__dataclass_fields__)
    estimates = {
        "rate": of_rows([claim_row(getattr(rates, name)) for name in RATES], columns),
        "week": of_rows([claim_row(one.rate) for one in weeks], columns),
        "difference": of_rows([claim_row(one.difference) for one in weeks], columns),
        "alpha": _alpha(data.votes, rng, settings),
    }
    diagnostics = {
        "covered": rates.covered,
        "judged": rates.judged,
        "reviewers": rates.reviewers,
        "effective_reviewers": rates.effective_reviewers,
    }
    return PARAMS.result(settings, estimates, diagnostics)


def _alpha(votes: Labels | None, rng: np.random.Generator, settings: Mapping[str, Any]) -> Table:
    """Krippendorff's alpha in one row, none where it is not defined."""
    if votes is None:
        return of_rows([], ALPHA)
    drawn = {"resamples": settings["resamples"], "confidence": settings["level"]}
    try:
        found = alpha_interval(votes, rng=rng, **drawn)
    except DataError:
        return of_rows([], ALPHA)
    return of_rows(
        [
            dict(
                zip(
                    ALPHA,
                    (found.estimate, found.low, found.high, found.n, found.reason),
                    strict=True,
                )
            )
        ]
    )


METHOD = PARAMS.as_method("Failure rate of traces", Traces, fit)
