"""The pairs of a study, in the order in which they are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from annotation.pair_design.blocks import Edge, balanced_blocks, topic_blocks
from annotation.pair_design.graph import IntArray
from annotation.pair_design.model import (
    Design,
    Pair,
    Text,
    by_topic,
    check,
    check_handing_out,
    topic_pairs,
)
from annotation.pair_design.order import arrange, crowded
from annotation.pair_design.strata import (
    ChosenPairs,
    Strata,
    choose_repeats,
    equal_strata,
    natural_strata,
    no_strata,
)


def design_pairs(texts: Sequence[Text], design: Design, bundle: int = 15) -> list[Pair]:
    """Make the list of pairs to judge with their repeats, in order, from a design.

    ``bundle`` is the number of pairs in an assignment: any so many in a row, around the end as
    well, are mixed in strata and topics. The same texts, settings and bundle give the same list.
    Raises Invalid, naming the field, where the settings cannot be met.
    """
    check(texts, design)
    check_handing_out(bundle, 1)
    rng = np.random.default_rng(design.seed)
    chosen, topics = _choose(texts, design, rng)
    strata = _strata(texts, chosen, design, bundle)
    again = choose_repeats(chosen, strata, rng)
    order, late = _order(
        chosen, strata, again, one_per_stratum=design.one_per_stratum, bundle=bundle, rng=rng
    )
    return [
        Pair(
            texts[int(chosen.first[p])].key,
            texts[int(chosen.second[p])].key,
            topics[int(chosen.topic[p])],
            bool(repeat),
            strata.names[int(strata.of[p])],
        )
        for p, repeat in zip(order, late, strict=True)
    ]


def _choose(
    texts: Sequence[Text], design: Design, rng: np.random.Generator
) -> tuple[ChosenPairs, list[str]]:
    groups = by_topic(texts)
    members = list(groups.values())
    first, second, topic = [], [], []
    for t, edges in enumerate(_blocks(texts, members, design, rng)):
        for a, b in edges:
            low, high = sorted((members[t][a], members[t][b]))
            first.append(low)
            second.append(high)
            topic.append(t)
    chosen = ChosenPairs(np.array(first), np.array(second), np.array(topic), len(members))
    return chosen, list(groups)


def _blocks(
    texts: Sequence[Text],
    members: Sequence[Sequence[int]],
    design: Design,
    rng: np.random.Generator,
) -> list[list[Edge]]:
    if design.kind == "all":
        return [list(combinations(range(len(own)), 2)) for own in members]
    counts = [topic_pairs(design, len(own)) for own in members]
    if design.kind == "per_topic":
        return topic_blocks([len(own) for own in members], counts, rng)
    number: dict[str, int] = {}
    sources = [[number.setdefault(texts[i].source, len(number)) for i in own] for own in members]
    return balanced_blocks(sources, counts, rng)


def _strata(texts: Sequence[Text], chosen: ChosenPairs, design: Design, bundle: int) -> Strata:
    repeats = round(design.reversed_share * len(chosen))
    if not design.stratify:
        return no_strata(len(chosen), repeats)
    if design.one_per_stratum:
        return equal_strata(texts, chosen, repeats, min(bundle, len(chosen)))
    return natural_strata(texts, chosen, repeats)


def _order(
    chosen: ChosenPairs,
    strata: Strata,
    again: NDArray[np.bool_],
    *,
    one_per_stratum: bool,
    bundle: int,
    rng: np.random.Generator,
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Strata in turn and topics apart; where that crowds topics, topics in turn and strata apart.

    With no more topics than an assignment has pairs it always does.
    """
    topic = np.unique(chosen.topic, return_inverse=True)[1].ravel()  # some have no pair
    if one_per_stratum or (len(strata.names) > 1 and topic.max() >= bundle):
        order, late = arrange(strata.of, topic, again, bundle, rng)
        if one_per_stratum or not crowded(order, topic, bundle):
            return order, late
    return arrange(topic, strata.of, again, bundle, rng)
