"""Who leads a board, by the ranks that are possible."""

from __future__ import annotations

import pytest

from evaluation.methods.core.ranking import Leaders, leaders


@pytest.mark.parametrize(
    ("ranks", "found"),
    [
        ([], Leaders(0, ())),
        ([(None, None), (0, 0)], Leaders(0, ())),
        ([(1, 1)], Leaders(1, (0,))),
        ([(2, 2), (1, 1)], Leaders(2, (1,), (0,), 2)),
        ([(1, 2), (1, 2)], Leaders(2, (0, 1))),
        # Two may be first; who is third is open, though only the last cannot be second.
        ([(1, 2), (1, 3), (2, 4), (3, 4)], Leaders(4, (0, 1))),
        # The last of six is not called fifth.
        ([(1, 4), (1, 4), (1, 5), (1, 5), (3, 6), (5, 6)], Leaders(6, (0, 1, 2, 3))),
        ([(1, 2), (1, 2), (3, 3), (4, 4)], Leaders(4, (0, 1), (2,), 3)),
        ([(1, 1), (2, 3), (2, 3), (4, 4)], Leaders(4, (0,), (1, 2), 2)),
        ([(1, 1), (2, 3), (3, 4), (3, 4)], Leaders(4, (0,))),
    ],
)
def test_a_place_is_named_only_where_the_ranks_are_sure_of_it(
    ranks: list[tuple[int | None, int | None]], found: Leaders
) -> None:
    assert leaders([(1, *span) for span in ranks]) == found


def test_boards_that_do_not_compare_have_leaders_of_their_own() -> None:
    rows = [(1, 1, 1), (2, 1, 1), (1, 2, 2), (2, 2, 2)]
    assert leaders(rows).first == (0,) and leaders(rows, 2).first == (1,)
    assert leaders(rows).is_sure and not leaders(rows[:2]).is_sure
