"""Large boards: solved over the pairs that met, as exactly as small ones with full matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluation.methods.bradley_terry import cells, intervals
from evaluation.methods.bradley_terry import method as bt
from evaluation.methods.bradley_terry.fit import NotSolved
from evaluation.methods.core.base import Result
from evaluation.methods.core.votes import Pairs


def board(players: int, votes: int, *, seed: int = 0, judges: int = 0, reach: int = 0) -> Pairs:
    """Random votes with ties and sides; ``reach``: nobody meets players further off."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(0, 1, players)
    first = rng.integers(0, players, votes)
    second = (
        first + rng.integers(1, min(reach + 1, players) if reach else players, votes)
    ) % players
    left = rng.choice([-1, 1], votes)
    won = rng.random(votes) < 1 / (1 + np.exp(merit[second] - merit[first] - 0.4 * left))
    return Pairs.build(
        first,
        second,
        np.where(rng.random(votes) < 0.2, 1, np.where(won, 0, 2)),
        players=[f"p{k}" for k in range(players)],
        left=left,
        judge=rng.integers(0, judges, votes) if judges else None,
        judges=[f"j{k}" for k in range(judges)],
    )


def fit(data: Pairs, **params: Any) -> Result:
    return bt.fit(data, rng=np.random.default_rng(0), **{"resamples": 0, **params})


@pytest.fixture
def sparse(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A fit for which every board is too large for full matrices."""

    def fitted(data: Pairs, **params: Any) -> Result:
        with monkeypatch.context() as patch:
            patch.setattr(cells, "DENSE", 0)
            return fit(data, **params)

    return fitted


@pytest.mark.parametrize("ties", ["davidson", "rao_kupper", "none"])
@pytest.mark.parametrize("side", [False, True])
def test_a_large_board_has_the_merits_of_a_small_one(sparse: Any, ties: str, side: bool) -> None:
    data = board(60, 900)
    exact, found = (way(data, ties=ties, side=side).estimates for way in (fit, sparse))
    for table in ("player", "shared"):
        same = exact[table]["estimate"]
        assert found[table]["estimate"] == pytest.approx(same, abs=1e-8)
    for column in ("se", "low", "high"):
        assert found["shared"][column] == pytest.approx(exact["shared"][column], abs=1e-6)


@pytest.mark.parametrize("cluster", ["none", "pair", "judge"])
def test_its_standard_errors_are_known_as_well_as_it_says(sparse: Any, cluster: str) -> None:
    data = board(200, 2000, judges=40)
    exact, found = (
        way(data, cluster=cluster, side=True).estimates["player"]["se"] for way in (fit, sparse)
    )
    off = found / exact - 1
    assert np.sqrt((off**2).mean()) < intervals.SAMPLED
    assert abs(off.mean()) < intervals.SAMPLED / 5


def test_maximum_likelihood_of_several_components_needs_no_regularisation(sparse: Any) -> None:
    one, two = board(20, 900, seed=1), board(12, 600, seed=2)
    data = Pairs.build(
        np.concatenate([one.first, two.first + 20]),
        np.concatenate([one.second, two.second + 20]),
        np.concatenate([one.outcome, two.outcome]),
        players=[f"p{k}" for k in range(33)],
        weight=np.concatenate([one.weight, two.weight]),
    )
    exact, found = (way(data, regularisation=0.0).estimates["player"] for way in (fit, sparse))
    same = exact["estimate"]
    assert found["estimate"] == pytest.approx(same, abs=1e-8, nan_ok=True)
    assert found["component"].tolist() == exact["component"].tolist()
    ratio = found["se"][:32] / exact["se"][:32]
    assert np.abs(ratio - 1).max() < 4 * intervals.SAMPLED


def test_what_is_not_known_of_a_large_board_is_said(sparse: Any) -> None:
    found = sparse(board(30, 400), resamples=200)
    table = found.estimates["player"]
    assert not table["rank_low"].any() and table["rank"].max() == 30
    assert np.isfinite(table["low"]).all()
    assert "no ranges of ranks" in found.diagnostics["notes"][0]
    with pytest.raises(bt.TooManyPlayers, match="take interval 'sandwich'"):
        sparse(board(30, 400), interval="bootstrap", resamples=200)


def test_more_than_four_thousand_players_in_a_long_chain_are_ranked() -> None:
    found = fit(board(6000, 60_000, reach=2), ties="none")
    assert found.converged
    assert np.isfinite(found.estimates["player"]["low"]).all()


def test_a_board_that_hangs_together_too_loosely_is_refused_with_the_reason(
    sparse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.methods.bradley_terry.fit.ITERATIONS", 3)
    with pytest.raises(NotSolved, match="Set regularisation above 0"):
        sparse(board(60, 900, reach=2))
