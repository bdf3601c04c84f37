"""How often intervals of rank correlations, similarities and boards over tasks hold the truth.

``python -m tests.studies.small_samples_ranked [RUNS]`` is ``small_samples`` for what came later:
the same columns, by default 300 data sets a design. The table stands in
``evaluation/methods/units.py``.

"tau" is of one question's yes with the human score over texts, "change of tau" the aggregate change
under rescaling over items, "similarity" the mean over all pairs of attributes, "board" the standing
of people over tasks (its truth is 0: the standing of the first one is taken away).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from evaluation.methods.checklists.agreement import signal_rows
from evaluation.methods.checklists.diversity import MeanSimilarity, self_cosine, self_jaccard
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.domains import Part, pool
from evaluation.methods.rescaling.data import incomplete, shared_pairs
from evaluation.methods.rescaling.method import Aggregate, agreement, rescale
from evaluation.methods.text.corpus import token_ids
from tests.studies.rescaling_coverage import ratings
from tests.studies.small_samples import LEVEL, NONE, Bounds, Design, cover, forced

UNITS = (2, 3, 5, 10, 15, 20, 30)


def taus() -> Iterator[Design]:
    """Kendall's tau-b of yes (half or four fifths of texts) with a score from 1 to 5."""
    for reach in (0.0, 0.8416):
        for link in (0.0, 0.4, 0.8):

            def drawn(
                rng: np.random.Generator, texts: int, link: float = link, reach: float = reach
            ) -> tuple[FloatArray, FloatArray]:
                quality = rng.normal(size=texts)
                felt = link * quality + (1 - link**2) ** 0.5 * rng.normal(size=texts)
                human = np.clip(np.round(3 + 1.2 * quality), 1, 5)
                return (felt > -reach).astype(float), human

            def once(rng: np.random.Generator, texts: int, drawn=drawn) -> Bounds:  # type: ignore[no-untyped-def]
                yes, human = drawn(rng, texts)
                rows = signal_rows(
                    yes[:, None], human, np.zeros(texts, dtype=np.int64), answerer=0, level=LEVEL
                )
                return (rows[0]["low"], rows[0]["high"]) if rows else NONE

            yes, human = drawn(np.random.default_rng(1), 400_000)
            yield Design("tau", once, _tau(yes, human))


def _tau(yes: FloatArray, human: FloatArray) -> float:
    """Tau-b of a table of 2 by 5, which no list of pairs could hold."""
    cell = np.zeros((2, 5))
    np.add.at(cell, (yes.astype(int), human.astype(int) - 1), 1 / len(yes))
    below = np.cumsum(cell[0]) - cell[0]
    above = cell[0].sum() - below - cell[0]
    tied = [1 - (side**2).sum() for side in (cell.sum(axis=0), cell.sum(axis=1))]
    return float(2 * (cell[1] * (below - above)).sum() / (tied[0] * tied[1]) ** 0.5)


def changes() -> Iterator[Design]:
    """Change of the mean tau-b of pairs of raters, all items or only incomplete ones."""
    for drop in (False, True):

        def mean(rng: np.random.Generator, items: int, drop: bool = drop) -> Aggregate:
            data = ratings(rng, items)
            joined = incomplete(data, shared_pairs(data)) if drop else shared_pairs(data)
            return agreement(data, joined, data.rating, rescale(data), level=LEVEL).mean

        def once(rng: np.random.Generator, items: int, mean=mean) -> Bounds:  # type: ignore[no-untyped-def]
            found = mean(rng, items)
            return found.low, found.high

        large = mean(np.random.default_rng(1), 30_000)
        yield Design("change of tau", once, large.after - large.before)


def similarities() -> Iterator[Design]:
    """Cosine of vectors around a middle, and Jaccard of words of themes, some of them frequent."""
    for shift, uneven in ((0.3, True), (0.1, True), (0.3, False), (1.0, False)):

        def cosine(
            rng: np.random.Generator, n: int, shift: float = shift, uneven: bool = uneven
        ) -> MeanSimilarity:
            longer = rng.gamma(1.0, size=(n, 1)) if uneven else 1.0
            return self_cosine(rng.normal(size=(n, 30)) * longer + shift, level=LEVEL)

        yield _similarity(cosine)
    for chance in ((0.5, 0.3, 0.2), (0.7, 0.1, 0.1, 0.1), (1 / 8,) * 8):
        for length in (6, 15):

            def words(
                rng: np.random.Generator,
                n: int,
                chance: tuple[float, ...] = chance,
                length: int = length,
            ) -> MeanSimilarity:
                theme = rng.choice(len(chance), n, p=chance)
                texts = [
                    [f"{one}-{k}" for k in rng.choice(20, length // 2, replace=False)]
                    + [str(k) for k in rng.choice(40, length - length // 2, replace=False)]
                    for one in theme
                ]
                return self_jaccard(token_ids(texts), level=LEVEL)

            yield _similarity(words)


def _similarity(found: Callable[[np.random.Generator, int], MeanSimilarity]) -> Design:
    def once(rng: np.random.Generator, n: int) -> Bounds:
        one = found(rng, n)
        return one.low, one.high

    rng = np.random.default_rng(1)
    return Design("similarity", once, float(np.mean([found(rng, 400).estimate for _ in range(20)])))


def boards() -> Iterator[Design]:
    """People who took part in four of five tasks, whose standing changes from task to task."""
    for people in (2, 3, 5, 8):
        for tau in (0.0, 0.3, 0.8):
            for error in (0.1, 0.3):

                def once(
                    rng: np.random.Generator,
                    tasks: int,
                    people: int = people,
                    tau: float = tau,
                    error: float = error,
                ) -> Bounds:
                    true = rng.normal(0, 0.6, people)
                    parts = [_part(rng, true, tau, error) for _ in range(tasks)]
                    found = pool(parts, people, rng=rng, level=LEVEL)
                    if not found or len(found[0].author) < people:
                        return NONE
                    first = int(np.flatnonzero(found[0].author == 0)[0])
                    stands = true[0] - true.mean()
                    return found[0].low[first] - stands, found[0].high[first] - stands

                yield Design("board", once, 0.0)


def _part(rng: np.random.Generator, true: FloatArray, tau: float, error: float) -> Part:
    who = np.flatnonzero(rng.random(len(true)) < 0.8)
    who = who if len(who) > 1 else np.arange(len(true))
    own = error * rng.uniform(0.6, 1.6, len(who))
    here = rng.normal() + true[who] + rng.normal(0, tau, len(who))
    score = here + own * rng.normal(size=len(who))
    return Part(who, score, np.diag(own**2), np.full(len(who), 9))


@cache
def designs() -> list[Design]:
    """Everything that is simulated."""
    return [*taus(), *changes(), *similarities(), *boards()]


def main(runs: int = 300) -> None:
    """Print a line a kind and number of units: covered, least and largest, share given."""
    for kind in dict.fromkeys(one.kind for one in designs()):
        own = [one for one in designs() if one.kind == kind]
        for number in UNITS:
            told = max(cover(one, number, 5)[1] for one in own) > 0
            with forced(2):
                rows = [cover(one, number, runs) for one in own]
            held, given = np.array(rows).T
            if np.isnan(held).all():
                print(f"{kind:<16} {number:>3} never given", flush=True)
                continue
            print(
                f"{kind:<16} {number:>3} {np.nanmean(held):.3f} [{np.nanmin(held):.3f}, "
                f"{np.nanmax(held):.3f}] {given.mean():.2f}{'' if told else ' -'}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
