"""What the planner answers against closed forms, against itself, and against larger studies."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.special import ndtr

from evaluation.methods.core.base import BadParameter, Cancelled, Hooks
from evaluation.methods.simulation.planning.labels import gold, net_preference
from evaluation.methods.simulation.planning.planner import mean, plan, proportion, spread, study
from evaluation.methods.simulation.simulation import (
    LabelCrowd,
    PairCrowd,
    simulate_labels,
    simulate_pairs,
)


def answers(model: str, *, seed: int = 0, replicates: int = 400, **values: Any) -> dict[str, Any]:
    found = plan(study(model, **values), rng=np.random.default_rng(seed), replicates=replicates)
    return {row["quantity"]: row for row in found.estimates["answer"].rows()}


def test_honest_comparisons_without_ties_are_a_coin_whose_power_is_known() -> None:
    values = {"gap": 0.2, "ties": 0.0, "guessers": 0.0, "item_sd": 0.0, "right": 0.5}
    found = answers("pairwise", items=200, votes=1, workers=50, replicates=2000, **values)
    error = ((1 - 0.2**2) / 200) ** 0.5  # of the mean of 200 votes of +1 and -1
    power = float(ndtr(0.2 / error - 1.96))
    # Intervals are clustered by 50 workers too, which costs some power, and never gains any.
    assert -0.08 < found["separated"]["estimate"] - power < 4 * found["separated"]["mc_error"]
    width = found["difference_width"]["estimate"] / (2 * 1.97 * error)
    assert 0.99 < width < 1.12
    assert abs(found["difference"]["estimate"] - 0.2) < 4 * found["difference"]["mc_error"]


@pytest.mark.parametrize("model", ["labels", "pairwise"])
def test_intervals_hold_what_they_claim_and_equal_systems_are_rarely_separated(model: str) -> None:
    found = answers(model, gap=0.0, replicates=1500)
    assert 0.93 <= found["coverage"]["estimate"] <= 0.975
    assert found["separated"]["estimate"] + found["reversed"]["estimate"] < 0.07


@pytest.mark.parametrize("model", ["labels", "pairwise", "f2"])
def test_four_times_the_items_halve_the_width(model: str) -> None:
    replicates = 10 if model == "f2" else 200
    few, many = (answers(model, items=items, replicates=replicates) for items in (40, 160))
    ratio = few["difference_width"]["estimate"] / many["difference_width"]["estimate"]
    assert ratio == pytest.approx(2, rel=0.2 if model == "f2" else 0.1)
    assert many["separated"]["estimate"] >= few["separated"]["estimate"]


def test_guessers_cost_power_and_widen_what_is_known_of_a_worker() -> None:
    honest, careless = (answers("labels", gap=0.15, guessers=guessers) for guessers in (0.0, 0.5))
    assert honest["gold_right"]["estimate"] > careless["gold_right"]["estimate"] + 0.005
    assert honest["worker_width"]["high"] < careless["worker_width"]["low"]


def test_the_monte_carlo_error_is_the_spread_over_seeds() -> None:
    runs = [answers("pairwise", seed=seed, replicates=300, gap=0.2) for seed in range(30)]
    for name in ("separated", "difference", "difference_width"):
        spread_of_runs = np.std([run[name]["estimate"] for run in runs], ddof=1)
        assert np.mean([run[name]["mc_error"] for run in runs]) == pytest.approx(
            spread_of_runs, rel=0.45
        )


def test_the_same_seed_gives_the_same_plan() -> None:
    one, two = (answers("labels", seed=5, replicates=50) for _ in range(2))
    assert one == two


def test_the_light_gold_labels_see_through_workers_who_always_say_yes() -> None:
    crowd = LabelCrowd(workers=12, items=150, votes=6, spammers=0.4, strategy=0.2)
    votes = simulate_labels(np.random.default_rng(0), crowd, replicates=60)
    good, accuracy = gold(votes)
    majority = votes.label.mean(axis=2)
    right = ((good > 0.5) == (votes.truth == 1)).mean()
    assert right > ((majority > 0.5) == (votes.truth == 1)).mean() + 0.02
    assert np.corrcoef(accuracy.ravel(), (1 - votes.guess).ravel())[0, 1] > 0.85


def test_turning_every_pair_round_turns_the_sign() -> None:
    votes = simulate_pairs(np.random.default_rng(0), PairCrowd(), replicates=5)
    turned = votes.__class__(**{**votes.__dict__, "outcome": 2 - votes.outcome})
    estimate, low, high = net_preference(votes, 0.95)
    other, other_low, other_high = net_preference(turned, 0.95)
    np.testing.assert_allclose(other, -estimate)
    np.testing.assert_allclose((other_low, other_high), (-high, -low))


def test_figures_over_replicates_carry_their_error() -> None:
    rate, error, low, high = proportion(np.arange(100) < 30)
    assert (rate, error) == (0.3, pytest.approx(0.046, abs=0.001))
    assert (low, high) == (pytest.approx(0.2189, abs=1e-4), pytest.approx(0.3958, abs=1e-4))
    none = proportion(np.zeros(100, dtype=bool))
    assert none[1] > 0
    assert none[3] == pytest.approx(0.037, abs=0.001)
    rng = np.random.default_rng(0)
    width, error, *_ = spread(rng.normal(size=(200, 50)))
    assert abs(width - 3.92) < 4 * error
    assert mean(np.array([1.0, np.nan, 3.0]))[0] == 2


@pytest.mark.parametrize(
    ("model", "values", "says"),
    [
        ("labels", {"votes": 30}, "votes is 30, but there are only 20 workers"),
        ("labels", {"votes": 1}, "votes is 1; it must be a whole number from 2"),
        ("labels", {"good": 0.97}, "good is 0.97 and gap 0.05"),
        ("pairwise", {"items": 1}, "items is 1"),
        ("pairwise", {"guessers": 1}, "nobody looks"),
        ("pairwise", {"good": 0.5}, "unexpected keyword argument 'good'"),
        ("k", {"strength": 2.5}, "strength of k is 2.5; it must be a whole number"),
        ("f1", {"items": 100_000, "workers": 30}, "3000000; 400000 are the most"),
        ("f9", {}, "model is 'f9'; it must be one of labels, pairwise, f1"),
    ],
)
def test_a_study_that_cannot_be_is_refused_by_name(
    model: str, values: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadParameter, match=says.replace(".", r"\.")):
        plan(study(model, **values), rng=np.random.default_rng(0), replicates=2)


def test_a_plan_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        plan(study("labels"), rng=np.random.default_rng(0), hooks=Hooks(cancelled=lambda: True))


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    sizes = ("--workers", "8", "--items", "20", "--votes", "3")
    call_command("crowdqc_plan", *sizes, *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_answers_in_words_and_as_json() -> None:
    text, _ = run("--replicates", "20")
    assert "120 judgments, 15.0 a worker; 20 simulated studies" in text
    assert "chance to separate the two systems" in text
    found = json.loads(run("--replicates", "20", "--json", "--model", "f2", "--quality", ".5")[0])
    assert found[0]["params"]["model"] == "f2"
    assert found[0]["judgments"] == 60
    assert {"quantity", "estimate", "mc_error", "low", "high", "unit"} == set(
        found[0]["answers"][0]
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--gap", "1.5"), "gap is 1.5"),
        (("--quality", ".5"), "--quality means nothing to labels or pairwise"),
        (("--replicates", "1"), "replicates is 1"),
        (("--seed", "-1"), "--seed must be 0 or more"),
        (("--model", "k", "--strength", "21"), "strength of k is 21"),
        (("--level", "2"), "level is 2"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(CommandError, match=says.replace(".", r"\.")):
        run(*arguments)
