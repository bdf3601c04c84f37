"""Boards by kind of pair: each equals a board of its own, and hardness is not made of the votes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.methods.core.base import Hooks
from evaluation.methods.core.inference import family_level
from evaluation.methods.core.votes import FIRST, SECOND
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.boards import boards, votes_of
from evaluation.methods.pairwise.judgments import Column, Judgments
from evaluation.methods.pairwise.strata import DIFFICULTY, disagreement, strata, terciles
from evaluation.methods.pairwise.tables import EVERY
from tests.evaluation.methods.pairwise.studies import RNG, study

QUICK: dict[str, Any] = {**pairwise.DEFAULTS, "resamples": 100}


def split(data: Judgments) -> dict[str, list[dict[str, Any]]]:
    asked = (data, data.votes.first_votes(), None, QUICK)
    whole = boards(*asked, rng=RNG(1), hooks=Hooks())
    found = strata(*asked, board=whole, rng=RNG(0), hooks=Hooks())
    return {name: table.rows() for name, table in found.items()}


def of(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def by_topic(data: Judgments, names: tuple[str, ...], of_topic: Any) -> Judgments:
    column = Column(np.asarray(of_topic)[data.topic[data.first]], names)
    return replace(data, columns={"category": column})


def test_a_stratum_is_the_board_of_its_votes_alone_at_the_level_of_all_columns() -> None:
    data = by_topic(study(RNG(1), topics=24), ("prose", "code"), np.arange(24) % 2)
    found = split(data)
    shown = [row for row in of(found["stratum"], dimension=EVERY) if row["level"] is not None]
    assert {row["column"] for row in shown} == {"category", DIFFICULTY}
    level = family_level(QUICK["level"], len(shown))
    for at, name in enumerate(("prose", "code")):
        rows = data.columns["category"].of[data.votes.pair] == at
        alone = data.take(rows)
        own = boards(
            alone,
            alone.votes.first_votes(),
            None,
            {**QUICK, "level": level},
            rng=RNG(5),
            hooks=Hooks(),
        ).system
        for k in (EVERY, 0):
            [told] = of(found["stratum"], column="category", stratum=name, dimension=k)
            assert told["level"] == level and told["reason"] == "" and told["topics"] == 12
            mine = of(found["stratum_system"], column="category", stratum=name, dimension=k)
            theirs = of(own.rows(), dimension=k)
            for column in ("system", "estimate", "se", "low", "high", "n"):
                np.testing.assert_allclose(
                    [row[column] for row in mine], [row[column] for row in theirs], atol=1e-9
                )


def test_each_vote_is_placed_by_what_the_others_said_of_its_pair() -> None:
    rng = RNG(3)
    outcome, pair = rng.integers(0, 3, 300), rng.integers(0, 70, 300)
    found = disagreement(outcome, pair)
    for at in range(300):
        others = [o for j, (o, p) in enumerate(zip(outcome, pair, strict=True)) if j != at
                  and p == pair[at]]  # fmt: skip
        if len(others) < 2:
            assert np.isnan(found[at])
        else:
            lead = abs(others.count(FIRST) - others.count(SECOND))
            assert found[at] == pytest.approx(1 - lead / len(others))
    third = terciles(found)
    assert (third[np.isnan(found)] == -1).all()
    means = [found[third == k].mean() for k in range(3)]
    assert means == sorted(means)
    assert [terciles(np.zeros(4)).tolist(), terciles(np.array([0.0, 0, 1])).tolist()] == [
        [1, 1, 1, 1],
        [1, 1, 2],
    ]


def test_pairs_that_are_all_alike_give_the_same_gap_whether_easy_or_hard() -> None:
    """Where a pair's own votes place it, the easy ones seem far easier than they are."""
    gaps: dict[str, list[float]] = {"easy": [], "hard": []}
    naive: dict[str, list[float]] = {"easy": [], "hard": []}
    for seed in range(12):
        data = study(
            RNG(seed),
            merits=(0.4, 0.0, -0.4),
            topics=40,
            votes=6,
            text_sd=0.0,
            taste=0.0,
            dimensions=1,
            ties=0.0,
        )
        rows = of(split(data)["stratum_system"], column=DIFFICULTY, dimension=0)
        [votes] = votes_of(data, data.votes.first_votes(), None)
        lead = np.where(votes.outcome == FIRST, 1, -1)
        own = np.abs(np.bincount(votes.pair, lead)[votes.pair])
        won = np.where(votes.outcome == FIRST, votes.a, votes.b)
        for name, rows_of in (("easy", own >= 4), ("hard", own <= 2)):
            merits = {r["system"]: r["estimate"] for r in of(rows, stratum=name)}
            gaps[name].append(merits[0] - merits[2])
            met = rows_of & ((votes.a == 0) | (votes.b == 0)) & ((votes.a == 2) | (votes.b == 2))
            naive[name].append(float((won[met] == 0).mean()))
    truth = 0.8
    for found in gaps.values():
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        assert abs(np.mean(found) - truth) < 3 * error + 0.05
    assert np.mean(naive["easy"]) - np.mean(naive["hard"]) > 0.15


