"""Language models as judges of summaries, held against the human scores of SummEval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crowdqc.errors import Invalid
from evaluation.methods.agreement.rank_correlation import correlate, spearman
from evaluation.methods.agreement.significance import fisher_z_difference
from evaluation.methods.checklists.correlation import SampleLevel, pooled, sample_level
from evaluation.methods.checklists.sampling import balanced_sample
from evaluation.methods.core.base import BadParameter, FloatArray, IntArray
from evaluation.methods.core.inference import mean_interval
from evaluation.published.reproduce.columns import columns, numbers
from evaluation.published.reproduce.rows import Row

TITLE = (
    "SummEval: published language model judges against human scores. The reference is the data "
    "set's own out_summeval_corr.csv (three decimals), not a figure of a paper"
)
LEFT_OUT = (
    "Not measured: InteractEval's Tables 2 to 5. Its checklists, judgments and sample of texts "
    "were not published, and its baselines have no public outputs. --repetitions N adds what N "
    "samples of a tenth of the texts give, drawn evenly over scores as its section 4.1 says; that "
    "raises correlations where most texts have one score."
)
DECIMALS = {"": 3}
PART, REFERENCE = "summeval", "out_summeval_corr.csv"
DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
# Columns of the reference: quantity, protocol.
SAMPLE, ZERO = "sample-level, undefined articles skipped", "sample-level, undefined articles as 0"
FIGURES = {
    "sample_rho": ("Spearman rho", SAMPLE),
    "sample_tau": ("Kendall tau-b", SAMPLE),
    "sample_rho_nan0": ("Spearman rho", ZERO),
    "sample_tau_nan0": ("Kendall tau-b", ZERO),
    "undefined_docs": ("articles without a correlation", "one side constant"),
    "pooled_rho": ("Spearman rho", "pooled over all texts"),
    "pooled_tau": ("Kendall tau-b", "pooled over all texts"),
    "pooled_r": ("Pearson r", "pooled over all texts"),
}
SAMPLED = 10  # of how many texts a sample has one
SAMPLE_KINDS = {"spearman": "Spearman rho", "kendall": "Kendall tau-b"}
# Two judges of the same texts, compared as one sample.
COMPARED = (("gpt-4-0314", "rts"), ("gpt-3.5-turbo-0301", "rts"))
Say = Callable[[str], None]
Judge = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class JudgedSummaries:
    """Scores (n,) of one judge on one dimension, the human scores and the articles' indices."""

    summary: tuple[tuple[str, str], ...]
    scores: FloatArray
    human: FloatArray
    article: IntArray


def read(folder: Path) -> dict[Judge, JudgedSummaries]:
    """Scores by evaluator, dimension and prompt. Raises Invalid naming the file and the row."""
    name = "summeval_summaries_human.csv.gz"
    rows = columns(folder, PART, name, ("article_id", "summary_id", *DIMENSIONS))
    keys = list(zip(rows["article_id"], rows["summary_id"], strict=True))
    human = {
        dimension: dict(zip(keys, numbers(name, dimension, rows[dimension]), strict=True))
        for dimension in DIMENSIONS
    }
    articles = {article: k for k, article in enumerate(dict.fromkeys(rows["article_id"]))}
    name = "summeval_llm_judge_scores.csv.gz"
    rows = columns(
        folder,
        PART,
        name,
        ("evaluator", "dimension", "prompt", "article_id", "summary_id", "score"),
    )
    scores = numbers(name, "score", rows["score"])
    by_judge: dict[Judge, list[int]] = {}
    judges = zip(rows["evaluator"], rows["dimension"], rows["prompt"], strict=True)
    for k, judge in enumerate(judges):
        by_judge.setdefault(judge, []).append(k)
    out = {}
    for judge, at in sorted(by_judge.items()):
        texts = tuple((rows["article_id"][k], rows["summary_id"][k]) for k in at)
        missing = next(
            (k for k, text in zip(at, texts, strict=True) if text not in human.get(judge[1], {})),
            None,
        )
        if missing is not None:
            raise Invalid(f"{name}, row {missing + 1}: no human score for it.", rows=[missing + 1])
        of_text = human[judge[1]]
        out[judge] = JudgedSummaries(
            texts,
            scores[at],
            np.array([of_text[text] for text in texts]),
            np.array([articles[article] for article, _ in texts]),
        )
    return out


def reference(folder: Path) -> dict[tuple[str, ...], float]:
    """Figures of the reference by evaluator, dimension, prompt and column; empty without it."""
    if not any((place / REFERENCE).is_file() for place in (folder / PART, folder)):
        return {}
    rows = columns(folder, PART, REFERENCE, ("evaluator", "dim", "prompt", *FIGURES))
    judges = list(zip(rows["evaluator"], rows["dim"], rows["prompt"], strict=True))
    return {
        (*judge, column): value
        for column in FIGURES
        for judge, value in zip(judges, numbers(REFERENCE, column, rows[column]), strict=True)
    }


