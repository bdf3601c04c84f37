"""The published study through the pairwise methods: the tables that stand, and the honest ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowdqc.errors import Invalid
from evaluation.methods.core.base import Result
from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.agreement import agreement_table, differentiable
from evaluation.methods.pairwise.grades import candidates
from evaluation.methods.pairwise.judges import judge_tables
from evaluation.methods.pairwise.judgments import SIDES, Judgments, ShownVotes
from evaluation.methods.pairwise.tables import votes_behind
from evaluation.published.reproduce.crowdrag import published
from evaluation.published.reproduce.crowdrag.data import (
    DIMENSIONS,
    ORIGINS,
    STYLES,
    CrowdRag,
    Directed,
    load,
)
from evaluation.published.reproduce.data import data_folder
from tests.evaluation.methods.pairwise.test_pairwise import rows_of

pytestmark = [pytest.mark.data, pytest.mark.long]
FORCED = [name == "quality_overall" for name in DIMENSIONS]


@pytest.fixture(scope="module")
def data() -> CrowdRag:
    try:
        folder: Path = data_folder()
    except Invalid as reason:
        pytest.skip(f"the published data is not here: {reason.message}")
    return load(folder)


def built(data: CrowdRag, votes: ShownVotes, ends: tuple[np.ndarray, np.ndarray]) -> Judgments:
    graded = data.graded
    return Judgments.build(
        replace(votes, labels=SIDES),
        *ends,
        topic=graded.topic,
        system=len(ORIGINS) * graded.style + graded.origin,
        candidates=graded.responses,
        topics=graded.topics,
        systems=[f"{s} {o}" for s in STYLES for o in ORIGINS],
        forced=FORCED,
        groups={"origin": [0, 1] * len(STYLES)},
    )


def models(data: CrowdRag, calls: dict[str, Directed], pairs: tuple[str, ...]) -> ShownVotes:
    parts = list(calls.values())
    who = np.repeat(np.arange(len(parts)), [len(part.pair) for part in parts])
    pair, flipped, label = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("pair", "flipped", "label")
    )
    return ShownVotes.build(
        who,
        pair,
        flipped,
        np.ones(len(who), dtype=int),
        label,
        workers=list(calls),
        pairs=pairs,
        dimensions=DIMENSIONS,
        labels=SIDES,
    )


@pytest.fixture(scope="module")
def canonical(data: CrowdRag) -> Judgments:
    """A pair once, whichever way it was shown, as crowdqc stores it."""
    found = built(data, data.votes, (data.left, data.right))
    return replace(found, machine=models(data, data.llm, data.votes.pairs))


@pytest.fixture(scope="module")
def ordered(data: CrowdRag) -> Judgments:
    """The paper's way: each direction of a pair is a pair of its own, always shown as stored."""
    votes = data.artifact
    one_way = replace(
        votes,
        pair=2 * votes.pair + votes.flipped,
        flipped=np.zeros(len(votes), dtype=bool),
        pairs=data.items,
    )
    ends = (
        np.stack([data.left, data.right], axis=1).ravel(),
        np.stack([data.right, data.left], axis=1).ravel(),
    )
    return built(data, one_way, ends)


@pytest.fixture(scope="module")
def result(canonical: Judgments) -> Result:
    return pairwise.fit(canonical, rng=np.random.default_rng(1), draws=0, resamples=300)


def gold(data: CrowdRag) -> np.ndarray:
    """Published gold labels of the ordered pairs (items, 7)."""
    found = np.full((len(data.items), len(DIMENSIONS)), -1)
    found[data.gold.item] = data.gold.label
    return found


def test_grades_from_the_published_gold_labels_are_table_7(
    data: CrowdRag, ordered: Judgments
) -> None:
    table = candidates(ordered, gold(data), votes_behind(ordered.votes))
    assert len(table) == 2730 and (table["of"] == 6).all()
    theirs = data.graded.grade[table["candidate"], table["dimension"]]
    assert (table["grade_low"] <= theirs).all() and (theirs <= table["grade_high"]).all()
    tied = table["grade_low"] < table["grade_high"]
    assert tied.sum() == 30
    assert (table["grade"] == theirs)[~tied].all()


