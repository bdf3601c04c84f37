"""What a design comes to, before anything is published: counts, connections and problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext, ngettext

from annotation.pair_design import ring
from annotation.pair_design.graph import (
    MOST_NODES,
    IntArray,
    Link,
    comparison_components,
    components,
    thinnest_link,
)
from annotation.pair_design.model import Design, Pair, Text, by_topic, check_handing_out
from annotation.pair_design.pairs import design_pairs

NAMED = 3


@dataclass(frozen=True)
class TopicSummary:
    """One topic: its texts, pairs and repeats, and how often its texts are compared.

    ``degree_low`` and ``degree_high``: pairs (repeats not counted) of the text that has fewest and
    most; ``components``: connected parts of its comparison graph, 1 for every design made here.
    """

    topic: str
    texts: int
    pairs: int
    repeats: int
    degree_low: int
    degree_high: int
    components: int


@dataclass(frozen=True)
class Sources:
    """How the sources of texts (origin and style) meet over all topics, repeats not counted.

    ``meet_low`` and ``meet_high``: pairs of the two sources that meet least and most;
    ``groups``: the names in parts that are never compared, the largest first; ``thinnest``: where
    one part is easiest to split, its ``side`` indexing ``names`` (None for more than 400 sources).
    """

    names: tuple[str, ...]
    meet_low: int
    meet_high: int
    groups: tuple[tuple[str, ...], ...]
    thinnest: Link | None

    @property
    def components(self) -> int:
        """Count the parts that are never compared."""
        return len(self.groups)


@dataclass(frozen=True)
class Summary:
    """A design in numbers.

    ``pairs`` different ones and ``repeats`` make ``items`` of the list; with ``redundancy`` judges
    each they are ``slots`` judgments in ``assignments``. ``worker_components``: parts of the graph
    of workers and items if every assignment goes to another worker, the worst case.
    ``topic_most``: most pairs of one topic in an assignment; ``words_low``, ``words_high``: words
    to read in an assignment (both texts of each pair; full assignments alone where there are any).
    ``problems``: sentences for the requester, empty when there is nothing to say.
    """

    texts: int
    pairs: int
    repeats: int
    slots: int
    assignments: int
    strata: int
    degree_low: int
    degree_high: int
    worker_components: int
    topic_most: int
    words_low: int
    words_high: int
    topics: tuple[TopicSummary, ...]
    sources: Sources
    problems: tuple[str, ...]

    @property
    def items(self) -> int:
        """Entries of the list that is handed out."""
        return self.pairs + self.repeats


@dataclass(frozen=True, eq=False)
class _Handed:
    """What the assignments hold, if all are completed as the ring lays them out."""

    sizes: IntArray
    words: IntArray
    topic_most: int
    doubled: int
    worker_components: int


def summary(
    design: Design,
    texts: Sequence[Text],
    bundle: int,
    redundancy: int,
    pairs: Sequence[Pair] | None = None,
) -> Summary:
    """Summarise a design: its pairs, slots, assignments and how often sources meet.

    ``pairs`` may hand in what ``design_pairs(texts, design, bundle)`` gave. Raises Invalid, naming
    the field, where the settings cannot be met.
    """
    check_handing_out(bundle, redundancy)
    listed = design_pairs(texts, design, bundle) if pairs is None else pairs
    index = {text.key: i for i, text in enumerate(texts)}
    ends = np.array([(index[p.first_key], index[p.second_key]) for p in listed], dtype=np.int64)
    again = np.array([p.repeat for p in listed])
    topics = _topics(texts, ends, again)
    sources = _sources(texts, ends[~again])
    handed = _handed(texts, ends, bundle, redundancy)
    full = handed.sizes == handed.sizes.max()
    problems = [
        *_of_topics(design, topics),
        *_of_workers(handed, bundle, redundancy, len(listed)),
        *_of_assignments(handed, len([topic for topic in topics if topic.pairs])),
        *filter(None, [tell_groups(sources.groups)]),
    ]
    paired = [topic for topic in topics if topic.pairs]
    return Summary(
        texts=len(texts),
        pairs=int((~again).sum()),
        repeats=int(again.sum()),
        slots=len(listed) * redundancy,
        assignments=len(handed.sizes),
        strata=len({p.stratum for p in listed}),
        degree_low=min(topic.degree_low for topic in paired),
        degree_high=max(topic.degree_high for topic in paired),
        worker_components=handed.worker_components,
        topic_most=handed.topic_most,
        words_low=int(handed.words[full].min()),
        words_high=int(handed.words[full].max()),
        topics=topics,
        sources=sources,
        problems=tuple(problems),
    )


def _topics(texts: Sequence[Text], ends: IntArray, again: IntArray) -> tuple[TopicSummary, ...]:
    groups = by_topic(texts)
    number = {topic: t for t, topic in enumerate(groups)}
    of_text = np.array([number[text.topic] for text in texts])
    once = ends[~again]
    degree = np.bincount(once.ravel(), minlength=len(texts))
    part = comparison_components(once[:, 0], once[:, 1], len(texts))
    pairs = np.bincount(of_text[once[:, 0]], minlength=len(groups)).tolist()
    repeats = np.bincount(of_text[ends[again, 0]], minlength=len(groups)).tolist()
    return tuple(
        TopicSummary(
            topic,
            len(own),
            pairs[t],
            repeats[t],
            int(degree[own].min()),
            int(degree[own].max()),
            len(set(part[own].tolist())),
        )
        for t, (topic, own) in enumerate(groups.items())
    )


def _sources(texts: Sequence[Text], ends: IntArray) -> Sources:
    names, of_text = np.unique([text.source for text in texts], return_inverse=True)
    meeting = of_text.ravel()[ends]
    n = len(names)
    counts = np.zeros((n, n), dtype=np.int64)
    np.add.at(counts, (meeting.min(axis=1), meeting.max(axis=1)), 1)
    different = counts[np.triu_indices(n, 1)]
    return Sources(
        tuple(names.tolist()),
        int(different.min(initial=different.max(initial=0))),
        int(different.max(initial=0)),
        _groups(names.tolist(), meeting),
        thinnest_link(meeting[:, 0], meeting[:, 1], n) if n <= MOST_NODES else None,
    )


def _handed(texts: Sequence[Text], ends: IntArray, bundle: int, redundancy: int) -> _Handed:
    claim, item = ring.slots(len(ends), bundle, redundancy)
    n = int(claim[-1]) + 1
    words = np.array([text.words for text in texts], dtype=np.int64)[ends].sum(axis=1)
    topics = np.unique([text.topic for text in texts], return_inverse=True)[1].ravel()
    per_claim = np.zeros(n, dtype=np.int64)
    np.add.at(per_claim, claim, words[item])
    worker_part, _ = components(claim, item, n, len(ends))
    pair = ends[:, 0] * len(texts) + ends[:, 1]
    return _Handed(
        np.bincount(claim),
        per_claim,
        int(_together(claim, topics[ends[item, 0]])[1].max()),
        len(np.unique(_repeated(claim, pair[item]))),
        int(worker_part.max()),
    )


def _together(claim: IntArray, thing: IntArray) -> tuple[IntArray, IntArray]:
    """Claim and number of each thing's occurrences in it, for all that occur."""
    width = int(thing.max()) + 1
    both, count = np.unique(claim * width + thing, return_counts=True)
    return both // width, count


