"""AQER's computer science tables, measured again on Mohler's data beside the published figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats

from evaluation.embeddings import Vectors, get_encoder
from evaluation.methods.aqer_rounds import Iterated, Options, iterate, prepare
from evaluation.methods.base import FloatArray, IntArray, Texts
from evaluation.reproduce.data import GradedAnswers, mohler
from evaluation.reproduce.rows import Row
from evaluation.reproduce.semi_synthetic import VARIANTS, deal

REPETITIONS = 25
CURVE = (80, 70, 60, 50, 40, 30, 20, 10, 5)
PUBLISHED_CURVE = {10: 0.787}
CHOOSERS = (5, 10, 15)
TITLE = "AQER on the computer science answers (Mohler et al. 2011), semi-synthetic workers"
LEFT_OUT = (
    "Not part of this command yet: bag of words with majority vote, BLEU1, BLEU4, F1, Roy et al., "
    "RASA. Not measured: RoBERTa-large (the published encoder), MPNet, GPT-3, BERTScore, Chai et "
    "al., LLM as a judge."
)
Say = Callable[[str], None]
PLAIN = Options()


@dataclass(frozen=True)
class Recipe:
    """One row of the worker table: how AQER was run, and what was published for it."""

    table: str
    quantity: str
    published: float | None
    encoder: str = "minilm"
    options: Options = PLAIN
    random_share: float = 0.0
    iterated: bool = True
    spearman: bool = False
    note: str = ""


OTHER_ENCODER = "published with RoBERTa-large"
RECIPES = (
    Recipe("Table 3", "AQER, MiniLM, Pearson", 0.964, note=OTHER_ENCODER),
    Recipe("-", "AQER, character SVD, Pearson", None, encoder="char-svd"),
    Recipe("Table C1", "no iteration, MiniLM, Pearson", 0.945, iterated=False, note=OTHER_ENCODER),
    Recipe("-", "leave-one-out, MiniLM, Pearson", None, options=Options(leave_one_out=True)),
    Recipe(
        "Table B1",
        "negative Euclidean, MiniLM, Pearson",
        0.958,
        options=Options(similarity="neg_euclidean"),
        note=OTHER_ENCODER,
    ),
    Recipe(
        "Table B1",
        "noisy start, MiniLM, Pearson",
        0.964,
        options=Options(start="noisy"),
        note=OTHER_ENCODER,
    ),
    Recipe(
        "Table N1", "20 % random assignment, MiniLM, Pearson", 0.948,
        random_share=0.2, note=OTHER_ENCODER,
    ),
    Recipe(
        "Table N1", "30 % random assignment, MiniLM, Pearson", 0.936,
        random_share=0.3, note=OTHER_ENCODER,
    ),
    Recipe("Table D1", "AQER, MiniLM, Spearman", 0.883, spearman=True, note=OTHER_ENCODER),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Bench:
    """The answers, their vectors by encoder, and how often to repeat."""

    answers: GradedAnswers
    vectors: dict[str, Vectors]
    repetitions: int
    seed: int
    seen: dict[tuple[object, ...], tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    def dealt(self, variant: str, repetition: int, random_share: float = 0.0) -> IntArray:
        """The same workers for every recipe, (q, 20)."""
        rng = np.random.default_rng([self.seed, VARIANTS.index(variant), repetition])
        return deal(
            self.answers.question, self.answers.grades, variant, rng, random_share=random_share
        )

    def fit(self, dealt: IntArray, encoder: str, options: Options = PLAIN) -> Iterated:
        """AQER's rounds on dealt answers (q, m)."""
        q, m = dealt.shape
        texts = Texts.build(
            np.tile(np.arange(m), q),
            np.repeat(np.arange(q), m),
            self.vectors[encoder],
            vector=dealt.ravel(),
            workers=[str(worker) for worker in range(m)],
            questions=[str(question) for question in range(q)],
        )
        rows, _, _ = prepare(texts)
        return iterate(rows, options, np.random.default_rng(self.seed))

    def truth(self, dealt: IntArray) -> FloatArray:
        """Mean grade of each worker (m,)."""
        return self.answers.grades[dealt].mean(axis=0)


def encode(answers: GradedAnswers, encoders: Sequence[str], say: Say) -> dict[str, Vectors]:
    """Vectors of all answers under each encoder, kept in memory for this run only."""
    out = {}
    for slug in encoders:
        encoder = get_encoder(slug)
        say(f"Encoding {len(answers.texts)} answers with {slug}")
        out[slug] = encoder.encode(answers.texts)
    return out


