"""A scorer learned from scored explanations: against a plain solution, planted signal and noise."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.rescaling import learned
from evaluation.methods.rescaling.learned import Explanations, TooFewScores


def crowd(signal: float, *, items: int = 40, workers: int = 8, seed: int = 0) -> Explanations:
    """Scores that follow the label and, with ``signal``, one direction of the embedding."""
    rng = np.random.default_rng(seed)
    worker, item = (side.ravel() for side in np.indices((workers, items)))
    label = rng.integers(0, 3, len(worker))
    vectors = rng.normal(size=(len(worker), 12)) / 4
    score = 20 + 30 * label + signal * vectors[:, 0] + rng.normal(0, 4, len(worker))
    score[rng.random(len(worker)) < 0.1] = np.nan
    return Explanations.build(vectors, label, worker, item, np.clip(score, 0, 100), labels=3)


def test_weights_are_those_of_ridge_regression_with_free_label_means() -> None:
    data = crowd(40.0)
    rows = np.flatnonzero(data.known)
    equations = learned.Equations.build(data.vectors[rows], data.label[rows], data.score[rows], 3)
    made = equations.solve(2.5)
    # The same by one system of equations over label columns and the embedding.
    design = np.hstack([np.eye(3)[data.label[rows]], data.vectors[rows]])
    penalty = np.diag([0.0] * 3 + [2.5] * 12)
    solved = np.linalg.solve(design.T @ design + penalty, design.T @ data.score[rows])
    np.testing.assert_allclose(made.weight, solved[3:], atol=1e-8)
    expected = np.clip(design @ solved, 0, 100)
    np.testing.assert_allclose(
        made.predict(data.vectors[rows], data.label[rows]), expected, atol=1e-8
    )


def test_a_planted_signal_is_found_on_unseen_people_and_items_and_noise_is_not() -> None:
    found = learned.fit(crowd(40.0), rng=np.random.default_rng(0), folds=3)
    for row in found.estimates["scheme"].rows():
        assert row["high"] < 0 and row["error"] < row["of_label"]
        assert row["rho"] > row["rho_label"] and row["r2"] > 0.9
    predicted = found.estimates["predicted"]
    assert len(predicted) == int((~crowd(40.0).known).sum()) > 0
    noise = learned.fit(crowd(0.0), rng=np.random.default_rng(0), folds=3)
    for row in noise.estimates["scheme"].rows():
        assert row["high"] > 0  # never called nearer
        assert abs(row["difference"]) < 0.5


@pytest.mark.parametrize(
    ("items", "workers", "noun"), [(10, 8, "scored"), (60, 4, "workers"), (16, 20, "items")]
)
def test_too_little_to_learn_from_is_refused(items: int, workers: int, noun: str) -> None:
    with pytest.raises(TooFewScores, match=noun):
        crowd(1.0, items=items, workers=workers)
