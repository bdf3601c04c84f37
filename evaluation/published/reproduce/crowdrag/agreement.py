"""CrowdRAG's Tables 4 to 6 by the published recipes, and the order effects that alpha hides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evaluation.methods.agreement.coefficients import differentiability_split, krippendorff_alpha
from evaluation.methods.core.base import FloatArray, IntArray, Table
from evaluation.methods.core.components import components
from evaluation.methods.core.units import Clustered, difference
from evaluation.methods.core.votes import Labels
from evaluation.methods.pairwise.judgments import ShownVotes
from evaluation.methods.pairwise.order.effects import (
    across_item_alpha,
    interdependence,
    neutral_drift,
    side_preference,
    straight_lining,
    within_item_alpha,
)
from evaluation.published.reproduce.crowdrag import published
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS, LABELS, CrowdRag
from evaluation.published.reproduce.crowdrag.rows import FINDING, compare_rows, rounding
from evaluation.published.reproduce.rows import Row

Mask = NDArray[np.bool_]
CUT = 0.7  # votes of a higher published spam probability go


def agreement_rows(data: CrowdRag) -> Iterator[Row]:
    """Table 4: alpha of the crowd (C), after the published filter (C*), and of the experts."""
    votes = data.artifact
    wanted = _table4(data, votes)
    for name, (protocol, values) in wanted.items():
        yield from compare_rows(
            "Table 4", f"alpha, {name}", protocol, printed=published.TABLE4[name], values=values
        )
        mean, printed = float(np.mean(values)), published.TABLE4_MEAN[name]
        said = rounding(printed, mean)
        yield Row("Table 4", f"alpha, {name}, mean", protocol, printed, mean, said)
    split = _differentiable(data, votes)
    judged = np.unique(2 * votes.pair + votes.flipped)
    sizes = (len(judged), int((~split[judged]).sum()), int(split[judged].sum()))
    for (name, printed), size in zip(published.TABLE4_ITEMS.items(), sizes, strict=True):
        yield Row("Table 4", f"items, {name}", "ordered pairs", printed, size)
    yield from _filter_rows(data, votes)
    yield from _neutral_rows(data, votes)


def _neutral_rows(data: CrowdRag, votes: ShownVotes) -> Iterator[Row]:
    """Section 5.1: experts are said to choose neutral more often than the crowd."""
    offered = (votes.side() == 0).any(axis=0)
    hard = np.isin(2 * votes.pair + votes.flipped, data.experts.item)
    for name, label in (("experts", data.experts.label), ("crowd", votes.vote[hard])):
        share = float((label[:, offered] == LABELS.index("N")).mean())
        protocol = f"the 30 pairs of the experts, {int(offered.sum())} dimensions that offer it"
        yield Row("section 5.1", f"share of neutral labels, {name}", protocol, None, share,
                  "experts are said to choose it more often")  # fmt: skip


def _differentiable(data: CrowdRag, votes: ShownVotes) -> Mask:
    return differentiability_split(
        {name: data.labels(votes, k) for k, name in enumerate(DIMENSIONS)}
    )


def _table4(data: CrowdRag, votes: ShownVotes) -> dict[str, tuple[str, list[float]]]:
    item = 2 * votes.pair + votes.flipped
    everything = np.ones(len(votes), dtype=bool)
    easy, first = _differentiable(data, votes)[item], data.first_direction()[item]
    hard = np.isin(item, data.experts.item)
    kept = data.spam[votes.worker] <= CUT  # (n, 7)

    def alphas(rows: Mask, filtered: bool = False) -> list[float]:
        return [
            krippendorff_alpha(
                data.labels(votes.take(rows & kept[:, k] if filtered else rows), k), "ordinal"
            )
            for k in range(len(DIMENSIONS))
        ]

    cut = f"published spam probability <= {CUT:g}"
    return {
        "all pairs, C": ("1,352 ordered pairs x 5", alphas(everything)),
        "all pairs, C*": (f"975 first directions, {cut}", alphas(first, True)),
        "minimal difference, C": ("the 30 pairs of the experts", alphas(hard)),
        "minimal difference, experts": ("30 pairs, 3 experts", _expert_alphas(data)),
        "differentiable, C": ("ordered pairs, 5 of 7 with 3 of 5", alphas(easy)),
        "differentiable, C*": (f"ordered pairs, {cut}", alphas(easy, True)),
    }


def _expert_alphas(data: CrowdRag) -> list[float]:
    """The expert is not needed: alpha counts the labels of an item, whoever gave them."""
    return [
        label_alpha(data.experts.item, data.experts.label[:, k]) for k in range(len(DIMENSIONS))
    ]


def label_alpha(item: IntArray, label: IntArray, labels: Sequence[str] = LABELS) -> float:
    """Ordinal alpha of labels (n,) on items (n,), each by somebody else."""
    known, place = np.unique(item, return_inverse=True)
    rater = occurrence(item)
    return krippendorff_alpha(
        Labels.build(
            rater,
            place,
            label,
            workers=[str(k) for k in range(int(rater.max()) + 1)],
            items=[str(name) for name in known],
            labels=labels,
        ),
        "ordinal",
    )


def occurrence(values: IntArray) -> IntArray:
    """Count how often each value occurred before (n,)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    out = np.empty(len(values), dtype=np.int64)
    out[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return out


def _filter_rows(data: CrowdRag, votes: ShownVotes) -> list[Row]:
    """Compare what the published filter drops."""
    kept = data.spam[votes.worker] <= CUT
    item = 2 * votes.pair + votes.flipped
    size = 2 * len(votes.pairs)
    judged = np.bincount(item, minlength=size) > 0
    left = np.stack(
        [
            np.bincount(item, weights=kept[:, k], minlength=size)[judged]
            for k in range(kept.shape[1])
        ]
    )
    cut = f"published spam probability <= {CUT:g}, all dimensions"
    return [
        Row(
            "Table 4",
            "C*: share of votes removed",
            cut,
            0.25,
            float((~kept).mean()),
            "the text says about the lower quarter of the workers; of votes it is far more",
        ),
        Row(
            "Table 4",
            "C*: share of items left with fewer than 3 votes",
            cut,
            0.0,
            float((left < 3).mean()),
            "the text says that at least three votes remain for all pairs; the code does not "
            "see to it",
        ),
    ]


def order_rows(data: CrowdRag, rng: np.random.Generator) -> Iterator[Row]:
    """Table 5: alpha by direction and by position."""
    votes = data.artifact
    # The published data is sorted by the left response, so the stored order comes first.
    ordered = votes.take(np.argsort(votes.flipped, kind="stable"))
    within = within_item_alpha(ordered, rng=rng, resamples=100)
    across = across_item_alpha(votes, rng=rng, resamples=100)
    # The published columns name the flipped direction first.
    columns = {
        "one direction": within["backward"],
        "other direction": within["forward"],
        "both directions": within["both"],
        "largest difference": within["delta"],
        "first 7 items": across["early"],
        "later items": across["late"],
        "early against late": across["delta"],
    }
    pairs = (
        f"{int(within['pairs'][0])} pairs judged both ways, a worker's flipped second vote dropped"
    )
    for name, values in columns.items():
        protocol = "1,352 ordered pairs" if name in list(columns)[4:] else pairs
        yield from compare_rows(
            "Table 5", f"alpha, {name}", protocol, printed=published.TABLE5[name], values=values
        )
        mean, printed = float(np.mean(values)), published.TABLE5_MEAN[name]
        said = rounding(printed, mean)
        if name == "largest difference":
            said = f"the printed column has the mean {np.mean(published.TABLE5[name]):.3f}, not .01"
        yield Row("Table 5", f"alpha, {name}, mean", protocol, printed, mean, said)


def interdependence_rows(data: CrowdRag, rng: np.random.Generator) -> Iterator[Row]:
    """Table 6: Kendall's tau-b of the published gold labels."""
    found = interdependence(data.gold.label, DIMENSIONS, size=len(LABELS), rng=rng, resamples=100)
    tau = np.full((len(DIMENSIONS),) * 2, np.nan)
    place = {name: k for k, name in enumerate(DIMENSIONS)}
    for row in found.rows():
        tau[place[row["first"]], place[row["second"]]] = row["tau_b"]
    upper = list(zip(*np.triu_indices(len(DIMENSIONS), 1), strict=True))
    protocol = f"gold labels of {len(data.gold.pair):,} ordered pairs"
    for (a, b), printed in zip(upper, published.TABLE6, strict=True):
        name = f"tau-b, {published.SHORT[a]} and {published.SHORT[b]}"
        value = float(tau[a, b])
        yield Row("Table 6", name, protocol, printed, value, rounding(printed, value))
    means: FloatArray = np.nanmean(tau, axis=1)
    yield from compare_rows(
        "Table 6", "tau-b, mean", protocol, printed=published.TABLE6_MEAN, values=means
    )


def hidden_rows(data: CrowdRag) -> list[Row]:
    """Order effects that Table 5 does not show, with worker-clustered intervals."""
    drift, own = neutral_drift(data.votes), own_drift(data.votes)
    votes, same = data.artifact, straight_lining(data.artifact)
    topics = data.graded.topic[data.left][votes.pair]
    right, by_topic = (
        side_preference(votes),
        side_preference(replace(votes, worker=topics, workers=data.graded.topics)),
    )
    early, late = (float(drift[name][0]) for name in ("early", "late"))
    six = "all 6,920 judgments, the six dimensions with a neutral label"
    rows = [
        Row("order", "neutral share, first 7 items", six, None, early, FINDING),
        Row("order", "neutral share, later items", six, None, late, FINDING),
        _interval("neutral share, later - first 7", six, _first(drift, "difference")),
        _interval("neutral share, later - first 7, mean of the workers' own", six, own),
        _interval(
            "right side wins",
            f"{int(right['pairs'][0])} pairs judged both ways, decisive votes",
            _first(right, "right"),
            f"clustered by topic [{by_topic['low'][0]:.3f}, {by_topic['high'][0]:.3f}]",
        ),
        _interval(
            "one label on all seven dimensions",
            "6,760 judgments",
            same.share,
            f"{same.chance:.3f} if the dimensions were independent",
        ),
    ]
    return rows + _component_rows(data)


def _first(table: Table, name: str) -> Clustered:
    """The row of all dimensions together."""
    value, se, low, high = (float(table[key][0]) for key in (name, "se", "low", "high"))
    return Clustered(value, se, low, high, int(table["workers"][0]))


def own_drift(votes: ShownVotes, split: int = 7) -> Clustered:
    """Mean over workers of their own change in the share of neutral votes; each counts once."""
    side = votes.side()
    offered = (side == 0).any(axis=0)
    neutral = (side[:, offered] == 0).mean(axis=1)
    size = len(votes.workers)
    parts = [votes.position <= split, votes.position > split]
    counts = [np.bincount(votes.worker[part], minlength=size) for part in parts]
    both = (counts[0] > 0) & (counts[1] > 0)
    weights = [
        np.where(part & both[votes.worker], 1 / np.maximum(count, 1)[votes.worker], 0.0)
        for part, count in zip(parts, counts, strict=True)
    ]
    early, late = ((neutral * weight, weight) for weight in weights)
    return difference(early, late, votes.worker)


def _interval(quantity: str, protocol: str, found: Clustered, more: str = "") -> Row:
    said = (
        f"95 % interval [{found.low:.3f}, {found.high:.3f}], standard error {found.se:.4f}, "
        "clustered by worker"
    )
    return Row(
        "order", quantity, protocol, None, found.estimate, f"{said}; {more}" if more else said
    )


def _component_rows(data: CrowdRag) -> list[Row]:
    votes, rows = data.artifact, []
    for protocol, item, size in (
        ("worker-item graph, an item is an ordered pair", 2 * votes.pair + votes.flipped, 2),
        ("worker-item graph, both directions are one item", votes.pair, 1),
    ):
        workers, _ = components(votes.worker, item, len(votes.workers), size * len(votes.pairs))
        sizes = np.bincount(workers)[1:]
        said = f"{int((sizes == 5).sum())} of five workers; competence does not compare across them"
        rows.append(Row("Table 4", "connected components", protocol, None, len(sizes), said))
    return rows
