"""On top of a result page: what its intervals allow to conclude, and what to do now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from django.utils.translation import gettext as _

from crowdqc.numbers import count, listed, score, word
from crowdqc.web.terms import Words
from evaluation.methods.core.ranking import leaders
from evaluation.methods.workers.claims import LEAST_COMPARED, median_claim

Told = Mapping[str, Any]
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
NAMED = 3  # that share a place by name; more are counted


@dataclass(frozen=True)
class NextStep:
    """What to do now, in one sentence, and where: the words and the address of a link.

    ``requester``: only requesters may open the address; others read the sentence alone. Where
    people have to be asked for more, ``cost`` says what that costs, ``whom`` who can give it, and
    ``ask_url`` where a requester asks for it. ``instead`` is what else to do for its price.
    ``reads_votes``: it sends to a worker's votes already, so ``look_first`` does not as well.
    """

    sentence: str
    label: str = ""
    url: str = ""
    requester: bool = False
    cost: str = ""
    whom: str = ""
    ask_label: str = ""
    ask_url: str = ""
    instead: NextStep | None = None
    reads_votes: bool = False


@dataclass(frozen=True)
class Verdict:
    """What ``_includes/verdict.html`` shows; nothing of an empty sentence."""

    sentence: str
    note: str = ""
    next: NextStep | None = None

    def then(self, *steps: NextStep | None) -> Verdict:
        """With the first of these steps that there is; the most urgent comes first."""
        return replace(self, next=next((step for step in steps if step is not None), None))


class Ranked(Protocol):
    """A line of a board with its possible ranks; None where none is known."""

    @property
    def component(self) -> int: ...
    @property
    def best(self) -> int | None: ...
    @property
    def worst(self) -> int | None: ...
    @property
    def in_sentence(self) -> str: ...


@dataclass(frozen=True)
class Place(Verdict):
    """Who is first; ``sure`` where nobody else can be, ``open`` where several can.

    ``first`` are the names of those who can be.
    """

    sure: bool = False
    open: bool = False
    first: tuple[str, ...] = ()


def first_place(rows: Sequence[Ranked], *, noun: str, by: str) -> Place:
    """Who can be first on board 1, and who follows where that is sure, by the possible ranks.

    ``noun`` is what is ranked (many), ``by`` the evidence.
    """
    found = leaders([(row.component, row.best, row.worst) for row in rows])
    if not found.ranked:
        return Place(_("Nobody can be called first: no interval is known yet."))
    first = [rows[at].in_sentence for at in found.first]
    after = [rows[at].in_sentence for at in found.following if found.place < len(ORDINALS)]
    told = {"names": named(first, noun), "noun": noun, "by": by, "n": word(found.ranked)}
    note = ""
    if len({row.component for row in rows if row.component}) > 1:
        note = _("This is board 1; nobody on another board compares.")
    if found.ranked == 1:
        return Place(_("%(names)s is alone on its board, so nothing is compared.") % told, note)
    if found.is_open and found.ranked > NAMED:
        said = _("Any of these %(n)s %(noun)s may be the best: %(by)s are too few to say which.")
        return Place(said % told, note, open=True, first=tuple(first))
    told |= {"after": named(after, noun), "place": ORDINALS[found.place] if after else ""}
    said = _first_words(len(first), len(after)) % told
    return Place(said, note, sure=found.is_sure, open=len(first) > 1, first=tuple(first))


def _first_words(first: int, after: int) -> str:
    """The sentences of so many in first place, and so many in the place that follows."""
    if first == 1:
        if not after:
            return _("%(names)s is first.")
        if after == 1:
            return _("%(names)s is first. %(after)s is %(place)s.")
        return _("%(names)s is first. %(after)s can be %(place)s.")
    said = _("%(names)s may all be the best: %(by)s are too few to say which.")
    if first == 2:
        said = _("%(names)s may both be the best: %(by)s are too few to say which.")
    return said + " " + _("%(after)s is %(place)s.") if after else said


def named(names: Sequence[str], noun: str) -> str:
    """Names with "and" before the last; their number where they are many."""
    if len(names) > NAMED:
        return f"{word(len(names)).capitalize()} {noun}"
    return listed(names)


class Named(Protocol):
    """A row with a name, its estimate and its interval."""

    @property
    def name(self) -> Words: ...
    @property
    def estimate(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def highest(rows: Sequence[Named], what: str) -> Place:
    """Whether one row is surely above all others; ``what`` is measured.

    For boards without paired comparisons: an interval that lies above every other says it; two
    that overlap leave it open.
    """
    known = [row for row in rows if row.estimate is not None]
    if not known:
        return Place("")
    if len(known) == 1:
        told = {"name": known[0].name, "what": what}
        return Place(_("Only %(name)s has a %(what)s, so nothing is compared.") % told)
    first, *others = sorted(known, key=lambda row: -(row.estimate or 0.0))
    told = {"name": first.name, "what": what, "value": score(first.estimate, 2)}
    below = [row.high for row in others if row.high is not None]
    if first.low is None or len(below) < len(others):
        return Place(
            _("%(name)s has the highest %(what)s, but nothing says how sure that is.") % told,
            _("Some rows have no interval yet."),
            open=True,
        )
    if first.low > max(below):
        return Place(_("%(name)s has the highest %(what)s, above all others.") % told, sure=True)
    return Place(
        _("%(name)s has the highest %(what)s, but others may be as good.") % told,
        _("Their intervals overlap. They are compared one by one here, not in pairs."),
        open=True,
    )


TOO_FEW = re.compile(r"(?P<units>[^,]+); an interval needs (?P<least>\d+)")
UNEVEN = re.compile(
    r"(?P<units>.+), but a few did most of the work: as much as (?P<even>[\d.]+) equally active "
    r"ones; an interval needs (?P<least>\d+)"
)


def why_not_exact(reason: str) -> str:
    """Why a figure has no interval (``core.inference.too_few_clusters``), as a verdict's note."""
    if found := UNEVEN.fullmatch(reason):
        said = _(
            "How exact this is cannot be said: of %(units)s a few did most of the work, as much as "
            "%(even)s equally active ones would. At least %(least)s are needed."
        )
        return said % found.groupdict()
    found = TOO_FEW.fullmatch(reason)
    if found is None:
        return f"{reason[:1].upper()}{reason[1:].removesuffix('.')}." if reason else ""
    said = _("How exact this is cannot be said with %(units)s: at least %(least)s are needed.")
    return said % found.groupdict()