def _repeated(claim: IntArray, thing: IntArray) -> IntArray:
    """Claims that hold a thing twice."""
    where, count = _together(claim, np.unique(thing, return_inverse=True)[1].ravel())
    return where[count > 1]


def _of_topics(design: Design, topics: Sequence[TopicSummary]) -> Iterator[str]:
    single = [topic.topic for topic in topics if topic.texts == 1]
    if len(single) == 1:
        yield gettext("Topic “%(topic)s” has one text only and gets no pair.") % {
            "topic": single[0]
        }
    elif single:
        yield gettext("%(number)s topics have one text only and get no pair: %(topics)s.") % {
            "number": len(single),
            "topics": _first_names(single),
        }
    if design.kind == "all":
        return
    few = [topic for topic in topics if topic.texts > 1 and topic.pairs < design.pairs_per_topic]
    if few:
        yield gettext(
            "%(wanted)s pairs a topic are more than there are in %(topics)s; all of them are taken."
        ) % {
            "wanted": design.pairs_per_topic,
            "topics": _first_names([f"{topic.topic} ({topic.pairs})" for topic in few]),
        }


def _of_workers(handed: _Handed, bundle: int, redundancy: int, items: int) -> Iterator[str]:
    parts = handed.worker_components
    if redundancy == 1 and parts > 1:
        yield gettext(
            "With one judge an item no two workers judge the same: how good they are cannot be "
            "compared, whoever takes how much. Two judges are enough to connect them."
        )
    elif parts > 1:
        yield gettext(
            "With one pair an assignment, workers who take one fall into %(parts)s groups that "
            "cannot be compared. Give at least two pairs an assignment."
        ) % {"parts": parts}
    if bundle > items:
        yield gettext("An assignment has room for %(room)s pairs; there are %(pairs)s.") % {
            "room": bundle,
            "pairs": items,
        }


