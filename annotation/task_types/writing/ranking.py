"""Passages of a collection ranked for queries: Okapi BM25.

Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond", eq. 3.15,
with the idf ln(1 + (N - n + .5) / (n + .5)), which is never negative.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

WORD = re.compile(r"\w+")
K1, B = 1.2, 0.75


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, as they stand: no stems."""
    return WORD.findall(text.casefold())


def rank_passages(queries: Sequence[str], passages: Sequence[str], *, most: int) -> list[list[int]]:
    """Places of up to ``most`` passages for each query, the best first; of equals the first.

    A passage without a word of the query is none of its.
    """
    asked = [Counter(words_of(query)) for query in queries]
    wanted = {word for query in asked for word in query}
    found: dict[str, list[tuple[int, int]]] = {}  # word -> (passage, times)
    lengths = []
    for place, passage in enumerate(passages):
        words = words_of(passage)
        lengths.append(len(words))
        for word, times in Counter(word for word in words if word in wanted).items():
            found.setdefault(word, []).append((place, times))
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    ranked = []
    for query in asked:
        scores: dict[int, float] = {}
        for word, asked_times in query.items():
            there = found.get(word, [])
            idf = math.log(1 + (len(passages) - len(there) + 0.5) / (len(there) + 0.5))
            for place, times in there:
                part = times + K1 * (1 - B + B * lengths[place] / mean)
                scores[place] = scores.get(place, 0.0) + asked_times * idf * times * (K1 + 1) / part
        best = sorted(scores, key=lambda place: (-scores[place], place))
        ranked.append(best[:most])
    return ranked
