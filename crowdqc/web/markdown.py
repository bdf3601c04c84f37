"""Markdown that people wrote, as HTML that cannot harm whoever reads it."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from typing import Any

import nh3
from django.utils.html import escape, linebreaks
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import texmath_plugin

TAGS = frozenset(
    "p br strong em del code pre blockquote ul ol li h2 h3 h4 hr a".split()
    + "table thead tbody tr th td".split()
)


# A parser looks for the end of each bracket, and fills each row of a table up to its head: 2,800
# characters became 660 kB, and 50,000 images without an end took 8 s. Above any of these a text is
# shown as it was typed.
MAX_CHARACTERS, MAX_BRACKETS, MAX_CELLS = 200_000, 2_000, 5_000
GROWTH, ROOM = 12, 10_000  # characters of HTML for one of text, and for a short text besides
MATH_GROWTH, MAX_FORMULA, MAX_MARKS = 60, 2_000, 600
MATH_TAGS = frozenset(
    "math mrow mi mo mn ms msup msub msubsup mfrac msqrt mroot mtext mspace mtable mtr mtd".split()
    + "munder mover munderover mstyle menclose mpadded".split()
)
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
def _parser(breaks: bool, math: bool) -> MarkdownIt:
    # "js-default" leaves raw HTML out; tables and strikethrough are on.
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": breaks})
    parser.add_render_rule("image", _image_name)
    if math:
        parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
        parser.use(texmath_plugin, delimiters="brackets")
        for kind in ("math_inline", "math_inline_double", "math_block", "math_block_label"):
            parser.add_render_rule(kind, _formula)
        parser.add_render_rule("math_block_eqno", _formula)
        parser.add_render_rule("math_single", _formula)
    return parser


def _image_name(_renderer: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    """Name an image: loading it would tell its server who reads the page."""
    name = escape(tokens[at].content.strip() or "image")
    return f"[{name}]"


def _formula(_renderer: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    """A formula as MathML; as it was typed where it cannot be read or is too long."""
    from latex2mathml.converter import convert  # most processes never show a formula

    token = tokens[at]
    if len(token.content) <= MAX_FORMULA:
        with contextlib.suppress(Exception):  # the converter raises whatever a bad formula leads to
            return str(convert(token.content, display="block" if token.block else "inline"))
    return f"<code>{escape(token.content)}</code>"


def render_markdown(text: str, breaks: bool = False, *, math: bool = False) -> SafeString:
    """Safe HTML of a Markdown text; headings start at level 2, links open beside.

    ``breaks``: a line of the text stays a line, as people see it in what they wrote; ``math``:
    formulas between dollars or \\( and \\) become MathML. Images are named and never loaded. A
    text that would cost out of proportion (``is_cheap``) is shown as it was typed.
    """
    return (_remembered if len(text) <= KEPT else _rendered)(text, breaks, math)


def _rendered(text: str, breaks: bool, math: bool) -> SafeString:
    if is_cheap(text):
        marks = text.count("$") + text.count("\\(") + text.count("\\[")
        math = math and 0 < marks <= MAX_MARKS  # an opening without its end is looked for each time
        found = _parsed(text, breaks, math)
        if len(found) <= (MATH_GROWTH if math else GROWTH) * len(text) + ROOM:
            return found
    return mark_safe(linebreaks(text, autoescape=True))  # noqa: S308 (escaped)


_remembered = functools.lru_cache(maxsize=512)(_rendered)


def _parsed(text: str, breaks: bool, math: bool) -> SafeString:
    html = _parser(breaks, math).render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>")
    clean = nh3.clean(
        html,
        tags=set(TAGS | MATH_TAGS) if math else set(TAGS),
        attributes={"a": {"href"}, "math": {"display"}} if math else {"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return mark_safe(clean)  # noqa: S308 (just cleaned)
