"""Boards: rows ranked with intervals, in groups that cannot be separated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from django.core.paginator import Page, Paginator
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crowdqc.numbers import listed, plural, word
from crowdqc.web.terms import Words
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.results.columns import COMPARISON, Column
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import Group, ResultTable

PER_PAGE = 100
FOOT_AXIS_FROM = 8  # rows from which the axis stands below the rows again
# The columns of a stored score, of which a row is made.
STORED = ("component", "estimate", "low", "high", "n", "rank_low", "rank_high", "group", "extra")
# Addresses that sort a board -> the attribute of a row; "score" is the board's own order.
SORTS = {
    "score": "estimate",
    "worker": "name",
    "uniterated": "uniterated",
    "answers": "n",
    "pasted": "pasted",
}


COMPARE = ("compare_low", "compare_high")


@dataclass
class Row:
    """One line of a board."""

    id: int
    name: str
    detail: str
    component: int
    estimate: float | None
    low: float | None
    high: float | None
    uniterated: float | None
    n: int
    best: int | None  # the possible ranks; None where none is known
    worst: int | None
    group: int | None
    why: str  # why there is no interval
    pasted: float | None = None
    flags: list[dict[str, Any]] = field(default_factory=list)
    difference: float | None = None
    model: bool = False  # a language model, and no worker
    diamond: str = ""  # what the diamond of its plot is, where it is not the first-round score
    plot: SafeString | None = None
    url: str = ""  # where its name leads
    beside: str = ""  # what stands beside its name, where it is not the detail
    compare_low: float | None = None  # lines of two rows touch where they cannot be separated
    compare_high: float | None = None

    @classmethod
    def of(cls, pk: int, name: str, detail: str, stored: Sequence[Any], **more: Any) -> Self:
        """Make a row from a stored score; ``stored`` are the values of STORED."""
        component, estimate, low, high, n, best, worst, group, extra = stored
        values: dict[str, Any] = {
            **{"component": component, "estimate": estimate, "low": low, "high": high, "n": n},
            **{"best": best, "worst": worst, "group": group},
            **{
                "uniterated": extra.get("uniterated"),
                "why": translate_stored(extra.get("no_interval", "")),
            },
            **{name: extra.get(name) for name in COMPARE},
        }
        return cls(id=pk, name=name, detail=detail, **values | more)

    @property
    def in_sentence(self) -> str:
        """Name with its detail in brackets, for sentences."""
        return f"{self.name} ({self.detail})" if self.detail else self.name

    @property
    def rank(self) -> str:
        """Possible ranks as text."""
        return rank_words(self.best, self.worst)

    @property
    def sure(self) -> bool:
        """Whether the row is ranked on the board."""
        return self.group is not None

    @property
    def line(self) -> tuple[float | None, float | None]:
        """What its plot draws: the comparison interval, else the interval of its score."""
        if self.compare_low is None:
            return self.low, self.high
        return self.compare_low, self.compare_high


@dataclass(frozen=True)
class Board:
    """One connected component: only its rows compare with each other."""

    number: int
    heading: str
    axis: SafeString
    foot: SafeString
    long: bool  # whether the axis stands below the rows too
    groups: list[Group]
    mean: float | None
    adjusted: bool
    compared: bool = False  # whether lines that do not touch show a difference

    def table(
        self,
        columns: Sequence[Column],
        *,
        title: Words,
        note: Words = "",
        sorts: Mapping[str, Mapping[str, str]] | None = None,
    ) -> ResultTable:
        """Return the board as a table with these columns; ``note`` is shown beside its heading."""
        if self.compared:  # the figures are those of the lines
            columns = [COMPARISON if one.key == "interval" else one for one in columns]
        return ResultTable(
            f"{title}: {self.heading}" if self.heading else title,
            columns,
            self.groups,
            heading=self.heading,
            note=note,
            axis=self.axis,
            foot=self.foot,
            is_long=self.long,
            sorts=sorts or {},
        )


def rank_words(low: int | None, high: int | None) -> str:
    """``2`` or ``2–4``; "none" where no rank is known."""
    if low is None or high is None:
        return _("none")
    return str(low) if low == high else f"{low}–{high}"


def _order(row: Row) -> tuple[Any, ...]:
    """The board's own order: by component, group, and score; the unsure last."""
    score = -row.estimate if row.estimate is not None else 0.0
    return (row.component or 10**6, row.group or 10**6, score, row.name)


def sorted_rows(rows: Iterable[Row], by: str, *, ascending: bool) -> list[Row]:
    """Rows in the order of a column, each component by itself; missing figures last."""
    plain = sorted(rows, key=_order)
    if by == "score":
        if not ascending:
            return plain
        return sorted(plain, key=lambda row: (row.component or 10**6, not row.sure, _score(row)))
    attribute = SORTS[by]

    def key(row: Row) -> tuple[Any, ...]:
        value = getattr(row, attribute)
        if value is None:
            return (row.component or 10**6, True, 0)
        if isinstance(value, str):
            return (row.component or 10**6, False, value)
        return (row.component or 10**6, False, value if ascending else -value)

    if attribute == "name" and not ascending:
        plain = sorted(plain, key=lambda row: row.name, reverse=True)
        return sorted(plain, key=lambda row: row.component or 10**6)
    return sorted(plain, key=key)


def _score(row: Row) -> float:
    return row.estimate if row.estimate is not None else 0.0


