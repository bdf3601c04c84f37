"""Which AQER score ranks a crowd best when few people answer each question.

``python -m tests.studies.aqer_redundancy [REPETITIONS [CACHE]]`` thins crowds of known quality
(``redundancy_sets``) to 2, 3, 5 and 10 answers a question, scores them in eight ways (iterated or
not, own answer in or left out, raw or question-adjusted), and prints the mean Pearson correlation
of scores and quality over the workers with at least FEWEST answers. Thinned "at random" everybody
has the same chance to answer a question; "sorted" means that a worker's questions are alike in
difficulty, which is what adjusting is for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import django
import numpy as np

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.rounds import Options, iterate, mean_by_worker, prepare
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import FloatArray, IntArray, Texts
from evaluation.methods.core.redundancy import options_for, ranking_column
from tests.studies.redundancy_sets import (
    Crowd,
    CrowdSet,
    cached_encoder,
    real_sets,
    simulated_sets,
)

REDUNDANCIES = (2, 3, 5, 10)
FEWEST = 5  # answers from which a board gives an interval
REACH = 0.15  # how far a worker's questions lie apart in difficulty when sorted, of 0..1
VARIANTS = tuple(
    (rounds, own, column)
    for rounds in ("iterated", "first round")
    for own in ("own in", "left out")
    for column in ("raw", "adjusted")
)


@dataclass(frozen=True)
class Line:
    """Correlations (v,) of the VARIANTS with quality on one set at one redundancy."""

    name: str
    real: bool
    design: str
    redundancy: int
    correlations: FloatArray
    errors: FloatArray


def thin(
    crowd: Crowd, answers: int, rng: np.random.Generator, *, sorted_by: FloatArray | None = None
) -> Crowd:
    """The same crowd with so many answers to each question; questions with fewer drop out.

    ``sorted_by`` (q,) is how hard each question is where workers get questions alike.
    """
    place = rng.permutation(len(crowd.quality)) / len(crowd.quality)
    if sorted_by is None:
        lot = rng.random(len(crowd.worker))
    else:
        hard = np.argsort(np.argsort(sorted_by)) / len(sorted_by)
        away = np.abs(place[crowd.worker] - hard[crowd.question])
        lot = away / REACH - rng.gumbel(size=len(away))
    order = np.lexsort((lot, crowd.question))
    question = crowd.question[order]
    starts = np.searchsorted(question, question)
    kept = np.arange(len(order)) - starts < answers
    enough = np.bincount(crowd.question)[question] >= answers
    chosen = np.sort(order[kept & enough])
    _, local = np.unique(crowd.question[chosen], return_inverse=True)
    return Crowd(crowd.worker[chosen], local, crowd.vectors[chosen], crowd.quality)


def texts_of(crowd: Crowd) -> Texts:
    """The crowd as data of a method."""
    return Texts.build(
        crowd.worker,
        crowd.question,
        crowd.vectors,
        workers=[f"w{k}" for k in range(len(crowd.quality))],
        questions=[f"q{k}" for k in range(int(crowd.question.max()) + 1)],
    )


def scores(texts: Texts) -> tuple[FloatArray, IntArray]:
    """Scores (v, m) of the VARIANTS on the largest component, NaN elsewhere; answers (m,)."""
    part, of_question = aqer.parts(texts.worker, texts.question, texts.workers, texts.questions)
    largest = np.bincount(part[part > 0]).argmax()
    rows, workers, questions = prepare(
        texts, np.flatnonzero(of_question[texts.question] == largest)
    )
    design = Design(rows.worker, rows.question, rows.n_workers, len(questions))
    out = np.full((len(VARIANTS), len(texts.workers)), np.nan)
    for left_out in (False, True):
        fit = iterate(rows, Options(leave_one_out=left_out), np.random.default_rng(0))
        ends = np.stack([fit.last.scores, fit.first.scores])
        adjusted, _ = two_way(ends, design)
        for row, rounds in enumerate(("iterated", "first round")):
            raw = mean_by_worker(ends[row], rows.worker, rows.n_workers)
            for column, values in (("raw", raw), ("adjusted", adjusted[row])):
                own = "left out" if left_out else "own in"
                out[VARIANTS.index((rounds, own, column)), workers] = values
    count = np.bincount(texts.worker, minlength=len(texts.workers))
    return out, count


def difficulty(crowd: Crowd) -> FloatArray:
    """How close answers to each question lie (q,), with everybody's answers."""
    rows, _, _ = prepare(texts_of(crowd))
    fit = iterate(rows, Options(leave_one_out=True), np.random.default_rng(0))
    return np.bincount(rows.question, fit.first.scores) / np.bincount(rows.question)


def correlations(found: FloatArray, count: IntArray, quality: FloatArray) -> FloatArray:
    """Pearson (v,) with quality over the workers who have enough answers; 0 where all score alike.

    At two answers a question the adjusted scores without the own answer are all equal.
    """
    use = np.isfinite(quality) & np.isfinite(found).all(axis=0) & (count >= FEWEST)
    if use.sum() < 4:
        return np.full(len(found), np.nan)
    return np.array(
        [
            np.corrcoef(row[use], quality[use])[0, 1] if np.ptp(row[use]) > 0 else 0.0
            for row in found
        ]
    )