def reproduce(
    folder: Path, *, say: Say, seed: int = 0, repetitions: int | None = None
) -> list[Row]:
    """Compute all rows of the reproduction.

    ``repetitions`` adds samples of a tenth of the texts.
    """
    judged, known = read(folder), reference(folder)
    rows = []
    for judge, data in judged.items():
        say(" ".join(judge))
        rows += judge_rows(judge, data, known)
        if repetitions:
            rows += sample_rows(judge, data, seed=seed, draws=repetitions)
    say("Two judges compared")
    for dimension in DIMENSIONS:
        first, second = (judged.get((name, dimension, prompt)) for name, prompt in COMPARED)
        if first is not None and second is not None:
            rows += comparison_rows(dimension, first, second)
    return rows


def judge_rows(
    judge: Judge, data: JudgedSummaries, known: dict[tuple[str, ...], float]
) -> list[Row]:
    """The reference's eight figures of one judge on one dimension."""
    rho, tau = (
        sample_level(data.scores, data.human, data.article, kind=kind)
        for kind in ("spearman", "kendall")
    )
    whole = pooled(data.scores, data.human, data.article)
    tau_all, r_all = (
        float(correlate(kind, data.scores, data.human).value[0]) for kind in ("kendall", "pearson")
    )
    measured = {
        "sample_rho": (rho.estimate, _interval(rho)),
        "sample_tau": (tau.estimate, _interval(tau)),
        "sample_rho_nan0": (rho.as_zero, ""),
        "sample_tau_nan0": (tau.as_zero, ""),
        "undefined_docs": (float(rho.undefined), f"of {rho.articles} articles"),
        "pooled_rho": (whole.estimate, _span(whole.low, whole.high)),
        "pooled_tau": (tau_all, ""),
        "pooled_r": (r_all, ""),
    }
    who = f"{judge[0]} {judge[2]}, {judge[1]}"
    return [
        Row(
            REFERENCE,
            f"{who}, {FIGURES[name][0]}",
            FIGURES[name][1],
            known.get((*judge, name)),
            value,
            note,
        )
        for name, (value, note) in measured.items()
    ]


def sample_rows(judge: Judge, data: JudgedSummaries, *, seed: int, draws: int) -> list[Row]:
    """Pooled correlations of ``draws`` samples of a tenth of the texts (InteractEval, 4.1)."""
    size = len(data.scores) // SAMPLED
    found: dict[str, list[float]] = {kind: [] for kind in SAMPLE_KINDS}
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        at = balanced_sample(data.human, data.article, size, rng=rng)
        for kind, values in found.items():
            values.append(float(correlate(kind, data.scores[at], data.human[at]).value[0]))
    rows = []
    for kind, values in found.items():
        all_texts = float(correlate(kind, data.scores, data.human).value[0])
        known = np.array(values)[np.isfinite(values)]
        if not len(known):
            continue
        low, high = np.quantile(known, (0.025, 0.975))
        rows.append(
            Row(
                "10 % sample",
                f"{judge[0]} {judge[2]}, {judge[1]}, {SAMPLE_KINDS[kind]}",
                f"pooled, mean of {len(known)} samples of {size} texts, even over scores and "
                "articles",
                None,
                float(known.mean()),
                f"95 % of samples [{low:+.3f}, {high:+.3f}], sd {known.std():.3f}; all texts "
                f"{all_texts:+.3f}",
            )
        )
    return rows


def comparison_rows(dimension: str, first: JudgedSummaries, second: JudgedSummaries) -> list[Row]:
    """Compare two judges on the same texts: paired by article, and by Fisher's z.

    InteractEval's Table 4 takes two correlations of the same texts for independent samples; the
    row beside it takes their dependence into account (Meng et al. 1992).
    """
    at = {text: k for k, text in enumerate(second.summary)}
    order = [at[text] for text in first.summary if text in at]
    if len(order) != len(first.summary):
        raise Invalid(f"The two judges of {dimension} did not score the same texts.")
    other = second.scores[order]
    one, two = (
        sample_level(scores, first.human, first.article) for scores in (first.scores, other)
    )
    both = one.by_article.defined & two.by_article.defined
    apart = one.by_article.value[both] - two.by_article.value[both]
    _, low, high = mean_interval(apart, 0.95)
    names = " minus ".join(f"{name} {prompt}" for name, prompt in COMPARED)
    rows = [
        Row(
            "-",
            f"{names}, {dimension}, Spearman rho",
            "paired by article",
            None,
            float(apart.mean()),
            f"{_span(low, high)}, {both.sum()} articles with both",
        )
    ]
    between = float(spearman(first.scores, other).value[0])
    r = [pooled(scores, first.human, first.article).estimate for scores in (first.scores, other)]
    n = len(order)
    try:
        apart_z = fisher_z_difference(r[0], n, r[1], n)
        same_z = fisher_z_difference(r[0], n, r[1], n, between=between)
    except BadParameter as problem:
        raise Invalid(f"Fisher's z of {dimension}: {problem}.") from problem
    for found, words in ((apart_z, "taken for independent"), (same_z, "of the same texts")):
        rows.append(
            Row(
                "-",
                f"{names}, {dimension}, Fisher z of pooled Spearman",
                words,
                None,
                found.estimate,
                f"{_span(found.low, found.high)}, p {found.p:.2g}",
            )
        )
    return rows


def _interval(found: SampleLevel) -> str:
    return f"{_span(found.low, found.high)}, {found.articles - found.undefined} articles"


def _span(low: float, high: float) -> str:
    return f"95 % interval [{low:+.3f}, {high:+.3f}]"
