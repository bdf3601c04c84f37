"""What goes into the design of a pairwise study and what comes out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crowdqc import numbers
from crowdqc.errors import Invalid

KINDS = ("all", "per_topic", "balanced")
MAX_PAIRS = 100_000
UNNAMED = "unnamed"


@dataclass(frozen=True)
class Text:
    """One text under judgment, as the design needs to know it.

    ``key`` is unique in the study, ``words`` its length. ``origin`` (human, a model's name) and
    ``style`` (essay, bullet) name together the source that texts of several topics share.
    """

    key: str
    topic: str
    style: str = ""
    origin: str = ""
    words: int = 0
    author: str = ""

    @property
    def source(self) -> str:
        """Origin and style in words."""
        return ", ".join(part for part in (self.origin, self.style) if part) or UNNAMED


@dataclass(frozen=True)
class Design:
    """Which pairs of a topic's texts are judged, and how they are handed out.

    ``kind``: ``all`` pairs of a topic; ``per_topic``: ``pairs_per_topic`` of each, connected, every
    text of a topic equally often to within one; ``balanced``: the same, and every two sources meet
    about equally often over all topics. ``reversed_share`` of the pairs comes again, later, to be
    shown the other way round. ``stratify``: every assignment is a like mixture of lengths and
    origins; ``one_per_stratum``: as many strata as an assignment has pairs, one pair from each.
    """

    kind: str = "all"
    pairs_per_topic: int = 0
    reversed_share: float = 1 / 3
    stratify: bool = True
    one_per_stratum: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Pair:
    """Two texts of a topic, the earlier of the input first; ``repeat``: it comes again here."""

    first_key: str
    second_key: str
    topic: str
    repeat: bool
    stratum: str


def by_topic(texts: Sequence[Text]) -> dict[str, list[int]]:
    """Indices of each topic's texts, topics in the order in which they first appear."""
    topics: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        topics.setdefault(text.topic, []).append(index)
    return topics


def check(texts: Sequence[Text], design: Design) -> None:
    """Raise Invalid, naming the field, where no study can be made of these texts and settings."""
    if design.kind not in KINDS:
        raise Invalid(
            _("There is no design called %(kind)s.") % {"kind": repr(design.kind)},
            fields={"kind": _("One of %(kinds)s.") % {"kinds": ", ".join(KINDS)}},
        )
    if not 0 <= design.reversed_share <= 1:
        raise Invalid(
            _("The share of pairs judged in both directions is out of range."),
            fields={"reversed_share": _("Between 0 and 1.")},
        )
    if design.one_per_stratum and not design.stratify:
        raise Invalid(
            _("One pair from each stratum needs strata."),
            fields={"one_per_stratum": _("Stratify by length and origin, or leave this off.")},
        )
    if design.seed < 0:
        raise Invalid(_("The seed is negative."), fields={"seed": _("A whole number from 0.")})
    _check_texts(texts)
    topics = {topic: len(members) for topic, members in by_topic(texts).items()}
    if max(topics.values(), default=0) < 2:
        raise Invalid(
            _("No topic has two texts, so there is nothing to compare."),
            fields={"texts": _("At least one topic with two texts.")},
        )
    if design.kind != "all":
        _check_connected(topics, design.pairs_per_topic)
    count = sum(topic_pairs(design, size) for size in topics.values())
    if count > MAX_PAIRS:
        field = "kind" if design.kind == "all" else "pairs_per_topic"
        raise Invalid(
            _("This design has %(count)s pairs.") % {"count": numbers.count(count)},
            fields={field: _("%(most)s pairs at most.") % {"most": numbers.count(MAX_PAIRS)}},
        )


def topic_pairs(design: Design, size: int) -> int:
    """Return how many pairs the design makes in a topic with ``size`` texts."""
    every = comb(size, 2)
    return every if design.kind == "all" else min(every, design.pairs_per_topic)


def check_handing_out(bundle: int, redundancy: int) -> None:
    """Raise Invalid where an assignment would be empty or nobody would judge."""
    if bundle < 1:
        raise Invalid(_("An assignment holds no pair."), fields={"bundle": _("At least 1.")})
    if redundancy < 1:
        raise Invalid(_("Nobody would judge a pair."), fields={"redundancy": _("At least 1.")})


def _check_texts(texts: Sequence[Text]) -> None:
    seen: set[str] = set()
    for text in texts:
        if text.key in seen:
            raise Invalid(
                _("Two texts are called %(key)s.") % {"key": repr(text.key)},
                fields={"texts": _("Every key once.")},
            )
        if text.words < 0:
            raise Invalid(
                _("Text %(key)s has %(words)s words.")
                % {"key": repr(text.key), "words": text.words},
                fields={"texts": _("Words from 0.")},
            )
        seen.add(text.key)


def _check_connected(topics: dict[str, int], pairs: int) -> None:
    """A tree over n texts has n - 1 pairs; fewer leave the topic in parts."""
    short = [topic for topic, size in topics.items() if size - 1 > pairs]
    if not short and pairs >= 1:
        return
    need = max(1, *(size - 1 for size in topics.values()))
    if not short:
        message = _("At least one pair of each topic must be judged.")
    else:
        worst = max(short, key=lambda topic: topics[topic])
        message = _(
            "Topic %(topic)s has %(texts)s texts and needs %(needed)s pairs to be connected; "
            "pairs_per_topic is %(pairs)s."
        ) % {
            "topic": repr(worst),
            "texts": topics[worst],
            "needed": topics[worst] - 1,
            "pairs": pairs,
        }
        others = len(short) - 1
        if others:
            more = ngettext(
                "%(others)s more topic has too few.", "%(others)s more topics have too few.", others
            )
            message += " " + more % {"others": others}
    raise Invalid(message, fields={"pairs_per_topic": _("At least %(need)s.") % {"need": need}})
