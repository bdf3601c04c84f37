"""Cells of tables, and the small pieces of markup that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crowdqc import numbers
from crowdqc.web.terms import Words

Html = SafeString | Words


def bold(text: Html) -> SafeString:
    return format_html("<b>{}</b>", text)


def dim(text: Html) -> SafeString:
    return format_html('<span class="dim">{}</span>', text)


def hidden(text: Html) -> SafeString:
    """Render a text for screen readers only."""
    return format_html('<span class="hidden">{}</span>', text)


def empty_cell() -> SafeString:
    """Render a missing value as a pale "none"."""
    return dim(_("none"))


def link(url: str, text: Html, classes: str = "name") -> SafeString:
    """Render a link; bold text where it leads nowhere, as for people without an account."""
    if not url:
        return bold(text)
    if not classes:
        return format_html('<a href="{}">{}</a>', url, text)
    return format_html('<a class="{}" href="{}">{}</a>', classes, url, text)


def chip(text: Html, kind: str = "plain") -> SafeString:
    return format_html('<span class="chip {}">{}</span>', kind, text)


def note_below(text: Html, note: Html) -> SafeString:
    """Put a note below a text in small type, if there is one."""
    return format_html("{}<small>{}</small>" if note else "{}", text, note)


def beside(text: Html, note: Html) -> SafeString:
    """Put a pale note beside a text, if there is one."""
    return format_html('{} <span class="dim">{}</span>' if note else "{}", text, note)


def inline(text: Html, note: Html) -> SafeString:
    """Put a note beside a text in small type, if there is one."""
    return format_html('{} <small class="inline">{}</small>' if note else "{}", text, note)


def count_of_total(part: int, every: int) -> str:
    """Format a count of a total, like ``3 of 12``."""
    return _("%(n)s of %(all)s") % {"n": numbers.count(part), "all": numbers.count(every)}


Figure = float | int | None


def write_figures(figures: Sequence[Figure]) -> str:
    """Write figures for ``data-csv``, of which a page's file is made: every digit, "|" between."""
    known = any(one is not None and one == one for one in figures)  # noqa: PLR0124 - not NaN
    return "|".join("" if one is None else repr(one) for one in figures) if known else ""


Explain = Callable[[str], SafeString]  # the "?" of a term


@dataclass(frozen=True)
class Cell:
    """What stands in one cell, its classes and how many columns it takes."""

    html: SafeString | str
    classes: str = ""
    label: Words = ""  # on a narrow screen
    span: int = 1
    is_head: bool = False  # of its row
    title: str = ""  # what a pointer over it shows
    term: str = ""  # which it explains
    note: Words = ""  # below, in small type
    figures: Sequence[Figure] = ()  # what files have of it, by the names of its column
    figure_names: str = ""  # after the column's name where it has none: "|low|high"

    def markup(self, explain: Explain) -> SafeString:
        """Render the cell as a td or th element."""
        attributes = [("class", self.classes), ("data-label", self.label), ("title", self.title)]
        attributes.append(("data-csv", write_figures(self.figures)))
        attributes.append(("data-csv-names", self.figure_names))
        if self.span > 1:
            attributes.append(("colspan", str(self.span)))
        if self.is_head:
            attributes.append(("scope", "row"))
        written = format_html_join("", ' {}="{}"', (one for one in attributes if one[1]))
        html = self.html
        if self.term:
            html = format_html("{} {}", html, explain(self.term))
        if self.note:
            html = note_below(html, self.note)
        return format_html("<{0}{1}>{2}</{0}>", "th" if self.is_head else "td", written, html)
