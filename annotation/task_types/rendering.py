"""Markdown that people wrote, as HTML that cannot harm whoever reads it."""

from __future__ import annotations

import functools

import nh3
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


@functools.cache
def _parser(breaks: bool) -> MarkdownIt:
    # "js-default" leaves raw HTML out; tables and strikethrough are on.
    return MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": breaks})


@functools.lru_cache(maxsize=512)
def render_markdown(text: str, breaks: bool = False) -> SafeString:
    """Safe HTML of a Markdown text; headings start at level 2, links open beside.

    ``breaks``: a line of the text stays a line, as people see it in what they wrote.
    """
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
