"""InteractEval's tables against each other, and word overlap on the data they are of.

Chu et al., "Think Together and Work Better" (2024). Its checklists, judgments and sample of texts
were not published. What can be checked: whether the printed averages are those of the printed
columns, whether Table 4 follows from Tables 2 and 3, and what overlap with the article gives on the
whole of SummEval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from evaluation.methods.agreement.significance import fisher_z_difference
from evaluation.methods.checklists.correlation import sample_level
from evaluation.methods.core.base import FloatArray, IntArray, look_up
from evaluation.methods.text.corpus import token_ids, tokens_13a, words
from evaluation.methods.text.metrics import bleu, rouge_l
from evaluation.published.reproduce.columns import columns, numbers
from evaluation.published.reproduce.rows import Row

TITLE = "InteractEval (Chu et al. 2024): its printed tables against each other, and SummEval"
LEFT_OUT = (
    "Not measured: Table 2's models, Table 3's checklists and Figures 4 to 7, whose judgments, "
    "attributes and sample of texts were not published; Table 1, which describes four people. "
    "Judges with public scores are in reproduce summeval."
)
DECIMALS = {"": 3}
PART = "summeval"
DIMENSIONS = ("coherence", "fluency", "consistency", "relevance")
KINDS = ("Spearman", "Kendall")
# Spearman and Kendall of each dimension, then of the average.
TABLE_2 = {
    "ROUGE-L": (0.172, 0.122, 0.240, 0.167, 0.317, 0.235, 0.420, 0.301, 0.260, 0.187),
    "BLEU": (0.028, 0.019, -0.079, -0.057, 0.036, 0.030, 0.423, 0.308, 0.023, 0.017),
    "METEOR": (0.009, 0.008, 0.011, 0.008, 0.101, 0.074, 0.275, 0.182, 0.055, 0.040),
    "BERTScore": (-0.219, -0.151, -0.156, -0.113, -0.109, -0.076, 0.462, 0.476, -0.188, -0.134),
    "MoverScore": (0.340, 0.252, 0.345, 0.247, 0.384, 0.277, -0.434, -0.315, 0.349, 0.268),
    "BARTScore": (0.475, 0.343, 0.395, 0.285, 0.457, 0.341, 0.602, 0.455, 0.451, 0.330),
    "UniEval": (0.567, 0.411, 0.605, 0.447, 0.613, 0.476, 0.640, 0.476, 0.555, 0.412),
    "G-Eval, GPT-3.5": (0.412, 0.393, 0.354, 0.333, 0.338, 0.322, 0.361, 0.321, 0.366, 0.342),
    "CheckEval, GPT-3.5": (0.440, 0.347, 0.393, 0.327, 0.600, 0.515, 0.305, 0.252, 0.436, 0.360),
    "InteractEval, GPT-3.5": (
        0.583, 0.536, 0.630, 0.604, 0.734, 0.702, 0.614, 0.576, 0.640, 0.605,
    ),
    "G-Eval, GPT-4": (0.619, 0.470, 0.629, 0.482, 0.664, 0.517, 0.617, 0.464, 0.632, 0.483),
    "CheckEval, GPT-4": (0.573, 0.428, 0.632, 0.493, 0.706, 0.611, 0.570, 0.438, 0.620, 0.493),
    "InteractEval, GPT-4": (0.650, 0.603, 0.798, 0.768, 0.783, 0.760, 0.626, 0.587, 0.668, 0.640),
}  # fmt: skip
COMBINED = "InteractEval, GPT-4"
TABLE_3 = {
    "GPT-4": (0.620, 0.598, 0.633, 0.600, 0.738, 0.724, 0.550, 0.530, 0.635, 0.613),
    "Llama-3.1-8B": (0.494, 0.449, 0.570, 0.554, 0.583, 0.572, 0.436, 0.406, 0.521, 0.495),
    "Gemini-1.5-Pro": (0.453, 0.413, 0.658, 0.647, 0.630, 0.610, 0.468, 0.429, 0.552, 0.525),
    "Claude-3.5-Sonnet": (0.632, 0.581, 0.467, 0.427, 0.522, 0.462, 0.523, 0.470, 0.536, 0.485),
}
# z of the first condition against the second: single or multiple LLMs or humans, combined.
TABLE_4 = {
    ("SL", "SH"): (0.441, 0.393, 0.295, 0.739, -0.914, -0.328, -0.324, 0.937, -0.133, 0.220),
    ("ML", "MH"): (0.565, 0.866, 0.563, 0.277, -0.295, -0.409, -0.456, -0.455, 0.057, 0.228),
    ("SL", "ML"): (0.525, 0.793, 0.989, 1.484, 0.385, 0.428, 0.274, 0.388, 0.528, 0.758),
    ("SH", "MH"): (0.648, 1.266, 1.257, 1.022, 1.005, 1.166, 0.142, -0.145, 0.719, 0.766),
    ("SL", "Comb"): (1.197, 1.433, 3.216, 3.54, 2.967, 3.087, 1.318, 1.602, 1.241, 1.659),
    ("SH", "Comb"): (0.755, 1.040, 2.921, 2.808, 3.881, 3.415, 1.643, 1.523, 1.374, 1.439),
    ("ML", "Comb"): (0.672, 0.640, 2.226, 2.063, 2.581, 2.659, 1.044, 1.213, 0.713, 0.901),
    ("MH", "Comb"): (0.106, -0.226, 1.663, 1.786, 2.876, 2.249, 1.5, 1.669, 0.655, 0.672),
}
HALF = 0.0005  # of the last digit printed
SAMPLE = 160  # a tenth of 1,600 summaries
Say = Callable[[str], None]


def reproduce(
    folder: Path, *, say: Say, seed: int = 0, repetitions: int | None = None
) -> list[Row]:
    """Compute all rows of the reproduction; it has no randomness, so the seed is unused."""
    rows = [*average_rows("Table 2", TABLE_2), *average_rows("Table 3", TABLE_3)]
    rows += [*sum_rows(), *fisher_rows()]
    say("Overlap of 1,600 summaries with their articles")
    return [*rows, *overlap_rows(folder)]


def names() -> list[str]:
    """The ten columns of a table."""
    return [f"{dimension}, {kind}" for dimension in (*DIMENSIONS, "average") for kind in KINDS]


def average_rows(table: str, printed: Mapping[str, tuple[float, ...]]) -> Iterator[Row]:
    """Whether the printed averages are the means of the printed dimensions."""
    for model, values in printed.items():
        for k, kind in enumerate(KINDS):
            yield _derived(
                table,
                f"{model}, average, {kind}",
                "mean of the printed four",
                values[8 + k],
                (float(np.mean(values[k:8:2])), 1),
                why="not the mean of the printed four",
            )


def _derived(
    table: str, quantity: str, protocol: str, printed: float, found: tuple[float, int], *, why: str
) -> Row:
    """A row of (value, how many roundings it holds), with ``why`` where they do not explain it."""
    value, roundings = found
    row = Row(table, quantity, protocol, printed, value, decimals=3, slack=roundings * HALF)
    return row if row.is_within_rounding else replace(row, note=why)


def sum_rows() -> Iterator[Row]:
    """Whether z values of three conditions add up, as they must with equal samples."""
    for first, second in (("SL", "SH"), ("ML", "MH"), ("SL", "ML"), ("SH", "MH")):
        one, two = (TABLE_4[name, "Comb"] for name in (first, second))
        for name, target, z in zip(
            names(), TABLE_4[first, second], np.subtract(one, two).tolist(), strict=True
        ):
            yield _derived(
                "Table 4",
                f"z, {first} against {second}, {name}",
                f"{first} against Comb less {second} against Comb, as printed",
                target,
                (z, 2),
                why="does not add up with the other two",
            )


def fisher_rows() -> Iterator[Row]:
    """Fisher's z of single LLMs against the combination, from the printed correlations."""
    single = np.mean(list(TABLE_3.values()), axis=0)
    for name, first, second, target in zip(
        names(), single, TABLE_2[COMBINED], TABLE_4["SL", "Comb"], strict=True
    ):
        found = fisher_z_difference(second, SAMPLE, float(first), SAMPLE)
        implied = 3 + 2 * (target / found.estimate) ** 2
        yield Row(
            "Table 4",
            f"z, SL against Comb, {name}",
            f"Tables 2 and 3, {SAMPLE} texts each, taken for independent",
            target,
            found.z,
            f"the printed z needs {implied:.0f} texts; no number gives all ten",
        )


