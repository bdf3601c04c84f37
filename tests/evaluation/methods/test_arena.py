"""Arena battles as comparisons, and Bradley-Terry results as arena leaderboards."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods import bradley_terry
from evaluation.methods.arena import BadBattle, arena_board, pairs_from_battles
from evaluation.methods.base import EmptyData
from evaluation.methods.votes import TIE


def test_arena_battles_give_a_board_of_the_known_form() -> None:
    rng = np.random.default_rng(10)
    outcomes = ["model_a"] * 5 + ["model_b"] * 2 + ["tie", "tie (bothbad)"]
    pairs = [("gpt", "claude"), ("claude", "llama"), ("gpt", "llama")]
    battles = [
        {"model_a": a, "model_b": b, "winner": str(w), "judge": f"u{k}", "turn": 1}
        for a, b in pairs
        for k, w in enumerate(rng.permutation(outcomes))
    ]
    data = pairs_from_battles(battles)
    assert data.players == ("claude", "gpt", "llama")
    assert data.weight[data.outcome == TIE].sum() == 6
    found = bradley_terry.fit(
        data, rng=np.random.default_rng(0), ties="none", regularisation=0.0, resamples=0
    )
    board = arena_board(found, data.players)
    assert list(board) == ["competitors", "ratings", "rating_lower", "rating_upper", "variances"]
    assert board["competitors"] == ["gpt", "claude", "llama"]
    assert np.mean(board["ratings"]) == pytest.approx(1000)
    merit = found.estimates["player"]["estimate"]
    odds = 10 ** ((board["ratings"][0] - board["ratings"][2]) / 400)
    assert odds == pytest.approx(np.exp(merit[1] - merit[2]))
    with pytest.raises(BadBattle, match="battle 1: winner 'draw'"):
        pairs_from_battles([battles[0], {**battles[0], "winner": "draw"}])
    with pytest.raises(BadBattle, match="battle 0 has no model_b"):
        pairs_from_battles([{"model_a": "x", "winner": "tie"}])
    with pytest.raises(BadBattle, match="meets itself"):
        pairs_from_battles([{"model_a": "x", "model_b": "x", "winner": "tie"}])
    with pytest.raises(EmptyData):
        pairs_from_battles([])
