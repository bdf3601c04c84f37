"""Ratings corrected by the competence of their raters, with what that must be read against.

Gienapp et al. (2025), "The Viability of Crowdsourcing for RAG Evaluation", 5.1, apply to their
point-wise pilot "the same MACE competency correction" as to pairs: ratings of workers whose spam
probability lies above a threshold are dropped. Whoever disagrees counts as incompetent, so
agreement rises even in noise; ``corrected_alpha`` says by how much. MACE knows no order of labels:
a rating one point off counts as wrong as one at the other end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.corrected_alpha import corrected_alpha
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace.batch import Plan, fit_each
from evaluation.methods.core.base import BadParameter, DataError, FloatArray, Hooks, IntArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import Units

THRESHOLD = 0.7  # of spam above which ratings are dropped, as published
FOLDS, SHUFFLES, RESTARTS = 5, 10, 10
FIGURES = (
    "uncorrected",
    "low",
    "high",
    "corrected",
    "shuffled_null",
    "cross_fitted",
    "cross_low",
    "cross_high",
    "removed_share",
    "thin_share",
)
AGREED = ("dimension", "n", *FIGURES, "reason")
RATER = ("dimension", "worker", "competence", "low", "high", "spam", "kept", "n")


@dataclass(frozen=True, eq=False)
class Corrected:
    """One scale: ``kept`` (workers,) whose ratings stay; rows of AGREED and RATER.

    Nobody is dropped whose competence is not known; ``kept`` is None where nothing can be said.
    """

    kept: NDArray[np.bool_] | None
    agreement: dict[str, Any]
    raters: list[dict[str, Any]]


def correct(
    votes: Labels,
    *,
    units: tuple[IntArray, str],
    rng: np.random.Generator,
    resamples: int,
    level: float,
    hooks: Hooks | None = None,
) -> Corrected:
    """Competence of the raters of one scale, and agreement with and without the incompetent.

    ``votes`` are points as labels in their order, ``units`` of each text (texts,) what intervals
    draw anew and what that is called. A row ``reason`` says why there is no figure. Raises
    Cancelled.
    """
    hooks, n = (hooks or Hooks()).quiet(), int(votes.weight.sum())
    try:
        fitted = mace.fit(
            votes, rng=rng, hooks=hooks, resamples=resamples, level=level, beside=False
        )
        table = fitted.estimates["worker"]
        kept = ~(table["spam"] > THRESHOLD)  # NaN: not known
        raters = [
            {
                "worker": row["worker"],
                "competence": row["competence"],
                "low": row["low"],
                "high": row["high"],
                "spam": row["spam"],
                "kept": bool(kept[at]),
                "n": row["n"],
            }
            for at, row in enumerate(table.rows())
            if row["n"]
        ]
    except (DataError, BadParameter) as problem:
        return Corrected(
            None, {"n": n, **dict.fromkeys(FIGURES, np.nan), "reason": str(problem)}, []
        )
    drawing = {"resamples": resamples, "confidence": level}
    return Corrected(kept, {"n": n, **_agreement(votes, units, rng, hooks, drawing)}, raters)


def _agreement(
    votes: Labels,
    units: tuple[IntArray, str],
    rng: np.random.Generator,
    hooks: Hooks,
    drawing: dict[str, Any],
) -> dict[str, Any]:
    own = mace.DEFAULTS
    plan = Plan(
        partial(mace.priors, own), RESTARTS, own["iterations"], own["noise"], own["tolerance"]
    )

    def competences(many: Iterable[Labels]) -> Iterator[FloatArray]:
        for found in fit_each(((one, rng) for one in many), plan, hooks=hooks):
            yield 1 - found.spam

    group, noun = units
    try:
        found = corrected_alpha(
            {"scale": votes},
            competences=competences,
            rng=rng,
            threshold=1 - THRESHOLD,
            group=group,
            units=Units(group, noun),
            folds=min(FOLDS, len(np.unique(group))),
            shuffles=SHUFFLES,
            hooks=hooks,
            **drawing,
        )
    except (DataError, BadParameter) as problem:
        return {**dict.fromkeys(FIGURES, np.nan), "reason": str(problem)}
    row = found.dimension.rows()[0]
    told = {name: np.nan if row[name] is None else row[name] for name in FIGURES}
    return {**told, "reason": row["reason"]}
