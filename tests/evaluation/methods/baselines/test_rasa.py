"""RASA against crowd-kit's, and as a method."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from evaluation.methods.baselines import rasa
from evaluation.methods.core.base import BadParameter, Texts, TooFewWorkers
from tests.evaluation.methods.simulated import crowd

PEERS = Path(__file__).resolve().parents[4] / ".venv" / "peers"
QUALITY = np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.85])
# Many workers of whom none is far better: the fit does not collapse onto one.
EVEN = np.linspace(0.3, 0.6, 20)


@pytest.fixture
def crowdkit_rasa(monkeypatch: pytest.MonkeyPatch) -> Any:
    if not PEERS.is_dir():
        pytest.skip("crowd-kit, the second implementation, is not installed in .venv/peers")
    monkeypatch.setattr(sys, "path", [str(PEERS), *sys.path])
    from crowdkit.aggregation import RASA

    return RASA


@pytest.mark.filterwarnings("ignore")
def test_reliabilities_and_best_responses_are_crowdkits(crowdkit_rasa: Any) -> None:
    import pandas

    texts = crowd(QUALITY, questions=20, density=0.7, seed=1)
    frame = pandas.DataFrame(
        {
            "task": texts.question,
            "worker": texts.worker,
            "output": np.arange(len(texts)),
            "embedding": list(texts.vectors[texts.vector]),
        }
    )
    peer = crowdkit_rasa(n_iter=7, tol=0.0)
    chosen = peer.fit_predict(frame)["output"].sort_index()
    ours = rasa.reliabilities(texts, max_rounds=6, tolerance=1e-300)
    np.testing.assert_allclose(ours.reliability, peer.skills_.sort_index().to_numpy(), rtol=1e-9)
    settled = rasa.fit(texts, rng=np.random.default_rng(0), resamples=0, tolerance=1e-12)
    assert settled.estimates["question"]["best"].tolist() == [texts.source[row] for row in chosen]


@pytest.mark.parametrize("kept", [0, 5_000_000])
def test_a_settled_fit_satisfies_both_equations(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rasa, "GRAM", kept)  # with and without the inner products
    monkeypatch.setattr(rasa, "BLOCK", 7)
    texts = crowd(EVEN, questions=12, density=0.8, seed=2)
    fit = rasa.reliabilities(texts, tolerance=1e-13)
    unit = texts.vectors / texts.norms[:, None]
    centre = np.empty((12, unit.shape[1]))
    for j in range(12):
        rows = texts.question == j
        share = fit.reliability[texts.worker[rows]]
        centre[j] = share @ unit[texts.vector[rows]] / share.sum()
        length = np.linalg.norm(centre[j])
        np.testing.assert_allclose(
            fit.cosine[rows], unit[texts.vector[rows]] @ centre[j] / length, atol=1e-6
        )
    for i in range(20):
        rows = texts.worker == i
        off = unit[texts.vector[rows]] - centre[texts.question[rows]]
        expected = chi2.isf(0.025, rows.sum()) / (off**2).sum()
        assert fit.reliability[i] == pytest.approx(expected, rel=1e-5)


def test_a_resample_is_a_fit_of_the_questions_it_drew() -> None:
    texts = crowd(EVEN, questions=6, seed=5)
    drawn = np.array([[2, 0, 1, 0, 3, 0], [1, 1, 1, 1, 1, 1]])
    found = rasa.replicates(
        texts, np.arange(len(texts)), drawn.astype(float), alpha=0.05, tolerance=1e-13
    )
    for weights, row in zip(drawn, found, strict=True):
        picked = np.repeat(np.arange(6), weights)
        rows = np.concatenate([np.flatnonzero(texts.question == j) for j in picked])
        again = Texts.build(
            texts.worker[rows],
            np.repeat(np.arange(6), len(EVEN)),
            texts.vectors,
            vector=texts.vector[rows],
            workers=texts.workers,
            questions=texts.questions,
        )
        expected = rasa.reliabilities(again, tolerance=1e-13).reliability
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_planted_quality_comes_back_and_systems_are_held_against_the_best_response() -> None:
    texts = crowd(EVEN, questions=100, systems=np.array([0.9, 0.3]), seed=3)
    result = rasa.fit(texts, rng=np.random.default_rng(0), resamples=200)
    assert result.converged
    assert np.corrcoef(result.estimates["worker"]["score"], EVEN)[0, 1] > 0.97
    assert not result.diagnostics["fits"][0]["collapsed"]
    assert result.estimates["system"]["rank"].tolist() == [1, 2]
    worker, sure = result.estimates["worker"], result.intervals["worker"]
    assert np.all((sure.low < worker["score"]) & (worker["score"] < sure.high))
    best = result.estimates["question"]["best"]
    assert texts.outside is not None
    row = texts.outside.vectors[texts.outside.vector[0]]
    expected = row @ texts.vectors[best[texts.outside.question[0]]]
    assert result.estimates["system_answer"]["score"][0] == pytest.approx(expected)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.floats(0.1, 50))
def test_order_of_rows_names_and_lengths_of_vectors_change_nothing(seed: int, scale: float) -> None:
    texts = crowd(QUALITY[:4], questions=6, density=0.9, seed=seed)
    rng = np.random.default_rng(seed)
    shuffle, rename = rng.permutation(len(texts)), rng.permutation(4)
    other = Texts.build(
        rename[texts.worker[shuffle]],
        texts.question[shuffle],
        texts.vectors * scale,
        vector=texts.vector[shuffle],
        workers=texts.workers,
        questions=texts.questions,
    )
    one = rasa.reliabilities(texts).reliability
    np.testing.assert_allclose(one, rasa.reliabilities(other).reliability[rename], rtol=1e-6)


def test_a_fit_that_collapses_onto_one_worker_says_so_and_is_not_sure_of_them() -> None:
    texts = crowd(QUALITY, questions=30, seed=4)
    result = rasa.fit(texts, rng=np.random.default_rng(0), resamples=100)
    assert result.diagnostics["fits"][0]["collapsed"]
    sure = result.intervals["worker"]
    assert sure.reason == ("",) * 5 + ("the weighted mean is this worker's own answers",)
    assert np.isnan(sure.low[5]) and np.isfinite(sure.low[:5]).all()


def test_workers_with_the_same_answers_share_the_weight_and_stay_finite() -> None:
    vectors = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1.0]])
    texts = Texts.build(
        [0, 1, 2, 0, 1, 2],
        [0, 0, 0, 1, 1, 1],
        vectors,
        workers=["a", "b", "c"],
        questions=["p", "q"],
    )
    result = rasa.fit(texts, rng=np.random.default_rng(0), resamples=0)
    score = result.estimates["worker"]["score"]
    assert np.isfinite(score).all() and score[0] == score[1] > 1000 * score[2]
    assert result.diagnostics["fits"][0]["largest_share"] == pytest.approx(0.5, abs=1e-3)


def test_too_few_rounds_are_not_called_converged() -> None:
    result = rasa.fit(crowd(QUALITY), rng=np.random.default_rng(0), resamples=0, max_rounds=1)
    assert not result.converged


def test_bad_input_is_named() -> None:
    for name, value in (("alpha", 2), ("max_rounds", 0), ("tolerance", 0.0), ("beta", 1)):
        with pytest.raises(BadParameter, match=name):
            rasa.METHOD.check(**{name: value})
    alone = Texts.build([0], [0], np.ones((1, 3)), workers=["x"], questions=["p"])
    with pytest.raises(TooFewWorkers):
        rasa.fit(alone, rng=np.random.default_rng(0))