def against_middle(rows: Sequence[Told]) -> tuple[Verdict, list[Told]]:
    """How many workers are surely below the median competence, all compared at once; and who.

    Rows have ``estimate``, ``low`` and ``extra`` with what the run says of the median.
    """
    known = [row for row in rows if row["low"] is not None]
    if len(known) < LEAST_COMPARED:
        return Verdict(""), []
    middle = sorted(row["estimate"] for row in known)[len(known) // 2]
    claims = [median_claim(row["extra"], family=len(known)) for row in known]
    below = [
        row
        for row, claim in zip(known, claims, strict=True)
        if claim.is_sure and claim.direction < 0
    ]
    told = {"n": count(len(below)), "of": count(len(known)), "middle": score(middle, 2)}
    if not below:
        said = _(
            "No worker is shown to do worse than the middle one, whose competence is %(middle)s."
        )
        note = _("This does not say that all of them judge well.")
        return Verdict(said % told, note), []
    said = _("Surely below the median competence of %(middle)s: %(n)s of %(of)s workers.") % told
    note = _(
        "Half of all workers are always below the median, most of them by chance. These are below "
        "it by an interval that holds for all workers at once."
    )
    return Verdict(said, note), sorted(below, key=lambda row: row["estimate"])


def change(low: float | None, high: float | None, *, up: str, down: str, unknown: str) -> str:
    """One of three sentences by where the interval of a difference lies; if any."""
    if low is None or high is None or low <= 0 <= high:
        return unknown
    return up if low > 0 else down


def sides_of_zero(spans: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """How many intervals of differences lie above 0, and how many below."""
    return sum(low > 0 for low, _high in spans), sum(high < 0 for _low, high in spans)
