"""METEOR: Banerjee and Lavie (2005), "METEOR: an automatic metric for MT evaluation".

Words of a text are matched one to one with words of a reference: first those that are the same,
then, of the rest, those of one Porter stem, then, where synsets are given, those that share one
(``evaluation.methods.text.wordnet``). P and R are the matched shares of the text's and of the
reference's words,

    Fmean = 10 P R / (R + 9 P),   penalty = 0.5 (chunks / matches)^3,   score = Fmean (1 - penalty),

the paper's own parameters; a chunk is a run of matches that follow one another in both. Of several
references the best counts. Among alignments with the most matches the paper takes the one with the
fewest crossings; here the longest common runs are taken first, which keeps chunks few. So only
texts that repeat words can get another penalty than by another program. Synonyms are taken in the
order of the text, the one that goes on a run before others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from evaluation.methods.text.corpus import stem

Place = tuple[int, int]  # of a word in the text, of its match in the reference
Synsets = Callable[[str], frozenset[str]]  # of a word


def meteor(
    text: Sequence[str], references: Sequence[Sequence[str]], synsets: Synsets | None = None
) -> float:
    """The best METEOR score in 0..1 of a text's words against each reference's; 0 without any."""
    return max((_score(text, reference, synsets) for reference in references), default=0.0)


def _score(text: Sequence[str], reference: Sequence[str], synsets: Synsets | None) -> float:
    found = align(text, reference, synsets)
    if not found:
        return 0.0
    matches = len(found)
    precision, recall = matches / len(text), matches / len(reference)
    mean = 10 * precision * recall / (recall + 9 * precision)
    chunks = 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(found))
    return mean * (1 - 0.5 * (chunks / matches) ** 3)


def align(
    text: Sequence[str], reference: Sequence[str], synsets: Synsets | None = None
) -> list[Place]:
    """Align the words of a text with those of a reference: equal ones, stems, then synonyms."""
    left, right = list(range(len(text))), list(range(len(reference)))
    found: dict[int, int] = {}
    for form in (str, stem):
        first = {at: form(text[at]) for at in left}
        second = {at: form(reference[at]) for at in right}
        found |= _longest_first(first, second)
        taken = set(found.values())
        left = [at for at in left if at not in found]
        right = [at for at in right if at not in taken]
    if synsets is not None:
        others = {at: synsets(reference[at]) for at in right}
        for at in left:
            own = synsets(text[at])
            fits = [b for b, other in others.items() if not own.isdisjoint(other)]
            if fits:
                following = found.get(at - 1, -2) + 1
                found[at] = following if following in fits else fits[0]
                del others[found[at]]
    return sorted(found.items())


def _longest_first(first: dict[int, str], second: dict[int, str]) -> dict[int, int]:
    """Matches of equal words by place, as many as there can be; the longest runs before others."""
    heap = [(-size, a, b) for a, b, size in _runs(first, second)]
    heapq.heapify(heap)
    found: dict[int, int] = {}
    taken: set[int] = set()
    while heap:
        size, a, b = heapq.heappop(heap)
        free = [k for k in range(-size) if a + k not in found and b + k not in taken]
        if len(free) == -size:
            found |= {a + k: b + k for k in free}
            taken |= {b + k for k in free}
            continue
        start = 0  # what is free of it is runs of its own
        for k in range(1, len(free) + 1):
            if k == len(free) or free[k] != free[k - 1] + 1:
                heapq.heappush(heap, (start - k, a + free[start], b + free[start]))
                start = k
    return found


def _runs(first: dict[int, str], second: dict[int, str]) -> Iterator[tuple[int, int, int]]:
    """Longest stretches of equal words: where they begin in both, and their length."""
    places: dict[str, list[int]] = {}
    for at, word in second.items():
        places.setdefault(word, []).append(at)
    for a, word in first.items():
        for b in places.get(word, ()):
            if a - 1 in first and first[a - 1] == second.get(b - 1):
                continue  # within a stretch that began before
            size = 1
            while a + size in first and first[a + size] == second.get(b + size):
                size += 1
            yield a, b, size
