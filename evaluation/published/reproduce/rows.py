"""One line of a comparison with a published table, and how many lines agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

CORRECTED = "corrected"
NOISE = 1e-9  # of floating point, at the edge of rounding


@dataclass(frozen=True)
class Row:
    """A published figure beside the measured one; ``protocol`` names the variant measured.

    ``decimals`` is how many were printed, None: as many as the number shows. ``is_variant`` marks
    another reading of a figure whose row stands beside this one: it is shown and not counted.
    ``slack`` is how far the rounding of printed figures moves one that is computed from them.
    """

    table: str
    quantity: str
    protocol: str
    published: float | None
    measured: float
    note: str = ""
    decimals: int | None = None
    is_variant: bool = False
    slack: float = 0.0

    @property
    def difference(self) -> float | None:
        """Measured minus published; None where nothing was published."""
        return None if self.published is None else self.measured - self.published

    @property
    def is_within_rounding(self) -> bool | None:
        """Whether the measured figure rounds to the printed one; None where none was printed."""
        if self.published is None:
            return None
        digits = shown_decimals(self.published) if self.decimals is None else self.decimals
        return bool(abs(self.measured - self.published) <= 0.5 * 10**-digits + self.slack + NOISE)

    @property
    def is_counted(self) -> bool:
        """Whether the row compares with a printed figure as the paper describes it."""
        is_corrected = self.table.endswith(CORRECTED)
        return self.published is not None and not self.is_variant and not is_corrected

    def as_json(self) -> dict[str, Any]:
        """The row as runs of published studies store it."""
        return {
            "table": self.table,
            "quantity": self.quantity,
            "protocol": self.protocol,
            "published": self.published,
            "measured": self.measured,
            "difference": self.difference,
            "note": self.note,
        }

    def as_comparison(self) -> dict[str, Any]:
        """The row under the names that outside checks read."""
        agrees = {"is_within_rounding": self.is_within_rounding, "is_counted": self.is_counted}
        return {**self.as_json(), **agrees}


class Counts(NamedTuple):
    """How many printed figures were compared, and how many agree within rounding."""

    printed: int
    within_rounding: int

    def __str__(self) -> str:
        return f"{self.within_rounding:,} of {self.printed:,} printed figures within rounding"


def count(rows: Iterable[Row]) -> Counts:
    """Count the rows that compare with a printed figure."""
    compared = [row for row in rows if row.is_counted]
    return Counts(len(compared), sum(bool(row.is_within_rounding) for row in compared))


def shown_decimals(value: float) -> int:
    """Decimals of a number as Python writes it: 2 for .41, 0 for 1352."""
    return len(f"{value:.6f}".rstrip("0").partition(".")[2])


def set_decimals(rows: Iterable[Row], decimals: Mapping[str, int]) -> list[Row]:
    """Set the decimals that each row is shown with, as in the printed table.

    ``decimals`` maps a table to what it prints, "" the tables not named. A figure that shows more
    keeps them, and so does a row that states its own.
    """

    def printed(row: Row) -> int | None:
        if row.published is None or row.decimals is not None:
            return row.decimals
        usual = decimals.get(row.table.removesuffix(f", {CORRECTED}"), decimals.get("", 0))
        return max(usual, shown_decimals(row.published))

    return [replace(row, decimals=printed(row)) for row in rows]
