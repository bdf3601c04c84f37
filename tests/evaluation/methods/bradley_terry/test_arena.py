"""Arena battles as comparisons, and their ratings as the arena computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from evaluation.methods.bradley_terry.arena import arena_ratings
from evaluation.methods.core.base import EmptyData
from evaluation.methods.core.votes import TIE
from tests.evaluation.methods.bradley_terry.battles import BadBattle, pairs_from_battles

# What arena-rank 0.1.1 gives for ``many_battles``: rating, lower and upper bound of each model.
ARENA_RANK = (
    (1030.675, 1004.543, 1056.807),
    (1096.526, 1070.343, 1122.709),
    (919.432, 892.801, 946.063),
    (959.578, 934.195, 984.961),
    (1086.022, 1058.886, 1113.158),
    (918.083, 891.091, 945.076),
    (926.028, 900.278, 951.779),
    (857.029, 829.748, 884.309),
    (1206.628, 1176.358, 1236.897),
)


def many_battles(n: int = 2000, models: int = 9) -> list[dict[str, Any]]:
    """A file of battles: the left is a little favoured, 22 in 100 are ties of both kinds."""
    rng = np.random.default_rng(20417)
    merit, rows = rng.normal(0, 0.8, models), []
    for _ in range(n):
        a, b = rng.choice(models, 2, replace=False)
        chance = 1 / (1 + np.exp(merit[b] - merit[a] - 0.15))
        draw, tied = rng.random(), rng.random() < 0.22
        if tied:
            winner = "tie" if rng.random() < 0.6 else "both_bad"
        else:
            winner = "model_a" if draw < chance else "model_b"
        rows.append({"model_a": f"model-{a}", "model_b": f"model-{b}", "winner": winner})
    return rows


def test_ratings_of_two_thousand_games_are_those_of_arena_rank_to_a_hundredth_of_a_point() -> None:
    data = pairs_from_battles(many_battles())
    found = arena_ratings(data)
    assert data.players == tuple(f"model-{k}" for k in range(9)) and data.weight.sum() == 2000
    for name, column in (("ratings", 0), ("rating_lower", 1), ("rating_upper", 2)):
        assert found[name] == pytest.approx([row[column] for row in ARENA_RANK], abs=0.01), name


def test_ratings_are_those_of_a_logistic_regression_with_ties_as_half_wins() -> None:
    battles = many_battles(600, 6)
    data = pairs_from_battles(battles)
    place = {name: at for at, name in enumerate(data.players)}
    rows, won, weight = [], [], []
    for battle in battles:
        row = np.zeros(len(place))
        row[place[battle["model_a"]]], row[place[battle["model_b"]]] = 1.0, -1.0
        share = {"model_a": 1.0, "model_b": 0.0}.get(battle["winner"], 0.5)
        for outcome, part in ((1, share), (0, 1 - share)):
            rows.append(row)
            won.append(outcome)
            weight.append(part)
    # The last column is left out: merits are known up to a constant.
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000)
    merit = np.append(model.fit(np.array(rows)[:, :-1], won, sample_weight=weight).coef_[0], 0.0)
    wanted = 1000 + 400 / np.log(10) * (merit - merit.mean())
    assert arena_ratings(data)["ratings"] == pytest.approx(wanted.tolist(), abs=0.01)


def test_a_model_that_only_won_has_no_rating_and_a_reason() -> None:
    found = arena_ratings(
        pairs_from_battles([{"model_a": "x", "model_b": "y", "winner": "model_a"}] * 5)
    )
    assert found["ratings"] == [None, None] and "no finite merit" in found["reasons"][0]


def test_battles_are_read_with_both_kinds_of_tie_and_bad_ones_are_named() -> None:
    battle = {"model_a": "gpt", "model_b": "claude", "winner": "tie", "judge": "u", "turn": 1}
    data = pairs_from_battles(
        [battle, {**battle, "winner": "tie (bothbad)"}, {**battle, "winner": "both_bad"}]
    )
    assert data.players == ("claude", "gpt")
    assert data.weight[data.outcome == TIE].sum() == 3
    with pytest.raises(BadBattle, match="battle 1: winner 'draw'"):
        pairs_from_battles([battle, {**battle, "winner": "draw"}])
    with pytest.raises(BadBattle, match="battle 0 has no model_b"):
        pairs_from_battles([{"model_a": "x", "winner": "tie"}])
    with pytest.raises(BadBattle, match="meets itself"):
        pairs_from_battles([{"model_a": "x", "model_b": "x", "winner": "tie"}])
    with pytest.raises(EmptyData):
        pairs_from_battles([])
