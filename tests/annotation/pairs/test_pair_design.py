"""Pairwise studies are connected, even and mixed by construction, and say so before they begin."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation.pair_design import (
    Design,
    Pair,
    Text,
    comparison_components,
    components,
    count_claims,
    design_pairs,
    next_claim,
    slots,
    summary,
    thinnest_link,
    window,
    window_start,
)
from annotation.pair_design.blocks import nearly_regular
from crowdqc.errors import Invalid
from evaluation.methods.core.components import components as other_components

STYLES, ORIGINS = ("bullet", "essay", "news"), ("human", "model")
SIX = [(style, origin) for origin in ORIGINS for style in STYLES]


def study(topics: int, texts: int = 6, seed: int = 0) -> list[Text]:
    """Topics with texts of the six sources in turn, about 250 words each."""
    words = np.random.default_rng(seed).normal(250, 60, topics * texts).clip(20).astype(int)
    return [
        Text(f"{t}-{i}", f"topic {t}", *SIX[i % 6], int(words[t * texts + i]))
        for t in range(topics)
        for i in range(texts)
    ]


def by_pair(pairs: list[Pair]) -> dict[tuple[str, str], list[int]]:
    """Places in the list of each pair of texts."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        found[pair.first_key, pair.second_key].append(place)
    return found


def degrees(pairs: list[Pair]) -> Counter[str]:
    once = [pair for pair in pairs if not pair.repeat]
    return Counter(key for pair in once for key in (pair.first_key, pair.second_key))


def most(things: list[Any]) -> int:
    return max(Counter(things).values())


# -- which pairs ---------------------------------------------------------------------------------


def test_the_published_study_can_be_designed_again() -> None:
    """65 topics x 6 texts, all pairs, each questionnaire 15 pairs and five judges.

    The paper says that a third of the 975 pairs was judged in both directions, and 1,352 in all:
    that is 377 turned round, .387 of them. A third is 325.
    """
    texts = study(65)
    plan = summary(Design(), texts, bundle=15, redundancy=5)
    assert (plan.pairs, plan.repeats, plan.slots, plan.assignments) == (975, 325, 6500, 434)
    assert (plan.degree_low, plan.degree_high, plan.worker_components) == (5, 5, 1)
    assert {(t.pairs, t.repeats, t.components) for t in plan.topics} == {(15, 5, 1)}
    assert (plan.sources.meet_low, plan.sources.meet_high) == (65, 65)
    assert plan.topic_most == 1  # no assignment has a query twice
    assert plan.problems == ("The last assignment holds 5 pairs instead of 15.",)
    published = summary(Design(reversed_share=377 / 975), texts, bundle=15, redundancy=5)
    assert (published.items, published.slots, published.assignments) == (1352, 6760, 451)


