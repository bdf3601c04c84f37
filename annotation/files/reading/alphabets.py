"""Which encoding of a byte a letter a text is in, where its alphabet is not the Latin one.

Words of such a text are of high bytes alone. Each encoding of an alphabet gives letters of it; the
right one gives those that are frequent in its languages.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter

LEAST_LETTERS = 12  # from which a text says something
LEAST_WORD = 3  # letters
FREQUENT = 0.5  # share of the letters that are among the frequent ones
MOST_CAPITALS = 0.7  # share of the letters
AHEAD = 0.1  # within which two are as plausible
WORDS = re.compile(rb"[\x80-\xffA-Za-z]+")
# The letters that make about three quarters of a text, by the name that Unicode gives an alphabet.
LETTERS = {
    "CYRILLIC": set("оеаинтсрвлкмдпуяыьіїє"),
    "GREEK": set("αοιετσνηυρπκμλςάίό"),
    "HEBREW": set("יוהלאמרתשבנםדק"),
    "ARABIC": set("اليمنوتهربدسفقعكح"),
    "THAI": set("านรอกเงมยลวดทสตะปบคหแจพ"),
}
# In this order where two are as plausible.
CODECS = {
    "cp1251": ("CYRILLIC", "Windows-1251"),
    "koi8_r": ("CYRILLIC", "KOI8-R"),
    "cp866": ("CYRILLIC", "DOS 866"),
    "iso8859_5": ("CYRILLIC", "ISO 8859-5"),
    "mac_cyrillic": ("CYRILLIC", "Cyrillic (Mac)"),
    "cp1253": ("GREEK", "Windows-1253"),
    "iso8859_7": ("GREEK", "ISO 8859-7"),
    "cp1255": ("HEBREW", "Windows-1255"),
    "cp1256": ("ARABIC", "Windows-1256"),
    "cp874": ("THAI", "Windows-874"),
}


def tell_alphabet(head: bytes) -> tuple[str, str] | None:
    """Return codec and name of the encoding of a text in another alphabet; None if unclear."""
    words = [word for word in WORDS.findall(head) if any(byte > 127 for byte in word)]
    high = [word for word in words if all(byte > 127 for byte in word)]
    whole = b" ".join(word for word in high if len(word) >= LEAST_WORD)
    if len(whole) < LEAST_LETTERS or 2 * len(high) < len(words):
        return None
    scores = {codec: _plausible(whole, codec) for codec in CODECS}
    best = max(scores.values())
    # Of encodings that give nearly the same text the usual one, which stands first.
    near = [codec for codec, score in scores.items() if score > best - AHEAD]
    if best < FREQUENT or len({CODECS[codec][0] for codec in near}) > 1:
        return None
    return near[0], CODECS[near[0]][1]


def _plausible(whole: bytes, codec: str) -> float:
    """The share of letters that are frequent ones of the alphabet, in small letters mostly."""
    try:
        text = whole.decode(codec)
    except UnicodeDecodeError:
        return 0.0
    alphabet, frequent = CODECS[codec][0], LETTERS[CODECS[codec][0]]
    marks = Counter(mark for mark in text if not mark.isspace())
    own = sum(n for mark, n in marks.items() if unicodedata.name(mark, "").startswith(alphabet))
    usual = sum(n for mark, n in marks.items() if mark.lower() in frequent)
    # Within a word a capital stands after a small letter only where the encoding is another one.
    turned = sum(a.islower() and b.isupper() for a, b in itertools.pairwise(text))
    capitals = sum(n for mark, n in marks.items() if mark.isupper())
    if own <= marks.total() / 2:
        return 0.0
    score = max(0.0, (usual - 2 * turned) / marks.total())
    return score / 2 if capitals > MOST_CAPITALS * marks.total() else score
