"""What a list is: its columns, filters and search, and what can be done with many rows at once.

A page says this of its rows; the address says what of it is shown (``state``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy

from annotation.accounts.security.stepup import ConfirmationNeeded
from crowdqc.errors import Conflict, Invalid, Missing, NotAllowed
from crowdqc.web.terms import Words

ALL, SEARCH = gettext_lazy("All"), gettext_lazy("Search")
MOST_AT_ONCE = 1000  # rows of one bulk action
Reasons = dict[int, str]  # id of a row -> why nothing is done with it


@dataclass(frozen=True)
class Column:
    """A column; its cell stands in the row's template under ``{% if show.name %}``."""

    name: str
    label: Words
    sort: Sequence[Any] = ()  # what orders by it; empty: it cannot be sorted
    number: bool = False
    down: bool = False  # the first click brings the highest
    shown: bool = True  # until somebody chooses columns
    fixed: bool = False  # cannot be left out
    term: str = ""  # what its "?" explains


@dataclass(frozen=True)
class Choice:
    """One value of a filter, and which rows it lets through."""

    value: str
    label: Words
    rows: Q
    n: int | None = None


@dataclass(frozen=True)
class Filter:
    """A choice among kinds of rows; as ``tabs`` it is a switch above the table."""

    name: str
    label: Words
    choices: Sequence[Choice]
    tabs: bool = False
    every: Words = ALL


@dataclass(frozen=True)
class Bulk:
    """What can be done with many rows at once, by the action that does it with one.

    ``act`` gets the rows that nothing speaks against and what was filled in, and says which of
    them were not done after all, and why. ``effect`` says on the page that asks again what
    happens, and ``carry`` what the answer to it must come with: amounts as they were seen.
    """

    slug: str
    label: Words
    done: Words = ""  # "Removed"
    act: Callable[[Sequence[Any], Mapping[str, Any]], Reasons] = lambda rows, values: {}
    sentence: Words = ""
    why_not: Callable[[Sequence[Any]], Reasons] = lambda rows: {}
    effect: Callable[[Sequence[Any]], Sequence[str]] = lambda rows: ()
    carry: Callable[[Sequence[Any]], Mapping[str, str]] = lambda rows: {}
    form: Callable[..., forms.Form] | None = None
    danger: bool = False
    # Instead of ``act``: the address of the page that asks, given the rows and what was filled in.
    leads_to: Callable[[Sequence[Any], Mapping[str, Any]], str] | None = None


@dataclass(frozen=True)
class Listing:
    """A list of one page."""

    slug: str  # saved views hang on it
    nouns: str  # one and many, as the filter ``plural`` wants it
    caption: Words
    rows: QuerySet[Any]
    columns: Sequence[Column]
    template: str  # the cells of one row; context: row, show
    order: str  # name of a column, with "-" before it to begin with the highest
    last: Sequence[Any] = ("pk",)  # what decides among equals
    # Where a word may stand: names of columns, or what makes a condition of the word.
    search: Sequence[str | Callable[[str], Q]] = ()
    search_label: Words = SEARCH
    filters: Sequence[Filter] = ()
    quick: Sequence[tuple[str, str]] = ()  # filter and value of each switch above the table
    bulk: Sequence[Bulk] = ()
    # What the template shows of the rows of a page, where that is more than they hold.
    read: Callable[[list[Any]], Sequence[Any]] = lambda rows: rows
    name_of: Callable[[Any], str] = str
    url_of: Callable[[Any], str] = lambda row: ""  # its own page, linked where it is skipped
    per_page: int = 50
    files: Sequence[str] = ()  # exports of the task that take the filters, such as "joined.csv"
    extra: Mapping[str, Any] = field(default_factory=dict)  # for the template of a row


def apply_to_each(
    act: Callable[..., Any],
) -> Callable[[Sequence[Any], Mapping[str, Any]], Reasons]:
    """Wrap an action on one row into a bulk action: own transactions, refusals collected by row."""

    def every(rows: Sequence[Any], values: Mapping[str, Any]) -> Reasons:
        left: Reasons = {}
        for row in rows:
            try:
                act(row, **values)
            except ConfirmationNeeded:
                raise
            except (Invalid, Conflict, NotAllowed, Missing) as error:
                left[row.pk] = error.message
        return left

    return every
