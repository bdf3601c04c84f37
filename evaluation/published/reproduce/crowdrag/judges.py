"""CrowdRAG's Table 9, the language model as a judge: as published, and with directions fixed.

The published code turns the model's labels to the stored order of the pair but leaves the gold
labels as displayed, so half of them are upside down. It also pools two calls and two gold labels
of a pair into one alpha, so that the model's agreement with itself counts as agreement with people.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evaluation.methods.agreement.rank_correlation import spearman
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.published.reproduce.crowdrag import published
from evaluation.published.reproduce.crowdrag.agreement import label_alpha, occurrence
from evaluation.published.reproduce.crowdrag.data import LABELS, CrowdRag, Directed
from evaluation.published.reproduce.crowdrag.rows import FINDING, compare_rows
from evaluation.published.reproduce.rows import Row

POOLED = "two calls and two gold labels a pair, pooled"
AS_PUBLISHED = f"{POOLED}; the gold labels not turned to the pair's order"
FIXED = f"{POOLED}; all turned to the pair's order"


def judge_rows(data: CrowdRag) -> list[Row]:
    """Table 9: the model with itself, with the gold labels, and across dimensions."""
    gold = _both_ways(data.gold, len(data.votes.pairs))
    rows = []
    for kind, calls in data.llm.items():
        itself, human, rho = published.TABLE9[kind]
        turned = calls.canonical()
        rows += compare_rows(
            "Table 9",
            f"alpha of the LLM with itself, {kind}",
            "both orders of a pair",
            printed=itself,
            values=_alphas([(calls.pair, turned)]),
        )
        rows += compare_rows(
            "Table 9",
            f"alpha of the LLM with gold, {kind}",
            AS_PUBLISHED,
            printed=human,
            values=_alphas([(calls.pair, turned), (gold.pair, gold.label)]),
            note="direction bug: half of the gold labels are upside down",
        )
        rows += compare_rows(
            "Table 9",
            f"mean rho with other dimensions, {kind}",
            "mean over all seven, the dimension itself (rho 1) included",
            printed=rho,
            values=_mean_rho(turned, itself=True),
        )
        rows += _fixed_rows(kind, calls, gold)
    return [*rows, *_both_rows(data), *_decisive_rows(data, gold)]


def _both_ways(found: Directed, pairs: int) -> Directed:
    """Keep only pairs that are there in both orders."""
    there = np.zeros(2 * pairs, dtype=bool)
    there[found.item] = True
    return found.take((there[::2] & there[1::2])[found.pair])


def _alphas(parts: list[tuple[IntArray, IntArray]]) -> list[float]:
    """Ordinal alpha a dimension of labels (n, 7) on items (n,), all parts together."""
    item = np.concatenate([one for one, _ in parts])
    label = np.concatenate([labels for _, labels in parts])
    return [label_alpha(item, label[:, k]) for k in range(label.shape[1])]


def _mean_rho(label: IntArray, *, itself: bool) -> FloatArray:
    """Mean Spearman correlation of each dimension with all (7,), or with all others."""
    size = label.shape[1]
    rho = np.eye(size)
    for a in range(size):
        for b in range(a):
            rho[a, b] = rho[b, a] = spearman(label[:, a], label[:, b]).value[0]
    total = rho.sum(axis=1)
    return np.asarray(total / size if itself else (total - 1) / (size - 1))


def _fixed_rows(kind: str, calls: Directed, gold: Directed) -> list[Row]:
    """Return rows with what the table should have said."""
    _, human, rho = published.TABLE9[kind]
    turned = (calls.pair, calls.canonical())
    pooled = _alphas([turned, (gold.pair, gold.canonical())])
    apart = _alphas([(calls.item, calls.label), (gold.item, gold.label)])
    name = f"alpha of the LLM with gold, {kind}"
    rows = compare_rows(
        "Table 9, corrected",
        name,
        FIXED,
        printed=human,
        values=pooled,
        why="the gold labels are turned",
    )
    same = "one call and one gold label of the same order"
    rows += compare_rows(
        "Table 9, corrected",
        name,
        same,
        printed=human,
        values=apart,
        why="directions fixed, and neither side's agreement with itself counts",
    )
    for protocol, values in ((FIXED, pooled), (same, apart)):
        rows.append(
            Row(
                "Table 9, corrected",
                f"{name}, mean",
                protocol,
                float(np.mean(human)),
                float(np.mean(values)),
                "the published mean is that of the printed column",
            )
        )
    return rows + compare_rows(
        "Table 9, corrected",
        f"mean rho with other dimensions, {kind}",
        "the six others",
        printed=rho,
        values=_mean_rho(calls.canonical(), itself=False),
        why="the printed mean holds the dimension's correlation with itself, 1",
    )


def _both_rows(data: CrowdRag) -> list[Row]:
    """Combined against individual prompting: first call with first call, second with second."""
    parts: list[tuple[IntArray, IntArray]] = []
    shown: list[tuple[IntArray, IntArray]] = []
    for calls in data.llm.values():
        parts.append((2 * calls.pair + occurrence(calls.pair), calls.canonical()))
        shown.append((calls.item, calls.label))
    name, printed = "alpha of combined with individual", published.TABLE9_BOTH
    by_file = "first calls in the file together, second calls together"
    rows = compare_rows("Table 9", name, by_file, printed=printed, values=_alphas(parts))
    return rows + compare_rows(
        "Table 9, corrected",
        name,
        "calls of the same order",
        printed=printed,
        values=_alphas(shown),
        why="the file's first calls of a pair need not have the same order",
    )


def _decisive_rows(data: CrowdRag, gold: Directed) -> Iterator[Row]:
    """Compare how often two decisive labels agree: model and gold, a worker and the other four."""
    calls = data.llm["combined"]
    order, known = np.argsort(gold.item), gold.item
    place = np.searchsorted(known[order], calls.item)
    label = gold.label[order[place]]
    votes = data.artifact
    item = 2 * votes.pair + votes.flipped
    for k, name in enumerate(published.SHORT):
        both = (calls.label[:, k] != 1) & (label[:, k] != 1)
        share = float((calls.label[both, k] == label[both, k]).mean())
        yield Row(
            "Table 9, corrected",
            f"decisive labels, LLM agrees with gold, {name}",
            "combined, same order, neither neutral",
            None,
            share,
            FINDING,
        )
    for k, name in enumerate(published.SHORT):
        yield Row(
            "Table 9, corrected",
            f"decisive votes, a worker agrees with the others, {name}",
            "majority of the decisive among the other four",
            None,
            _with_majority(item, votes.vote[:, k], 2 * len(votes.pairs)),
            FINDING,
        )


def _with_majority(item: IntArray, vote: IntArray, items: int) -> float:
    """Share of decisive votes (n,) that go with the majority of the item's other decisive ones."""
    size = len(LABELS)
    counts = np.bincount(item * size + vote, minlength=items * size).reshape(-1, size)
    others = counts[item]
    others[np.arange(len(vote)), vote] -= 1
    lead = others[:, 2] - others[:, 0]
    used = (vote != 1) & (lead != 0)
    return float((np.sign(lead[used]) == vote[used] - 1).mean())
