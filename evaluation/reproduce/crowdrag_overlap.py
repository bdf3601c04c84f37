"""CrowdRAG's Table 8: does similarity to the best response rank the others as people do?

BLEU and ROUGE-L are read as the published code reads them (sacrebleu's sentence BLEU with 13a
tokens and exponential smoothing, the best response scored against the other one; rouge-score's
ROUGE-L with stemming). BERTScore cannot be: it ran on the multilingual BERT that the library takes
for a language code it does not know; here the bundled sentence encoder's tokens are compared.

The printed rows are in the alphabetical order of the data's keys under labels of another order:
moved to where they belong, all 14 figures of BLEU agree to three decimals.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from evaluation.methods.base import FloatArray, IntArray
from evaluation.methods.rank_correlation import spearman
from evaluation.methods.text_metrics import bert_score, bleu, rouge_l, token_ids
from evaluation.methods.text_stem import stem
from evaluation.reproduce import crowdrag_published as published
from evaluation.reproduce.crowdrag_data import DIMENSIONS, CrowdRag, texts
from evaluation.reproduce.rows import Row
from evaluation.token_vectors import token_vectors

SCORES = {
    "BERTScore": "BERTScore F1, MiniLM (last layer, 256 tokens)",
    "BLEU": "sentence BLEU-4, 13a tokens, exponential smoothing",
    "ROUGE-L": "ROUGE-L F1, stemmed",
}
WHY = {
    "BERTScore": "published with another model (bert-base-multilingual-cased, by the library's "
    "default for an unknown language code)",
    "BLEU": "differs",
    "ROUGE-L": "published with NLTK's variant of Porter's stemmer, here the original; with that "
    "variant all 14 figures agree to three decimals",
}
MISPLACED = "the printed rows stand under the wrong labels, see the corrected row"
# Row k of the printed table is about dimension BELONGS[k].
BELONGS = [DIMENSIONS.index(name) for name in sorted(DIMENSIONS)]
# sacrebleu's 13a (mteval-v13a): signs apart, but full stops and commas only away from digits.
_13A = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokens_13a(text: str) -> list[str]:
    """Words and signs, cased, as sacrebleu's default tokenizer has them."""
    line = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    line = f" {html.unescape(line)} " if "&" in line else f" {line} "
    for pattern, put in _13A:
        line = pattern.sub(put, line)
    return line.split()


def tokens_rouge(text: str) -> list[str]:
    """Runs of a-z and 0-9 in lower case, stemmed from four letters on, as rouge-score has them."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [stem(word) if len(word) > 3 else word for word in found]


def overlap_rows(
    data: CrowdRag, folder: Path, *, say: Callable[[str], None], bert: bool = True
) -> list[Row]:
    """Table 8 by each scorer; ``bert`` False leaves out the one that needs a model."""
    written = texts(folder, data.graded.responses)
    first, second = _pairs(data)
    rows = []
    for scorer in SCORES:
        if scorer == "BERTScore" and not bert:
            continue
        say(f"Table 8, {scorer}")
        score = _scores(scorer, written, data.graded.topic, first, second)
        full, best_worst = _correlations(data, first, second, score)
        for what, printed, values in zip(
            ("best against worst", "full ranking"), published.TABLE8[scorer], (best_worst, full),
            strict=True,
        ):  # fmt: skip
            rows += _printed_and_corrected(scorer, f"Spearman, {what}, {scorer}", printed, values)
    return rows


def _printed_and_corrected(
    scorer: str, quantity: str, printed: Sequence[float], values: Sequence[float]
) -> list[Row]:
    """Every dimension against the figure beside its name, and against the one that is its own."""
    own = dict(zip(BELONGS, printed, strict=True))
    rows = []
    for table, targets in (("Table 8", dict(enumerate(printed))), ("Table 8, corrected", own)):
        for k, name in enumerate(published.SHORT):
            said = "" if targets[k] == own[k] else MISPLACED
            if not said and round(values[k], 3) != targets[k]:
                said = WHY[scorer]
            rows.append(
                Row(table, f"{quantity}, {name}", SCORES[scorer], targets[k], values[k], said)
            )
    return rows


def _pairs(data: CrowdRag) -> tuple[IntArray, IntArray]:
    """All ordered pairs of responses to one topic."""
    topic = data.graded.topic
    first, second = np.nonzero(topic[:, None] == topic[None, :])
    return first[first != second], second[first != second]


def _scores(
    scorer: str, written: list[str], topic: IntArray, first: IntArray, second: IntArray
) -> FloatArray:
    """Similarity (p,) of response ``first`` (the reference of the ranking) to ``second``."""
    if scorer == "BERTScore":
        return bert_score(token_vectors(written), topic)(first, second)
    if scorer == "ROUGE-L":
        return rouge_l(token_ids([tokens_rouge(text) for text in written]))(first, second)
    found = token_ids([tokens_13a(text) for text in written])
    # A question a pair: the first response is scored with the second as its one reference.
    both = found.take(np.stack([first, second], axis=1).ravel())
    question = np.repeat(np.arange(len(first)), 2)
    return bleu(both, question, np.ones(len(both), dtype=bool), smoothing="nist")[::2]


def _correlations(
    data: CrowdRag, first: IntArray, second: IntArray, score: FloatArray
) -> tuple[list[float], list[float]]:
    """Mean over topics of Spearman's rho with the grades, of five responses and of two."""
    size, topics = len(data.graded.responses), len(data.graded.topics)
    matrix = np.full((size, size), np.nan)
    matrix[first, second] = score
    full: list[float] = []
    best_worst: list[float] = []
    for grade in data.graded.grade.T:
        best = np.full(topics, -1)
        best[data.graded.topic[grade == 6]] = np.flatnonzero(grade == 6)
        others = np.flatnonzero(grade < 6)
        similar = matrix[best[data.graded.topic[others]], others]
        ends = np.isin(grade[others], (1, 5))
        for out, rows in ((full, np.ones(len(others), dtype=bool)), (best_worst, ends)):
            rho = spearman(
                grade[others[rows]], similar[rows], data.graded.topic[others[rows]], groups=topics
            )
            out.append(float(np.nanmean(rho.value)))
    return full, best_worst
