"""Planning: workers answer questions in words, and two systems are scored by AQER.

The workers are those of AQER's appendices: F1 (half bad, their noise correlated), F2 (thirds of
three qualities), F3 (thirds, all noisier), F4 (a share biased), K (one good worker with wrong
answers); the models themselves are in simulated_texts.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evaluation.methods.agreement.rank_correlation import pearson
from evaluation.methods.aqer.method import DEFAULTS
from evaluation.methods.aqer.rounds import (
    PUBLISHED,
    iterate,
    mean_by_worker,
    prepare,
    score_outside,
)
from evaluation.methods.core.adjusted import Design, two_way
from evaluation.methods.core.base import BadParameter, FloatArray, IntArray, Texts
from evaluation.methods.core.inference import t_quantile
from evaluation.methods.core.redundancy import FEW, options_for, ranking_column
from evaluation.methods.simulation import simulated_texts
from evaluation.methods.simulation.planning.labels import BUDGET, Draws, Study, mean_interval
from evaluation.methods.simulation.simulated_texts import QUESTIONS, WIDTH, Simulated
from evaluation.methods.simulation.simulation import choose_workers, share

# Model: its strength where nobody says, and what that is.
MODELS = {
    "f1": (0.3, "correlation of the bad workers' noise"),
    "f2": (0.0, "not used"),
    "f3": (0.0, "added to every worker's standard deviation"),
    "f4": (0.2, "share of workers who are biased"),
    "k": (5.0, "wrong answers of one good worker"),
}
# As a run does it that says nothing else.
OPTIONS = replace(PUBLISHED, leave_one_out=DEFAULTS["leave_one_out"])
# Answers whose vectors fit in memory at once (1.6 GB).
LARGEST = 400_000


@dataclass(frozen=True)
class TextStudy(Study):
    """``items`` questions, each answered by ``votes`` of the ``workers``; two systems answer all.

    A system's quality is the expected cosine of its answers with the truth: ``quality`` of the
    worse system, ``quality + gap`` of the better one. ``model`` and its ``strength`` (see MODELS)
    say who the workers are.
    """

    quality: float = 0.6
    model: str = "f2"
    strength: float | None = None

    @property
    def slug(self) -> str:
        """Name of the model."""
        return self.model

    @property
    def warnings(self) -> list[str]:
        """Warnings about the design."""
        if self.votes >= FEW:
            return []
        return [f"{self.votes} answers a question; below {FEW} scores of workers are mostly noise"]

    @property
    def usual(self) -> int:
        """Replicates that take a few seconds."""
        return int(np.clip(10 * BUDGET // (self.items * self.workers * WIDTH), 50, 400))

    @property
    def replicates_per_pass(self) -> int:
        """Number of replicates per pass; each is one AQER fit."""
        return 10

    def check(self) -> None:
        """Raise BadParameter, naming it, on a value outside its range."""
        super().check()
        share("quality", self.quality)
        if not self.quality > 0 or self.quality + self.gap >= 1:
            raise BadParameter(
                f"quality is {self.quality} and gap {self.gap}; quality and quality + gap must lie "
                "between 0 and 1"
            )
        if self.model not in MODELS:
            raise BadParameter(f"model is {self.model!r}; it must be one of {', '.join(MODELS)}")
        if self.workers < 3:
            raise BadParameter(f"workers is {self.workers}; it must be 3 or more")
        if self.workers * self.items > LARGEST:
            raise BadParameter(
                f"workers x items is {self.workers * self.items}; {LARGEST} are the most for texts"
            )
        strength = self._strength()
        top = {"f1": 1.0, "f4": 1.0, "k": float(QUESTIONS)}.get(self.model, np.inf)
        if not 0 <= strength <= top or (self.model == "k" and strength != int(strength)):
            whole = "a whole number " if self.model == "k" else ""
            raise BadParameter(
                f"strength of {self.model} is {strength}; it must be {whole}0..{top}"
            )

    def draw(self, rng: np.random.Generator, replicates: int, level: float) -> Draws:
        """AQER's fit of each replicate, and the systems' paired difference over questions."""
        rows = [self._simulate(rng, level) for _ in range(replicates)]
        estimate, low, high, target, width, truth = np.array(rows).T
        return Draws(
            estimate,
            low,
            high,
            target,
            means={"score_width": width, "score_truth": truth},
            errors={},
        )

    def _simulate(self, rng: np.random.Generator, level: float) -> tuple[float, ...]:
        """Simulate one replicate: difference, interval, true value, and workers' scores.

        A system's score is its cosine with AQER's exemplary answers, so a difference of ``gap``
        towards the truth shows as gap x (cosine of the exemplary answers with the truth).
        """
        crowd = self._crowd(rng)
        texts = self._answers(rng, crowd)
        rows, workers, _ = prepare(texts)
        fit = iterate(rows, options_for(OPTIONS, rows.question), rng)
        at = np.arange(self.items)
        shrink = score_outside(fit.last, crowd.truth, at)
        better, worse = (
            score_outside(fit.last, self._system(rng, crowd.truth, quality), at)
            for quality in (self.quality + self.gap, self.quality)
        )
        estimate, low, high = (
            float(value[0]) for value in mean_interval((better - worse)[None], level)
        )
        design = Design(rows.worker, rows.question, len(workers), self.items)
        scores = fit.last.scores
        if ranking_column(rows.question, complete=design.complete) == "adjusted":
            scores = scores - two_way(scores[None], design)[1][0][rows.question]
        width = _score_width(scores, rows.worker, len(workers), level)
        ranked = mean_by_worker(scores, rows.worker, len(workers))
        truth = float(pearson(ranked, crowd.quality[workers]).value[0])
        return estimate, low, high, float(shrink.mean()) * self.gap, width, truth

    def _crowd(self, rng: np.random.Generator) -> Simulated:
        """Answers of all workers to all questions, in the paper's blocks of 20 questions."""
        strength, blocks = self._strength(), -(-self.items // QUESTIONS)

        def block(first: bool) -> Simulated:
            if self.model == "f1":
                return simulated_texts.correlated(rng, strength, workers=self.workers)
            if self.model == "f2":
                return simulated_texts.simulate_few_workers(rng, self.workers)
            if self.model == "f3":
                return simulated_texts.noisy(rng, strength, workers=self.workers)
            if self.model == "f4":
                return simulated_texts.biased(rng, strength, workers=self.workers)
            wrong = int(strength) if first else 0
            return simulated_texts.wrong_answers(rng, wrong, workers=self.workers)

        parts = [block(k == 0) for k in range(blocks)]
        return Simulated(
            np.concatenate([part.answers for part in parts])[: self.items],
            np.concatenate([part.truth for part in parts])[: self.items],
        )

    def _answers(self, rng: np.random.Generator, crowd: Simulated) -> Texts:
        """The answers of ``votes`` random workers to each question."""
        worker = choose_workers(rng, (self.items,), self.workers, self.votes).ravel()
        question = np.repeat(np.arange(self.items), self.votes)
        return Texts.build(
            worker,
            question,
            crowd.answers[question, worker],
            workers=[f"w{j}" for j in range(self.workers)],
            questions=[f"q{j}" for j in range(self.items)],
        )

    def _system(self, rng: np.random.Generator, truth: FloatArray, quality: float) -> FloatArray:
        """Answers (items, width) whose expected cosine with the truth is ``quality``."""
        deviation = (1 / quality**2 - 1) ** 0.5
        return truth + deviation * rng.standard_normal(truth.shape)

    def _strength(self) -> float:
        return MODELS[self.model][0] if self.strength is None else self.strength


def _score_width(scores: FloatArray, worker: IntArray, size: int, level: float) -> float:
    """Mean width of the t interval of a worker's mean score, over workers with two answers."""
    n = np.bincount(worker, minlength=size)
    mean = np.bincount(worker, weights=scores, minlength=size) / np.maximum(n, 1)
    squares = np.bincount(worker, weights=(scores - mean[worker]) ** 2, minlength=size)
    some = n >= 2
    if not some.any():
        return np.nan
    error = np.sqrt(squares[some] / (n[some] - 1) / n[some])
    freedom = np.asarray(n[some] - 1, dtype=np.float64)
    return float((2 * t_quantile(level, freedom) * error).mean())