def test_alpha_of_ordered_pairs_is_table_4_and_so_is_the_split(ordered: Judgments) -> None:
    found = agreement_table(ordered.votes, rng=np.random.default_rng(0), resamples=100, level=0.95)
    assert found["alpha"][1:] == pytest.approx(published.TABLE4["all pairs, C"], abs=0.0055)
    split = differentiable(ordered, ordered.votes, needed=5, share=0.6)
    judged = split["n"] > 0
    assert (judged.sum(), split["differentiable"][judged].sum()) == (1352, 1062)


def test_table_9_with_directions_fixed_and_nobodys_self_agreement(
    data: CrowdRag, ordered: Judgments, canonical: Judgments
) -> None:
    calls = {
        name: Directed(part.item, np.zeros(len(part.pair), dtype=bool), part.label)
        for name, part in data.llm.items()
    }
    tables = judge_tables(
        models(data, calls, data.items),
        gold(data),
        ordered.votes,
        rng=np.random.default_rng(0),
        resamples=100,
        level=0.95,
    )
    combined = tables["judge"]["machine"] == 0
    share = tables["judge"]["decisive"][combined][1:]
    assert (share.min(), share.max()) == pytest.approx((0.52, 0.70), abs=0.006)
    people = tables["person"]["majority"][1:]
    assert (people.min(), people.max()) == pytest.approx((0.63, 0.74), abs=0.006)
    alpha = tables["judge"]["alpha"][combined][1:]
    assert alpha == pytest.approx([0.30, 0.03, 0.21, 0.30, 0.24, 0.31, 0.19], abs=0.0055)
    # What did not depend on directions stands as printed: both orders of a pair.
    whole = judge_tables(
        canonical.machine,
        np.full((975, 7), -1),
        canonical.votes.first_votes(),
        rng=np.random.default_rng(0),
        resamples=100,
        level=0.95,
    )["judge"]
    for machine, kind in enumerate(data.llm):
        own = whole["machine"] == machine
        printed, _, _ = published.TABLE9[kind]
        assert whole["consistency"][own][1:] == pytest.approx(printed, abs=0.0055)


@pytest.mark.long
def test_order_effects_of_the_study_as_a_whole(result: Result) -> None:
    drift, side = (rows_of(result.estimates[name]).rows()[0] for name in ("drift", "side"))
    assert (drift["early"], drift["late"]) == pytest.approx((0.301, 0.353), abs=5e-4)
    assert side["right"] == pytest.approx(0.521, abs=0.002)
    assert 0.5 < side["low"] < 0.51 and 0.53 < side["high"] < 0.545
    assert result.estimates["straight"]["share"][0] == pytest.approx(0.196, abs=1e-3)
    term = rows_of(result.estimates["shared"]).rows()[0]
    assert term["name"] == "side" and term["high"] < 0  # being on the left costs


def test_over_all_styles_both_origins_differ_on_all_seven_dimensions(result: Result) -> None:
    test = result.estimates["group_test"]
    assert len(test) == 7 and test["differs"].all() and (test["difference"] < 0).all()
    means = rows_of(result.estimates["group_mean"])["grade"]
    assert means == pytest.approx([3.0, 4.1], abs=0.1)  # as printed, from other gold labels


def test_the_core_converges_and_names_the_parts_that_do_not_compare(result: Result) -> None:
    assert result.converged
    parts = result.diagnostics["components"]
    assert [part["workers"] for part in parts] == [415, 5]
    assert any("2 parts that share no pair" in said for said in result.diagnostics["warnings"])
    assert any("were neutral 45 times" in said for said in result.diagnostics["warnings"])
    repeat = rows_of(result.estimates["repeat"]).rows()[0]
    assert (repeat["n"], repeat["workers"]) == (49, 6)
    system = rows_of(result.estimates["system"])
    llm = system["system"] % 2 == 1
    assert system["rank"][llm].tolist() == [1, 2, 3]


def test_gold_labels_by_pair_agree_with_the_published_where_one_direction_was_judged(
    data: CrowdRag, result: Result
) -> None:
    """With both directions as one item there are more votes and fewer parts, not other labels."""
    label = result.estimates["label"]["label"].reshape(len(DIMENSIONS), -1)
    once = np.bincount(data.gold.pair, minlength=len(data.votes.pairs)) == 1
    rows = once[data.gold.pair]
    equal = (label.T[data.gold.pair] == data.gold.canonical())[rows]
    assert equal.mean() > 0.8
