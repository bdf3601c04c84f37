"""How often intervals of a pairwise study hold what they claim, with as many votes on every pair.

``python -m tests.studies.pairwise_coverage [replicates]`` (200 by default, some minutes) prints
what, nominal, covered and its simulation error, n. Systems and agreement: crowds that compare texts
(300 workers, 2,000 pairs, 5 votes each, a fifth spammers, half of these always left, a pull to the
right side; pairs of the same two systems differ). Competence: MACE's own model, where a worker's
competence is defined, at a fifth of the size with as many votes a worker, strategies and sides in
the coordinates shown. The areas under the curve (spammers below others by MACE's competence) come
from the crowds that compare texts, which MACE does not describe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from evaluation.methods.adaptive.crowd import Design, Drawn, draw
from evaluation.methods.agreement import coefficients as agreement
from evaluation.methods.bradley_terry import method as bradley_terry
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.votes import Labels, Pairs
from evaluation.methods.simulation.simulation import choose_workers

LEVEL = 0.95
BASE = Design(equal=5, ceiling=6)
LARGE = 300  # replicates that stand for the population, for agreement
WORKERS, SPAMMERS, ITEMS, VOTES = 60, 12, 400, 5  # of MACE's own crowd
BATCH = 50  # simulations of it that are fitted together, each its own component
DESIGNS = {
    "2,000 pairs of 12 systems": BASE,
    "right side wins 60 %": replace(BASE, right=0.6),
    "pairs differ more (item_sd 1.8)": replace(BASE, item_sd=1.8),
    "20 systems": replace(BASE, systems=20),
    "half the crowd spams": replace(BASE, spammers=0.5),
}
Line = tuple[str, float, float, float, int]


def yes_or_no(replicates: int) -> float:
    """Standard error of the share that an honest interval covers."""
    return float((LEVEL * (1 - LEVEL) / replicates) ** 0.5)


def every(drawn: Drawn, votes: int) -> FloatArray:
    """Counts (p, 3) with as many votes on every pair."""
    return drawn.counts(np.full(len(drawn.first), votes, dtype=np.int64))


def systems(design: Design, replicates: int, seed: int = 1) -> Iterator[Line]:
    """Bradley-Terry's merits of systems, with all votes on a pair as one cluster, and their ranks.

    The true values are what the fit tends to with endlessly many pairs and votes (``limit``); its
    order is that of the true merits. A cluster is named as if it were a judge.
    """
    held, ranked = [], []
    for k in range(replicates):
        rng = np.random.default_rng([seed, k])
        drawn = draw(design, rng)
        truth = design.limit(drawn.merit)
        counts = every(drawn, design.equal)
        pair, outcome = np.nonzero(counts)
        data = Pairs.build(
            drawn.first[pair],
            drawn.second[pair],
            outcome,
            players=[str(x) for x in range(design.systems)],
            judge=pair,
            judges=[str(x) for x in range(design.pairs)],
            weight=counts[pair, outcome],
        )
        found = bradley_terry.fit(data, rng=rng, cluster="judge", level=LEVEL, resamples=500)
        row = found.estimates["player"]
        held.append(np.mean((row["low"] <= truth) & (truth <= row["high"])))
        rank = rankdata(-truth)
        ranked.append(np.all((row["rank_low"] <= rank) & (rank <= row["rank_high"])))
    error = float(np.std(held, ddof=1)) / replicates**0.5
    yield "merits of systems", LEVEL, float(np.mean(held)), error, replicates
    yield "all ranks of systems", LEVEL, float(np.mean(ranked)), yes_or_no(replicates), replicates


def alphas(design: Design, replicates: int, seed: int = 2) -> Iterator[Line]:
    """Krippendorff's alpha, ordinal, of crowds on fixed systems; the true value is that of LARGE
    further replicates taken together."""
    merits = design.merits(np.random.default_rng([seed, 0]))
    fixed = replace(design, given=tuple(merits.tolist()))
    population = np.concatenate(
        [
            every(draw(fixed, np.random.default_rng([seed, 1, k])), design.equal)
            for k in range(LARGE)
        ]
    )
    true = agreement.alpha_from_counts(population, "ordinal")
    hits = []
    for k in range(replicates):
        rng = np.random.default_rng([seed, 2, k])
        counts = every(draw(fixed, rng), design.equal)
        item, label = np.nonzero(counts)
        data = Labels.build(
            np.zeros(len(item), dtype=np.int64),
            item,
            label,
            workers=["anybody"],
            items=[str(x) for x in range(design.pairs)],
            labels=["-1", "0", "1"],
            weight=counts[item, label],
        )
        found = agreement.alpha_interval(data, "ordinal", rng=rng, resamples=1000, confidence=LEVEL)
        hits.append(found.low <= true <= found.high)
    yield f"alpha, truly {true:.3f}", LEVEL, float(np.mean(hits)), yes_or_no(replicates), replicates


def guessing_crowd(
    rng: np.random.Generator, *, even: bool, spam: bool
) -> tuple[Labels, FloatArray]:
    """Votes as MACE says they come about, left, neutral and right, and competences (workers,).

    Competences are evenly spaced, or drawn as MACE's prior supposes; who guesses leans to the
    right. With ``spam`` a tenth always clicks left and a tenth guesses by a strategy of its own.
    """
    competence = np.linspace(0.2, 0.95, WORKERS) if even else rng.beta(0.5, 0.5, WORKERS)
    strategy = rng.dirichlet([9.0, 10.0, 11.0], WORKERS)
    if spam:
        competence[:SPAMMERS] = 0.0
        strategy[: SPAMMERS // 2] = 1.0, 0.0, 0.0
        strategy[SPAMMERS // 2 : SPAMMERS] = rng.dirichlet(np.ones(3), SPAMMERS - SPAMMERS // 2)
    worker = choose_workers(rng, (ITEMS,), WORKERS, VOTES)
    truth = rng.integers(0, 3, (ITEMS, 1))
    turned = rng.random(worker.shape) < 0.5
    steps = strategy.cumsum(axis=1)[worker][..., :-1]
    guess = (rng.random(worker.shape)[..., None] > steps).sum(axis=-1)
    knows = rng.random(worker.shape) < competence[worker]
    shown = np.where(knows, np.where(turned, 2 - truth, truth), guess)
    label = np.where(turned, 2 - shown, shown)
    item = np.repeat(np.arange(ITEMS), VOTES)
    data = _labels((worker.ravel(), item, label.ravel(), shown.ravel()), WORKERS, ITEMS)
    return data, competence


def _labels(
    votes: tuple[IntArray, IntArray, IntArray, IntArray], workers: int, items: int
) -> Labels:
    """Worker, item, label and the label shown of every vote as data of a method."""
    worker, item, label, shown = votes
    return Labels.build(
        worker,
        item,
        label,
        shown=shown,
        workers=[str(x) for x in range(workers)],
        items=[str(x) for x in range(items)],
        labels=["first", "neutral", "second"],
    )


def competences(replicates: int, *, even: bool, spam: bool, seed: int = 3) -> Iterator[Line]:
    """MACE's intervals of those who look; and, since no interval of chances has 0 inside, how many
    spammers' begin below 0.05."""
    looking, spamming = [], []
    who = slice(SPAMMERS if spam else 0, None)
    for start in range(0, replicates, BATCH):
        size = min(BATCH, replicates - start)
        crowds = [
            guessing_crowd(np.random.default_rng([seed, start + k]), even=even, spam=spam)
            for k in range(size)
        ]
        columns = (
            np.concatenate([data.worker + k * WORKERS for k, (data, _) in enumerate(crowds)]),
            np.concatenate([data.item + k * ITEMS for k, (data, _) in enumerate(crowds)]),
            np.concatenate([data.label for data, _ in crowds]),
            np.concatenate([data.shown for data, _ in crowds]),
        )
        many = _labels(columns, size * WORKERS, size * ITEMS)
        rng = np.random.default_rng([seed, 0, start])
        row = mace.fit(many, rng=rng, level=LEVEL, restarts=5).estimates["worker"]
        true = np.stack([competence for _, competence in crowds])
        low, high = row["low"].reshape(size, -1), row["high"].reshape(size, -1)
        looking.append(((low <= true) & (true <= high))[:, who].mean(axis=1))
        spamming.append((low[:, :SPAMMERS] < 0.05).mean(axis=1))
    kind = "competence, " + ("evenly spaced" if even else "as MACE supposes")
    lines = [(kind + (", beside spammers" if spam else ""), np.concatenate(looking))]
    if spam:
        lines.append(("spammers' competence begins below .05", np.concatenate(spamming)))
    for what, hits in lines:
        error = float(hits.std(ddof=1) / len(hits) ** 0.5)
        yield what, LEVEL, float(hits.mean()), error, len(hits)


