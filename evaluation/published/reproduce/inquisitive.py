"""INQUISITIVE-BROAD as the paper describes it: sizes, labels by annotator, agreement on ratings.

Wadhwa et al. 2024, Tables 1, 2 and 5, sections 3 to 4.3 and 6.3. Lengths are in words as NLTK's
word_tokenize has them; the paper does not say which tokens it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import fleiss_kappa
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.votes import Labels
from evaluation.methods.rescaling.data import Annotations, shared_pairs
from evaluation.methods.rescaling.method import agreement, label_means
from evaluation.methods.text.corpus import treebank
from evaluation.published.reproduce.columns import columns
from evaluation.published.reproduce.rows import Row

Mask = NDArray[np.bool_]
PART, ITEMS = "explanation-rescaling", "ebr_items.csv.gz"
ANSWERED_ALL = "text-davinci-003_few_shot"  # the only one that answered each question once
# Articles, questions, tokens a question.
TABLE_1 = {"inq": (58, 351, 8.31), "ext": (20, 225, 10.82)}
SPLITS = {"inq": "INQUISITIVE", "ext": "extended"}
# Start of the system's name, tokens an answer, what else the name may be.
TABLE_2 = {
    "text-davinci": ("davinci", 27.65),
    "text-davinci-003": ("text-davinci-003", 48.61),
    "GPT-4": ("gpt4", 48.54),
    "expert human": ("human", 50.40),
}
# Per cent missing all, missing major, missing minor, complete.
TABLE_5 = {"0": (5, 8, 18, 69), "1": (22, 10, 25, 43), "6": (32, 5, 15, 48)}
TOKENS = "the tokeniser is not stated"
DAVINCI_003 = "text-davinci-003"


@dataclass(frozen=True, eq=False)
class Items:
    """Questions and answers (items,): split, article, question, its text, system and answer."""

    split: NDArray[np.str_]
    article: NDArray[np.str_]
    question: NDArray[np.str_]
    asked: Sequence[str]
    system: NDArray[np.str_]
    answer: Sequence[str]


def read_items(folder: Path) -> Items:
    """The published questions and answers. Raises Invalid naming the file or the column."""
    names = ("dataset", "article_key", "question_key", "question", "system", "answer")
    found = columns(folder, PART, ITEMS, names)
    split, article, question, system = (
        np.array(found[name]) for name in ("dataset", "article_key", "question_key", "system")
    )
    return Items(split, article, question, found["question"], system, found["answer"])


def size_rows(items: Items) -> Iterator[Row]:
    """Compare Tables 1 and 2: numbers and lengths of articles, questions and answers."""
    for split, (articles, questions, length) in TABLE_1.items():
        kept = (items.split == split) & (items.system == ANSWERED_ALL)
        name, protocol = SPLITS[split], "questions that text-davinci-003 answered"
        found = len(np.unique(items.article[kept]))
        yield Row("Table 1", f"articles, {name}", protocol, articles, found)
        yield Row("Table 1", f"questions, {name}", protocol, questions, int(kept.sum()))
        mean = _mean_length(items.asked, kept)
        yield Row("Table 1", f"tokens per question, {name}", "words", length, mean, TOKENS)
    for name, (start, length) in TABLE_2.items():
        kept = np.char.startswith(items.system, start)
        mean = _mean_length(items.answer, kept)
        apart = "; ".join(
            f"{system} {_mean_length(items.answer, items.system == system):.1f}"
            for system in np.unique(items.system[kept])
        )
        note = f"{TOKENS}; {apart}" if ";" in apart else TOKENS
        yield Row("Table 2", f"tokens per answer, {name}", "words", length, mean, note)


def _mean_length(texts: Sequence[str], kept: Mask) -> float:
    return float(np.mean([len(treebank(texts[at])) for at in np.flatnonzero(kept).tolist()]))


def label_rows(data: Annotations, system: NDArray[np.str_], inquisitive: Mask) -> Iterator[Row]:
    """Table 5: labels of three annotators; the caption names one split, the figures have both."""
    of_system = np.char.startswith(system, DAVINCI_003)
    for protocol, kept, is_variant in (
        ("answers of text-davinci-003, both splits", of_system, False),
        ("answers of text-davinci-003, INQUISITIVE", of_system & inquisitive, True),
    ):
        for worker, printed in TABLE_5.items():
            own = data.label[kept & (data.worker == data.workers.index(worker))]
            share = 100 * np.bincount(own, minlength=len(data.labels)) / len(own)
            for label, target, value in zip(data.labels, printed, share, strict=True):
                quantity = f"annotator {worker}, {label}, per cent"
                note = "the caption names INQUISITIVE alone" if not is_variant else ""
                yield Row(
                    "Table 5",
                    quantity,
                    protocol,
                    target,
                    float(value),
                    note,
                    is_variant=is_variant,
                )


def rating_rows(data: Annotations, system: NDArray[np.str_]) -> list[Row]:
    """Compare section 4: number of ratings and agreement of annotators."""
    seen = np.bincount(data.item, minlength=len(data.items))
    five = seen[data.item] == np.bincount(seen).argmax()
    best = (data.label == len(data.labels) - 1).astype(np.int64)
    near = "no subset of systems or of repeated ratings gives the printed figure"
    table, everything = "Section 4", np.ones(len(data), dtype=bool)
    repeated = len(data) - len(np.unique(data.worker * len(data.items) + data.item))
    rows = [
        Row(table, "annotators", "all", 8, len(data.workers)),
        Row(
            table,
            "annotations",
            "all",
            12_500,
            len(data),
            f"printed as 12.5k; {repeated} rate an item that the annotator rated before",
            decimals=-2,
        ),
        Row(
            table,
            "annotations without an explanation",
            "blank",
            7,
            int((~data.explained).sum()),
            "the release has none",
        ),
        Row(
            "Section 4.3",
            "Fleiss' kappa, complete or not",
            "all items",
            0.328,
            _kappa(data, best, everything),
            near,
        ),
        Row(
            "Section 4.3",
            "Fleiss' kappa, complete or not",
            "items with five ratings",
            0.328,
            _kappa(data, best, five),
            near,
            is_variant=True,
        ),
    ]
    settings: Iterable[tuple[str, Mask, bool]] = (
        ("all annotations", everything, False),
        ("answers of text-davinci-003", np.char.startswith(system, DAVINCI_003), True),
    )
    for protocol, kept, is_variant in settings:
        part = data.take(kept)
        for name, printed, values in (
            ("complete or not", 0.301, best[kept].astype(np.float64)),
            ("four labels", 0.175, part.label.astype(np.float64)),
        ):
            tau = agreement(part, shared_pairs(part), values, values).mean.before
            rows.append(
                Row(
                    "Section 4.3",
                    f"tau-b, {name}, mean over pairs",
                    protocol,
                    printed,
                    tau,
                    "" if is_variant else _why_tau(name),
                    is_variant=is_variant,
                )
            )
    return rows


def _why_tau(name: str) -> str:
    if name == "four labels":
        return "the printed figure is that of text-davinci-003's answers; Table 8 prints .3305"
    return "printed cut off, not rounded"


def _kappa(data: Annotations, label: NDArray[np.int64], kept: Mask) -> float:
    """Fleiss' kappa of two labels (n,); who gave them does not matter to it."""
    item = data.item[kept]
    order = np.argsort(item, kind="stable")
    rater = np.empty(len(item), dtype=np.int64)
    rater[order] = np.arange(len(item)) - np.searchsorted(item[order], item[order])
    raters = [str(k) for k in range(int(rater.max()) + 1)]
    return fleiss_kappa(
        Labels.build(
            rater,
            item,
            label[kept],
            workers=raters,
            items=data.items,
            labels=("incomplete", "complete"),
        )
    )


