"""Bradley-Terry with covariates: second implementations, recovery, coverage, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from evaluation.methods.bradley_terry import method as bt
from evaluation.methods.bradley_terry.cells import cells_of, units_of
from evaluation.methods.bradley_terry.covariates import StyledPairs, relative_difference
from evaluation.methods.bradley_terry.fit import Model, maximise
from evaluation.methods.bradley_terry.intervals import sandwich
from evaluation.methods.core.base import BadShape, FloatArray, Result
from evaluation.methods.core.votes import FIRST, SECOND, TIE

NAMES = ("words", "lists", "headings", "bold")
STYLE = np.array([0.5, -0.3, 0.2, 0.0])
PLAIN: dict[str, Any] = {"ties": "none", "regularisation": 0.0, "resamples": 0}


def styled(
    seed: int, votes: int = 600, k: int = 5, *, judges: int = 20, p: int = 4, ties: float = 0.2
) -> StyledPairs:
    """Votes by merits from -.8 to .8 and STYLE times the differences; a share of ties at random.

    Judges differ in how much they like words, so that their votes are not independent.
    """
    rng = np.random.default_rng(seed)
    first = rng.integers(0, k, votes)
    second = (first + rng.integers(1, k, votes)) % k
    judge = rng.integers(0, judges, votes)
    merit = np.linspace(-0.8, 0.8, k)
    # Better systems write more: what style control must not mistake for merit.
    counts = [
        rng.poisson(np.exp(3 + merit[who])[:, None] * np.array([5, 0.1, 0.1, 0.1])[:p])
        for who in (first, second)
    ]
    difference = relative_difference(*counts)
    scale = np.sqrt((difference**2).mean(axis=0))
    log_odds = merit[first] - merit[second] + difference / scale @ STYLE[:p]
    won = rng.random(votes) < expit(log_odds)
    outcome = np.where(rng.random(votes) < ties, TIE, np.where(won, FIRST, SECOND))
    return StyledPairs.build(
        first,
        second,
        outcome,
        difference,
        players=[f"p{i}" for i in range(k)],
        names=NAMES[:p],
        unit=judge,
    )


def fit(data: StyledPairs, **params: Any) -> Result:
    return bt.fit(
        data.pairs, covariates=data.covariates, rng=np.random.default_rng(0), **PLAIN | params
    )


def coefficients(result: Result) -> FloatArray:
    return np.asarray(result.estimates["shared"]["estimate"], dtype=np.float64)


def design(data: StyledPairs) -> tuple[FloatArray, FloatArray]:
    """The design of a logistic regression, and wins with a tie as half."""
    votes, k = len(data.pairs), len(data.pairs.players)
    x = np.zeros((votes, k))
    x[np.arange(votes), data.pairs.first] = 1
    x[np.arange(votes), data.pairs.second] = -1
    won = np.array([1.0, 0.5, 0.0])[data.pairs.outcome]
    # The last system is held at 0: merits are known up to a constant.
    return np.column_stack([x[:, :-1], data.covariates.values]), won


def centred(merit: FloatArray) -> FloatArray:
    whole = np.append(merit, 0.0)
    return np.asarray(whole - whole.mean())


def statsmodels_glm(won: FloatArray, x: FloatArray) -> Any:
    """From where it lies: ``statsmodels.api`` loads all of it, in three times the time."""
    module = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    families = pytest.importorskip("statsmodels.genmod.families")
    return module.GLM(won, x, family=families.Binomial())


@pytest.mark.parametrize("seed", range(3))
def test_statsmodels_finds_the_same_merits_and_coefficients(seed: int) -> None:
    data = styled(seed)
    x, won = design(data)
    peer = statsmodels_glm(won, x).fit(tol=1e-13, maxiter=200)
    found = fit(data)
    k = len(data.pairs.players) - 1
    assert found.estimates["player"]["estimate"] == pytest.approx(
        centred(peer.params[:k]), abs=1e-6
    )
    assert coefficients(found) == pytest.approx(peer.params[k:], abs=1e-6)


def test_statsmodels_has_the_same_errors_clustered_by_judge() -> None:
    data = styled(3)
    x, won = design(data)
    peer = statsmodels_glm(won, x).fit(
        tol=1e-13,
        maxiter=200,
        cov_type="cluster",
        cov_kwds={"groups": data.pairs.judge, "use_correction": False},
    )
    cells = cells_of(data.pairs, side=False, columns=data.covariates.values)
    model = Model("none", 0.0, side=False, covariates=data.covariates.names)
    at, units = maximise(cells, model).point, units_of(data.pairs, cells, "judge")
    plain = sandwich(cells, model, at, units, np.random.default_rng(0))
    k = len(data.pairs.players) - 1
    assert np.sqrt(np.diag(plain.shared)) == pytest.approx(peer.bse[k:], rel=1e-4)
    # Ours are raised by the judges' shares of the votes.
    wide = fit(data, cluster="judge").estimates["shared"]["se"] / peer.bse[k:]
    judges = len(data.pairs.judges)
    assert wide == pytest.approx(np.sqrt(judges / (judges - 1)), rel=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_a_general_optimiser_finds_the_same(seed: int) -> None:
    data = styled(seed, votes=300)
    x, won = design(data)

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        odds = x @ at
        value = np.logaddexp(0, odds) - won * odds
        return float(value.sum()), x.T @ (expit(odds) - won)

    best = minimize(loss, np.zeros(x.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    found = fit(data)
    k = len(data.pairs.players) - 1
    assert found.estimates["player"]["estimate"] == pytest.approx(centred(best.x[:k]), abs=1e-6)
    assert coefficients(found) == pytest.approx(best.x[k:], abs=1e-6)


def test_planted_style_is_found_and_taken_out_of_the_merits() -> None:
    data = styled(7, votes=20_000, ties=0.0)
    found = fit(data)
    assert coefficients(found) == pytest.approx(STYLE, abs=0.08)
    assert found.estimates["player"]["estimate"] == pytest.approx(
        np.linspace(-0.8, 0.8, 5), abs=0.08
    )
    raw = bt.fit(data.pairs, rng=np.random.default_rng(0), **PLAIN).estimates["player"]["estimate"]
    # Without control, those who write more stand higher than they are.
    assert raw[-1] - raw[0] > 1.75


@pytest.mark.long
def test_intervals_of_coefficients_cover_what_was_planted() -> None:
    hits = np.zeros(2)
    for seed in range(200):
        found = fit(styled(seed, votes=400, p=2, ties=0.0), cluster="judge").estimates["shared"]
        hits += (found["low"] <= STYLE[:2]) & (STYLE[:2] <= found["high"])
    assert (hits / 200 >= 0.90).all() and (hits / 200 <= 0.985).all()


def test_neither_the_order_of_texts_nor_of_votes_matters() -> None:
    rng = np.random.default_rng(1)
    votes, k = 200, 4
    first = rng.integers(0, k, votes)
    second = (first + rng.integers(1, k, votes)) % k
    outcome, difference = rng.integers(0, 3, votes), rng.normal(size=(votes, 2))
    turned, mixed = rng.random(votes) < 0.5, rng.permutation(votes)
    names = {"players": list("abcd"), "names": ("words", "own")}
    one = fit(StyledPairs.build(first, second, outcome, difference, **names))
    other = fit(
        StyledPairs.build(
            np.where(turned, second, first)[mixed],
            np.where(turned, first, second)[mixed],
            np.where(turned, 2 - outcome, outcome)[mixed],
            np.where(turned[:, None], -difference, difference)[mixed],
            **names,
        )
    )
    assert coefficients(one) == pytest.approx(coefficients(other), abs=1e-9)
    merits = [result.estimates["player"]["estimate"] for result in (one, other)]
    assert merits[0] == pytest.approx(merits[1], abs=1e-9)


def test_a_difference_is_relative_and_without_either_it_is_none() -> None:
    found = relative_difference(np.array([[300.0, 0]]), np.array([[100.0, 0]]))
    assert found.tolist() == [[0.5, 0.0]]
    with pytest.raises(BadShape):
        relative_difference(np.array([[-1.0]]), np.array([[1.0]]))


def test_a_column_that_never_differs_is_dropped_by_name() -> None:
    data = StyledPairs.build(
        np.array([0, 1]),
        np.array([1, 0]),
        np.array([FIRST, FIRST]),
        np.array([[0.0, 1.0], [0.0, -0.5]]),
        players=["a", "b"],
        names=("lists", "words"),
    )
    assert data.dropped == ("lists",) and data.covariates.names == ("words",)
    assert cells_of(data.pairs, side=False, columns=data.covariates.values).win.sum() == 1


def test_a_style_that_goes_with_the_system_cannot_be_told_from_it() -> None:
    rng = np.random.default_rng(4)
    first, second = np.repeat([0, 0, 1], 20), np.repeat([1, 2, 2], 20)
    always = np.array([3.0, 1.0, 0.0])  # each system writes the same each time
    data = StyledPairs.build(
        first,
        second,
        rng.integers(0, 3, 60),
        (always[first] - always[second])[:, None],
        players=["a", "b", "c"],
        names=("words",),
    )
    with pytest.raises(bt.Confounded, match="words nearly always depended"):
        fit(data)
    with pytest.raises(bt.Confounded) as refused:
        fit(data, regularisation=0.2)
    assert refused.value.name == "words"


def test_of_two_columns_that_say_the_same_the_last_is_named() -> None:
    rng = np.random.default_rng(5)
    first = np.repeat([0, 0, 1], 30)
    difference = np.repeat(rng.normal(size=(90, 1)), 2, axis=1)
    data = StyledPairs.build(
        first,
        np.repeat([1, 2, 2], 30),
        rng.integers(0, 3, 90),
        difference,
        players=["a", "b", "c"],
        names=("words", "tokens"),
    )
    with pytest.raises(bt.Confounded, match="tokens"):
        fit(data, regularisation=0.2)
