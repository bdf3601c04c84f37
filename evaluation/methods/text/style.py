"""What can be counted in a text: its words, and the marks of its layout in Markdown."""

from __future__ import annotations

import re

from crowdqc.web.words import spaced

STYLE = ("words", "lists", "headings", "bold")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LIST = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_BOLD = re.compile(r"\*\*(?=\S)[^*\n]+\*\*|(?<!\w)__(?=\S)[^_\n]+__(?!\w)")


def style_counts(text: str) -> tuple[int, int, int, int]:
    """Words (between white space), list items, headings and bold spans, as STYLE names them.

    Marks inside fenced code are code, and are not counted.
    """
    plain = _CODE.sub("", text)
    return (
        len(spaced(text).split()),
        len(_LIST.findall(plain)),
        len(_HEADING.findall(plain)),
        len(_BOLD.findall(plain)),
    )
