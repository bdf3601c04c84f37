"""Items of a run as a link shows them to people without an account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.paginator import Page
from django.utils.translation import gettext_lazy

from evaluation.results.tables import ResultTable

NOT_SHOWN = gettext_lazy("hidden")
FEWEST = 3  # people, below whom a count tells what one of them answered


def can_show_votes(votes: Iterable[int]) -> bool:
    """Whether counts of an item's votes, by answer, tell of nobody what they answered."""
    given = [n for n in votes if n]
    return len(given) > 1 and sum(given) >= FEWEST


@dataclass(frozen=True)
class SharedItems:
    """A page of items with their table, and the dimensions that it can be of.

    A link shows the public columns of the table, so that it is made as for the results pages.
    Addresses have ``PAGE`` for the number of the page and ``DIMENSION`` for the dimension.
    """

    PAGE: ClassVar[str] = "items"
    DIMENSION: ClassVar[str] = "dimension"

    page: Page[Any]
    table: ResultTable | None
    dimensions: Sequence[tuple[str, str]] = ()  # name and label
    dimension: str = ""

    @property
    def public_table(self) -> ResultTable | None:
        """Return the table as people without an account see it; None without items."""
        return self.table.public() if self.table else None
