"""What an address says of a list: words searched for, filters, order and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import F, Q, QuerySet
from django.db.models.expressions import OrderBy
from django.http import QueryDict

from annotation.lists.definition import Column, Listing
from crowdqc.numbers import parse_whole

MOST_WORDS, MOST_LENGTH = 6, 120


@dataclass(frozen=True)
class State:
    """What is shown of a list; what an address says wrongly is left out of it."""

    q: str
    chosen: Mapping[str, str]  # filter -> value
    sort: str
    columns: tuple[str, ...]  # empty: the usual ones

    @classmethod
    def of(cls, listing: Listing, query: QueryDict) -> State:
        """Read the state from the query of an address; unknown values are ignored."""
        values = {one.name: {choice.value for choice in one.choices} for one in listing.filters}
        sortable = {one.name for one in listing.columns if one.sort}
        known = [one.name for one in listing.columns]
        sort, asked = query.get("sort", ""), query.getlist("col")
        return cls(
            " ".join(words_of(query.get("q", ""))),
            {name: one for name, there in values.items() if (one := query.get(name, "")) in there},
            sort if sort.removeprefix("-") in sortable else listing.order,
            tuple(name for name in known if name in asked),
        )

    @property
    def narrowed(self) -> bool:
        """Whether a search or a filter leaves rows out."""
        return bool(self.q or self.chosen)

    def query(self, listing: Listing) -> str:
        """Return the query string that shows the list in this state."""
        pairs = [("q", self.q)] if self.q else []
        pairs += list(self.chosen.items())
        pairs += [("sort", self.sort)] if self.sort != listing.order else []
        return urlencode([*pairs, *(("col", name) for name in self.columns)])

    def sorted_by(self, sort: str) -> State:
        return replace(self, sort=sort)

    def choosing(self, name: str, value: str) -> State:
        """Return the state with another choice of a filter; an empty value removes the choice."""
        chosen = {**self.chosen, name: value}
        return replace(self, chosen={at: one for at, one in chosen.items() if one})


def shown_columns(listing: Listing, state: State) -> list[Column]:
    """The columns that are shown, in their order."""
    if not state.columns:
        return [one for one in listing.columns if one.fixed or one.shown]
    return [one for one in listing.columns if one.fixed or one.name in state.columns]


def words_of(asked: str) -> list[str]:
    """Split a search into words."""
    return asked.replace("\x00", "")[:MOST_LENGTH].split()


def matching(
    rows: QuerySet[Any], words: Sequence[str], places: Sequence[str | Callable[[str], Q]]
) -> QuerySet[Any]:
    """The rows that hold every word somewhere (see ``Listing.search``)."""
    for word in words[:MOST_WORDS]:
        found = Q()
        for place in places:
            found |= Q(**{f"{place}__icontains": word}) if isinstance(place, str) else place(word)
        rows = rows.filter(found)
    return rows


def narrowed(listing: Listing, state: State) -> QuerySet[Any]:
    """Return the rows that match the search and filters, unordered."""
    rows = matching(listing.rows, state.q.split(), listing.search)
    for one in listing.filters:
        wanted = state.chosen.get(one.name)
        for choice in one.choices:
            if choice.value == wanted:
                rows = rows.filter(choice.rows)
    return rows


def ordered(listing: Listing, state: State) -> QuerySet[Any]:
    """Return the matching rows in the chosen order; rows without a value come last."""
    column = next(one for one in listing.columns if one.name == state.sort.removeprefix("-"))
    down = state.sort.startswith("-")
    return narrowed(listing, state).order_by(*_order(column.sort, down), *listing.last)


def _order(keys: Sequence[Any], down: bool) -> list[OrderBy]:
    found = []
    for key in keys:
        at = F(key) if isinstance(key, str) else key
        last = None if key == "pk" else True  # without it the database reads the index backwards
        found.append(at.desc(nulls_last=last) if down else at.asc(nulls_last=last))
    return found


def by_number(word: str) -> Q:
    """Match rows whose ``number`` is the searched word."""
    number = parse_whole(word, high=2**31 - 1)
    return Q(pk__in=()) if number is None else Q(number=number)
