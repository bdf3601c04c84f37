"""A list as its template shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from annotation.lists.definition import ALL, MOST_AT_ONCE, Filter, Listing
from annotation.lists.state import State, narrowed, ordered, shown_columns
from annotation.models import Project, SavedView, User
from crowdqc.errors import Invalid
from crowdqc.numbers import count, parse_whole, plural


@dataclass(frozen=True)
class ShownList:
    """One page of a list, and the links that lead to others of its pages."""

    listing: Listing
    state: State
    page: Page
    rows: Sequence[tuple[int, str, Any]]  # id, name, what the template shows
    views: Sequence[SavedView] | None  # None: no view is saved of this list
    most: int = MOST_AT_ONCE

    @property
    def query(self) -> str:
        """Return the query of the address that shows this list as it is."""
        return self.state.query(self.listing)

    @property
    def show(self) -> dict[str, str]:
        """The columns that are shown, each with its label."""
        return {one.name: str(one.label) for one in shown_columns(self.listing, self.state)}

    @property
    def head(self) -> list[dict[str, Any]]:
        """Return the column heads with their sort links."""
        found = []
        for one in shown_columns(self.listing, self.state):
            up, down = one.name, f"-{one.name}"
            first, other = (down, up) if one.down else (up, down)
            there = self.state.sort in (up, down)
            turned = other if self.state.sort == first else first
            link = f"?{self.state.sorted_by(turned).query(self.listing)}" if one.sort else ""
            sorted_ = ("descending" if self.state.sort == down else "ascending") if there else ""
            found.append({"column": one, "url": link, "sorted": sorted_})
        return found

    @property
    def optional(self) -> list[dict[str, Any]]:
        """The columns that can be left out."""
        show = self.show
        return [
            {"column": one, "shown": one.name in show}
            for one in self.listing.columns
            if not one.fixed
        ]

    @property
    def tabs(self) -> list[dict[str, Any]]:
        """The switch above the table: label, link, whether it is the one shown, how many."""
        found = [tab for one in self.listing.filters if one.tabs for tab in self._tabs(one)]
        return found + self._quick_tabs()

    def _quick_tabs(self) -> list[dict[str, Any]]:
        """Switches that set one of several filters and leave out the others of them."""
        quick = self.listing.quick
        if not quick:
            return []
        others = self.state
        for name in dict(quick):
            others = others.choosing(name, "")
        now = {(name, self.state.chosen.get(name, "")) for name in dict(quick)}
        labels = {(one.name, c.value): c.label for one in self.listing.filters for c in one.choices}
        every = {
            "label": ALL,
            "url": f"?{others.query(self.listing)}",
            "current": not any(value for _name, value in now),
            "n": None,
        }
        return [every] + [
            {
                "label": labels[name, value],
                "url": f"?{others.choosing(name, value).query(self.listing)}",
                "current": (name, value) in now,
                "n": None,
            }
            for name, value in quick
        ]

    def _tabs(self, one: Filter) -> list[dict[str, Any]]:
        def link(value: str) -> str:
            return f"?{self.state.choosing(one.name, value).query(self.listing)}"

        now = self.state.chosen.get(one.name, "")
        every = [{"label": one.every, "url": link(""), "current": not now, "n": None}]
        return every + [
            {"label": c.label, "url": link(c.value), "current": now == c.value, "n": c.n}
            for c in one.choices
        ]

    @property
    def selects(self) -> list[dict[str, Any]]:
        """Return the filters beside the search, each with its current value."""
        return [
            {"filter": one, "value": self.state.chosen.get(one.name, "")}
            for one in self.listing.filters
            if not one.tabs and one.choices
        ]

    @property
    def hidden_fields(self) -> list[tuple[str, str]]:
        """Form fields that keep tab, order and columns when somebody searches."""
        found = [
            (one.name, self.state.chosen[one.name])
            for one in self.listing.filters
            if one.tabs and one.name in self.state.chosen
        ]
        return found + self._sort + [("col", name) for name in self.state.columns]

    @property
    def kept_by_columns(self) -> list[tuple[str, str]]:
        """Form fields that keep search, filters and order when somebody chooses columns."""
        found = [("q", self.state.q)] if self.state.q else []
        return found + list(self.state.chosen.items()) + self._sort

    @property
    def _sort(self) -> list[tuple[str, str]]:
        usual = self.state.sort == self.listing.order
        return [] if usual else [("sort", self.state.sort)]


def show(listing: Listing, query: QueryDict, project: Project | None, user: User) -> ShownList:
    """Return the page of a list that an address asks for (three queries besides ``read``)."""
    state = State.of(listing, query)
    page = Paginator(ordered(listing, state), listing.per_page).get_page(query.get("page"))
    found = list(page.object_list)
    names = [(row.pk, listing.name_of(row)) for row in found]
    rows = [(*of, row) for of, row in zip(names, listing.read(found), strict=True)]
    views = None
    if project is not None:
        saved = SavedView.objects.filter(project=project, user=user, list=listing.slug)
        views = list(saved.order_by("name"))
    return ShownList(listing, state, page, rows, views)


def chosen_rows(listing: Listing, query: QueryDict, sent: QueryDict) -> list[Any]:
    """Return the ticked rows, or every matching one; Invalid if there are none or too many."""
    rows: QuerySet[Any] = ordered(listing, State.of(listing, query))
    if not sent.get("every"):
        parts = [part for value in sent.getlist("pick") for part in value.split(",")]
        picked = [parse_whole(part) for part in parts[: MOST_AT_ONCE + 1]]
        # Those that no longer match as well: they were seen and ticked.
        rows = listing.rows.filter(pk__in=[pk for pk in picked if pk is not None])
        rows = rows.order_by(*listing.last)
    found = list(rows[: MOST_AT_ONCE + 1])
    if not found:
        raise Invalid(_("Nothing is selected."), fields={"pick": _("Select at least one row.")})
    if len(found) > MOST_AT_ONCE:
        n = narrowed(listing, State.of(listing, query)).count()
        raise Invalid(
            _(
                "%(rows)s match, and %(most_at_once)s can be changed at once. Narrow the "
                "list by a search or a filter."
            )
            % {"rows": plural(n, "row"), "most_at_once": count(MOST_AT_ONCE)},
            fields={
                "every": _("%(most_at_once)s at most.") % {"most_at_once": count(MOST_AT_ONCE)}
            },
        )
    return found