def _of_assignments(handed: _Handed, topics: int) -> Iterator[str]:
    most, last = int(handed.sizes.max()), int(handed.sizes[-1])
    if last < most:
        yield ngettext(
            "The last assignment holds %(last)s pair instead of %(most)s.",
            "The last assignment holds %(last)s pairs instead of %(most)s.",
            last,
        ) % {"last": last, "most": most}
    if handed.topic_most > 1:
        yield ngettext(
            "Up to %(pairs)s pairs of one topic come in an assignment of %(most)s: there is "
            "%(topics)s topic.",
            "Up to %(pairs)s pairs of one topic come in an assignment of %(most)s: there are "
            "%(topics)s topics.",
            topics,
        ) % {"pairs": handed.topic_most, "most": most, "topics": topics}
    if handed.doubled:
        yield gettext(
            "A pair and its repeat come together in %(doubled)s of %(all)s assignments: the list "
            "is short for assignments of this size."
        ) % {"doubled": handed.doubled, "all": len(handed.sizes)}


def groups_of(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Group names that chains of compared ``pairs`` connect, the largest group first."""
    listed = list(pairs)
    if not listed:
        return ()
    names, ends = np.unique(np.array(listed, dtype=object).ravel(), return_inverse=True)
    return _groups(names.tolist(), ends.reshape(-1, 2))


def _groups(names: Sequence[str], ends: IntArray) -> tuple[tuple[str, ...], ...]:
    part = comparison_components(ends[:, 0], ends[:, 1], len(names))
    found: dict[int, list[str]] = {}
    for name, number in zip(names, part.tolist(), strict=True):
        found.setdefault(number, []).append(name)
    return tuple(tuple(found[number]) for number in sorted(found))


def tell_groups(groups: Sequence[Sequence[str]]) -> str:
    """Name the groups that are never compared; "" where all are connected."""
    if len(groups) < 2:
        return ""
    named = [_first_names([f"“{name}”" for name in group]) for group in groups[:NAMED]]
    return gettext(
        "%(number)s groups that are never compared: %(groups)s. Each gets a ranking of its own."
    ) % {
        "number": len(groups),
        "groups": " | ".join(named) + (" | …" if len(groups) > NAMED else ""),
    }


def _first_names(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - NAMED
    listed = ", ".join(names[:NAMED])
    if more <= 0:
        return listed
    return gettext("%(names)s and %(more)s more") % {"names": listed, "more": more}
