"""Votes of planted workers for the tests of MACE and Dawid-Skene, and crowd-kit beside them."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from crowdqc.errors import Invalid
from evaluation.methods.core.base import IntArray
from evaluation.methods.core.votes import Labels
from evaluation.published.reproduce.data import data_folder
from tests.evaluation.methods.named import labels_from_names

RNG = np.random.default_rng


def crowd(
    competence: list[float],
    *,
    items: int = 60,
    labels: int = 3,
    votes: int = 4,
    seed: int = 0,
    first: bool = False,
) -> tuple[Labels, IntArray]:
    """Votes of workers who know with this probability, and the truth.

    Half of all votes are on items shown in reverse (label k in the place of labels - 1 - k); who
    does not know guesses, or with ``first`` clicks the first place.
    """
    rng = RNG(seed)
    truth = rng.integers(0, labels, items)
    worker = rng.random((items, len(competence))).argsort(axis=1)[:, :votes].ravel()
    item = np.repeat(np.arange(items), votes)
    turned = rng.random(len(item)) < 0.5
    knows = rng.random(len(item)) < np.array(competence)[worker]
    guess = np.zeros(len(item), int) if first else rng.integers(0, labels, len(item))
    right = np.where(turned, labels - 1 - truth[item], truth[item])
    shown = np.where(knows, right, guess)
    label = np.where(turned, labels - 1 - shown, shown)
    data = Labels.build(
        worker,
        item,
        label,
        shown=shown,
        workers=[f"w{k}" for k in range(len(competence))],
        items=[f"i{k}" for k in range(items)],
        labels=[f"l{k}" for k in range(labels)],
    )
    return data, truth


def peer() -> Any:
    """crowd-kit, where it is installed."""
    folder = Path(__file__).resolve().parents[4] / ".venv" / "peers"
    if not folder.is_dir():
        pytest.skip("crowd-kit is not installed beside the project (.venv/peers)")
    sys.path.insert(0, str(folder))
    try:
        import pandas
        from crowdkit import aggregation
    finally:
        sys.path.remove(str(folder))
    return aggregation, pandas


def in_order_of_appearance(data: Labels) -> Labels:
    """Renamed, since crowd-kit reads names now in order of appearance, now sorted."""
    names = []
    for column in (data.worker, data.item, data.label):
        _, first, code = np.unique(column, return_index=True, return_inverse=True)
        names.append([f"{k:05}" for k in first.argsort().argsort()[code]])
    return labels_from_names(*names)


def frame(data: Labels, pandas: Any) -> Any:
    return pandas.DataFrame(
        {
            "task": np.array(data.items)[data.item],
            "worker": np.array(data.workers)[data.worker],
            "label": np.array(data.labels)[data.label],
        }
    )


def real_labels(name: str) -> tuple[Labels, IntArray]:
    """A crowd of data/labels and the known label of each item (-1: unknown); skips without it."""
    try:
        path = data_folder() / "labels" / f"{name}.csv"
    except Invalid as reason:
        pytest.skip(f"the data is not here: {reason.message}")
    if not path.is_file():
        pytest.skip(f"there is no {path.name}")
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    columns = ([row[name] for row in rows] for name in ("worker", "item", "label"))
    data = labels_from_names(*columns)
    known = {row["item"]: data.labels.index(row["gold"]) for row in rows if row["gold"]}
    return data, np.array([known.get(item, -1) for item in data.items])


votes_of_few = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2), st.integers(0, 2)),
    min_size=6,
    max_size=24,
)


def built(rows: Any, weight: Any = None, order: Any = (0, 1, 2), shown: Any = (0, 1, 2)) -> Labels:
    worker, item, label, as_shown = (np.array(column) for column in zip(*rows, strict=True))
    return Labels.build(
        np.append(worker, [0, 1]),
        np.append(item, [0, 0]),
        np.array(order)[np.append(label, [0, 0])],
        shown=np.array(shown)[np.append(as_shown, [0, 0])],
        workers="abcd",
        items="vwxyz",
        labels="012",
        weight=weight,
    )


def beside(one: Labels, two: Labels) -> Labels:
    """Two crowds that share nothing, and a worker who votes where nobody else does."""
    w, i = len(one.workers), len(one.items)
    return Labels.build(
        np.concatenate([one.worker, two.worker + w, [w + len(two.workers)]]),
        np.concatenate([one.item, two.item + i, [i + len(two.items)]]),
        np.concatenate([one.label, two.label, [0]]),
        shown=np.concatenate([one.shown, two.shown, [0]]),
        workers=[*(f"a{k}" for k in range(w)), *(f"b{k}" for k in range(len(two.workers))), "lone"],
        items=[f"i{k}" for k in range(i + len(two.items) + 1)],
        labels=one.labels,
    )