def test_a_system_that_is_better_at_one_kind_alone_is_found_and_named() -> None:
    rng = RNG(8)
    prose, code = (
        study(rng, merits=merits, topics=30, votes=5, workers=20, dimensions=1, text_sd=0.2)
        for merits in ((1.0, 0.0, -1.0), (-1.0, 0.0, 1.0))
    )
    votes = replace(
        prose.votes,
        worker=np.concatenate([prose.votes.worker, code.votes.worker]),
        pair=np.concatenate([prose.votes.pair, code.votes.pair + len(prose.votes.pairs)]),
        flipped=np.concatenate([prose.votes.flipped, code.votes.flipped]),
        position=np.concatenate([prose.votes.position, code.votes.position]),
        vote=np.concatenate([prose.votes.vote, code.votes.vote]),
        sides_known=np.concatenate([prose.votes.sides_known, code.votes.sides_known]),
        order_known=np.concatenate([prose.votes.order_known, code.votes.order_known]),
        pairs=(*prose.votes.pairs, *(f"c{name}" for name in code.votes.pairs)),
    )
    size = len(prose.candidates)
    data = replace(
        prose,
        votes=votes,
        first=np.concatenate([prose.first, code.first + size]),
        second=np.concatenate([prose.second, code.second + size]),
        topic=np.concatenate([prose.topic, code.topic + len(prose.topics)]),
        system=np.concatenate([prose.system, code.system]),
        candidates=(*prose.candidates, *(f"c{name}" for name in code.candidates)),
        topics=(*prose.topics, *(f"c{name}" for name in code.topics)),
    )
    found = split(by_topic(data, ("prose", "code"), np.arange(60) // 30))
    shifted = {row["system"]: row for row in of(found["shift"], column="category", dimension=0)}
    assert set(shifted) == {0, 2}
    assert shifted[0]["low"] > 0 > shifted[2]["high"]
    for stratum, best in (("prose", 0), ("code", 2)):
        rows = of(found["stratum_system"], column="category", stratum=stratum, dimension=0)
        assert [row["system"] for row in rows if row["rank_high"] == 1] == [best]
    alike = split(by_topic(prose, ("odd", "even"), np.arange(30) % 2))
    assert of(alike["shift"], column="category") == []


def test_kinds_with_few_pairs_have_a_reason_and_no_board() -> None:
    data = by_topic(study(RNG(4), topics=9, dimensions=1), ("a", "b", "c"), [0] * 4 + [1] * 4 + [2])
    found = split(data)
    told = {row["stratum"]: row for row in of(found["stratum"], column="category", dimension=0)}
    assert told["c"]["reason"] == "3 pairs; a board needs 10" and told["c"]["level"] is None
    assert told["a"]["reason"] == told["b"]["reason"] == ""
    assert not of(found["stratum_system"], stratum="c")
    thin = split(by_topic(data, ("a", "b"), [0] * 8 + [1]))
    [row] = of(thin["stratum"], column="category", dimension=0)
    assert row["reason"] == "fewer than two kinds have 10 pairs" and row["stratum"] == ""