def separation(
    design: Design, replicates: int, seed: int = 4
) -> Iterator[tuple[str, float, float]]:
    """Areas under the curve: chance that MACE gives a spammer less than another worker, for those
    who always click left and for all."""
    areas = []
    for k in range(replicates):
        rng = np.random.default_rng([seed, k])
        drawn = draw(design, rng)
        votes = design.equal
        worker, left = drawn.worker[:, :votes].ravel(), drawn.left[:, :votes].ravel()
        label = drawn.outcome[:, :votes].ravel()
        shown = np.where(left == 1, label, 2 - label)
        item = np.repeat(np.arange(design.pairs), votes)
        data = _labels((worker, item, label, shown), design.workers, design.pairs)
        row = mace.fit(data, rng=rng, restarts=5, resamples=0).estimates["worker"]["competence"]
        always = np.arange(design.workers) < round(design.always_left * drawn.spammer.sum())
        areas.append([_area(row, low, ~drawn.spammer) for low in (always, drawn.spammer)])
    found = np.array(areas)
    for name, column in zip(("always left", "all spammers"), found.T, strict=True):
        yield name, float(column.mean()), float(column.std(ddof=1) / replicates**0.5)


def _area(score: FloatArray, low: NDArray[np.bool_], high: NDArray[np.bool_]) -> float:
    """Chance that one of ``low`` scores below one of ``high``; equal scores count half, and who has
    no score (no votes) is left out."""
    known = np.isfinite(score)
    below, above = score[low & known], score[high & known]
    ranks = rankdata(np.concatenate([below, above]))[: len(below)].sum()
    return float(1 - (ranks - len(below) * (len(below) + 1) / 2) / (len(below) * len(above)))


def main(replicates: int = 200, say: Callable[[str], None] = print) -> None:
    """Print a line a figure."""

    def lines(name: str, found: Iterator[Line]) -> None:
        for what, nominal, covered, error, n in found:
            say(f"{f'{what}: {name}':76s} {nominal:.2f}  {covered:.3f} +- {error:.3f}  n {n}")

    for k, (name, design) in enumerate(DESIGNS.items()):
        lines(name, systems(design, replicates, 10 + k))
        lines(name, alphas(design, replicates, 20 + k))
    for even, spam in ((False, False), (False, True), (True, True)):
        size = f"{WORKERS} workers, {ITEMS} pairs"
        lines(size, competences(replicates, even=even, spam=spam))
    for votes in (5, 10):
        design = replace(BASE, equal=votes, ceiling=votes + 1)
        for who, area, error in separation(design, max(replicates // 4, 2)):
            name = f"area, {who}: {votes} votes on 2,000 pairs"
            say(f"{name:76s}       {area:.3f} +- {error:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
