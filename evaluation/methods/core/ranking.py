"""Who is first, and who follows, from the ranks that are possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Ranks = tuple[int, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Leaders:
    """Who leads one board, as indices of the rows given.

    ``ranked`` rows have ranks. ``first`` may be first: it is sure where there is one. ``following``
    take ``place`` after them (one: surely; several: each may); empty where nothing is sure of it.
    """

    ranked: int
    first: tuple[int, ...]
    following: tuple[int, ...] = ()
    place: int = 0

    @property
    def is_sure(self) -> bool:
        """Whether one is first of several."""
        return len(self.first) == 1 and self.ranked > 1

    @property
    def is_open(self) -> bool:
        """Whether nobody can be told apart from the first."""
        return len(self.first) == self.ranked > 1


def leaders(rows: Sequence[Ranks], board: int = 1) -> Leaders:
    """Find who leads a board from rows of (board, best possible rank, worst possible rank).

    Ranks are those of ``core.bootstrap.rank_ranges``: best is one more than the number of those
    surely better. So where only one can be first, everybody else is below it. Who follows is told
    where its own rank is sure; after a sure first place also who can be second, if not all can.
    """
    own = {k: (best, worst) for k, (at, best, worst) in enumerate(rows) if at == board and best}
    first = tuple(k for k, (best, _) in own.items() if best == 1)
    place = len(first) + 1
    next_ones = tuple(k for k, (best, _) in own.items() if best == place)
    if len(next_ones) == 1 and own[next_ones[0]][1] == place:
        return Leaders(len(own), first, next_ones, place)
    if len(first) == 1 and 1 < len(next_ones) < len(own) - 1:
        return Leaders(len(own), first, next_ones, place)
    return Leaders(len(own), first)
