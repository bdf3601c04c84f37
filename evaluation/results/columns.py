"""Columns of a result's table: one definition for its page and its public page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Integral, Number
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from crowdqc.web.terms import Words
from evaluation.results.cells import Cell, Figure


class Format(StrEnum):
    """How a value is written on a page."""

    TEXT = "text"
    NAME = "name"  # with a link where the row has one, and a detail beside it
    RANK = "rank"  # "2" or "2–4", of ``rank_low`` and ``rank_high``
    PLOT = "plot"  # an interval as a drawing
    NUMBER = "number"  # a text of digits, on the right
    SCORE = "score"
    SIGNED = "signed"
    INTERVAL = "interval"  # of the attributes that ``bounds`` names
    SHARE = "share"
    COUNT = "count"
    FLAGS = "flags"
    DURATION = "duration"  # of seconds
    MOMENT = "moment"
    HEAT = "heat"  # a coloured cell, which ``cell`` makes
    LINK = "link"  # what to do with a row
    FILE = "file"  # stands in files alone


DECIMALS = {Format.SHARE: 0}  # else 2
LEFT = (Format.TEXT, Format.NAME, Format.RANK, Format.MOMENT)
HEADS = {Format.PLOT: "plot", Format.HEAT: "c", Format.LINK: "act"}
NUMBERS = (
    *(Format.NUMBER, Format.SCORE, Format.SIGNED, Format.SHARE, Format.COUNT),
    Format.DURATION,
)


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    key
        The attribute of a row that it shows; with dots, one of a part of the row.
    value
        Reads what it shows from the row, where no attribute has it.
    label, short
        Its head, and what stands beside the value on a narrow screen: None for the head beside
        numbers, except the main one, and nothing beside others.
    format, digits
        How a value is written, and with how many decimals: None for as many as usual. The class
        methods make a column of each format.
    term
        The glossary's entry that its head explains.
    sort
        Its name in an address that sorts by it; "" where nobody can.
    names_row
        Whether it is the head of its row, which explains the row's ``term`` where it has one.
    note
        The attribute of a row that stands below the value, in small type.
    is_main
        Whether it is the table's main figure: bold, and beside the name on a narrow screen.
    needs_interval
        Whether a row without an interval gives its reason here instead.
    is_public
        Whether people without an account see it.
    bounds
        The attributes of a value's interval, which stands beside it in the same cell.
    missing, reason
        What stands for no value; the attribute of a row that says why there is none.
    is_marked
        Whether a value is one to look at.
    fades_zero
        Whether a value of 0 is paler than others.
    axis
        Of a plot: the scale above it, where a table has several; else the table's.
    html
        Writes the content of the cell, of the row, where no format does.
    cell
        Makes the whole cell, of the row, where its classes depend on the row.
    classes, head_classes
        More classes of its cells and of its head.
    group
        The head above its own, which it shares with the columns beside it.
    exports
        Its names in files, and where each is stored: a field of the model, with ``__`` of another
        one, or behind a dot a key of a JSON field; of typed rows an attribute.
    """

    key: str
    label: Words
    format: Format = Format.TEXT
    short: Words | None = None
    digits: int | None = None
    term: str = ""
    sort: str = ""
    names_row: bool = False
    note: str = ""
    is_main: bool = False
    needs_interval: bool = False
    is_public: bool = True
    bounds: tuple[str, str] | None = None
    missing: Words = ""
    reason: str = ""
    is_marked: Callable[[Any], bool] | None = None
    fades_zero: bool = False
    axis: SafeString | str = ""
    html: Callable[[Any], SafeString | str] | None = None
    cell: Callable[[Any], Cell] | None = None
    classes: str = ""
    head_classes: str = ""
    group: Words = ""
    value: Callable[[Any], Any] | None = None
    exports: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def text(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.TEXT, short, **more)

    @classmethod
    def number(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.NUMBER, short, **more)

    @classmethod
    def count(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.COUNT, short, **more)

    @classmethod
    def share(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.SHARE, short, **more)

    @classmethod
    def score(
        cls, key: str, label: Words, short: Words | None = None, digits: int = 2, **more: Any
    ) -> Column:
        return cls(key, label, Format.SCORE, short, digits, **more)

    @classmethod
    def signed(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.SIGNED, short, **more)

    @classmethod
    def duration(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.DURATION, short, **more)

    @classmethod
    def moment(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.MOMENT, short, **more)

    @classmethod
    def link(cls, key: str, label: Words, short: Words | None = None, **more: Any) -> Column:
        return cls(key, label, Format.LINK, short, **more)

    def read(self, row: Any) -> Any:
        """Return the column's value in a row; None if the row lacks it."""
        return read(row, self.key) if self.value is None else self.value(row)

    @property
    def decimals(self) -> int:
        """Number of decimals of a value."""
        return DECIMALS.get(self.format, 2) if self.digits is None else self.digits

    @property
    def file_names(self) -> list[str]:
        """Names of its figures in the file that is made of a page; none where it is a text."""
        if self.format is Format.RANK:
            return ["rank_low", "rank_high"]
        if self.format is Format.INTERVAL:
            return ["low", "high"]
        if self.format not in NUMBERS:
            return []
        name = next(iter(self.exports)) if len(self.exports) == 1 else str(self.label)
        if self.format is Format.DURATION:
            name += " (s)"
        return [name, "low", "high"] if self.bounds else [name]

    def figures(self, row: Any) -> list[Figure]:
        """Return what a file has of a row in the column, by ``file_names``; none for a text."""
        if self.format is Format.RANK:
            return [_figure(getattr(row, name, None)) for name in ("best", "worst")]
        paths = self.bounds or (("low", "high") if self.format is Format.INTERVAL else ())
        bounds = [_figure(read(row, path, None)) for path in paths]
        if self.format is Format.INTERVAL or self.format not in NUMBERS:
            return bounds if self.format is Format.INTERVAL else []
        value = read(row, self.key, None) if self.value is None else self.value(row)
        return [_figure(value), *bounds]

    @property
    def narrow_label(self) -> Words:
        """Label beside a value on narrow screens; "" if none is needed."""
        if self.short is not None:
            return self.short
        return self.label if self.format in NUMBERS and not self.is_main else ""

    @property
    def head_class(self) -> str:
        """CSS class of the column's head; heads of numbers are right-aligned."""
        known = HEADS.get(self.format, "" if self.format in LEFT else "num")
        return f"{known} {self.head_classes}".strip()


