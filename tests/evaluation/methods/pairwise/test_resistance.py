"""What boards resist: planted taste for length is taken out, and a planted person is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.methods.pairwise import method as pairwise
from evaluation.methods.pairwise.judgments import Judgments
from evaluation.methods.pairwise.tables import EVERY
from evaluation.methods.text.style import STYLE, style_counts
from tests.evaluation.methods.pairwise.studies import RNG, study

QUICK: dict[str, Any] = {"restarts": 1, "draws": 0, "resamples": 100}


def fit(data: Judgments) -> Any:
    return pairwise.fit(data, rng=RNG(0), **QUICK)


def counted(data: Judgments, words: Any) -> Judgments:
    rng = RNG(5)
    plain = {name: rng.integers(0, 4, len(data.candidates)).astype(float) for name in STYLE[1:3]}
    nothing = np.zeros(len(data.candidates))
    return replace(data, counts={"words": np.asarray(words, float), **plain, "bold": nothing})


def test_words_lists_headings_and_bold_are_counted_outside_code() -> None:
    text = "# Head\n\nSome **bold words** and __more__.\n- one\n* two\n  3. three\n2024 was long.\n"
    assert style_counts(text) == (16, 3, 1, 2)
    assert style_counts("```\n# no head\n- no list **no**\n```\n") == (9, 0, 0, 0)
    assert style_counts("") == (0, 0, 0, 0)
    assert style_counts("a*b*c 2 ** 3, snake__case__name #tag")[1:] == (0, 0, 0)


def test_a_taste_for_long_texts_is_taken_out_of_the_merits() -> None:
    """Two systems of one merit, of which one writes more; judges like what is longer."""
    rng = RNG(11)
    data = study(rng, merits=(0.0, 0.0, 0.0), topics=40, text_sd=0.0, taste=0.0, dimensions=1)
    words = rng.integers(50, 250, len(data.candidates)) + 150 * (data.system == 0)
    first, second = data.first[data.votes.pair], data.second[data.votes.pair]
    lead = (words[first] - words[second]) / (words[first] + words[second])
    longer = rng.random(len(lead)) < 1 / (1 + np.exp(-4 * lead))
    vote = np.where(longer ^ data.votes.flipped, 0, 2)[:, None]
    data = counted(replace(data, votes=replace(data.votes, vote=vote)), words)
    found = fit(data).estimates
    raw, equal = (
        {(row["dimension"], row["system"]): row["estimate"] for row in found[name].rows()}
        for name in ("system", "controlled")
    )
    assert raw[0, 0] - raw[0, 1] > 0.6
    assert abs(equal[0, 0] - equal[0, 1]) < 0.35
    style = {(r["dimension"], r["name"]): r for r in found["style"].rows()}
    assert style[0, "words"]["low"] > 0.4
    assert style[0, "lists"]["low"] < 0 < style[0, "lists"]["high"]
    assert (0, "bold") not in style  # nobody uses it, so it says nothing
    medians = {row["system"]: row["words"] for row in found["length"].rows()}
    assert medians[0] == np.median(words[data.system == 0]) > medians[1]


def test_without_texts_or_with_one_style_a_system_there_is_no_control() -> None:
    data = study(RNG(2), topics=4)
    bare = fit(data)
    assert not len(bare.estimates["controlled"]) and not len(bare.estimates["length"])
    assert bare.diagnostics["style_notes"] == []
    always = np.array([100.0, 200.0, 300.0])[data.system]
    fixed = replace(data, counts={"words": always})
    notes = fit(fixed).diagnostics["style_notes"]
    why = "no control for length and style, since the system nearly always decides them (words)."
    assert notes == [f"{name}: {why}" for name in ("all dimensions", "d0", "d1")]
    # What is counted changes nothing else.
    for name in ("system", "worker", "agreement", "top"):
        np.testing.assert_equal(fit(fixed).estimates[name].rows(), bare.estimates[name].rows())


def test_what_goes_with_the_system_is_left_out_and_the_rest_is_controlled() -> None:
    data = study(RNG(2), topics=12)
    words = RNG(3).integers(50, 300, len(data.candidates)).astype(float)
    lists = (data.system == 0).astype(float)
    found = fit(replace(data, counts={"words": words, "lists": lists}))
    assert {row["name"] for row in found.estimates["style"].rows()} == {"side", "tie", "words"}
    assert len(found.estimates["controlled"]) == len(found.estimates["system"])
    assert all("no control for lists" in note for note in found.diagnostics["style_notes"])


def with_a_partisan(seed: int) -> Judgments:
    """Two systems nearly level, and worker w0 who prefers the second wherever it stands."""
    data = study(
        RNG(seed), merits=(0.05, 0.0, -1.5), topics=12, votes=8, workers=14, dimensions=1, ties=0.0
    )
    votes = data.votes
    own = votes.worker == 0
    good = (data.system == 1)[data.first[votes.pair]]
    bad = (data.system == 1)[data.second[votes.pair]]
    left = np.where(good ^ votes.flipped, 0, 2)
    vote = votes.vote.copy()
    vote[own & (good | bad), 0] = left[own & (good | bad)]
    return replace(data, votes=replace(votes, vote=vote))


def test_the_person_who_made_the_first_is_named() -> None:
    named = []
    for seed in range(4):
        data = with_a_partisan(seed)
        found, less = fit(data).estimates, fit(data.without_workers([0])).estimates
        [top], [then] = (
            [row for row in one["top"].rows() if row["dimension"] == 0] for one in (found, less)
        )
        people = {
            row["worker"]: row
            for row in found["change"].rows()
            if row["dimension"] == 0 and row["kind"] == "person"
        }
        # A study without the person, fitted from the start, says the same.
        assert (0 in people) == (top["system_a"] != then["system_a"])
        if 0 in people:
            assert people[0]["system"] == then["system_a"]
            named.append(people[0])
    made = [row for row in named if row["for_first"] == row["met_first"] > 0]
    assert made


def test_the_votes_of_a_change_are_listed_and_bear_the_numbers() -> None:
    data = with_a_partisan(1)
    found = fit(data).estimates
    for dimension in (EVERY, 0):
        [row] = [
            r
            for r in found["change"].rows()
            if r["kind"] == "votes" and r["dimension"] == dimension
        ]
        listed = [r for r in found["change_vote"].rows() if r["dimension"] == dimension]
        assert row["votes"] == len(listed) <= row["of"] == len(data.votes.first_votes())
        assert row["pairs"] == len({r["pair"] for r in listed})
        [top] = [r for r in found["top"].rows() if r["dimension"] == dimension]
        assert top["gap"] > 0 and top["needed"] > 0 and top["system_a"] != row["system"]


def test_split_pairs_are_those_with_four_tenths_or_more_on_each_side() -> None:
    data = study(RNG(3), topics=5, dimensions=1)
    votes = data.votes.first_votes()
    even = told = 0
    for pair in range(len(votes.pairs)):
        given = votes.canonical()[votes.pair == pair, 0].tolist()
        told += len(given) >= 2
        sides = given.count(0), given.count(2)
        even += len(given) >= 2 and 0 < max(sides) <= 0.6 * sum(sides)
    [row] = [r for r in fit(data).estimates["split"].rows() if r["dimension"] == 0]
    assert (row["pairs"], row["even"]) == (told, even)
