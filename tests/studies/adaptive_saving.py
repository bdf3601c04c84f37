"""How many votes adaptive collection saves against as many on every pair, and where it saves none.

``python -m tests.studies.adaptive_saving [replicates]`` (1,000 by default for the first line, a
fifth of that for the others; about ten minutes) prints a line a crowd: the saving at equal Kendall
tau to the true order of the systems and at equal accuracy of labels, against uniform allocation
of the number of votes a pair that is named, with Monte Carlo errors; tau and accuracy with three
quarters of the votes, less uniform's with all; and the coverage of the systems' 95 % intervals
under either policy. The usual crowd: 300 workers, a fifth spammers, half of these always left, the
others with a strategy of their own; 2,000 random pairs of 12 systems of normal log-merits (sd 1,
about that of public arenas of language models), pairs of the same two systems differing with sd 1;
35 % neutral between equals, 52 % for the right side; floor 1, ceiling 12, certainty .95.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from evaluation.methods.adaptive.simulation import ACCURACY, TAU, Design, simulate
from evaluation.methods.core.base import Result

USUAL = Design()
CROWDS = {
    "usual": USUAL,
    "usual, against 3 votes": replace(USUAL, equal=3),
    "usual, against 8 votes": replace(USUAL, equal=8, ceiling=20),
    "no spammers": replace(USUAL, spammers=0.0),
    "two fifths spammers": replace(USUAL, spammers=0.4),
    "20 systems": replace(USUAL, systems=20),
    "systems further apart (sd 1.5)": replace(USUAL, merit_sd=1.5),
    "systems close, texts vary (.4, 1.7)": replace(USUAL, merit_sd=0.4, item_sd=1.7),
    "all orders equally hard": replace(USUAL, merit_sd=0.15, even=True, item_sd=0.0),
    "usual, target label": replace(USUAL, target="label"),
    "close, texts vary, target label": replace(USUAL, merit_sd=0.4, item_sd=1.7, target="label"),
    "all orders equally hard, target label": replace(
        USUAL, merit_sd=0.15, even=True, item_sd=0.0, target="label"
    ),
}


def line(found: Result) -> str:
    """One crowd's figures."""
    saving, short, coverage = (found.estimates[x] for x in ("saving", "short", "coverage"))
    parts = []
    for measure in (TAU, ACCURACY):
        at = np.flatnonzero(saving["measure"] == measure)[-1]
        row = np.flatnonzero(short["measure"] == measure)[0]
        saved = f"{100 * saving['saving'][at]:6.1f} % +- {100 * saving['mc_error'][at]:4.1f}"
        if np.isnan(saving["saving"][at]):
            saved = "not reached".rjust(len(saved))
        parts.append(
            f"{saving['value'][at]:.3f} {saved}{'*' if saving['reached'][at] < 1 else ' '} "
            f"{short['difference'][row]:+.4f} +- {short['mc_error'][row]:.4f}"
        )
    uniform, adaptive = coverage["covered"]
    return "   ".join([*parts, f"{uniform:.3f} {adaptive:.3f}"])


def one(task: tuple[int, str, int]) -> str:
    """Simulate one crowd; the whole line."""
    seed, name, replicates = task
    design = CROWDS[name]
    found = simulate(design, rng=np.random.default_rng([30, seed]), replicates=replicates)
    return f"{name:38s} {design.equal:5d} {replicates:5d}   {line(found)}"


def main(replicates: int = 1000, say: Callable[[str], None] = print) -> None:
    """Print the table; two crowds are simulated at a time."""
    say(f"{'':38s} {'':5s} {'':5s}   {'tau':47s} {'accuracy of labels':47s} covered")
    heads = f"{'value':5s} {'saving':18s} {'at 3/4, less all':20s}"
    say(f"{'crowd':38s} {'votes':5s} {'n':>5s}   {heads}  {heads}  uniform adaptive")
    tasks = [
        (k, name, replicates if k == 0 else max(replicates // 5, 2))
        for k, name in enumerate(CROWDS)
    ]
    with ProcessPoolExecutor(2) as pool:
        for text in pool.map(one, tasks):
            say(text)
    say(
        "* in some redraws of the replicates adaptive collection did not get there with one more "
        "vote a pair than uniform; the error is that of the others"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
