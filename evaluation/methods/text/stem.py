"""Porter's stemmer (1980, "An algorithm for suffix stripping") and English function words."""

from __future__ import annotations

from functools import lru_cache

import snowballstemmer

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


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Porter stem of a word in lower case; words of one or two letters stay as they are."""
    # A stemmer keeps the word that it works on, so no two threads may share one.
    return word if len(word) <= 2 else str(snowballstemmer.stemmer("porter").stemWord(word))
