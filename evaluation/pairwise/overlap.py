"""Does similarity to the best text of a topic rank its other texts as people do?

Reference-based measures against judgments (Gienapp et al. 2025, section 5.3, Table 8): BLEU and
ROUGE-L as the reference packages read texts, BERTScore with the tokens of the bundled encoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from annotation.work.snapshots import judgments
from evaluation.embeddings.token_vectors import token_vectors
from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.core.units import LEAST, MEAN, SHARE, too_few_units, wilson
from evaluation.methods.pairwise.tables import mean_interval, mean_of
from evaluation.methods.text.corpus import stem, token_ids, tokens_13a
from evaluation.methods.text.metrics import bert_score, bleu, rouge_l
from evaluation.models import CandidateScore, Run
from evaluation.pairwise.dataset import PairsDataset

OVERLAP = "Similarity to the best text"
SCORES = {
    "BERTScore": "BERTScore F1, MiniLM (last layer, 256 tokens)",
    "BLEU": "sentence BLEU-4, 13a tokens, exponential smoothing",
    "ROUGE-L": "ROUGE-L F1, stemmed",
}


def tokens_rouge(text: str, stemmed: Callable[[str], str] = stem) -> list[str]:
    """Runs of a-z and 0-9 in lower case, stemmed from four letters on, as rouge-score has them."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [stemmed(word) if len(word) > 3 else word for word in found]


def pairs_of(topic: IntArray) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs (p,), (p,) of texts of the same topic; ``topic`` is (n,)."""
    first, second = np.nonzero(topic[:, None] == topic[None, :])
    return first[first != second], second[first != second]


def scores(
    scorer: str,
    written: list[str],
    topic: IntArray,
    first: IntArray,
    second: IntArray,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> FloatArray:
    """Similarity (p,) of text ``first`` (the reference of the ranking) to ``second``.

    ``progress`` is told how many texts have token vectors, where the scorer needs them.
    """
    if scorer == "BERTScore":
        return bert_score(token_vectors(written, progress=progress), topic)(first, second)
    if scorer == "ROUGE-L":
        return rouge_l(token_ids([tokens_rouge(text) for text in written]))(first, second)
    found = token_ids([tokens_13a(text) for text in written])
    # A question a pair: the first response is scored with the second as its one reference.
    both = found.take(np.stack([first, second], axis=1).ravel())
    question = np.repeat(np.arange(len(first)), 2)
    return bleu(both, question, np.ones(len(both), dtype=bool), smoothing="nist")[::2]


def correlations(
    grade: IntArray, topic: IntArray, first: IntArray, second: IntArray, score: FloatArray
) -> tuple[list[float], list[float]]:
    """Means over topics of ``by_topic``: a value a dimension over all other texts, and over the
    worst and the second best alone; NaN where no topic has one."""
    full, ends = by_topic(grade, topic, first, second, score)
    return [mean_of(one) for one in full], [mean_of(one) for one in ends]


def by_topic(
    grade: IntArray, topic: IntArray, first: IntArray, second: IntArray, score: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Spearman's rho between grade and similarity to the best text, a topic and dimension.

    ``grade`` (n, d) is 1 for the worst text of its topic, without ties, 0 for a text without a
    grade; ``topic`` (n,); ``score`` (p,) the similarity of ``second`` to ``first``. Returns
    (d, topics) over all other texts, and over the worst and the second best alone (1 or -1), NaN
    where it is not defined.
    """
    size, topics = len(topic), int(topic.max()) + 1
    matrix = np.full((size, size), np.nan)
    matrix[first, second] = score
    full: list[FloatArray] = []
    best_worst: list[FloatArray] = []
    for one in grade.T:
        top = np.zeros(topics, dtype=np.int64)
        np.maximum.at(top, topic, one)
        best = np.full(topics, -1)
        is_best = (one == top[topic]) & (one > 0)
        best[topic[is_best]] = np.flatnonzero(is_best)
        others = np.flatnonzero((one > 0) & ~is_best)
        similar = matrix[best[topic[others]], others]
        ends = np.isin(one[others], (1,)) | (one[others] == top[topic[others]] - 1)
        for out, rows in ((full, np.ones(len(others), dtype=bool)), (best_worst, ends)):
            rho = spearman(one[others[rows]], similar[rows], topic[others[rows]], groups=topics)
            out.append(rho.value)
    return np.stack(full), np.stack(best_worst)


