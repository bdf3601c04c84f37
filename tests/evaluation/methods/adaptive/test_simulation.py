"""What simulated adaptive collection is said to save is saved, and what it costs is said too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.adaptive import beliefs as adaptive_beliefs
from evaluation.methods.adaptive.crowd import draw
from evaluation.methods.adaptive.simulation import Curves, Design, simulate
from evaluation.methods.core.base import BadParameter, Cancelled, Hooks
from evaluation.methods.simulation.simulation import outcome_chances

SMALL = Design(workers=60, pairs=400, systems=8, merit_sd=1.2, item_sd=0.8, ceiling=10, batch=200)
# A study that stops pairs whose label is certain.
STOPPING = replace(SMALL, target="label", pairs=1500, merit_sd=0.8, item_sd=1.2, batch=750)
RNG = np.random.default_rng


@pytest.fixture(scope="module")
def labels() -> dict[str, Any]:
    return simulate(STOPPING, rng=RNG(3), replicates=8).estimates


@pytest.mark.long
def test_stopping_certain_pairs_saves_votes_at_equal_accuracy(labels: dict[str, Any]) -> None:
    rows = [row for row in labels["saving"].rows() if row["measure"] == "accuracy"]
    assert [row["equal"] for row in rows] == [2, 3, 4, 5]
    assert rows[-1]["saving"] > 0.25
    assert rows[-1]["low"] > 0.1
    assert rows[-1]["saving"] == pytest.approx(1 - rows[-1]["needed"] / rows[-1]["least"])
    assert 0 < rows[-1]["mc_error"] < 0.1


@pytest.mark.long
def test_intervals_are_said_to_suffer_from_it() -> None:
    # Of fewer pairs the intervals are so wide that they hide what stopping does.
    found = simulate(STOPPING, rng=RNG(3), replicates=5)
    uniform, adaptive = found.estimates["coverage"].rows()
    assert uniform["covered"] > 0.88
    assert adaptive["covered"] < uniform["covered"] - 0.1
    assert any("intervals that claim 95% hold in" in text for text in found.diagnostics["warnings"])


@pytest.mark.long
def test_votes_for_the_ranking_reach_a_better_order_with_as_many() -> None:
    found = simulate(SMALL, rng=RNG(5), replicates=20).estimates
    curve = found["curve"]
    own = curve["policy"] == "adaptive"
    tau = np.interp([1, 2, 3, 4, 5], curve["votes"][own], curve["tau"][own])
    assert tau[0] == curve["tau"][~own][0]  # the floor is the same
    assert (tau[1:] > curve["tau"][~own][1:5]).all()
    saving = [row["saving"] for row in found["saving"].rows() if row["measure"] == "tau"]
    assert np.mean(saving) > 0.1


def test_where_a_pair_tells_nothing_new_no_saving_is_claimed() -> None:
    # One pair of systems, all pairs alike: the order is known at once, whoever collects.
    hopeless = replace(SMALL, systems=2, merit_sd=3.0, even=True, item_sd=0.0)
    found = simulate(hopeless, rng=RNG(6), replicates=10)
    row = next(row for row in found.estimates["saving"].rows() if row["measure"] == "tau")
    assert (row["value"], row["least"], row["needed"], row["saving"]) == (1, 1, 1, 0)
    assert "no saving can be told from none on such a crowd" in found.diagnostics["warnings"]


def test_equal_results_are_read_off_the_curves() -> None:
    rising = np.linspace(0.5, 0.9, 5)
    uniform = np.stack([rising, np.array([0.6, 0.7, 0.7, 0.7, 0.7])], axis=1)[None]
    points = np.linspace(1, 5, 17)
    own = np.interp(points, [1, 3, 5], [0.5, 0.9, 0.95])
    adaptive = np.stack([points, own, np.full(17, 0.65)], axis=1)[None]
    curves = Curves(uniform, adaptive, np.arange(1.0, 6.0), points)
    least, needed = curves.needed(0)
    np.testing.assert_allclose(least, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(needed, [1, 1.5, 2, 2.5, 3])
    least, needed = curves.needed(1)
    np.testing.assert_allclose(least, [1, 2, 2, 2, 2])  # more votes bring nothing more
    np.testing.assert_array_equal(needed, [1, np.nan, np.nan, np.nan, np.nan])


def test_the_crowd_is_as_it_was_ordered() -> None:
    design = replace(SMALL, pairs=20_000, workers=100, always_left=0.6, ceiling=7)
    drawn = draw(design, RNG(1))
    assert drawn.spammer.sum() == 20
    # Every vote of a pair, the first as the last, is as likely to come from any worker.
    share = drawn.spammer[drawn.worker].mean(axis=0)
    np.testing.assert_allclose(share, 0.2, atol=0.012)
    always = drawn.worker < 12
    left = np.where(drawn.left == 1, drawn.outcome, 2 - drawn.outcome)
    assert (left[always] == 0).all()
    honest = ~drawn.spammer[drawn.worker]
    decided = honest & (drawn.outcome != 1)
    assert 0.5 < (left[decided] == 2).mean() < 0.54  # 52 % between equals
    win, tie = outcome_chances(0.0, ties=design.ties)
    assert drawn.counts(np.full(20_000, 7)).sum() == 140_000
    assert float(win) < float(tie) < 0.36
    again = draw(replace(design, given=tuple(range(8))), RNG(2))
    np.testing.assert_array_equal(again.merit, np.arange(8.0))


def test_merits_tend_to_what_is_said_of_endless_votes() -> None:
    design = replace(SMALL, pairs=100_000, systems=5, ceiling=6, workers=3000)
    drawn = draw(design, RNG(2))
    counts = drawn.counts(np.full(design.pairs, 6))
    found, _ = adaptive_beliefs.systems_of(counts, drawn.first, drawn.second, 5)
    limit = design.limit(drawn.merit)
    np.testing.assert_allclose(found, limit, atol=0.03)
    assert np.abs(limit).max() < np.abs(drawn.merit - drawn.merit.mean()).max()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"systems": 1}, "systems is 1"),
        ({"merit_sd": 0.0}, "merit_sd is 0.0"),
        ({"right": 1.0}, "right is 1.0"),
        ({"always_left": 2.0}, "always_left is 2.0"),
        ({"ceiling": 5}, "ceiling is 5; it must be above the equal share of 5"),
        ({"ceiling": 70}, "there are 60 workers"),
        ({"given": (1.0, 1.0)}, "given must be one log-merit a system"),
        ({"target": "x"}, "target is 'x'"),
    ],
)
def test_designs_that_cannot_be_simulated_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        simulate(replace(SMALL, **change), rng=RNG(0))


def test_a_simulation_says_where_it_is_and_stops_when_asked() -> None:
    seen: list[tuple[str, int, int]] = []
    hooks = Hooks(progress=lambda *at: seen.append(at), cancelled=lambda: len(seen) > 2)
    with pytest.raises(Cancelled):
        simulate(SMALL, rng=RNG(0), replicates=9, hooks=hooks)
    assert seen == [("replicates", k, 9) for k in range(3)]
