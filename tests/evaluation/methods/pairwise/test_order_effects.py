"""Order effects that exist are found, absent ones are not; the published table comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from evaluation.methods.core.base import BadParameter, BadShape, BadVector, Table, UnknownIndex
from evaluation.methods.core.units import ratio
from evaluation.methods.pairwise.judgments import MISSING, ShownVotes
from evaluation.methods.pairwise.order import effects as order
from evaluation.methods.pairwise.order.study import order_tables
from tests.evaluation.methods.agreement.data import real_votes, shown_crowd
from tests.evaluation.methods.pairwise.studies import study


def row(table: Table, name: str = "all") -> dict[str, Any]:
    return next(r for r in table.rows() if r["dimension"] == name)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_a_pull_to_the_right_is_found_where_alpha_sees_nothing() -> None:
    data = shown_crowd(rng(), workers=150, right=0.25)
    found = row(order.side_preference(data))
    assert found["low"] > 0.5
    assert found["right"] == pytest.approx(0.58, abs=0.04)
    excess = order.within_item_alpha(data, rng=rng(), resamples=200)
    assert (excess["low"] < excess["excess"]).all()
    assert excess["excess"].max() < 0.05


def test_without_a_pull_neither_side_wins_even_if_directions_are_unequally_frequent() -> None:
    data = shown_crowd(rng(), workers=150)
    # Good firsts shown more often as stored: raw shares then favour the left.
    lead = np.bincount(data.pair, weights=(1 - data.canonical()).sum(axis=1))
    better = lead[data.pair] > 0
    keep = ~(data.flipped & better) | (rng().random(len(data)) < 0.2)
    found = row(order.side_preference(data.take(keep), confidence=0.999))
    assert found["low"] < 0.5 < found["high"]
    votes = data.take(keep).vote
    assert (votes == 2).sum() / (votes != 1).sum() < 0.47


def test_growing_neutrality_is_found_within_workers() -> None:
    drifting = row(order.neutral_drift(shown_crowd(rng(), drift=0.04)))
    assert drifting["low"] > 0 and drifting["slope_low"] > 0
    assert drifting["difference"] == pytest.approx(drifting["late"] - drifting["early"])
    steady = row(order.neutral_drift(shown_crowd(rng()), confidence=0.999))
    assert steady["low"] < 0 < steady["high"] and steady["slope_low"] < 0 < steady["slope_high"]


def test_showing_everything_the_other_way_round_mirrors_side_effects_and_nothing_else() -> None:
    data = shown_crowd(rng(), right=0.3)
    turned = replace(data, flipped=~data.flipped, vote=2 - data.vote)
    assert (turned.canonical() == data.canonical()).all()
    one, two = row(order.side_preference(data)), row(order.side_preference(turned))
    assert two["right"] == pytest.approx(1 - one["right"])
    assert two["low"] == pytest.approx(1 - one["high"])
    first, second = (order.within_item_alpha(d, rng=rng(), resamples=100) for d in (data, turned))
    assert first["forward"] == pytest.approx(second["backward"])
    assert first["both"] == pytest.approx(second["both"])
    assert order.straight_lining(turned).share == order.straight_lining(data).share
    drift = [order.neutral_drift(d).rows() for d in (data, turned)]
    assert drift[0] == drift[1]


def test_one_label_on_every_dimension_is_counted_per_worker() -> None:
    vote = [[0, 0], [0, 1], [2, 2], [MISSING, 1], [1, 1]]
    data = ShownVotes.build(
        [0, 0, 1, 1, 1],
        [0, 1, 0, 1, 2],
        np.zeros(5, dtype=bool),
        [1, 2, 1, 2, 3],
        vote,
        workers="ab",
        pairs="xyz",
        dimensions=["d", "e"],
    )
    found = order.straight_lining(data)
    assert found.share.estimate == 3 / 4
    assert found.worker.rows() == [
        {"worker": 0, "share": 0.5, "n": 2},
        {"worker": 1, "share": 1.0, "n": 2},
    ]
    # Shares on d: 2/4, 1/4, 1/4; on e: 1/4, 2/4, 1/4.
    assert found.chance == pytest.approx((2 * 1 + 1 * 2 + 1 * 1) / 16)


def test_many_votes_of_few_workers_do_not_look_like_much() -> None:
    """Clustering: every vote given ten times by the same workers adds nothing."""
    draw = rng()
    hit, worker = draw.integers(0, 2, 200).astype(float), np.repeat(np.arange(20), 10)
    once = ratio(hit, np.ones(200), worker)
    ten = ratio(np.tile(hit, 10), np.ones(2000), np.tile(worker, 10))
    assert (ten.estimate, ten.se) == pytest.approx((once.estimate, once.se))
    alone = ratio(hit, np.ones(200), np.zeros(200, dtype=int))
    assert (alone.clusters, alone.reason) == (1, "1 worker; an interval needs 5")


def test_dimensions_correlate_as_the_second_implementation_says() -> None:
    gold = shown_crowd(rng()).canonical()
    gold[::7, 0] = MISSING
    table = order.interdependence(gold, ("a", "b", "c"), size=3, rng=rng(), resamples=200)
    assert len(table) == 6
    for found in table.rows():
        x, y = gold[:, "abc".index(found["first"])], gold[:, "abc".index(found["second"])]
        both = (x >= 0) & (y >= 0)
        assert found["n"] == both.sum()
        assert found["tau_b"] == pytest.approx(kendalltau(x[both], y[both]).statistic)
        assert found["low"] < found["tau_b"] < found["high"]


def test_what_cannot_be_tested_says_why() -> None:
    data = shown_crowd(rng())
    one_way = data.take(~data.flipped)
    assert row(order.side_preference(one_way))["reason"] == "no pair was judged both ways round"
    within = order.within_item_alpha(one_way, rng=rng())
    assert set(within["reason"]) == {"no pair was judged both ways round"}
    early = data.take(data.position <= 7)
    assert row(order.neutral_drift(early))["reason"] == "one of the two parts has no votes"
    decided = replace(data, vote=np.where(data.vote == 1, 0, data.vote))
    assert row(order.neutral_drift(decided))["reason"] == "nobody was ever neutral"
    constant = replace(data, vote=np.zeros_like(data.vote))
    across = order.across_item_alpha(constant, rng=rng())
    assert set(across["reason"]) == {"the votes of a part do not vary"}
    gold = np.zeros((5, 2), dtype=int)
    found = order.interdependence(gold, ("a", "b"), size=3, rng=rng()).rows()
    assert found[0]["tau_b"] is None and "one label throughout" in found[0]["reason"]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"vote": [[3]]}, UnknownIndex, "vote"),
        ({"vote": [[0, 1]]}, BadShape, "vote"),
        ({"pair": [4]}, UnknownIndex, "pair"),
        ({"flipped": [0]}, BadShape, "flipped"),
        ({"position": [1.5]}, BadShape, "position"),
        ({"position": np.array([1, 2])}, BadShape, "agree"),
    ],
)
def test_bad_judgments_are_refused_by_name(
    change: dict[str, Any], error: type[Exception], said: str
) -> None:
    good: dict[str, Any] = {
        "worker": [0],
        "pair": [0],
        "flipped": np.array([False]),
        "position": np.array([1]),
        "vote": [[1]],
        "workers": "a",
        "pairs": "x",
        "dimensions": "d",
    }
    assert len(ShownVotes.build(**good)) == 1
    with pytest.raises(error, match=said):
        ShownVotes.build(**{**good, **change})


def test_parameters_out_of_range_are_refused_by_name() -> None:
    data = shown_crowd(rng(), workers=4)
    with pytest.raises(BadParameter, match="split"):
        order.neutral_drift(data, split=0)
    with pytest.raises(BadParameter, match="dimensions"):
        order.straight_lining(data, dimensions=9)
    with pytest.raises(BadParameter, match="confidence"):
        order.side_preference(data, confidence=1.0)
    with pytest.raises(BadParameter, match="labels"):
        order.neutral_drift(replace(data, labels=("l", "r"), vote=np.minimum(data.vote, 1)))
    with pytest.raises(BadVector, match="no index"):
        order.interdependence(np.array([[0, 3]]), ("a", "b"), size=3, rng=rng())


@pytest.mark.data
def test_table_5_and_the_sharper_tests_come_out_on_the_real_votes() -> None:
    data = real_votes()
    within = order.within_item_alpha(data, rng=rng(), resamples=100)
    assert set(within["pairs"]) == {377}
    assert within["backward"] == pytest.approx(
        [0.18, 0.1797, 0.08, 0.2675, 0.2705, 0.1265, 0.1591], abs=5e-5
    )
    assert within["forward"] == pytest.approx(
        [0.1948, 0.1884, 0.1412, 0.2757, 0.2669, 0.1536, 0.1719], abs=5e-5
    )
    assert within["both"] == pytest.approx(
        [0.1713, 0.1803, 0.1052, 0.2613, 0.2655, 0.1405, 0.1514], abs=5e-5
    )
    across = order.across_item_alpha(data, rng=rng(), resamples=100)
    assert across["early"] == pytest.approx(
        [0.1849, 0.1785, 0.1136, 0.2844, 0.28, 0.131, 0.154], abs=5e-5
    )
    assert across["late"] == pytest.approx(
        [0.1972, 0.1802, 0.11, 0.2841, 0.2725, 0.1547, 0.1815], abs=5e-5
    )
    drift = row(order.neutral_drift(data))
    assert (drift["early"], drift["late"]) == pytest.approx((0.301, 0.353), abs=1e-3)
    assert drift["se"] == pytest.approx(0.007, abs=5e-4)
    side = row(order.side_preference(data))
    assert side["right"] == pytest.approx(0.521, abs=5e-4) and side["low"] > 0.5
    assert order.straight_lining(data).share.estimate == pytest.approx(0.196, abs=5e-4)


def test_side_and_drift_of_all_dimensions_hold_at_once_in_a_study() -> None:
    """Two effects on each of three dimensions and on all: eight intervals on one page."""
    judged = study(rng(), topics=9, dimensions=3)
    settings = {"early": 7, "level": 0.95, "resamples": 100}
    found = order_tables(judged, settings, rng=rng())
    side = found["side"].rows()
    assert [row["family"] for row in (*side, *found["drift"].rows())] == [8] * len(
        (*side, *found["drift"].rows())
    )
    alone = order.side_preference(judged.votes, units=judged.units).rows()[0]
    assert side[0]["low"] < alone["low"] and side[0]["high"] > alone["high"]
