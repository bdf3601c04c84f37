"""Which East Asian encoding bytes are in, by how plausible the text is that each gives.

The standards order their characters by use: GB 2312, Big5 and JIS X 0208 have a first level of
common ones. Korean is written in Hangul, and Japanese has kana in every sentence.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

LEAST_LETTERS = 4  # from which a text says something
PLAUSIBLE = 0.8
SURE = ("cp932", "euc_jp", "cp949")  # whose letters tell more than their bytes
KANJI_ALONE = ("cp932", "euc_jp")  # tables of Japanese may hold no kana, which halves the score
ALONE = 0.45  # is plausible then where no other encoding is
NEAR = 0.2  # between two scores that do not tell their encodings apart
FEW = 12  # different letters; more of Chinese are seldom all such as Korean has, too
LEAST_KANA = 0.2  # share of the letters of Japanese
HANJA = 3  # times a Chinese character counts against Korean
JAMO = re.compile("[\u3130-\u318f]")
KANA = re.compile("[\u3040-\u30ff]")
# The first bytes of the common characters, by codec.
COMMON = {
    "cp932": ("cp932", 0x88, 0x98),
    "euc_jp": ("euc_jp", 0xB0, 0xCF),
    "cp949": ("euc_kr", 0xB0, 0xC8),
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "big5": ("big5", 0xA4, 0xC6),
}
# In this order where two are as plausible.
NAMES = {
    "cp932": "Shift JIS",
    "euc_jp": "EUC-JP",
    "cp949": "EUC-KR",
    "gb18030": "GB18030",
    "big5": "Big5",
}


@dataclass(frozen=True)
class Match:
    """An encoding, how plausible its text is (to 1), and how many letters differ in that."""

    codec: str
    score: float
    letters: int


def rank_encodings(head: bytes) -> list[Match]:
    """Rank the encodings that give a plausible text, the most plausible first.

    More than one is returned where the text does not tell them apart.
    """
    found = [one for one in map(lambda codec: _match(head, codec), NAMES) if one is not None]
    found.sort(key=lambda one: -one.score)
    best = found[0] if found else None
    if best is not None and best.codec in KANJI_ALONE and best.letters >= FEW:
        others = max((one.score for one in found[1:]), default=0.0)
        if best.score >= ALONE > 1.5 * others:
            return found[:1]
    if best is None or best.score < PLAUSIBLE:
        return []
    if best.codec in SURE and best.letters >= FEW:
        return found[:1]
    return [one for one in found if one.score > best.score - NEAR]


def _match(head: bytes, codec: str) -> Match | None:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeDecodeError:
        return None
    letters = Counter(mark for mark in text if not mark.isascii() and _is_of_words(mark))
    if letters.total() < LEAST_LETTERS:
        return None
    return Match(codec, _score(letters, codec), len(letters))


def _is_of_words(mark: str) -> bool:
    """Whether it is a letter, or no character at all."""
    return mark.isalpha() or not mark.isprintable()


def _score(letters: Counter[str], codec: str) -> float:
    total = letters.total()
    if codec == "cp949":
        usual = sum(n for mark, n in letters.items() if _is_common(mark, codec))
        jamo = sum(n for mark, n in letters.items() if JAMO.match(mark))
        return max(0.0, 1 - (jamo + HANJA * (total - usual - jamo)) / total)
    kana = sum(n for mark, n in letters.items() if KANA.match(mark))
    common = sum(n for mark, n in letters.items() if _is_common(mark, codec))
    if codec in ("cp932", "euc_jp"):
        return (kana + common) / total / (1 if kana >= LEAST_KANA * total else 2)
    return common / total


def _is_common(mark: str, codec: str) -> bool:
    name, low, high = COMMON[codec]
    try:
        return low <= mark.encode(name)[0] <= high and not KANA.match(mark)
    except UnicodeEncodeError:
        return False
