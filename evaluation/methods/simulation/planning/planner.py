"""What a crowd of a given size can tell, by simulation, before anybody is paid.

With so many workers, items and votes: how wide will the intervals be, and what is the chance to
separate two systems that truly differ by ``gap``? Three kinds of study: labels (each system's
outputs judged good or bad), pairwise (the systems' outputs compared), and texts (workers' answers
as vectors, systems scored by AQER, under the paper's models F1 to F4 and K). Every answer carries
its Monte Carlo error, and the coverage that the intervals really had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from evaluation.methods.core.base import (
    BadParameter,
    FloatArray,
    Hooks,
    Result,
    Table,
    check_within,
)
from evaluation.methods.core.inference import normal_quantile
from evaluation.methods.core.units import wilson
from evaluation.methods.simulation.planning.labels import Draws, LabelStudy, PairStudy, Study
from evaluation.methods.simulation.planning.texts import MODELS, TextStudy
from evaluation.methods.simulation.simulation import whole_number

NAME, VERSION = "planning", "1.3"
# Name of an answer: what it says, and its unit.
QUANTITIES = {
    "separated": ("chance to separate the two systems, the right way round", "probability"),
    "reversed": ("chance to separate them the wrong way round", "probability"),
    "difference": ("mean of the estimated difference", "difference"),
    "difference_width": ("mean width of the interval of the difference", "difference"),
    "coverage": ("share of these intervals that hold the difference to expect", "probability"),
    "gold_right": ("share of gold labels that are right", "probability"),
    "worker_width": ("width of the range of errors of a worker's accuracy", "accuracy"),
    "agreement": ("mean share of pairs of votes on an item that agree", "probability"),
    "score_width": ("mean width of the interval of a worker's score", "cosine"),
    "score_truth": ("mean correlation of workers' scores with their true quality", "correlation"),
}
LEAST, MOST = 2, 100_000
NEAR = 0.02  # coverage this far from the level is worth a warning


def study(model: str, **values: Any) -> Study:
    """The study named 'labels', 'pairwise', or 'f1', 'f2', 'f3', 'f4', 'k', with these values.

    Values that a study has no use for are refused by name. Raises BadParameter.
    """
    kinds: dict[str, Callable[..., Study]] = {"labels": LabelStudy, "pairwise": PairStudy}
    if model in MODELS:
        kinds[model] = TextStudy
        values = {"model": model, **values}
    if model not in kinds:
        every = ", ".join([*kinds, *MODELS])
        raise BadParameter(f"model is {model!r}; it must be one of {every}")
    try:
        return kinds[model](**values)
    except TypeError as problem:
        raise BadParameter(f"{model}: {str(problem).split('() ', 1)[-1]}") from problem


def plan(
    design: Study,
    *,
    rng: np.random.Generator,
    replicates: int | None = None,
    level: float = 0.95,
    hooks: Hooks | None = None,
) -> Result:
    """Simulate a study many times to estimate its power and the width of its intervals.

    ``replicates`` defaults to as many as a few seconds allow (``design.usual``); ``level`` is that
    of the study's own intervals. Estimates: table ``answer`` (quantity, a key of QUANTITIES;
    estimate; mc_error, the Monte Carlo standard error; low and high, its 95 % interval).
    Diagnostics: the number of judgments, judgments a worker, replicates, the difference that the
    estimates should show, and warnings in words (coverage off by more than NEAR, thin workers).

    Raises BadParameter, Cancelled.
    """
    check_within("level", level)
    design.check()
    wanted = design.usual if replicates is None else replicates
    whole_number("replicates", wanted, LEAST)
    if wanted > MOST:
        raise BadParameter(f"replicates is {wanted}; {MOST} are the most")
    draws = _drawn(design, rng, wanted, level, hooks or Hooks())
    table = _answers(draws)
    return Result(
        name=NAME,
        version=VERSION,
        estimates={"answer": table},
        intervals={},
        diagnostics={
            "judgments": design.judgments,
            "judgments_a_worker": design.judgments / design.workers,
            "replicates": wanted,
            "expected_difference": float(draws.target.mean()),
            "warnings": _warnings(table, level, design),
        },
        converged=True,
        recipe={
            "method": NAME,
            "version": VERSION,
            "params": {
                "model": design.slug,
                **asdict(design),
                "replicates": wanted,
                "level": level,
            },
        },
    )


def reach(
    design: Study,
    *,
    rng: np.random.Generator,
    replicates: int,
    level: float = 0.95,
    inside: float = 0.95,
) -> Table:
    """Return the mean and range over replicates of what one such study would show.

    Rows of quantity (``separated``, ``difference_width`` and the design's own means, of
    QUANTITIES), estimate, and low and high, between which the middle share ``inside`` of the
    replicates lies (1: all of them). Of ``separated``, a chance, they are its Monte Carlo interval
    (Wilson, 95 %).

    Raises BadParameter.
    """
    check_within("level", level)
    design.check()
    whole_number("replicates", replicates, LEAST)
    draws = _drawn(design, rng, replicates, level, Hooks())
    chance, _, low, high = proportion(draws.low > 0)
    rows = {"separated": (chance, low, high)}
    for name, values in {"difference_width": draws.high - draws.low, **draws.means}.items():
        known = values[np.isfinite(values)]
        if len(known):
            bounds = np.quantile(known, [(1 - inside) / 2, (1 + inside) / 2])
            rows[name] = (float(known.mean()), float(bounds[0]), float(bounds[1]))
    columns = np.array(list(rows.values())).T
    names = ("estimate", "low", "high")
    return Table({"quantity": np.array(list(rows)), **dict(zip(names, columns, strict=True))})


def _drawn(
    design: Study, rng: np.random.Generator, wanted: int, level: float, hooks: Hooks
) -> Draws:
    """Simulate so many replicates, as many in a pass as fit. Raises Cancelled."""
    parts, done = [], 0
    while done < wanted:
        hooks.step("replicates", done, wanted)
        size = min(design.replicates_per_pass, wanted - done)
        parts.append(design.draw(rng, size, level))
        done += size
    return Draws.join(parts)


def _answers(draws: Draws) -> Table:
    rows: dict[str, tuple[float, float, float, float]] = {
        "separated": proportion(draws.low > 0),
        "reversed": proportion(draws.high < 0),
        "difference": mean(draws.estimate),
        "difference_width": mean(draws.high - draws.low),
        "coverage": proportion((draws.low <= draws.target) & (draws.target <= draws.high)),
    }
    rows |= {name: mean(values) for name, values in draws.means.items()}
    rows |= {name: spread(errors) for name, errors in draws.errors.items()}
    columns = np.array(list(rows.values())).T
    names = ("estimate", "mc_error", "low", "high")
    return Table({"quantity": np.array(list(rows)), **dict(zip(names, columns, strict=True))})


def proportion(hits: Any) -> tuple[float, float, float, float]:
    """Share of replicates (r,), its standard error, and Wilson's 95 % interval.

    The error is that of (hits + 1) / (r + 2), so that it is not 0 where all or none hit.
    """
    r, k = len(hits), int(np.sum(hits))
    rough = (k + 1) / (r + 2)
    error = float(np.sqrt(rough * (1 - rough) / r))
    return k / r, error, *wilson(k / r, r, 0.95)


def mean(values: FloatArray) -> tuple[float, float, float, float]:
    """Mean over replicates (r,) that have a value, its standard error and 95 % interval."""
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return (float(known.mean()) if len(known) else np.nan, np.nan, np.nan, np.nan)
    centre, error = float(known.mean()), float(known.std(ddof=1)) / len(known) ** 0.5
    reach = normal_quantile(0.95) * error
    return centre, error, centre - reach, centre + reach


def spread(errors: FloatArray, batches: int = 10) -> tuple[float, float, float, float]:
    """Measure the width of the middle 95 % of the errors (r, k), estimate minus truth.

    An honest 95 % interval is about that wide. The Monte Carlo error comes from batches of
    replicates.
    """

    def width(part: FloatArray) -> float:
        known = part[np.isfinite(part)]
        if not len(known):
            return np.nan
        low, high = np.quantile(known, [0.025, 0.975])
        return float(high - low)

    whole = width(errors)
    parts = np.array([width(part) for part in np.array_split(errors, min(batches, len(errors)))])
    error = float(np.std(parts, ddof=1)) / len(parts) ** 0.5
    reach = normal_quantile(0.95) * error
    return whole, error, whole - reach, whole + reach


def _warnings(table: Table, level: float, design: Study) -> list[str]:
    at = {name: k for k, name in enumerate(table["quantity"])}["coverage"]
    out = []
    if table["low"][at] > level + NEAR or table["high"][at] < level - NEAR:
        out.append(
            f"intervals that claim {level:.0%} hold the truth in {table['estimate'][at]:.1%}; "
            "take the chances with care"
        )
    if isinstance(design, TextStudy):
        out += design.warnings
    if design.judgments / design.workers < 10:
        out.append("workers give fewer than 10 judgments each; little can be said about a worker")
    return out
