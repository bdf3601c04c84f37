"""How often intervals of a live evaluation hold the truth where collecting stopped.

``python -m tests.studies.live_coverage [replicates]`` (400 by default, many minutes; the table:
100). A look every 20 votes; collecting stops at the first where all intervals are as narrow as
the target, or at the budget. "one": the share of intervals at .95 that hold the truth there;
"all": of evaluations where all hold it; "none": where there is no interval, as a few workers did
nearly all; "looks": evaluations whose intervals hold the truth at every look until then; "votes"
on average; "by width": the share that stopped before the budget. The error of simulation is .022
at .95. Intervals that hold at every look cover more at one of them, and the normal mixture is
narrowest at the target, not at the looks before it. Where models judge alone, prompts are sampled
and a vote is a pair's mean over models and orders, held to no less than the variance of one vote.
On 2,000 paths of 20 looks each, crowds like these hold at every look in .95 or more
(``test_anytime``, marked long).

====================================== ===== ===== ===== ===== ===== ========
crowd                                    one   all  none looks votes by width
====================================== ===== ===== ===== ===== ===== ========
2 systems, 30 workers alike            1.000 1.000   .00  .990  1232     1.00
2 systems, 30 workers                  1.000 1.000   .00 1.000  1070      .99
2 systems, 30 workers, 3 votes a pair  1.000 1.000   .00  .980   859     1.00
2 systems, 60 workers, ties            1.000 1.000   .00  .970  1805      .99
2 systems, 12 workers                  1.000 1.000   .00 1.000  1049      .92
2 systems, 6 workers                   1.000 1.000   .00 1.000   728      .75
2 systems, 8 of 40 do most             1.000 1.000   .00 1.000  1985      .63
2 systems, 1 of 10 does 80 %               -     -  1.00 1.000  4000      .00
2 systems, 2 of 40 do 80 %             1.000 1.000   .25 1.000  4000      .00
2 systems, 30 workers, Zipf 2              -     -  1.00 1.000  4000      .00
2 systems, 30 workers, Zipf 1.5         .980  .980   .00  .980  3965      .01
4 systems, 30 workers, Zipf 1.5        1.000 1.000   .00 1.000  4000      .00
2 systems far apart                    1.000 1.000   .00 1.000   196     1.00
4 systems, 30 workers                  1.000 1.000   .00  .980  1788      .99
4 systems, 12 workers                  1.000 1.000   .00 1.000  2248      .85
2 systems, 1 model alone               1.000 1.000   .00 1.000   361     1.00
2 systems, 3 models alone              1.000 1.000   .00 1.000   636     1.00
4 systems, 1 model alone               1.000 1.000   .00 1.000   660     1.00
====================================== ===== ===== ===== ===== ===== ========
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from evaluation.methods.adaptive.anytime import Votes, WinShares, win_shares

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True)
class Crowd:
    """Systems, people and prompts of a simulated evaluation; spreads are of log-odds."""

    name: str
    merits: tuple[float, ...]
    workers: int
    lean: float  # spread among workers
    topic: float  # spread among prompts
    redundancy: int = 1
    bundle: int = 10
    ties: float = 0.0
    target: float = 0.05
    budget: int = 4000
    unequal: bool = False  # a fifth of the workers does 16 times as much as the others
    few: int = 0  # so many do 80 %
    zipf: float = 0.0  # the exponent of how much each does
    models: int = 0  # so many judge every pair in both orders, and no person does


CROWDS = (
    Crowd("2 systems, 30 workers alike", (0.0, 0.4), 30, 0.0, 0.3),
    Crowd("2 systems, 30 workers", (0.0, 0.4), 30, 0.3, 0.5, target=0.08),
    Crowd(
        "2 systems, 30 workers, 3 votes a pair", (0.0, 0.4), 30, 0.3, 0.8, redundancy=3, target=0.08
    ),
    Crowd("2 systems, 60 workers, ties", (0.0, 0.0), 60, 0.4, 0.5, ties=0.3),
    Crowd("2 systems, 12 workers", (0.0, 0.4), 12, 0.3, 0.5, target=0.13),
    Crowd("2 systems, 6 workers", (0.0, 0.4), 6, 0.3, 0.5, target=0.25, budget=1500),
    Crowd("2 systems, 8 of 40 do most", (0.0, 0.4), 40, 0.5, 0.5, target=0.15, unequal=True),
    Crowd("2 systems, 1 of 10 does 80 %", (0.0, 0.4), 10, 0.8, 0.5, target=0.15, few=1),
    Crowd("2 systems, 2 of 40 do 80 %", (0.0, 0.4), 40, 0.8, 0.5, target=0.15, few=2),
    Crowd("2 systems, 30 workers, Zipf 2", (0.0, 0.4), 30, 0.8, 0.5, target=0.15, zipf=2.0),
    Crowd("2 systems, 30 workers, Zipf 1.5", (0.0, 0.4), 30, 0.8, 0.5, target=0.15, zipf=1.5),
    Crowd(
        "4 systems, 30 workers, Zipf 1.5", (0.0, 0.2, 0.5, 0.9), 30, 0.8, 0.5, target=0.2, zipf=1.5
    ),
    Crowd("2 systems far apart", (0.0, 3.0), 30, 0.3, 0.5, target=0.08),
    Crowd("4 systems, 30 workers", (0.0, 0.2, 0.5, 0.9), 30, 0.3, 0.5, target=0.1),
    Crowd("4 systems, 12 workers", (0.0, 0.2, 0.5, 0.9), 12, 0.3, 0.5, target=0.15),
    Crowd("2 systems, 1 model alone", (0.0, 0.4), 1, 0.0, 0.5, models=1, target=0.08),
    Crowd("2 systems, 3 models alone", (0.0, 0.4), 1, 0.0, 0.5, models=3, target=0.06),
    Crowd("4 systems, 1 model alone", (0.0, 0.2, 0.5, 0.9), 1, 0.0, 0.5, models=1, target=0.1),
)


def chance(crowd: Crowd, first: int, second: int) -> float:
    """The share of votes that one system wins over another, over all workers and prompts."""
    spread = np.sqrt(2) * np.hypot(crowd.lean, crowd.topic)
    apart = crowd.merits[first] - crowd.merits[second] + spread * NODES
    won = float(np.sum(WEIGHTS * scipy.special.expit(apart)) / np.sum(WEIGHTS))
    return crowd.ties / 2 + (1 - crowd.ties) * won


def truth(crowd: Crowd) -> Any:
    """The share of each system (k,)."""
    places = range(len(crowd.merits))
    return np.array([np.mean([chance(crowd, i, j) for j in places if j != i]) for i in places])


def draw(crowd: Crowd, rng: np.random.Generator) -> Votes:
    """All votes that the budget allows, in the order in which they would come."""
    systems = len(crowd.merits)
    pairs = [(i, j) for i in range(systems) for j in range(i + 1, systems)]
    slots = [
        (prompt, *pair)
        for prompt in range(-(-crowd.budget // (len(pairs) * crowd.redundancy)))
        for pair in pairs
    ] * crowd.redundancy
    asked = np.array(slots)[: crowd.budget]
    many = -(-len(asked) // crowd.bundle)
    share = np.ones(crowd.workers)
    if crowd.unequal:
        share[: crowd.workers // 5] = 16
    if crowd.few:
        share[: crowd.few] = 4 * (crowd.workers - crowd.few) / crowd.few
    share = share / np.arange(1, crowd.workers + 1) ** crowd.zipf
    # People come in turn; the first of each make sure that all are there at all.
    people = rng.choice(crowd.workers, many, p=share / share.sum())
    worker = np.repeat(people, crowd.bundle)[: len(asked)]
    asked = asked[_mixed(len(asked), crowd.bundle * 10, rng)]
    lean = rng.normal(0, crowd.lean, (crowd.workers, systems))
    topic = rng.normal(0, crowd.topic, (asked[:, 0].max() + 1, systems))
    prompt, first, second = asked.T
    merits = np.array(crowd.merits)
    value = merits + lean[worker] + topic[prompt]
    rows = np.arange(len(asked))
    better = scipy.special.expit(value[rows, first] - value[rows, second])
    if crowd.models:  # one vote a pair: the mean over models and orders
        calls = 2 * crowd.models
        return Votes(first, second, rng.binomial(calls, better) / calls, worker, prompt)
    won = rng.random(len(asked)) < better
    score = np.where(rng.random(len(asked)) < crowd.ties, 0.5, won * 1.0)
    return Votes(first, second, score, worker, prompt)


def _mixed(number: int, width: int, rng: np.random.Generator) -> Any:
    """An order in which nothing moves further than about ``width``."""
    return np.argsort(np.arange(number) + rng.random(number) * width, kind="stable")


@dataclass(frozen=True)
class Stop:
    """Where collecting stopped: what was told, after how many votes, whether by the width, and
    whether every interval of every look until then held the truth."""

    found: WinShares
    votes: int
    narrow: bool
    always: bool


def stop(crowd: Crowd, rng: np.random.Generator, real: Any, every: int = 20) -> Stop:
    """Collect votes and look after every so many, until it is precise enough or the budget ends."""
    votes, always = draw(crowd, rng), True
    number = len(votes.first)
    for end in [*range(every, number, every), number]:
        found = win_shares(
            votes.head(end),
            systems=len(crowd.merits),
            target=crowd.target,
            by_prompt=bool(crowd.models),
        )
        if not found.why:
            always &= bool(holds(found, real).all())
        if found.half_width <= crowd.target:
            return Stop(found, end, narrow=True, always=always)
    return Stop(found, number, narrow=False, always=always)


def holds(found: WinShares, real: Any) -> Any:
    """Which intervals hold the truth (k,)."""
    return (found.low <= real) & (real <= found.high)


def measured(crowd: Crowd, replicates: int, seed: int = 1) -> dict[str, float]:
    """Coverage at the stop of one interval and of all, share without an interval there, coverage
    at every look; votes; stops by width."""
    rng, real = np.random.default_rng([seed, len(crowd.name)]), truth(crowd)
    stops = [stop(crowd, rng, real) for _ in range(replicates)]
    held = np.array([holds(one.found, real) for one in stops if not one.found.why])
    return {
        "one": float(held.mean()) if len(held) else np.nan,
        "all": float(held.all(axis=1).mean()) if len(held) else np.nan,
        "none": 1 - len(held) / replicates,
        "looks": float(np.mean([one.always for one in stops])),
        "votes": float(np.mean([one.votes for one in stops])),
        "narrow": float(np.mean([one.narrow for one in stops])),
    }


def main(replicates: int = 400) -> None:
    print(
        f"{'crowd':38} {'one':>5} {'all':>5} {'none':>5} {'looks':>5} {'votes':>5} {'by width':>8}"
    )
    for crowd in CROWDS:
        row = measured(crowd, replicates)
        print(
            f"{crowd.name:38} {row['one']:5.3f} {row['all']:5.3f} {row['none']:5.2f}"
            f" {row['looks']:5.3f} {row['votes']:5.0f} {row['narrow']:8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(*(int(one) for one in sys.argv[1:]))