def score_rows(data: Annotations, scores: FloatArray) -> Iterator[Row]:
    """Sections 5.2 and 6.3: means in the order of labels, and what rescaling does to one pair."""
    means = label_means(data)
    inverted = (np.diff(means.mean, axis=1) < 0) & (means.n[:, 1:] > 0) & (means.n[:, :-1] > 0)
    yield Row(
        "Section 5.2",
        "annotators whose mean score falls with a better label",
        "all annotations",
        0,
        int(inverted.any(axis=1).sum()),
    )
    known = data.score[np.isfinite(data.score)]
    share = float((known % 5 == 0).mean())
    note = f"all are said to be; {int((known % 5 != 0).sum())} of {len(known):,} are not"
    yield Row("Figure 5", "share of scores that are multiples of 5", "all", 1.0, share, note, 3)
    joined = shared_pairs(data)
    pair = (joined.first == data.workers.index("0")) & (joined.second == data.workers.index("4"))
    rows = np.isin(joined.pair, np.flatnonzero(pair))
    left, right = joined.left[rows], joined.right[rows]
    worst, top = len(data.labels) - 1, 100.0
    equal = (scores[left] == scores[right]) & (data.label[left] == data.label[right])
    for quantity, printed, value in (
        ("items of both", 29, len(left)),
        ("equal label and equal rescaled score", 13, int(equal.sum())),
        (
            "both rate it incomplete",
            1,
            int(((data.label[left] < worst) & (data.label[right] < worst)).sum()),
        ),
        ("both score it below 100", 8, int(((scores[left] < top) & (scores[right] < top)).sum())),
    ):
        yield Row("Section 6.3", f"annotators 0 and 4, {quantity}", "pairs of ratings", printed,
                  value)  # fmt: skip