def reproduce(
    folder: Path, *, say: Say, seed: int = 0, repetitions: int = REPETITIONS
) -> list[Row]:
    """All rows; the same seed gives the same rows."""
    answers = mohler(folder)
    bench = Bench(answers, encode(answers, ("minilm", "char-svd"), say), repetitions, seed)
    rows = worker_rows(bench, say=say)
    say("Number of questions")
    rows += curve_rows(bench)
    say("Best response")
    return rows + best_response_rows(bench)


def worker_rows(
    bench: Bench, *, recipes: Sequence[Recipe] = RECIPES, say: Say = lambda line: None
) -> list[Row]:
    """Correlation of scores with mean grades, per recipe and variant."""
    rows = []
    for recipe in recipes:
        say(recipe.quantity)
        for variant in VARIANTS:
            values = [
                _correlation(bench, recipe, variant, repetition)
                for repetition in range(bench.repetitions)
            ]
            spread = f"sd {np.std(values, ddof=1):.3f} over {len(values)} repetitions"
            rows.append(
                Row(
                    recipe.table,
                    recipe.quantity,
                    variant,
                    recipe.published,
                    float(np.mean(values)),
                    "; ".join(part for part in (spread, recipe.note) if part),
                )
            )
    return rows


def _correlation(bench: Bench, recipe: Recipe, variant: str, repetition: int) -> float:
    dealt = bench.dealt(variant, repetition, recipe.random_share)
    key = (variant, repetition, recipe.random_share, recipe.encoder, recipe.options)
    if key not in bench.seen:  # iterated, un-iterated and Spearman read the same fit
        fit = bench.fit(dealt, recipe.encoder, recipe.options)
        bench.seen[key] = (fit.grades, fit.uniterated)
    scores = bench.seen[key][0 if recipe.iterated else 1]
    truth = bench.truth(dealt)
    if recipe.spearman:
        return float(stats.spearmanr(scores, truth).statistic)
    return float(np.corrcoef(scores, truth)[0, 1])


def curve_rows(bench: Bench, *, variant: str = "rand20") -> list[Row]:
    """Pearson with fewer questions (App. E), each repetition with other questions."""
    rows = []
    for count in CURVE:
        values = []
        for repetition in range(bench.repetitions):
            dealt = bench.dealt(variant, repetition)
            rng = np.random.default_rng([bench.seed, count, repetition])
            kept = dealt[np.sort(rng.choice(len(dealt), size=count, replace=False))]
            fit = bench.fit(kept, "minilm")
            values.append(float(np.corrcoef(fit.grades, bench.truth(kept))[0, 1]))
        rows.append(
            Row(
                "Figure E1",
                f"{count} questions, MiniLM, Pearson",
                variant,
                PUBLISHED_CURVE.get(count),
                float(np.mean(values)),
                f"sd {np.std(values, ddof=1):.3f} over {len(values)} repetitions",
            )
        )
    return rows


def best_response_rows(bench: Bench, *, variant: str = "rand20") -> list[Row]:
    """Mean grade of the answer chosen per question (App. I) among 5, 10 or 15 random workers."""
    rows = []
    for count in CHOOSERS:
        chosen = [_choose(bench, variant, count, r) for r in range(bench.repetitions)]
        for quantity in chosen[0]:
            rows.append(
                Row(
                    "Figure I1",
                    f"best response of {count} workers, {quantity}, mean grade 0-5",
                    variant,
                    None,
                    float(np.mean([values[quantity] for values in chosen])),
                    "published as a figure only",
                )
            )
    return rows


def _choose(bench: Bench, variant: str, count: int, repetition: int) -> dict[str, float]:
    """Mean grade by each way of choosing, for one set of workers."""
    rng = np.random.default_rng([bench.seed, count, repetition])
    dealt = bench.dealt(variant, repetition)
    dealt = dealt[:, rng.choice(dealt.shape[1], size=count, replace=False)]
    grades = bench.answers.grades[dealt]
    at = np.arange(len(dealt))
    out = {"random": float(grades.mean())}
    for encoder, name in (("minilm", "MiniLM"), ("char-svd", "character SVD")):
        fit = bench.fit(dealt, encoder)
        scores = fit.last.scores.reshape(dealt.shape)
        trusted = scores + 0.1 * fit.normalised
        out[f"AQER {name}"] = float(grades[at, scores.argmax(axis=1)].mean())
        out[f"AQER {name} + 0.1 x worker score"] = float(grades[at, trusted.argmax(axis=1)].mean())
    out["oracle"] = float(grades.max(axis=1).mean())
    return out
