"""Porter's stemmer and a list of English function words.

Porter (1980), "An algorithm for suffix stripping", Program 14(3): steps 1a to 5b, as published.
"""

from __future__ import annotations

import re
from functools import lru_cache

FUNCTION_WORDS = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves this that these
    those who whom whose which what when where why how a an the and or nor but if then else than
    because as until while of at by for with about against between into through during before
    after above below to from up down in out on off over under again further once here there all
    any both each few more most other some such no not only own same so too very am is are was
    were be been being have has had having do does did doing can could will would shall should
    may might must just now also s t d m ll re ve don doesn didn isn aren wasn weren won
    """.split()
)

_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
_STEP_4 = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


def _shape(word: str) -> str:
    """The word as letters c (consonant) and v (vowel); y is a vowel after a consonant."""
    out = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and out.endswith("c"))
        out += "v" if vowel else "c"
    return out


def _measure(word: str) -> int:
    """How often consonants follow vowels: m in [C](VC)^m[V]."""
    return len(re.findall("v+c", _shape(word)))


def _double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _cvc(word: str) -> bool:
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _longest(word: str, suffixes: tuple[str, ...]) -> str | None:
    return max((s for s in suffixes if word.endswith(s)), key=len, default=None)


def _plural(word: str) -> str:
    """Step 1a."""
    for suffix, put in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: -len(suffix)] + put
    return word


def _past(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    cut = _longest(word, ("ed", "ing"))
    if cut is None or "v" not in _shape(word[: -len(cut)]):
        return word
    word = word[: -len(cut)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _cvc(word) else word


def _swap(word: str, table: tuple[tuple[str, str], ...]) -> str:
    """Steps 2 and 3: the longest suffix that fits is replaced where something is left of it."""
    suffix = _longest(word, tuple(old for old, _ in table))
    if suffix is None or _measure(word[: -len(suffix)]) == 0:
        return word
    return word[: -len(suffix)] + dict(table)[suffix]


def _strip(word: str) -> str:
    """Step 4."""
    suffix = _longest(word, _STEP_4)
    if suffix is None:
        return word
    left = word[: -len(suffix)]
    if _measure(left) <= 1 or (suffix == "ion" and not left.endswith(("s", "t"))):
        return word
    return left


def _tidy(word: str) -> str:
    """Step 5: a silent e, and ll."""
    if word.endswith("e"):
        left = word[:-1]
        if _measure(left) > 1 or (_measure(left) == 1 and not _cvc(left)):
            word = left
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Porter stem of a word in lower case; words of one or two letters stay as they are."""
    if len(word) <= 2:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    return _tidy(_strip(_swap(_swap(word, _STEP_2), _STEP_3)))
