"""How words are counted, on every page and in every figure; static/js/words.js says the same.

Most scripts put a space between words. Those that do not are counted by their signs, since
anything better needs a dictionary of each language (ADR 34).
"""

from __future__ import annotations

import functools
import re
import unicodedata

# Chinese and Japanese: each sign is a word, as word processors count.
SIGNS = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
# Thai, Lao, Burmese and Khmer with their marks: five characters of a run are a word.
RUNS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f"
    "\u109a-\u109d\u1780-\u17d3\u17d7\u17dc\u17dd\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
)
CHARACTERS_A_WORD = 5
_SIGN = re.compile(f"[{SIGNS}]")
_RUN = re.compile(f"[{RUNS}]{{1,{CHARACTERS_A_WORD}}}")
_WORD = re.compile(r"\w[\w'’-]*")


def spaced(text: str) -> str:
    """Prepare a text for counting words: in scripts without spaces each word becomes " x ".

    Only for counting. Marks on letters are dropped, so that they part no word; a text without
    such scripts and marks is returned as it is.
    """
    if text.isascii():
        return text
    return _mark().sub("", _RUN.sub(" x ", _SIGN.sub(" x ", text)))


@functools.cache
def _mark() -> re.Pattern[str]:
    """Return the pattern of marks on or within letters, such as vowel signs and accents."""
    places = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    marks = (one for one in map(chr, places) if unicodedata.category(one)[0] == "M")
    return re.compile(f"[{''.join(marks)}]")


def count_words(text: str) -> int:
    """Words as a reader counts them: bullets, dashes and other signs alone are none."""
    return len(_WORD.findall(spaced(text)))