def overlap_rows(folder: Path) -> Iterator[Row]:
    """Table 2's overlap measures with the article as reference, on all summaries.

    The paper takes its figures from another one, on a tenth of the texts and with reference
    summaries, which the data lacks.
    """
    name = "summeval_summaries_human.csv.gz"
    rows = columns(folder, PART, name, ("article_id", "summary", *DIMENSIONS))
    texts = columns(folder, PART, "summeval_articles.csv.gz", ("article_id", "article"))
    article = look_up("article_id", rows["article_id"], texts["article_id"])
    note = "all 1,600 summaries; published on a tenth of them, with reference summaries"
    for model, scores in _overlap(rows["summary"], texts["article"], article).items():
        for k, dimension in enumerate(DIMENSIONS):
            human = numbers(name, dimension, rows[dimension])
            for j, kind in enumerate(KINDS):
                found = sample_level(scores, human, article, kind=kind.lower())
                yield Row(
                    "Table 2",
                    f"{model}, {dimension}, {kind}",
                    "against the article",
                    TABLE_2[model][2 * k + j],
                    found.estimate,
                    note,
                    is_variant=True,
                )


def _overlap(summaries: list[str], articles: list[str], article: IntArray) -> dict[str, FloatArray]:
    """Scores (n,) of summaries against their articles."""
    size = len(summaries)
    plain = token_ids([words(text) for text in (*summaries, *articles)])
    cased = token_ids([tokens_13a(text) for text in (*summaries, *articles)])
    own, reference = np.arange(size), size + article
    # A question a summary: it does not vote, its article does.
    both = cased.take(np.stack([own, reference], axis=1).ravel())
    votes = np.tile([False, True], size)
    return {
        "ROUGE-L": rouge_l(plain)(own, reference),
        "BLEU": bleu(both, np.repeat(own, 2), votes, smoothing="nist")[::2],
    }
