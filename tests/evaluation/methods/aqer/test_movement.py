"""The exemplary answer on its way, beside AQER's own last round."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.movement import trace_question
from evaluation.methods.core.base import BadParameter, Texts
from evaluation.methods.simulation import simulated_texts as simulated


def crowd() -> Texts:
    deviation = np.array([0.5] * 5 + [2.5] * 7)
    return simulated.simulate(np.random.default_rng(3), deviation, questions=12, width=30).texts()


@pytest.mark.parametrize("own_left_out", [True, False])
def test_it_ends_where_the_rounds_end_and_moves_to_the_better_workers(own_left_out: bool) -> None:
    texts = crowd()
    settings = {"leave_one_out": own_left_out}
    found = trace_question(texts, 4, settings, rng=np.random.default_rng(0))
    assert found.rounds[0] == 0 and len(found.path) == len(found.rounds) > 1
    assert found.weights.sum() == pytest.approx(1) and found.nearness[-1] == pytest.approx(1)
    assert (np.diff(found.nearness) > 0).all()
    good = texts.worker[np.isin(texts.source, found.source)] < 5
    assert found.weights[good].min() > found.weights[~good].max()
    # A score with the own answer in is the cosine with the last exemplary answer.
    if not own_left_out:
        scored = aqer.fit(texts, rng=np.random.default_rng(0), resamples=0, **settings)
        table = scored.estimates["answer"]
        own = dict(zip(table["source"], table["score"], strict=True))
        vectors = texts.rows[texts.vector[texts.question == 4]]
        last = found.weights @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        cosines = vectors @ last / np.linalg.norm(vectors, axis=1) / np.linalg.norm(last)
        assert [own[at] for at in found.source] == pytest.approx(cosines.tolist(), abs=1e-4)


def test_two_dimensions_are_shown_whole_and_distances_stay() -> None:
    rng = np.random.default_rng(1)
    angles = rng.uniform(0, 1, (6, 5))
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 2)
    texts = Texts.build(
        np.repeat(np.arange(6), 5),
        np.tile(np.arange(5), 6),
        vectors,
        workers=[f"w{k}" for k in range(6)],
        questions=[f"q{k}" for k in range(5)],
    )
    found = trace_question(texts, 2, {}, rng=rng)
    assert found.shown == pytest.approx(1)
    given = vectors[found.source]
    for one in range(3):
        assert np.linalg.norm(found.points[one] - found.points[5]) == pytest.approx(
            np.linalg.norm(given[one] - given[5])
        )


def test_a_first_round_by_entailment_and_a_single_answer_are_refused() -> None:
    texts = crowd()
    with pytest.raises(BadParameter, match="entailment"):
        trace_question(texts, 0, {"start": "entailment"}, rng=np.random.default_rng(0))
    alone = Texts.build([0, 1, 0], [0, 0, 1], np.eye(3), workers=["a", "b"], questions=["p", "q"])
    with pytest.raises(BadParameter, match="fewer than two"):
        trace_question(alone, 1, {}, rng=np.random.default_rng(0))
