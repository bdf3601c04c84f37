"""How often the intervals inside simulated studies hold the difference that they should.

``python -m tests.studies.planning [RUNS]`` plans RUNS (1,000) replicates a line and prints name,
nominal, covered and n; the planner's own ``coverage`` says the same for any design.
"""

from __future__ import annotations

import sys

import numpy as np

from evaluation.methods.simulation.planning.planner import plan, study

LEVEL = 0.95
DESIGNS: tuple[tuple[str, dict[str, float | int]], ...] = (
    ("labels", {}),
    ("labels", {"workers": 8, "items": 40, "votes": 3}),
    ("labels", {"guessers": 0.5, "gap": 0.15}),
    ("pairwise", {}),
    ("pairwise", {"workers": 8, "items": 40, "votes": 3}),
    ("pairwise", {"guessers": 0.0, "item_sd": 0.0}),
    ("pairwise", {"workers": 60, "items": 400, "gap": 0.2}),
    ("f2", {"items": 20}),
    ("f4", {"items": 20, "strength": 0.4}),
)


def main(runs: int = 1000) -> None:
    """Print a line a design."""
    for model, values in DESIGNS:
        design = study(model, **values)
        found = plan(design, rng=np.random.default_rng(3), replicates=runs, level=LEVEL)
        table = found.estimates["answer"]
        covered = table["estimate"][table["quantity"].tolist().index("coverage")]
        said = ", ".join(f"{name} {value:g}" for name, value in values.items()) or "defaults"
        print(f"{model + ': ' + said:<56} {LEVEL:.2f} {covered:.3f} {runs}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