def intervals(full: FloatArray, ends: FloatArray, level: float) -> dict[str, Any]:
    """Summarise a dimension's rho of all topics (topics,) with intervals, as JSON.

    ``full``: their mean with a t interval over topics. ``ends``: rho of two texts is 1 or -1, so
    Wilson's interval of the share of topics in which the better text is the more similar one,
    turned to the scale of rho. ``topics``, and the ``reason`` where there is no interval.
    """
    known, right = full[np.isfinite(full)], ends[np.isfinite(ends)] > 0
    told: dict[str, Any] = {
        "full": _number(mean_of(full)),
        "ends": _number(mean_of(ends)),
        "topics": len(known),
        **dict.fromkeys(("full_low", "full_high", "ends_low", "ends_high")),
        "reason": too_few_units(len(known), "topics", MEAN),
    }
    if not told["reason"]:
        found = mean_interval(known, level)
        told["full_low"], told["full_high"] = max(found["low"], -1.0), min(found["high"], 1.0)
    if len(right) >= LEAST[SHARE]:
        low, high = wilson(float(right.mean()), len(right), level)
        told["ends_low"], told["ends_high"] = 2 * low - 1, 2 * high - 1
    return told


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def overlap(
    core: Run, frozen: PairsDataset, *, advance: Callable[[int, int], None]
) -> list[dict[str, Any]]:
    """Compare every overlap measure with the core run's grades: a row per measure and dimension."""
    grade = _grades(core, frozen)
    topic = frozen.data.topic
    if not grade.any():
        return []
    written = judgments.candidate_texts(frozen.candidates)
    texts = [written.get(pk, "") for pk in frozen.candidates]
    first, second = pairs_of(topic)
    rows: list[dict[str, Any]] = []
    for done, (scorer, protocol) in enumerate(SCORES.items()):
        advance(done, len(SCORES))
        full, ends = by_topic(
            grade, topic, first, second, scores(scorer, texts, topic, first, second)
        )
        for name, rho, apart in zip(frozen.dimensions, full, ends, strict=True):
            rows.append(
                {
                    "scorer": scorer,
                    "protocol": protocol,
                    "dimension": name,
                    **intervals(rho, apart, core.params.get("level", 0.95)),
                }
            )
    advance(len(SCORES), len(SCORES))
    return rows


def _grades(core: Run, frozen: PairsDataset) -> IntArray:
    """Ranks (n, d) by merit within a topic, 1 the worst; equal merits in the order of ids."""
    at = {pk: k for k, pk in enumerate(frozen.candidates)}
    column = {name: k for k, name in enumerate(frozen.dimensions)}
    merit = np.full((len(at), len(column)), np.nan)
    rows = CandidateScore.objects.filter(run=core).values_list(
        "candidate_id", "dimension", "estimate"
    )
    for candidate, dimension, estimate in rows:
        if candidate in at and dimension in column and estimate is not None:
            merit[at[candidate], column[dimension]] = estimate
    grade = np.zeros(merit.shape, dtype=np.int64)
    for k in range(merit.shape[1]):
        for topic in range(len(frozen.data.topics)):
            rows_in = np.flatnonzero((frozen.data.topic == topic) & np.isfinite(merit[:, k]))
            order = rows_in[np.argsort(merit[rows_in, k], kind="stable")]
            grade[order, k] = np.arange(1, len(order) + 1)
    return grade
