"""Leanings, calibration, drift and panels of judges: what was planted is found, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.replacement import behavior
from evaluation.methods.replacement.behavior import Aside, Judged

FIRST, NEUTRAL, SECOND = 0, 1, 2


def pairs(
    *,
    items: int = 400,
    left: float = 0.0,
    longer: float = 0.0,
    own: float = 0.0,
    twice: bool = True,
) -> Judged:
    """People and a judge who sees each pair both ways round and gives in to a leaning so often."""
    rng = np.random.default_rng(7)
    truth = np.where(rng.random(items) < 0.5, FIRST, SECOND)
    words = rng.integers(50, 300, (items, 2)).astype(float)
    mine = np.zeros((1, items, 2), dtype=bool)
    mine[0, : items // 2, 0] = True
    person_item = np.repeat(np.arange(items), 3)
    value = np.where(rng.random(3 * items) < 0.8, truth[person_item], 2 - truth[person_item])
    turned = rng.random(3 * items) < 0.5
    item = np.tile(np.arange(items), 2 if twice else 1)
    seen = np.arange(len(item)) >= items
    said = np.where(rng.random(len(item)) < 0.8, truth[item], 2 - truth[item])
    said = np.where(rng.random(len(item)) < left, np.where(seen, SECOND, FIRST), said)
    long = np.where(words[:, 0] > words[:, 1], FIRST, SECOND)[item]
    said = np.where(rng.random(len(item)) < longer, long, said)
    said = np.where((rng.random(len(item)) < own) & mine[0, item, 0], FIRST, said)
    model = said[:items].astype(float)[None, :]
    aside = Aside(
        turned=turned,
        model=np.zeros(len(item), dtype=np.int64),
        item=item,
        value=said.astype(float),
        seen=seen,
        at=np.linspace(100, 130, len(item)),
        words=words,
        own=mine,
        sides=(FIRST, SECOND),
    )
    return Judged(person_item, value.astype(float), model, ("Alder, v1",), True, 3, aside)


def leanings(data: Judged) -> dict[str, dict[str, Any]]:
    return {row["kind"]: row for row in behavior.tables(data)["leaning"]}


@pytest.mark.parametrize(
    ("kind", "name"), [("position", "left"), ("length", "longer"), ("self", "own")]
)
def test_a_planted_leaning_is_found_beside_people_and_the_others_are_not(
    kind: str, name: str
) -> None:
    planted = leanings(pairs(**{name: 0.3}))  # type: ignore[arg-type]
    assert planted[kind]["difference_low"] > 0.02
    for other in {"position", "length", "self"} - {kind}:
        assert planted[other]["difference_low"] < 0 < planted[other]["difference_high"], other


def test_a_judge_that_is_asked_again_is_held_against_itself() -> None:
    steady, torn = (leanings(pairs(left=share))["repetition"] for share in (0.0, 0.6))
    assert steady["n"] == torn["n"] == 400 and steady["judge_low"] > torn["judge_high"]
    once = leanings(pairs(twice=False))["repetition"]
    assert once["reason"] == "it needs 30 items that it answered more than once, and has 0"


def test_a_label_is_as_often_right_as_the_curve_says() -> None:
    rows = behavior.tables(pairs())["calibration"]
    assert [row["value"] for row in rows] == [0, 1, 2]
    for row in (rows[0], rows[2]):  # right in .8 * .8 + .2 * .2 of the votes
        assert row["low"] < 0.68 < row["high"] and row["n"] > 150
    assert rows[1]["n"] == 0 and np.isnan(rows[1]["low"])


def test_a_model_that_gets_worse_drifts_and_one_that_answers_in_a_day_is_not_judged() -> None:
    data = pairs(twice=False)
    late = np.arange(400) >= 200
    worse = np.where(late, 2 - data.model, data.model)
    found = behavior.tables(replaced(data, model=worse))["drift"]
    assert [row["part"] for row in found] == [0, 1, 2, 3, -1]
    assert found[0]["low"] > found[3]["high"] and found[-1]["high"] < -0.2
    steady = behavior.tables(data)["drift"][-1]
    assert steady["low"] < 0 < steady["high"]
    quick = replaced(data, at=data.aside.at / 100)
    assert behavior.tables(quick)["drift"][0]["reason"].endswith("within one day")


def test_versions_of_one_model_are_compared_on_the_items_of_both() -> None:
    data = pairs(twice=False)
    worse = np.where(np.arange(400) % 3 == 0, 2 - data.model[0], data.model[0])
    names = ("Alder, v1", "Alder, v2", "Birch, v1")
    both = replaced(data, model=np.array([data.model[0], worse, worse]), names=names)
    (row,) = behavior._versions(both)
    assert (row["model"], row["other"], row["n"]) == (0, 1, 400)
    assert row["high"] < 0


def test_a_panel_trusts_the_better_model_more_and_is_worth_no_less_than_it() -> None:
    rng = np.random.default_rng(8)
    items, seen = 900, 200
    truth = rng.integers(0, 3, items)
    model = np.array(
        [np.where(rng.random(items) < right, truth, (truth + 1) % 3) for right in (0.9, 0.75, 0.4)]
    ).astype(float)
    data = pairs(items=items)
    person_item = np.arange(seen)
    names = ("A", "B", "C")
    judged = Judged(person_item, truth[:seen].astype(float), model, names, True, 3, data.aside)
    rows, weights = behavior.panel(judged, seed=1, drawn=False)
    for row in rows:
        own = [one["weight"] for one in weights if one["label"] == row["label"]]
        assert own[0] > own[1] > own[2]
        assert row["worth"] > 0.9 * row["best"] > seen
        assert row["both_low"] < (truth == row["label"]).mean() < row["both_high"]
    refused, _ = behavior.panel(judged, seed=1, drawn=True)
    assert "as they came" in refused[0]["reason"]


def test_ratings_lean_by_how_much_higher_long_texts_are_rated_than_people_rate_them() -> None:
    rng = np.random.default_rng(9)
    items = 200
    words = np.stack([rng.integers(50, 300, items), np.full(items, np.nan)], axis=1).astype(float)
    people = rng.integers(1, 6, items).astype(float)
    model = people + rng.normal(0, 0.5, items) + 0.8 * (words[:, 0] > np.median(words[:, 0]))
    aside = Aside(
        turned=np.zeros(items, dtype=bool),
        model=np.zeros(items, dtype=np.int64),
        item=np.arange(items),
        value=model,
        seen=np.zeros(items, dtype=bool),
        at=np.zeros(items),
        words=words,
        own=np.zeros((1, items, 2), dtype=bool),
    )
    data = Judged(np.arange(items), people, model[None, :], ("A",), False, 0, aside)
    found = leanings(data)
    assert found["length"]["difference"] == pytest.approx(0.8, abs=0.2)
    assert found["self"]["reason"] == "no text that it judged is its own"
    assert "no sides" in found["position"]["reason"]


def replaced(data: Judged, **changes: Any) -> Judged:
    from dataclasses import replace

    aside = {name: changes.pop(name) for name in ("at",) if name in changes}
    return replace(data, aside=replace(data.aside, **aside), **changes)
