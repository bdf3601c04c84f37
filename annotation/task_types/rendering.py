"""Markdown that people wrote, as HTML that cannot harm whoever reads it."""

from __future__ import annotations

import functools
import re

import nh3
from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from annotation.task_types.writing.citations import MARK
from crowdqc.web.words import count_words

TAGS = frozenset(
    "p br strong em del code pre blockquote ul ol li h2 h3 h4 hr a".split()
    + "table thead tbody tr th td".split()
)


def words_in(text: str) -> int:
    """Words of a text that may cite sources, whose marks are none."""
    return count_words(MARK.sub(" ", text))


# A parser looks for the end of each bracket, and fills each row of a table up to its head: 2,800
# characters became 660 kB, and 50,000 images without an end took 8 s. Above any of these a text is
# shown as it was typed.
MAX_CHARACTERS, MAX_BRACKETS, MAX_CELLS = 200_000, 2_000, 5_000
GROWTH, ROOM = 12, 10_000  # characters of HTML for one of text, and for a short text besides
KEPT = 10_000  # characters of a text whose HTML is remembered
TABLE_HEAD = re.compile(r"[ \t>*+-]*[|:-][ \t|:-]*\Z")


def is_cheap(text: str) -> bool:
    """Whether a text costs in proportion to its length: its HTML and the time that it takes."""
    if len(text) > MAX_CHARACTERS or text.count("[") > MAX_BRACKETS:
        return False
    return "|" not in text or _cells(text) <= MAX_CELLS


def _cells(text: str) -> int:
    """The most cells that tables of the text can have: columns of the head in every line below."""
    cells = columns = 0
    for line in text.splitlines():
        if not line.strip():
            columns = 0
        elif "|" in line and TABLE_HEAD.match(line):
            columns = max(columns, line.count("|") + 1)
        cells += columns
    return cells


@functools.cache
def _parser(breaks: bool) -> MarkdownIt:
    # "js-default" leaves raw HTML out; tables and strikethrough are on.
    return MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": breaks})


def render_markdown(text: str, breaks: bool = False) -> SafeString:
    """Safe HTML of a Markdown text; headings start at level 2, links open beside.

    ``breaks``: a line of the text stays a line, as people see it in what they wrote. A text that
    would cost out of proportion (``is_cheap``) is shown as it was typed.
    """
    return (_remembered if len(text) <= KEPT else _rendered)(text, breaks)


def _rendered(text: str, breaks: bool) -> SafeString:
    if is_cheap(text):
        found = _parsed(text, breaks)
        if len(found) <= GROWTH * len(text) + ROOM:
            return found
    return mark_safe(linebreaks(text, autoescape=True))  # noqa: S308 (escaped)


_remembered = functools.lru_cache(maxsize=512)(_rendered)


def _parsed(text: str, breaks: bool) -> SafeString:
    html = _parser(breaks).render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>")
    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return mark_safe(clean)  # noqa: S308 (just cleaned)
