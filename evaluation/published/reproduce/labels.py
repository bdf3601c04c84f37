"""Labels of four crowds with known truth: published accuracy beside what is measured."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from crowdqc.errors import Invalid
from evaluation.methods.core.base import IntArray, look_up
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels import method
from evaluation.published.reproduce.rows import Row

TITLE = "Labels of crowds (Snow et al. 2008; Wang et al. 2012): accuracy on known answers"
LEFT_OUT = (
    "Items of which two labels have most votes count as the share of them that is right, as "
    "drawing one would. MACE estimates how often each label is true; the paper takes it as even."
)
SETS = {
    "rte": "RTE, textual entailment",
    "temp": "temporal order of events",
    "wsd": "word sense",
    "product": "D_Product, same product",
}
# Accuracy: majority of Snow et al. (2008); Dawid-Skene of Sheshadri and Lease (2013); MACE of Hovy
# et al. (2013), table 1.
PUBLISHED = {
    ("rte", "majority"): 0.897,
    ("rte", "dawid_skene"): 0.927,
    ("rte", "mace"): 0.93,
    ("temp", "mace"): 0.94,
    ("wsd", "mace"): 0.99,
}
Say = Callable[[str], None]


def read(folder: Path, name: str) -> tuple[Labels, IntArray]:
    """Read the votes of a data set and its known answers (items,), -1 where unknown.

    Raises Invalid naming the file, its column or its line.
    """
    path = folder / "labels" / f"{name}.csv"
    if not path.is_file():
        raise Invalid(f"There is no labels/{name}.csv in {folder}.", fields={"data": "no file"})
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = {"item", "worker", "label", "gold"} - set(reader.fieldnames or ())
        if missing:
            raise Invalid(f"{path.name} has no column {min(missing)}.", fields={"data": "columns"})
        rows = list(reader)
    for line, row in enumerate(rows, start=2):
        if not (row["item"] and row["worker"] and row["label"]):
            raise Invalid(f"{path.name}, line {line}, lacks item, worker or label.", rows=[line])
    names = {
        "worker": sorted({row["worker"] for row in rows}),
        "item": sorted({row["item"] for row in rows}),
        "label": sorted({row["label"] for row in rows} | {row["gold"] for row in rows} - {""}),
    }
    worker, item, label = (
        look_up(column, [row[column] for row in rows], known) for column, known in names.items()
    )
    gold = np.full(len(names["item"]), -1)
    known = np.array([row["gold"] != "" for row in rows])
    if known.any():
        given = [row["gold"] for row in rows if row["gold"]]
        gold[item[known]] = look_up("label", given, names["label"])
    data = Labels.build(
        worker, item, label, workers=names["worker"], items=names["item"], labels=names["label"]
    )
    return data, gold


def reproduce(folder: Path, *, say: Say, seed: int = 0, repetitions: int = 20) -> list[Row]:
    """A row a set and method; ``repetitions`` is the number of restarts of MACE."""
    rows = []
    for name, title in SETS.items():
        data, gold = read(folder, name)
        say(
            f"{title}: {len(data)} labels of {len(data.items)} items by {len(data.workers)} workers"
        )
        rng = np.random.default_rng(seed)
        found = method.fit(data, rng=rng, gold=gold, resamples=0, restarts=repetitions)
        for row in found.estimates["compare"].rows():
            slug = method.METHODS[row["method"]]
            rows.append(
                Row(
                    title,
                    f"accuracy, {slug.replace('_', '-')}",
                    f"{row['n']} known answers",
                    PUBLISHED.get((name, slug)),
                    row["right"] / row["n"],
                    f"95% CI {row['low']:.3f}-{row['high']:.3f}",
                )
            )
    return rows
