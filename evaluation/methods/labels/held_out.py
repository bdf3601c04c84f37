"""Models of labels compared by votes that they have not seen.

Of every item with ``LEAST`` votes or more one vote is left out, each model is fitted to the rest,
and the log of the chance that it gave to the left-out vote is taken: no known answer is needed, and
a model that says too much of few votes loses. In a small study this is done up to ``FOLDS`` times,
each time with other votes left out; the fits stand side by side as crowds that share nothing.

Two models that give no labels of their own stand for what others are measured by: ``majority``,
where everybody is right equally often and errors are even, and ``one_coin``, where each worker has
a chance of their own (Ghosh, Kale and McAfee 2011, "Who moderates the moderators?").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.methods.competence import dawid_skene, glad
from evaluation.methods.competence.mace import method as mace
from evaluation.methods.competence.mace.data import label_parts, summed
from evaluation.methods.core.base import DataError, FloatArray, Hooks, IntArray, Result
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.workers import skills

MODELS = ("majority", "one_coin", "dawid_skene", "mace", "glad")
LEAST = 3  # votes of an item from which one is left out
FOLDS = 5  # times, where votes are few
TOGETHER = 10_000  # votes of all folds together, from which there are fewer
CELLS = 2_000_000  # of confusion matrices of all folds together, the same
DRAWS, RESTARTS = 200, 3  # of Dawid-Skene and of MACE
STEPS, LOOSE = 60, 1e-6  # of GLAD, which takes the longest; more moved no mean by .001
ROUNDS, TOLERANCE = 200, 1e-6  # of the EM of the two plain models
SURE = 1e-9  # least chance of a vote


def held_out_log_chance(
    data: Labels, settings: Mapping[str, Any], *, rng: np.random.Generator, hooks: Hooks
) -> dict[str, FloatArray]:
    """Log chance (n,) of every left-out vote by model (MODELS); empty where none can be left out.

    ``settings``: ``smoothing`` and ``strength`` of Dawid-Skene. Raises Cancelled.
    """
    parts = _split(data, rng)
    if parts is None:
        return {}
    train, worker, item, label = parts
    try:
        worker_part, item_part = label_parts(train)
    except DataError:
        return {}
    kept = (worker_part[worker] > 0) & (item_part[item] > 0)
    worker, item, label = worker[kept], item[kept], label[kept]
    counts = dawid_skene.prepare(train, worker_part, item_part)
    fitted = dawid_skene.em(
        counts,
        smoothing=settings["smoothing"],
        iterations=ROUNDS,
        tolerance=TOLERANCE,
        hooks=hooks.quiet(),
    )
    own = skills(
        train,
        counts,
        fitted,
        draws=DRAWS,
        strength=settings["strength"],
        level=0.95,
        rng=rng,
        hooks=hooks.quiet(),
        stages=1,
    )
    plain: dict[str, Any] = {"rng": rng, "resamples": 0, "hooks": hooks.quiet()}
    chances = {
        "majority": _coins(train, item_part, worker, item, label, own=False),
        "one_coin": _coins(train, item_part, worker, item, label, own=True),
        "dawid_skene": (own.posterior[item] * own.confusion[worker, :, label]).sum(axis=1),
        "mace": _of_mace(
            train, mace.fit(train, restarts=RESTARTS, beside=False, **plain), worker, item, label
        ),
        "glad": _of_glad(
            train, glad.fit(train, iterations=STEPS, tolerance=LOOSE, **plain), worker, item, label
        ),
    }
    return {name: np.log(np.maximum(chance, SURE)) for name, chance in chances.items()}


def _split(
    data: Labels, rng: np.random.Generator
) -> tuple[Labels, IntArray, IntArray, IntArray] | None:
    """Votes to fit and votes left out (worker, item, label), every fold a crowd of its own."""
    n, workers, items = len(data), len(data.workers), len(data.items)
    votes = np.bincount(data.item, minlength=items)
    order = np.lexsort((rng.random(n), data.item))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) - (np.cumsum(votes) - votes)[data.item[order]]
    cells = workers * len(data.labels) ** 2
    folds = max(1, min(FOLDS, TOGETHER // max(n, 1), CELLS // max(cells, 1)))
    enough = votes[data.item] >= LEAST
    out = [np.flatnonzero(enough & (place == fold)) for fold in range(folds)]
    if not len(out[0]):
        return None
    rest = [np.delete(np.arange(n), rows) for rows in out]

    def joined(rows: list[IntArray], values: IntArray, size: int) -> IntArray:
        return np.concatenate([values[one] + fold * size for fold, one in enumerate(rows)])

    train = Labels.build(
        joined(rest, data.worker, workers),
        joined(rest, data.item, items),
        joined(rest, data.label, 0),
        shown=joined(rest, data.shown, 0),
        weight=np.concatenate([data.weight[rows] for rows in rest]),
        workers=[str(j) for j in range(folds * workers)],
        items=[str(i) for i in range(folds * items)],
        labels=data.labels,
    )
    return (
        train,
        joined(out, data.worker, workers),
        joined(out, data.item, items),
        joined(out, data.label, 0),
    )


def _coins(
    data: Labels,
    part: IntArray,
    worker: IntArray,
    item: IntArray,
    label: IntArray,
    *,
    own: bool,
) -> FloatArray:
    """Chances of votes where workers are right with one chance, or each with their ``own``.

    EM from the majority's shares, with a uniform prior of every chance. ``part`` (items,).
    """
    k, items, workers = len(data.labels), len(data.items), len(data.workers)
    cell = data.item * k + data.label
    share = summed(cell, data.weight, items * k).reshape(items, k) + 1e-9
    share /= share.sum(axis=1, keepdims=True)
    size = np.bincount(part).astype(np.float64)
    n = summed(data.worker, data.weight, workers)
    right = np.full(workers, 0.5)
    for _ in range(ROUNDS):
        before = right
        hits = summed(data.worker, data.weight * share.reshape(-1)[cell], workers)
        right = (hits + 1) / (n + 2) if own else np.full(workers, hits.sum() + 1) / (n.sum() + 2)
        true = np.stack([np.bincount(part, share[:, t], len(size)) for t in range(k)], axis=1)
        prior = (true + 1) / (size[:, None] + k)
        odds = np.log(right) - np.log((1 - right) / (k - 1))
        log = summed(cell, data.weight * odds[data.worker], items * k).reshape(items, k)
        log += np.log(prior)[part]
        share = np.exp(log - log.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        if np.abs(right - before).max() < TOLERANCE:
            break
    chance = share[item, label]
    return chance * right[worker] + (1 - chance) * (1 - right[worker]) / (k - 1)


def _soft(data: Labels, found: Result) -> FloatArray:
    """Chances (items, K) of the labels; NaN where an item has none."""
    table = found.estimates["posterior"]
    chance = np.full((len(data.items), len(data.labels)), np.nan)
    chance[table["item"], table["label"]] = table["probability"]
    return chance


def _of_mace(
    data: Labels, found: Result, worker: IntArray, item: IntArray, label: IntArray
) -> FloatArray:
    table = found.estimates["strategy"]
    strategy = np.full((len(data.workers), len(data.labels)), np.nan)
    strategy[table["worker"], table["shown"]] = table["probability"]
    know = found.estimates["worker"]["competence"][worker]
    true = _soft(data, found)[item, label]
    return np.asarray(true * know + (1 - know) * strategy[worker, label])


def _of_glad(
    data: Labels, found: Result, worker: IntArray, item: IntArray, label: IntArray
) -> FloatArray:
    ability = found.estimates["worker"]["ability"][worker]
    right = 1 / (1 + np.exp(-ability / found.estimates["item"]["difficulty"][item]))
    true = _soft(data, found)[item, label]
    return np.asarray(true * right + (1 - true) * (1 - right) / (len(data.labels) - 1))
