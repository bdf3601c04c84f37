"""Left and right against first and second: the one place that turns a stored vote round.

Votes are stored for the pair as it is stored (first, second); people see left and right.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
LEFT, NEUTRAL, RIGHT = "left", "neutral", "right"
FIRST, SECOND = "first", "second"
SHOWN = (LEFT, NEUTRAL, RIGHT)  # from left to right
STORED = (FIRST, NEUTRAL, SECOND)
ORDINALS = {FIRST: -1, NEUTRAL: 0, SECOND: 1}


def to_canonical(shown: str, *, flipped: bool) -> str:
    """Convert a displayed side to the stored code; ``flipped``: the second text was on the left."""
    place = SHOWN.index(shown)
    return STORED[2 - place if flipped else place]


def to_displayed(code: str, *, flipped: bool) -> str:
    """Convert a stored code to the displayed side; ``flipped``: the second text was on the left."""
    place = STORED.index(code)
    return SHOWN[2 - place if flipped else place]


def left_right(first: T, second: T, *, flipped: bool) -> tuple[T, T]:
    """Return the pair as displayed (left, right) from its stored order (first, second)."""
    return (second, first) if flipped else (first, second)


def call_of(replicate: int, *, flipped: bool) -> int:
    """Return the number of a model's call on a pair: two per replicate, one for each order."""
    return 2 * replicate + flipped


def replicate_of(call: int) -> int:
    """Return the replicate that a model's call belongs to."""
    return call // 2
