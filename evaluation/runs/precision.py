"""How exact the results of a drafted task will be: the engine's planning studies, in words.

Small simulations that take a second or so; the command ``crowdqc_plan`` runs larger ones. What is
simulated of answers of a shape stands in its room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import caches

from crowdqc import numbers
from evaluation.methods.simulation.planning.planner import VERSION, plan, study

SEED = 20417
WEEK = 7 * 24 * 3600


@dataclass(frozen=True)
class Precision:
    """Half the expected width of an interval and its Monte Carlo error, or why there is none."""

    what: str = ""  # whose interval: a score, a net preference
    half: float | None = None
    error: float = 0.0
    sentences: tuple[str, ...] = ()
    why_not: str = ""
    recipe: str = ""

    @property
    def digits(self) -> int:
        return 2 if self.half is None or self.half >= 0.02 else 3

    @property
    def line(self) -> str:
        """For the line of costs."""
        if self.half is None:
            return f"precision: {self.why_not}"
        return f"{self.what} is known to ± {numbers.score(self.half, self.digits)}"


def plan_precision(model: str, replicates: int, **values: Any) -> dict[str, Any]:
    """The answers of a planning study: quantity -> (estimate, Monte Carlo error); kept a week."""
    key = f"plan:{VERSION}:{model}:{replicates}:" + ":".join(
        f"{name}={value}" for name, value in sorted(values.items())
    )
    found: dict[str, Any] | None = caches["shared"].get(key)
    if found is None:
        rng = np.random.default_rng(SEED)
        result = plan(study(model, **values), rng=rng, replicates=replicates)
        table = result.estimates["answer"]
        found = {
            name: (float(estimate), float(error))
            for name, estimate, error in zip(
                table["quantity"].tolist(), table["estimate"], table["mc_error"], strict=True
            )
        }
        found["items_for_80_percent"] = result.diagnostics["items_for_80_percent"]
        caches["shared"].set(key, found, WEEK)
    return found


def recipe_words(model: str, replicates: int, **values: Any) -> str:
    """By what it was simulated."""
    said = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return f"planning {VERSION}, {model}: {said}; {replicates} replicates, seed {SEED}"
