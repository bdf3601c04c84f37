"""Columns of a result's table: one definition for its page and its public page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _

from crowdqc.web.terms import Words


class Format(StrEnum):
    """How a value is written on a page."""

    TEXT = "text"
    NAME = "name"  # with a link where the row has one, and a detail beside it
    RANK = "rank"  # "2" or "2–4", of ``rank_low`` and ``rank_high``
    PLOT = "plot"  # an interval as a drawing
    SCORE = "score"
    SIGNED = "signed"
    INTERVAL = "interval"  # of ``low`` and ``high``
    SHARE = "share"
    COUNT = "count"
    FLAGS = "flags"


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    key
        The attribute of a row that it shows.
    label, short
        Its head, and what stands beside the value on a narrow screen.
    format, digits
        How a value is written, and with how many decimals.
    term
        The glossary's entry that its head explains.
    sort
        Its name in an address that sorts by it; "" where nobody can.
    ranks
        Whether the board is ranked by it: written in bold.
    needs_interval
        Whether a row without an interval gives its reason here instead.
    is_public
        Whether people without an account see it.
    bounds
        The attributes of a value's interval, which stands beside it in the same cell.
    missing
        What stands for no value.
    is_marked
        Whether a value is one to look at.
    """

    key: str
    label: Words
    format: Format = Format.TEXT
    short: Words = ""
    digits: int = 3
    term: str = ""
    sort: str = ""
    ranks: bool = False
    needs_interval: bool = False
    is_public: bool = True
    bounds: tuple[str, str] | None = None
    missing: Words = ""
    is_marked: Callable[[Any], bool] | None = None

    @property
    def head_class(self) -> str:
        """The class of its head: numbers stand on the right."""
        if self.format is Format.PLOT:
            return "plot"
        return "" if self.format in (Format.TEXT, Format.NAME, Format.RANK) else "num"


RANK = Column("rank", _("Rank"), Format.RANK, short=_("Rank"), term="rank")
PLOT = Column("plot", _("Interval"), Format.PLOT)


def name_column(label: Words, *, sort: str = "") -> Column:
    """The column that names a row."""
    return Column("name", label, Format.NAME, sort=sort)


def score_column(label: Words = "", *, term: str = "", sort: str = "", digits: int = 3) -> Column:
    """The column that a board is ranked by."""
    return Column(
        "estimate",
        label or _("Score"),
        Format.SCORE,
        term=term,
        sort=sort,
        digits=digits,
        ranks=True,
        needs_interval=True,
    )


def interval_column(digits: int = 3) -> Column:
    """The interval of the column before it."""
    return Column(
        "interval",
        _("95% CI"),
        Format.INTERVAL,
        short="95%",
        term="interval",
        digits=digits,
        needs_interval=True,
    )