def read(row: Any, path: str, *default: Any) -> Any:
    """An attribute of a row, or by a path with dots of a part of it; None without the part."""
    for name in path.split("."):
        row = None if row is None else getattr(row, name, *default)
    return row


def _figure(value: Any) -> Figure:
    """The value if it is a number; Decimals and numpy's become plain ones."""
    if isinstance(value, bool) or not isinstance(value, Number):
        return None
    whole = isinstance(value, Integral)
    return int(value) if whole else float(value)


RANK = Column(
    *("rank", _("Rank"), Format.RANK, _("Rank")),
    term="rank",
    exports={name: name for name in ("rank_low", "rank_high", "group")},
)
PLOT = Column("plot", _("Interval"), Format.PLOT)


def name_column(label: Words, **more: Any) -> Column:
    """The column that names a row."""
    return Column("name", label, Format.NAME, **more)


def head_column(key: str, label: Words, **more: Any) -> Column:
    """Make the text column that names its row."""
    return Column(key, label, names_row=True, **more)


def score_column(label: Words = "", *, digits: int = 2, **more: Any) -> Column:
    """The column that a board is ranked by."""
    more |= {"is_main": True, "needs_interval": True, "exports": {"estimate": "estimate"}}
    return Column.score("estimate", label or _("Score"), digits=digits, **more)


COMPARISON = Column(
    "interval",
    _("Interval"),
    Format.INTERVAL,
    term="comparison",
    bounds=("compare_low", "compare_high"),
    needs_interval=True,
    missing=_("none"),
    exports={"low": "low", "high": "high"},
)


def interval_column(
    digits: int = 2,
    *,
    low: str = "low",
    high: str = "high",
    needs_interval: bool = True,
    reason: str = "",
    html: Callable[[Any], SafeString | str] | None = None,
) -> Column:
    """The interval of the column before it, of these attributes of a row."""
    return Column(
        "interval",
        _("95% CI"),
        Format.INTERVAL,
        short=_("95%"),
        term="interval",
        digits=digits,
        bounds=(low, high),
        needs_interval=needs_interval,
        missing=_("none"),
        reason=reason,
        html=html,
        exports={low: low, high: high},
    )


def reasons_beside_names(*columns: Column) -> tuple[Column, ...]:
    """The columns; a row that is not sure gives its reason in place of all but the first."""
    first, *others = columns
    return (first, *(replace(one, needs_interval=True) for one in others))
