"""Spelling corrected by the answers themselves: a rare word gives way to a common one like it.

A study's names and terms are in its answers, hardly in a dictionary. A word of five letters or
more that one text alone has becomes the word that most texts have among the closest: at a distance
of one (from nine letters on: two) insertion, deletion, replacement or exchange of neighbours. At
least ``LEAST`` texts must have that word, and it must not be the rare one with a prefix or ending
more or less ("incorrect" is no slip of "correct"). Forms of words that are common in the answers or
``known`` in the language stay, and so does a word that is as close to two equally common ones. A
right word that one text alone has and nothing else knows may be changed: it follows the crowd.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence

from evaluation.methods.text.corpus import stem

WORD = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")  # of letters alone
LEAST = 3  # texts that have a word before others give way to it
SHORTEST, LONG = 5, 9  # letters of a word that is corrected, and by two letters


def correct_spelling(
    texts: Sequence[str], known: Container[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """The texts with rare words corrected, and what each rare word (in lower case) became."""
    changes = find_corrections(texts, known)
    if not changes:
        return list(texts), changes

    def replace(found: re.Match[str]) -> str:
        word = found.group()
        new = changes.get(word.casefold())
        if new is None:
            return word
        return new.capitalize() if word[0].isupper() else new

    return [WORD.sub(replace, text) for text in texts], changes


def find_corrections(texts: Sequence[str], known: Container[str] = ()) -> dict[str, str]:
    """Map rare words to the common words that they misspell.

    ``known`` are Porter stems of words that are spelled right.
    """
    counts: Counter[str] = Counter()
    for text in dict.fromkeys(texts):
        counts.update({word.casefold() for word in WORD.findall(text)})
    common: defaultdict[str, set[str]] = defaultdict(set)
    for word, n in counts.items():
        if n >= LEAST and len(word) >= SHORTEST - 1:
            for short in _shortened(word, 2):
                common[short].add(word)
    found = {}
    stems = {stem(word) for word, n in counts.items() if n >= LEAST}
    rare = sorted(word for word, n in counts.items() if n == 1 and len(word) >= SHORTEST)
    for word in rare:
        if stem(word) in stems or stem(word) in known:
            continue
        reach = 2 if len(word) >= LONG else 1
        near = {other for short in _shortened(word, reach) for other in common.get(short, ())}
        fits = sorted(
            (distance(word, one), -counts[one], one) for one in near if not _is_affixed(word, one)
        )
        fits = [fit for fit in fits if fit[0] <= reach]
        if fits and (len(fits) == 1 or fits[0][:2] != fits[1][:2]):
            found[word] = fits[0][2]
    return found


def _is_affixed(word: str, other: str) -> bool:
    """Whether one is the other with two letters or more before or after it."""
    short, long = sorted((word, other), key=len)
    return len(long) - len(short) > 1 and (long.startswith(short) or long.endswith(short))


def _shortened(word: str, letters: int) -> Iterator[str]:
    """The word without up to so many of its letters: two words at a distance share one of these."""
    known = {word}
    last = known
    for _ in range(letters):
        last = {one[:at] + one[at + 1 :] for one in last for at in range(len(one))}
        known |= last
    return iter(known)


def distance(one: str, other: str) -> int:
    """Insertions, deletions, replacements and exchanges of neighbours (string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, their in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != their))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == their:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
