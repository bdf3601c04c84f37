"""Labels by kind of item: a planted weakness is told, and chance is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.methods.core.inference import family_level
from evaluation.methods.core.kinds import column_of
from evaluation.methods.core.votes import Labels
from evaluation.methods.labels.kinds import by_kind

WORKERS, ITEMS = 6, 120
COLUMN = {"topic": column_of(["law" if at % 2 else "tea" for at in range(ITEMS)])}
SETTINGS = {"level": 0.95, "resamples": 0}


def crowd(rng: np.random.Generator, weak: float = 0.9) -> dict[str, list[dict[str, Any]]]:
    """Tables of a crowd that agrees nine times in ten; worker 0 on law as often as ``weak``."""
    worker, item = np.repeat(np.arange(WORKERS), ITEMS), np.tile(np.arange(ITEMS), WORKERS)
    right = np.where((worker == 0) & (item % 2 == 1), weak, 0.9)
    data = Labels.build(
        worker,
        item,
        np.where(rng.random(len(worker)) < right, 1, 0),
        workers=[str(at) for at in range(WORKERS)],
        items=[str(at) for at in range(ITEMS)],
        labels=("no", "yes"),
    )
    agrees = (data.label == 1).astype(float)
    found = by_kind(data, agrees, COLUMN, SETTINGS, rng=rng)
    return {name: table.rows() for name, table in found.items()}


def test_a_worker_who_is_weak_on_one_kind_is_told_and_chance_is_not() -> None:
    rng = np.random.default_rng(4)
    found = crowd(rng, weak=0.4)
    [shift] = found["kind_shift"]
    assert (shift["worker"], shift["kind_a"], shift["kind_b"]) == (0, "law", "tea")
    assert shift["a"] < 0.6 < shift["b"]
    rows = {(row["kind"], row["worker"]): row for row in found["kind_worker"]}
    assert len(rows) == 2 * WORKERS and rows["law", 0]["n"] == ITEMS / 2
    assert rows["law", 0]["high"] < rows["tea", 0]["low"]
    # Of 200 crowds in which nobody is weaker on a kind, one in twenty may be told wrongly.
    wrong = sum(bool(crowd(rng)["kind_shift"]) for _ in range(200))
    assert wrong <= 20


def test_kinds_of_fewer_than_ten_items_are_no_boards_and_the_reason_is_given() -> None:
    rng = np.random.default_rng(1)
    few = {"topic": column_of(["rare" if at < 9 else "usual" for at in range(ITEMS)])}
    data = Labels.build(
        np.tile([0, 1], ITEMS),
        np.repeat(np.arange(ITEMS), 2),
        rng.integers(0, 2, 2 * ITEMS),
        workers=["a", "b"],
        items=[str(at) for at in range(ITEMS)],
        labels=("no", "yes"),
    )
    found = by_kind(data, np.ones(len(data)), few, SETTINGS, rng=rng)
    [row] = found["kind"].rows()
    assert row["kind"] == "" and row["reason"] == "fewer than two kinds have 10 items"
    assert not len(found["kind_worker"])


def test_columns_of_items_share_one_level() -> None:
    rng = np.random.default_rng(2)
    data = Labels.build(
        np.tile([0, 1], ITEMS),
        np.repeat(np.arange(ITEMS), 2),
        rng.integers(0, 2, 2 * ITEMS),
        workers=["a", "b"],
        items=[str(at) for at in range(ITEMS)],
        labels=("no", "yes"),
    )
    wide = {str(n): column_of([str(at // 2**n % 2) for at in range(ITEMS)]) for n in range(3)}
    rows = by_kind(data, np.ones(len(data)), wide, SETTINGS, rng=rng)["kind"].rows()
    assert [row["level"] for row in rows] == [family_level(0.95, 6)] * 6
