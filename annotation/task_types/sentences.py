"""The sentences of a document, numbered from 1 the same everywhere: pages, files, prompts.

Rules, no model: the same text gives the same numbers on every machine and in every version of the
project. A number is stored with answers, so a change of these rules would move what people meant.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Followed by a name, a number or more of a sentence; a stop after them ends none by itself.
ABBREVIATIONS = frozenset(
    "dr mr mrs ms mx prof rev fr sr jr st gen col maj capt lt cmdr sgt gov sen rep hon pres supt "
    "messrs mmes vs cf viz approx ca fig figs no nos vol vols ch sec eq eqs ref refs p pp ed eds "
    "al e.g i.e jan feb mar apr jun jul aug sep sept oct nov dec mt ft ave blvd rd dept univ assn "
    "z.b bzw d.h u.a nr abs".split()
)
# They may end a sentence or not: they do where what follows begins with a capital and is a word
# that opens sentences.
MAYBE = frozenset("inc ltd co corp bros etc a.m p.m u.s u.k u.n e.u d.c ph.d m.d b.a m.a".split())
OPENERS = frozenset(
    "the a an this that these those he she it they we you i in on at by for from with as but and "
    "or if when while after before since his her its their our there then however many some most "
    "no one what who why how where yet so to".split()
)
END = re.compile(r"(?:[.!?]+|…)[\"'’”»)\]]*(?=\s)|[。！？]+[」』”）]*")
WORD_BEFORE = re.compile(r"([^\W\d_](?:[^\W\d_]|[.'’-])*)$")
INITIAL = re.compile(r"(?:^|[^\w.])[^\W\d_]$")
OPENS = re.compile(r"[\"'‘“«(\[]*([^\s])")
FIRST_WORD = re.compile(r"[^\W\d_]+")


class Sentence(NamedTuple):
    """A sentence under its number, from 1."""

    number: int
    text: str


def sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order, without the space around them; the first is number 1.

    A line break always ends a sentence. Full stops of abbreviations, initials, decimals, dates
    and addresses of the web end none; closing quotes and brackets stay with their sentence.
    """
    return [sentence for line in text.splitlines() for sentence in _of_line(line)]


def paragraphs(text: str) -> list[list[Sentence]]:
    """The numbered sentences by paragraph: every line of the text is one."""
    found: list[list[Sentence]] = []
    number = 0
    for line in text.splitlines():
        row = []
        for sentence in _of_line(line):
            number += 1
            row.append(Sentence(number, sentence))
        if row:
            found.append(row)
    return found


def _of_line(line: str) -> list[str]:
    found, begun = [], 0
    for match in END.finditer(line):
        if _ends(line, begun, match):
            found.append(line[begun : match.end()].strip())
            begun = match.end()
    found.append(line[begun:].strip())
    return [sentence for sentence in found if sentence]


def _ends(line: str, begun: int, match: re.Match[str]) -> bool:
    """Whether the mark ends the sentence that began at ``begun``."""
    mark = match[0]
    after = line[match.end() :].lstrip()
    opens = OPENS.match(after)
    if not after or opens is None or mark[0] in "。！？":
        return True
    follows = opens[1]
    if follows.islower():  # "… he said." after a quotation, or an abbreviation nobody listed
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    before = line[begun : match.start()]
    word = WORD_BEFORE.search(before)
    if word is None:
        return not _numbered(before)
    return _word_ends(word[1].lower(), before, after, mark)


def _numbered(before: str) -> bool:
    """Whether what stands before the mark is the number of a list alone, as in "3. The"."""
    return before.strip().isdecimal()


def _word_ends(word: str, before: str, after: str, mark: str) -> bool:
    if len(mark) > 1 and word not in ABBREVIATIONS:  # a quotation or bracket is closed
        return True
    if word in ABBREVIATIONS:
        return False
    first = FIRST_WORD.search(after)
    opens_sentence = first is not None and first[0].lower() in OPENERS
    if word in MAYBE:
        return opens_sentence
    if INITIAL.search(before):  # "J. Smith", but "vitamin C. The"
        return opens_sentence and word != "i" and len(before.split()) > 1
    return True
