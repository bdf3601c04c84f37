"""Written responses described: figures by hand, against other implementations, and at the edges."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from evaluation.methods.core.base import BadParameter, Cancelled, EmptyData, Hooks
from evaluation.methods.writing import method as writing
from evaluation.methods.writing.documents import (
    Pairs,
    expected,
    first_citations,
    place_correlation,
    with_ranking,
)
from evaluation.methods.writing.draws import Draws
from evaluation.methods.writing.statements import cut
from tests.evaluation.methods.writing.cited import Written, figures, responses, row

PASSAGES = {
    "a": ["Cats sleep.", "Dogs bark.", "Birds fly.", "Fish swim."],
    "b": ["Cats sleep.", "Dogs bark.", "Birds fly.", "Fish swim."],
}
WRITTEN = [
    ("people", "essay", "a", "Cats sleep all day [1]. They like it [1, 2]. The end."),
    ("people", "essay", "b", "Dogs bark [2]."),
    ("models", "essay", "a", "Birds fly while dogs bark [3, 2]."),
    ("models", "essay", "b", "Nothing is cited here."),
    ("people", "news", "a", "Fish swim [4]. Cats sleep [1]."),
]


def test_lengths_and_citations_by_hand() -> None:
    general = figures(responses(WRITTEN, PASSAGES), resamples=100)["general"]
    essay = row(general, group="people", style="essay")
    assert essay["responses"] == 2
    assert (essay["words"]["mean"], essay["words"]["max"]) == (5.5, 9.0)
    assert (essay["statements"]["mean"], essay["citations"]["mean"]) == (2.0, 2.0)
    assert essay["documents"]["mean"] == 1.5
    assert essay["citations_per_document"]["value"] == pytest.approx(4 / 3)
    assert essay["documents_per_statement"]["value"] == pytest.approx(4 / 4)
    models = row(general, group="models", style="")
    assert (models["uncited"], models["documents"]["histogram"][:3]) == (1, [1, 0, 1])


def test_short_responses_are_in_no_figure_but_counted() -> None:
    data = responses(WRITTEN, PASSAGES)
    found = writing.fit(data, rng=np.random.default_rng(0), resamples=100, min_words=5)
    # "Dogs bark.", "Nothing is cited here." and "Fish swim. Cats sleep." are shorter.
    assert found.figures["left_out"] == [
        {"group": "people", "responses": 2},
        {"group": "models", "responses": 1},
    ]
    table = found.estimates["response"]
    assert table["left_out"].tolist() == [False, True, False, True, True]
    assert table["words"].tolist() == [9.0, 2.0, 5.0, 4.0, 4.0]
    assert np.isnan(table["bleu"][1]) and np.isfinite(table["bleu"][0])
    long = [row for k, row in enumerate(WRITTEN) if k in (0, 2)]
    alone = figures(responses(long, PASSAGES), resamples=100)
    for name in ("general", "reuse", "readability"):
        for group in ("people", "models"):
            mine = row(found.figures[name], group=group, style="essay")
            assert mine == row(alone[name], group=group, style="essay"), (name, group)
    with pytest.raises(EmptyData):
        writing.fit(data, rng=np.random.default_rng(0), min_words=50)


def test_jaccard_by_hand() -> None:
    overlap = figures(responses(WRITTEN, PASSAGES), resamples=100)["overlap"]
    between = row(overlap, first="people", second="models", style="essay", scope="style")
    assert (between["value"], between["pairs"]) == (pytest.approx((1 / 3 + 0) / 2), 2)
    ranking = row(overlap, first="people", second="", style="")
    assert ranking["value"] == pytest.approx((2 + 1 + 2) / 4 / 3)
    own = row(overlap, first="people", second="people", scope="topic")
    assert own["value"] == pytest.approx(1 / 3)
    assert (own["low"], own["reason"]) == (None, "1 topic; an interval needs 10")
    assert not [one for one in overlap if one["first"] == one["second"] == "models"]
    empty = row(overlap, first="people", second="models", style="news")
    assert (empty["value"], empty["reason"]) == (None, "nothing to measure")


def test_ranks_by_hand() -> None:
    ranks = figures(responses(WRITTEN, PASSAGES), resamples=100)["ranks"]
    essay = row(ranks, group="people", style="essay")
    assert essay["probability"] == [0.5, 1.0, 0.0, 0.0]
    assert essay["lists"] == [2, 2, 2, 2]
    assert (essay["cited"]["value"], essay["uncited"]["value"]) == ((1.5 + 2) / 2, (3.5 + 3) / 2)


def test_order_of_citation_ties_within_a_statement() -> None:
    passages = {"a": [f"p{k}" for k in range(5)]}
    written = [
        ("people", "essay", "a", "x [1]. y [2]. z [3]."),
        ("people", "news", "a", "x [3]. y [2]. z [1]. x [3]"),
        ("models", "essay", "a", "x [2, 1]. z [4]."),
        ("models", "news", "a", "x [4, 3, 2, 1]."),
    ]
    data = responses(written, passages)
    place = first_citations(data, cut(data))
    found = with_ranking(place)
    assert found[:2].tolist() == pytest.approx([1.0, -1.0])
    assert found[2] == pytest.approx(spearmanr([1, 2, 4], [0, 0, 1])[0])
    assert np.isnan(found[3])  # one statement: there is no order
    order = figures(data, resamples=100)["order"]
    assert row(order, first="models", second="", style="news")["undefined"] == 1


TEXT = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3), max_size=5).map(
    lambda marks: " ".join(f"word {some}" for some in marks)
)
STUDY = st.lists(
    st.tuples(
        st.sampled_from(["people", "models"]),
        st.sampled_from(["essay", "news"]),
        st.sampled_from("abc"),
        TEXT,
    ),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=25)
@given(STUDY)
def test_sets_and_orders_agree_with_plain_sets_and_scipy(written: list[Written]) -> None:
    passages = {topic: [f"{topic}{k}" for k in range(5)] for topic in "abc"}
    data = responses(written, passages)
    cites = [set(np.flatnonzero(some).tolist()) for some in data.cites]
    pairs = Pairs.of(data)
    wanted = {
        frozenset(pair)
        for pair in combinations(range(len(data)), 2)
        if data.topic[pair[0]] == data.topic[pair[1]]
    }
    assert {frozenset(pair) for pair in zip(pairs.first, pairs.second, strict=True)} == wanted
    place = first_citations(data, cut(data))
    for k, rho in enumerate(with_ranking(place)):
        same(rho, sorted(cites[k]), place[k])
    for k, rho in enumerate(place_correlation(place, pairs)):
        one, two = pairs.first[k], pairs.second[k]
        both = sorted(cites[one] & cites[two])
        same(rho, place[one][both], place[two])
        assert set(np.flatnonzero(np.isfinite(place[one] + place[two]))) == set(both)
    overlap = figures(data, resamples=0)["overlap"]
    for found in overlap:
        assert found["low"] is None
        assert found["value"] is None or 0 <= found["value"] <= 1


def same(rho: float, x: object, place: np.ndarray) -> None:
    """The correlation that scipy finds between ``x`` and the finite places, or none."""
    x = np.asarray(x, dtype=np.float64)
    y = place[np.isfinite(place)] if len(x) == np.isfinite(place).sum() else None
    if y is None:
        return
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(rho)
    else:
        assert rho == pytest.approx(spearmanr(x, y)[0])


def test_blind_overlap_is_what_random_sets_share() -> None:
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(20_000):
        one, two = (set(rng.permutation(8)[:size].tolist()) for size in (3, 5))
        draws.append(len(one & two) / len(one | two))
    found = expected(np.array([3.0, 0.0, 0.0]), np.array([5.0, 2.0, 0.0]), np.full(3, 8.0))
    assert found[0] == pytest.approx(np.mean(draws), abs=0.005)
    assert found[1] == 0
    assert np.isnan(found[2])


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng, hits = np.random.default_rng(1), 0
    for _ in range(200):
        effect = rng.normal(size=30)
        topic = np.repeat(np.arange(30), 4)
        value = effect[topic] + rng.normal(size=120)
        draws = Draws(30, resamples=200, level=0.95, rng=rng)
        found = draws.mean(value, topic)
        middle = draws.median(value, topic)
        assert middle["value"] == pytest.approx(np.median(value))
        assert middle["low"] <= middle["value"] <= middle["high"]
        hits += found["low"] <= 0 <= found["high"]
    assert 176 <= hits <= 198


def test_the_same_seed_gives_the_same_figures_and_they_are_plain_json() -> None:
    topics = {f"t{k}": [f"p{k}"] * 9 for k in range(12)}
    written = [("people", "essay", t, f"{'word ' * k} [{k % 9 + 1}]") for k, t in enumerate(topics)]
    data = responses(written, topics)
    first = figures(data, resamples=100)
    assert json.dumps(first, allow_nan=False) == json.dumps(figures(data, resamples=100))
    assert first != figures(data, seed=1, resamples=100)


@pytest.mark.parametrize(
    ("written", "warning"),
    [
        ([("people", "", "a", "One response [1].")], "1 topic; an interval needs 10"),
        ([("people", "", "a", "Nothing cited."), ("models", "", "b", "Here")], "no response cites"),
        ([("people", "", "a", ""), ("people", "", "b", "[7]")], "no passage has"),
    ],
)
def test_thin_data_has_a_reason_in_place_of_a_figure(written: list[Written], warning: str) -> None:
    result = writing.fit(responses(written, PASSAGES), rng=np.random.default_rng(0), resamples=100)
    assert any(warning in one for one in result.diagnostics["warnings"])
    json.dumps(result.figures, allow_nan=False)
    for one in result.figures["overlap"]:
        assert one["low"] is not None or one["reason"]
    assert len(result.estimates["response"].rows()) == len(written)


def test_topics_without_passages_are_described_by_length_alone() -> None:
    found = figures(responses([("people", "", "a", "Words only [1].")], {"a": []}))
    assert found["counts"]["unknown"] == 1
    assert row(found["general"], group="people", style="")["words"]["mean"] == 2
    assert row(found["ranks"], group="people", style="")["probability"] == [None]


def test_density_says_where_citations_stand() -> None:
    written = [("people", "", topic, f"{'x ' * 5}[1] {'y ' * 5}") for topic in "ab"]
    found = row(figures(responses(written, PASSAGES), bins=4)["position"], group="people", style="")
    assert found["density"] == [0.0, 4.0, 0.0, 0.0] or found["density"] == [0.0, 0.0, 4.0, 0.0]
    assert found["first"]["value"] == found["last"]["value"] == pytest.approx(0.5, abs=0.05)


def test_bad_parameters_are_named_and_a_fit_can_be_stopped() -> None:
    data = responses(WRITTEN, PASSAGES)
    for name, value in (
        ("resamples", 7),
        ("level", 1.0),
        ("heavy", 101.0),
        ("bins", 1),
        ("order", 0),
        ("nonsense", 1),
    ):
        with pytest.raises(BadParameter, match=name):
            writing.METHOD.check(**{name: value})
    with pytest.raises(Cancelled):
        writing.fit(data, rng=np.random.default_rng(0), hooks=Hooks(cancelled=lambda: True))
