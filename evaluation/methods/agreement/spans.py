"""Agreement of two annotators who mark spans: by the span, by overlap, by the token.

Nobody counts the stretches that neither marked, so that kappa has no table to stand on; the F1 of
one against the other is what kappa tends to as those grow (Hripcsak and Rothschild 2005,
"Agreement, the F-measure, and reliability in information retrieval"). A span is (start, end,
label) with start < end, end not included, in characters or tokens. F1 is the same whoever is
called the reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.methods.core.base import BadShape

Span = tuple[int, int, str]


@dataclass(frozen=True)
class SpanAgreement:
    """``matched`` of the ``first`` and of the ``second`` one's marks; None where nothing is marked.

    ``matched`` are two counts: marks of the first with a partner, and of the second.
    """

    matched: tuple[int, int]
    first: int
    second: int

    @property
    def precision(self) -> float | None:
        """Share of the second's marks that the first made too."""
        return self.matched[1] / self.second if self.second else None

    @property
    def recall(self) -> float | None:
        """Share of the first's marks that the second made too."""
        return self.matched[0] / self.first if self.first else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both; 0 where one of the two marked nothing."""
        if not self.first and not self.second:
            return None
        precision, recall = self.precision or 0.0, self.recall or 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def __add__(self, other: SpanAgreement) -> SpanAgreement:
        """Add up both documents (micro average)."""
        matched = (self.matched[0] + other.matched[0], self.matched[1] + other.matched[1])
        return SpanAgreement(matched, self.first + other.first, self.second + other.second)


def _checked(spans: Iterable[Span]) -> list[Span]:
    """The spans once each, in order; raises BadShape."""
    found = sorted(set(spans))
    for start, end, label in found:
        if not 0 <= start < end:
            raise BadShape(f"the span {start}-{end} ({label}) has no length or begins before 0")
    return found


def exact_agreement(
    first: Iterable[Span], second: Iterable[Span], *, labelled: bool = True
) -> SpanAgreement:
    """Spans that both marked with the same ends and, where ``labelled``, the same label."""
    one, two = (_keyed(spans, labelled=labelled) for spans in (first, second))
    both = len(one & two)
    return SpanAgreement((both, both), len(one), len(two))


def _keyed(spans: Iterable[Span], *, labelled: bool) -> set[Span]:
    return {(start, end, label if labelled else "") for start, end, label in _checked(spans)}


def overlap_agreement(
    first: Iterable[Span], second: Iterable[Span], *, labelled: bool = True
) -> SpanAgreement:
    """Spans that share a character with a span of the other one (of the same label).

    Each span counts once however many it meets, and one long span may meet several: read it beside
    the exact and the token figures.
    """
    one, two = (sorted(_keyed(spans, labelled=labelled)) for spans in (first, second))
    return SpanAgreement((_meeting(one, two), _meeting(two, one)), len(one), len(two))


def _meeting(spans: Sequence[Span], others: Sequence[Span]) -> int:
    return sum(
        any(
            start < other_end and other_start < end and label == other_label
            for other_start, other_end, other_label in others
        )
        for start, end, label in spans
    )


def token_agreement(
    first: Iterable[Span], second: Iterable[Span], *, labelled: bool = True
) -> SpanAgreement:
    """Tokens (or characters: the unit of the spans) that both marked (with the same label).

    A token under two spans of one label counts once.
    """
    one, two = (
        {
            (at, label)
            for start, end, label in _keyed(spans, labelled=labelled)
            for at in range(start, end)
        }
        for spans in (first, second)
    )
    both = len(one & two)
    return SpanAgreement((both, both), len(one), len(two))