@given(st.integers(2, 25), st.data())
def test_any_number_of_pairs_links_all_texts_and_treats_them_alike(n: int, data: Any) -> None:
    pairs = data.draw(st.integers(n - 1, n * (n - 1) // 2))
    edges = nearly_regular(n, pairs)
    assert len({frozenset(edge) for edge in edges}) == pairs
    degree = np.bincount(np.array(edges).ravel(), minlength=n)
    assert degree.max() - degree.min() <= 1
    a, b = np.array(edges).T
    assert comparison_components(a, b, n).max() == 1


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=12).filter(lambda x: max(x) > 1),
    kind=st.sampled_from(["all", "per_topic", "balanced"]),
    extra=st.integers(0, 6),
    share=st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 0.9, 1.0]),
    strata=st.sampled_from([(False, False), (True, False), (True, True)]),
    bundle=st.integers(1, 20),
    seed=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_every_design_keeps_its_promises(
    sizes: list[int],
    kind: str,
    extra: int,
    *,
    share: float,
    strata: tuple[bool, bool],
    bundle: int,
    seed: int,
) -> None:
    texts = [
        text
        for text in study(len(sizes), 7, seed)
        if int(text.key.split("-")[1]) < sizes[int(text.key.split("-")[0])]
    ]
    wanted = max(max(sizes) - 1, 1) + extra
    design = Design(kind, wanted, share, *strata, seed)
    pairs = design_pairs(texts, design, bundle)
    assert pairs == design_pairs(texts, design, bundle)
    once = [pair for pair in pairs if not pair.repeat]
    full = [size * (size - 1) // 2 for size in sizes]
    counts = full if kind == "all" else [min(wanted, size) for size in full]
    assert Counter(pair.topic for pair in once) == {
        f"topic {t}": count for t, count in enumerate(counts) if count
    }
    assert len(pairs) - len(once) == round(share * len(once))
    place = {text.key: i for i, text in enumerate(texts)}
    for pair, (first, *again) in zip(by_pair(pairs), by_pair(pairs).values(), strict=True):
        assert place[pair[0]] < place[pair[1]]
        assert not pairs[first].repeat
        assert [pairs[p].repeat for p in again] in ([], [True])
    degree = degrees(pairs)
    for t, size in enumerate(sizes):
        own = [degree[f"{t}-{i}"] for i in range(size)]
        assert max(own) - min(own) <= 1
    plan = summary(design, texts, bundle, 2, pairs)
    assert all(topic.components == 1 for topic in plan.topics if topic.texts > 1)
    assert plan.assignments == -(-2 * len(pairs) // min(bundle, len(pairs)))
    assert plan.worker_components == 1 or bundle == 1


@pytest.mark.parametrize("seed", range(2))
def test_every_two_sources_meet_about_equally_often(seed: int) -> None:
    texts = study(20, 6, seed)
    even = summary(Design("balanced", 7, seed=seed), texts, 10, 3).sources
    assert even.meet_high - even.meet_low <= 2  # 140 pairs over 15 meetings, 9.3 each
    assert even.components == 1
    assert even.thinnest is not None
    chance = summary(Design("per_topic", 7, seed=seed), texts, 10, 3).sources
    assert chance.meet_high - chance.meet_low > even.meet_high - even.meet_low


@pytest.mark.parametrize(
    ("design", "field", "said"),
    [
        (Design("some"), "kind", "'some'"),
        (Design("balanced", 4), "pairs_per_topic", "Topic 'topic 0' has 6 texts and needs 5 pairs"),
        (Design("per_topic", 4), "pairs_per_topic", "2 more topics have too few"),
        (Design(reversed_share=1.5), "reversed_share", "out of range"),
        (Design(reversed_share=float("nan")), "reversed_share", "out of range"),
        (Design(stratify=False, one_per_stratum=True), "one_per_stratum", "needs strata"),
        (Design(seed=-1), "seed", "negative"),
    ],
)
def test_settings_that_cannot_be_met_are_named(design: Design, field: str, said: str) -> None:
    with pytest.raises(Invalid, match=said) as error:
        design_pairs(study(3), design)
    assert list(error.value.fields) == [field]


def test_texts_and_sizes_that_cannot_be_met_are_named() -> None:
    for texts, said in (
        ([], "nothing to compare"),
        (study(3, 1), "nothing to compare"),
        ([*study(1), study(1)[0]], "Two texts are called '0-0'"),
        ([Text("a", "t", words=-1), Text("b", "t")], "'a' has -1 words"),
        (study(1, 500), "124,750 pairs"),
    ):
        with pytest.raises(Invalid, match=said):
            design_pairs(texts, Design())
    for sizes, field in (((0, 1), "bundle"), ((1, 0), "redundancy")):
        with pytest.raises(Invalid) as error:
            summary(Design(), study(2), *sizes)
        assert list(error.value.fields) == [field]


# -- in which order ------------------------------------------------------------------------------


def bundles(pairs: list[Pair], bundle: int, redundancy: int = 5) -> list[list[Pair]]:
    """What every assignment holds."""
    number = count_claims(len(pairs), bundle, redundancy)
    held = (window(n, len(pairs), bundle, redundancy) for n in range(number))
    return [[pairs[i] for i in items.tolist()] for items in held]


@pytest.mark.parametrize(
    ("topics", "bundle", "design"),
    [
        (65, 15, Design()),
        (65, 15, Design(one_per_stratum=True)),
        (65, 15, Design(stratify=False)),
        (65, 15, Design("balanced", 8)),
        (16, 15, Design()),
        (12, 10, Design(reversed_share=1.0)),
    ],
)
def test_an_assignment_has_each_topic_once_and_never_a_pair_with_its_repeat(
    topics: int, bundle: int, design: Design
) -> None:
    pairs = design_pairs(study(topics), design, bundle)
    held = bundles(pairs, bundle)
    # Around the end of a list that its topics do not divide, one can come twice.
    assert sum(most([pair.topic for pair in own]) > 1 for own in held) <= len(held) / 50
    assert max(most([(p.first_key, p.second_key) for p in own]) for own in held) == 1
    apart = [places[1] - places[0] for places in by_pair(pairs).values() if len(places) == 2]
    assert 0.4 * len(pairs) < min(apart) <= max(apart) < 0.6 * len(pairs)
    again = Counter(pair.topic for pair in pairs if pair.repeat)
    assert max(again.values()) - min(again.values()) <= 1


def test_with_fewer_topics_than_pairs_a_topic_still_recurs_as_late_as_it_can() -> None:
    held = bundles(design_pairs(study(12), Design(), 15), 15)
    assert max(most([pair.topic for pair in own]) for own in held) == 2


def test_one_pair_from_each_stratum_makes_equal_work() -> None:
    texts = study(65)
    words = {text.key: text.words for text in texts}

    def work(design: Design) -> tuple[list[int], int]:
        pairs = design_pairs(texts, design, 15)
        held = [own for own in bundles(pairs, 15) if len(own) == 15]
        loads = [sum(words[p.first_key] + words[p.second_key] for p in own) for own in held]
        return loads, sum(most([p.stratum for p in own]) > 1 for own in held)

    loads, twice = work(Design(one_per_stratum=True))
    assert twice <= 10  # around the list's end: 1,300 is no multiple of 15
    loose, _ = work(Design(stratify=False))
    banded, _ = work(Design())
    assert np.std(loads) < np.std(banded) < np.std(loose)


def test_strata_say_origins_and_lengths_and_only_what_differs() -> None:
    names = {pair.stratum for pair in design_pairs(study(20), Design())}
    assert "human + model, long, alike" in names
    assert len(names) == 18
    bare = [Text(str(i), "t", words=100) for i in range(4)]
    assert {pair.stratum for pair in design_pairs(bare, Design())} == {""}


@pytest.mark.long
def test_two_thousand_texts_are_designed_in_one_topic_or_many() -> None:
    for texts in (
        [Text(str(i), str(i // 20), *SIX[i % 6], i % 300) for i in range(2000)],
        [Text(str(i), str(i // 100), *SIX[i % 6], i % 300) for i in range(2000)],
        [Text(str(i), "one", *SIX[i % 6], i % 300) for i in range(2000)],
    ):
        topics = len({text.topic for text in texts})
        plan = summary(Design("balanced", 10_000 // topics), texts, 15, 5)
        assert plan.pairs == 10_000


# -- who takes which -----------------------------------------------------------------------------


def walk(items: int, bundle: int, redundancy: int, given_back: set[int]) -> list[list[int]]:
    """What claims take that know their starting place alone; some claims are given back at once."""
    held, made = np.zeros(items, dtype=int), 0
    live: dict[int, np.ndarray] = {}
    while held.min() < redundancy:
        n = next_claim(live)
        around = (window_start(n, items, bundle, redundancy) + np.arange(items)) % items
        live[n] = around[held[around] < redundancy][:bundle]
        held[live[n]] += 1
        if made in given_back:  # that one or an earlier
            held[live.pop(made % (n + 1))] -= 1
        made += 1
    return [live[n].tolist() for n in sorted(live)]


def parts_of(taken: list[list[int]], items: int) -> int:
    """Connected parts of workers, each with one assignment, and items."""
    worker = np.repeat(np.arange(len(taken)), [len(own) for own in taken])
    return int(components(worker, np.concatenate(taken), len(taken), items)[0].max())


SIZES: dict[str, Any] = {
    "items": st.integers(1, 150),
    "bundle": st.integers(1, 40),
    "redundancy": st.integers(1, 8),
}


@given(**SIZES, given_back=st.sets(st.integers(0, 60), max_size=12), seed=st.integers(0, 9))
@example(items=9, bundle=4, redundancy=2, given_back=set(), seed=0)
@example(items=114, bundle=5, redundancy=2, given_back={1, 10, 20, 39, 40}, seed=0)
@settings(max_examples=120, deadline=None)
def test_the_ring_fills_every_slot_and_connects_all_workers(
    items: int, bundle: int, redundancy: int, *, given_back: set[int], seed: int
) -> None:
    claim, item = slots(items, bundle, redundancy)
    number = count_claims(items, bundle, redundancy)
    taken = [item[claim == n].tolist() for n in range(number)]
    assert taken == walk(items, bundle, redundancy, given_back)
    assert np.bincount(item).tolist() == [redundancy] * items
    assert all(len(set(own)) == len(own) for own in taken)
    assert all(len(own) == min(bundle, items) for own in taken[:-1])
    parts = parts_of(taken, items)
    if redundancy == 1:  # no item has two judges
        assert parts == len(taken)
    elif bundle == 1:  # no worker has two items
        assert parts == items
    else:
        assert parts == 1
        worker = np.random.default_rng(seed).integers(5, size=number)[claim]  # several each
        assert components(worker, item, 5, items)[0].max() == 1
    if redundancy >= 3 and bundle >= 2:  # long before the end
        assert parts_of(taken[: -(-2 * items // min(bundle, items))], items) == 1


@given(st.integers(90, 200), st.integers(6, 20), st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_neighbours_on_the_ring_do_not_hang_together_by_a_thread(
    items: int, bundle: int, redundancy: int
) -> None:
    """Behind the first windows, each place is spanned by one that reaches far to both sides."""
    reach = np.zeros(items + 1, dtype=int)
    for n in range(count_claims(items, bundle, redundancy)):
        start, length = window_start(n, items, bundle, redundancy), bundle
        for step in range(1, length):
            if start + length <= items:
                reach[start + step] = max(reach[start + step], min(step, length - step))
    assert reach[2 * bundle : items - 2 * bundle].min() >= bundle // 4


def test_the_ring_refuses_what_it_cannot_lay_out() -> None:
    for sizes, field in (
        ((-1, 5, 2, 2), "n_claims"),
        ((0, 0, 2, 2), "items"),
        ((0, 5, 0, 2), "bundle"),
        ((0, 5, 2, 0), "redundancy"),
    ):
        with pytest.raises(Invalid) as error:
            window_start(*sizes)
        assert list(error.value.fields) == [field]


# -- graphs and words ----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=25))
def test_components_are_those_of_the_engine(edges: list[tuple[int, int]]) -> None:
    worker = np.array([a for a, _ in edges], dtype=np.int64)
    item = np.array([b for _, b in edges], dtype=np.int64)
    for mine, theirs in zip(
        components(worker, item, 8, 10), other_components(worker, item, 8, 10), strict=True
    ):
        assert mine.tolist() == theirs.tolist()


@given(st.integers(2, 6), st.data())
def test_the_thinnest_link_is_the_smallest_of_all_splits(n: int, data: Any) -> None:
    node = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=20))
    first, second = [a for a, _ in edges], [b for _, b in edges]

    def cut(side: tuple[int, ...]) -> int:
        return sum((a in side) != (b in side) for a, b in edges)

    sides = [side for size in range(1, n) for side in combinations(range(n), size)]
    link = thinnest_link(first, second, n)
    assert link is not None
    assert link.comparisons == min(map(cut, sides)) == cut(link.side)
    assert len(link.side) <= n / 2
    assert (link.comparisons == 0) == (comparison_components(first, second, n).max() > 1)


def test_the_summary_says_what_is_wrong_in_words() -> None:
    lonely = [Text("a", "solo", "essay", "human"), *study(4, 3)]
    said = summary(Design(), lonely, bundle=1, redundancy=1).problems
    assert said[0] == "Topic “solo” has one text only and gets no pair."
    assert "With one judge an item no two workers judge the same" in said[1]
    said = summary(Design(), study(4, 3), bundle=1, redundancy=2).problems
    assert "fall into 16 groups that cannot be compared" in said[0]
    said = summary(Design("per_topic", 5), study(2, 3), bundle=50, redundancy=2).problems
    assert said[0].startswith("5 pairs a topic are more than there are in topic 0 (3), topic 1 (3)")
    assert "An assignment has room for 50 pairs; there are 8." in said
    assert "Up to 4 pairs of one topic come in an assignment of 8: there are 2 topics." in said
    assert any(text.startswith("A pair and its repeat come together in 2 of 2") for text in said)
    apart = [Text("a", "1", "x"), Text("b", "1", "y"), Text("c", "2", "v"), Text("d", "2", "w")]
    plan = summary(Design(), apart, bundle=1, redundancy=2)
    assert plan.sources.components == 2
    assert plan.problems[-1] == (
        "2 groups that are never compared: “v”, “w” | “x”, “y”. Each gets a ranking of its own."
    )
