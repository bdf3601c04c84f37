"""AQER where systems vote too: beside workers, alone, and how alike they are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evaluation.methods.aqer import joint as aqer_joint
from evaluation.methods.aqer import method as aqer
from evaluation.methods.aqer.rounds import Options, iterate, prepare
from evaluation.methods.core.base import BadParameter, EmptyData, Texts
from tests.evaluation.methods.simulated import crowd

RNG = np.random.default_rng
QUALITY = np.array([0.2, 0.35, 0.5, 0.6, 0.7, 0.85])


def test_systems_beside_workers_score_as_if_they_were_workers() -> None:
    systems = np.array([0.9, 0.3])
    data = crowd(QUALITY, density=0.8, systems=systems, seed=5)
    joint = aqer_joint.fit(data, rng=RNG(0), resamples=200, leave_one_out=False)
    outside = data.outside
    assert outside is not None
    by_hand = Texts.build(
        np.concatenate([data.worker, outside.worker + 6]),
        np.concatenate([data.question, outside.question]),
        np.concatenate([data.vectors[data.vector], outside.vectors[outside.vector]]),
        workers=[*data.workers, *outside.workers],
        questions=data.questions,
    )
    expected = iterate(prepare(by_hand)[0], Options(), RNG(0))
    table = joint.estimates["worker"]
    np.testing.assert_allclose(table["score"], expected.grades, atol=1e-9)
    assert table["is_system"].tolist() == [False] * 6 + [True] * 2
    assert sorted(table["rank"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert joint.intervals["worker"].separable.shape == (8, 8)
    assert joint.recipe["params"]["mode"] == "together"
    json.dumps(dict(joint.diagnostics), allow_nan=False)
    alone = aqer.fit(data, rng=RNG(0), resamples=0, leave_one_out=False).estimates
    without = joint.diagnostics["joint"]["without"]
    own = [*alone["worker"][without["by"]], *alone["system"][without["by"]]]
    np.testing.assert_allclose(without["score"], own, atol=1e-9)
    for key, values in (("place_with", table[without["by"]]), ("place", np.array(own))):
        assert without[key] == (8 - np.argsort(np.argsort(values))).tolist()


def test_systems_alone_are_ranked_without_any_worker() -> None:
    data = crowd(QUALITY[:2], systems=QUALITY, questions=60, seed=6)
    result = aqer_joint.fit(data, rng=RNG(0), mode="systems", resamples=0)
    assert result.estimates["worker"]["rank"].tolist() == [6, 5, 4, 3, 2, 1]
    assert result.diagnostics["joint"]["alike"]["workers"] is None


def test_answers_of_systems_that_copy_one_another_are_shown_to_be_alike() -> None:
    data = crowd(np.full(5, 0.7), systems=np.full(4, 0.7), questions=30, width=64, seed=7)
    alike = aqer_joint.fit(data, rng=RNG(0), resamples=0).diagnostics["joint"]["alike"]
    assert alike["systems"] == pytest.approx(0.49, abs=0.06)
    outside = data.outside
    assert outside is not None
    first = np.flatnonzero(outside.worker == 0)
    copied = Texts.build(
        outside.worker,
        outside.question,
        outside.vectors,
        vector=outside.vector[first][outside.question],
        workers=outside.workers,
        questions=outside.questions,
    )
    copies = Texts.build(
        data.worker,
        data.question,
        data.vectors,
        vector=data.vector,
        workers=data.workers,
        questions=data.questions,
        outside=copied,
    )
    told = aqer_joint.fit(copies, rng=RNG(0), resamples=0).diagnostics["joint"]["alike"]
    assert told["systems"] == pytest.approx(1.0)
    assert told["workers"] == pytest.approx(alike["workers"])


def test_several_answers_of_a_system_to_one_question_are_one_vote_in_their_direction() -> None:
    outside = Texts.build(
        [0, 0, 1],
        [0, 0, 0],
        np.array([[2.0, 0], [0, 3], [1, 0]]),
        workers=["s", "t"],
        questions=["q"],
        repeats=True,
    )
    data = Texts.build(
        [0], [0], np.eye(2), vector=[0], workers=["a"], questions=["q"], outside=outside
    )
    voting = aqer_joint.authors(data).texts
    np.testing.assert_allclose(voting.vectors[voting.vector[1]], np.array([1, 1]) / np.sqrt(2))


def test_joint_mode_without_systems_or_with_a_wrong_name_is_refused() -> None:
    data = crowd(QUALITY, systems=QUALITY[:1], seed=8)
    with pytest.raises(BadParameter, match="mode is 'both'"):
        aqer_joint.authors(data, "both")
    with pytest.raises(EmptyData, match="no language model"):
        aqer_joint.authors(crowd(QUALITY, seed=8))