def measure(
    source: CrowdSet, redundancy: int, repetitions: int, *, sort: bool = False, seed: int = 0
) -> Line:
    """All variants on crowds of one source."""
    found = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, redundancy, repetition])
        crowd = source.draw(rng)
        hard = difficulty(crowd) if sort else None
        thinned = thin(crowd, redundancy, rng, sorted_by=hard)
        values, count = scores(texts_of(thinned))
        found.append(correlations(values, count, crowd.quality))
    table = np.array(found)
    return Line(
        source.name,
        source.real,
        "sorted" if sort else "at random",
        redundancy,
        np.nanmean(table, axis=0),
        np.nanstd(table, axis=0, ddof=1) / len(table) ** 0.5,
    )


def study(sources: Sequence[CrowdSet], repetitions: int, say: Callable[[str], None]) -> list[Line]:
    """Every set at every redundancy that it has; sorted too where it is complete."""
    lines = []
    say(f"{'set':44s} {'thinned':9s} {'r':>2s}  " + "  ".join(_short(v) for v in VARIANTS))
    for sort in (False, True):
        for source in sources:
            for redundancy in REDUNDANCIES:
                if redundancy > source.most or (sort and source.most < max(REDUNDANCIES)):
                    continue
                line = measure(source, redundancy, repetitions, sort=sort)
                lines.append(line)
                say(_told(line))
    return lines


def _short(variant: tuple[str, str, str]) -> str:
    return "/".join(word[:3] for word in variant)


def _told(line: Line) -> str:
    figures = "  ".join(f"{value:11.2f}" for value in line.correlations)
    error = f"+-{line.errors.max():.3f}"
    return f"{line.name:44s} {line.design:9s} {line.redundancy:2d}  {figures}  {error}"


def best_by_default(redundancy: int) -> int:
    """Which of VARIANTS ranks an incomplete board by default."""
    own = "left out" if aqer.DEFAULTS["leave_one_out"] else "own in"
    question = np.repeat(np.arange(2), redundancy)
    column = ranking_column(question, complete=False, asked=aqer.DEFAULTS["rank_by"])
    options = Options(leave_one_out=aqer.DEFAULTS["leave_one_out"])
    if aqer.DEFAULTS["vote"] == "auto":
        options = options_for(options, question)
    rounds = "iterated" if options.vote == "weighted_mean" else "first round"
    return VARIANTS.index((rounds, own, "raw" if column == "score" else "adjusted"))


def foretold(crowd: Crowd) -> tuple[float, float]:
    """What the largest board says: its reliability, and the one to expect with one more answer."""
    result = aqer.fit(texts_of(crowd), rng=np.random.default_rng(0), resamples=100)
    told = max(result.diagnostics["components"], key=lambda part: part["answers"])["redundancy"]
    if told["reliability"] is None:
        return np.nan, np.nan
    return told["reliability"], told["with_one_more"]


def forecast(
    source: CrowdSet, redundancy: int, repetitions: int, *, seed: int = 0
) -> tuple[float, float, float, float]:
    """Mean reliabilities over crowds: told, foretold for one more answer, told then, and true.

    The true one (of the thinner board) comes from two halves of the questions, each fitted by
    itself, by Spearman and Brown's formula.
    """
    found = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, redundancy, repetition])
        full = thin(source.draw(rng), redundancy + 1, rng)
        thinner = thin(full, redundancy, rng)
        now, promised = foretold(thinner)
        kept, _ = foretold(full)
        found.append((now, promised, kept, _halves(thinner, redundancy, rng)))
    now, promised, kept, half = np.nanmean(np.array(found), axis=0)
    return now, promised, kept, 2 * half / (1 + half)


def _halves(crowd: Crowd, redundancy: int, rng: np.random.Generator) -> float:
    """Correlation of the default ranking's scores on two halves of the questions."""
    order = rng.permutation(int(crowd.question.max()) + 1)
    columns = []
    for part in np.array_split(order, 2):
        keep = np.flatnonzero(np.isin(crowd.question, part))
        _, local = np.unique(crowd.question[keep], return_inverse=True)
        half = Crowd(crowd.worker[keep], local, crowd.vectors[keep], crowd.quality)
        values, count = scores(texts_of(half))
        columns.append(np.where(count >= 3, values[best_by_default(redundancy)], np.nan))
    use = np.isfinite(columns).all(axis=0)
    if use.sum() < 4:
        return np.nan
    return float(np.corrcoef(columns[0][use], columns[1][use])[0, 1])


def main(repetitions: int = 40, cache: str = "build/vectors") -> None:
    """Print the table, then its means over the real sets and over the simulations."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from evaluation.published.reproduce.data import data_folder  # loads models, so after the setup

    encode = cached_encoder("minilm", Path(cache))
    sources = [*real_sets(data_folder(), encode), *simulated_sets()]
    lines = study(sources, repetitions, lambda line: print(line, flush=True))
    for real in (True, False):
        for design in ("at random", "sorted"):
            for redundancy in REDUNDANCIES:
                some = [
                    line.correlations
                    for line in lines
                    if (line.real, line.design, line.redundancy) == (real, design, redundancy)
                ]
                if some:
                    name = f"mean of {len(some)} {'real sets' if real else 'simulations'}"
                    mean = Line(name, real, design, redundancy, np.mean(some, axis=0), np.zeros(1))
                    print(_told(mean), flush=True)
    print("reliability: as told, as foretold for one more answer, as then told, as it is")
    for source in sources:
        for redundancy in (2, 3, 4, 5):
            if redundancy < source.most:
                found = forecast(source, redundancy, max(4, repetitions // 10))
                figures = "  ".join(f"{value:5.2f}" for value in found)
                print(f"{source.name:44s} {redundancy:2d}  {figures}", flush=True)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 40,
        sys.argv[2] if len(sys.argv) > 2 else "build/vectors",
    )