def sorts(by: str, *, ascending: bool, keep: str = "") -> dict[str, dict[str, Any]]:
    """Return the sort link of each column; the current one reverses the order."""
    made = {}
    for name in SORTS:
        turned = name == by and not ascending
        first_up = name == "worker"
        up = turned if not first_up else not (name == by and ascending)
        query = f"?sort={name}{'&dir=up' if up else ''}{keep}"
        aria = ("ascending" if ascending else "descending") if name == by else ""
        # How a column's head sorts: the address it leads to, and how it is sorted now.
        made[name] = {"query": query, "aria": aria}
    return made


def heading(group: Mapping[str, Any], members: Sequence[Row], also: Sequence[str] = ()) -> str:
    """A group of the board in words; the ranks of its ``members`` stand in their rows.

    ``also``: those of other groups who may be the best as well.
    """
    above, clear, size = group["first"] - 1, group["clear_above"], len(members)
    if size == 1:
        return _alone(_rank_of(members), above if clear else 0, group.get("clear_below", 0))
    if also and not above:
        said = _("These %(size)s may be the best, and so may %(also)s below")
    elif clear:
        said = ngettext(
            "These %(size)s cannot be separated; they lie below the one above",
            "These %(size)s cannot be separated; they lie below the %(n)s above",
            above,
        )
    elif above:
        said = ngettext(
            "These %(size)s cannot be separated; their ranks overlap the one above",
            "These %(size)s cannot be separated; their ranks overlap the %(n)s above",
            above,
        )
    else:
        said = _("These %(size)s cannot be separated")
    return said % {"size": word(size), "n": word(above), "also": listed(also, most=2)}


def _rank_of(members: Sequence[Row]) -> str:
    best = min((row.best for row in members if row.best), default=None)
    worst = max((row.worst for row in members if row.worst), default=None)
    rank = _("Rank %(ranks)s") if best == worst else _("Ranks %(ranks)s")
    return rank % {"ranks": rank_words(best, worst)}


def _alone(rank: str, above: int, below: int) -> str:
    """The heading of one row by itself, that surely lies below and above so many."""
    if above and below:
        said = _("%(rank)s: separate from %(above)s above and %(below)s below")
    elif above:
        said = ngettext(
            "%(rank)s: below the one above", "%(rank)s: below the %(above)s above", above
        )
    elif below:
        said = ngettext(
            "%(rank)s: above the one below", "%(rank)s: above the %(below)s below", below
        )
    else:
        return rank
    return said % {"rank": rank, "above": word(above), "below": word(below)}


def boards(
    rows: Sequence[Row],
    page: Sequence[Row],
    *,
    groups: Sequence[Mapping[str, Any]],
    references: Mapping[int, float | None],
    adjusted: Mapping[int, bool],
    grouped: bool,
    noun: str = "worker",
) -> list[Board]:
    """The boards of a page: ``rows`` are all (they set the scales), ``page`` those shown."""
    made = []
    numbers = sorted({row.component for row in rows if row.component})
    for number in numbers:
        inside = [row for row in rows if row.component == number]
        shown = [row for row in page if row.component == number]
        if not shown:
            continue
        mean = references.get(number)
        scale = _scale(inside, mean)
        bands = {g["group"]: g for g in groups if g["component"] == number}
        for row in shown:
            row.plot = _plot(row, scale, mean, bands.get(row.group or 0) if grouped else None)
        many = len(numbers) > 1
        made.append(
            Board(
                number=number,
                heading=_("Board %(number)s: %(inside)s")
                % {"number": number, "inside": plural(len(inside), noun)}
                if many
                else "",
                axis=charts.forest_axis(scale),
                foot=charts.forest_axis(scale, bottom=True),
                long=len(shown) >= FOOT_AXIS_FROM,
                groups=_grouped(inside, shown, bands) if grouped else [Group("", shown)],
                mean=mean,
                adjusted=adjusted.get(number, False),
                compared=any(row.compare_low is not None for row in inside),
            )
        )
    lost = [row for row in page if not row.component]
    if lost and made:
        made[-1].groups.append(Group(_("On no board"), lost))
    return made


def _scale(rows: Sequence[Row], mean: float | None) -> charts.Scale:
    values: list[float | None] = [mean]
    for row in rows:
        if row.sure:
            values += [*row.line, row.estimate, row.uniterated]
    return charts.Scale.around(values)


def _plot(
    row: Row, scale: charts.Scale, mean: float | None, group: Mapping[str, Any] | None
) -> SafeString:
    band = tuple(group["band"]) if group and group["band"] else None
    estimate = None
    if row.sure and row.estimate is not None:
        estimate = Estimate(row.estimate, row.low, row.high, line=row.line)
    return charts.forest_cell(
        scale,
        estimate,
        secondary=row.uniterated if estimate else None,
        secondary_said=row.diamond or None,
        reference=mean,
        band=band,
        name=row.name,
    )


def _grouped(
    rows: Sequence[Row], shown: Sequence[Row], bands: Mapping[int, Mapping[str, Any]]
) -> list[Group]:
    """The rows shown under the headings of their groups, of which ``rows`` are all."""
    made = []
    for number, told in sorted(bands.items()):
        inside = [row for row in shown if row.group == number]
        if inside:
            members = [row for row in rows if row.group == number]
            also = [row.name for row in rows if row.group != number and row.best == 1]
            said = heading(told, members, also)
            if len(inside) < len(members):
                said = _("%(heading)s (continued on another page)") % {"heading": said}
            made.append(Group(said, inside))
    unsure = [row for row in shown if not row.sure]
    if unsure:
        # Rows that cannot be separated, under their heading in words.
        made.append(Group(_("Not scored"), unsure))
    return made


def page_of(rows: Sequence[Row], number: Any) -> Page:
    """Return one page of a long board."""
    return Paginator(rows, PER_PAGE).get_page(number)
