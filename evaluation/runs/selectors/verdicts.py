"""What the intervals of a result allow to conclude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils.translation import gettext as _

from crowdqc.numbers import count, listed, plural, score
from crowdqc.web.terms import Words
from evaluation.methods.core.ranking import leaders
from evaluation.methods.workers.claims import LEAST_COMPARED, median_claim
from evaluation.results.findings import Finding, Severity
from evaluation.results.stored_texts import values_in
from evaluation.runs.messages import MESSAGES

Told = Mapping[str, Any]
NAMED = 3  # that share a place by name; more are counted


@dataclass(frozen=True)
class Verdict:
    """What can be concluded, in a sentence and a note; nothing where the sentence is empty."""

    sentence: str
    note: str = ""
    code: str = "verdict"

    def finding(self, code: str = "") -> Finding | None:
        """Return the verdict as a finding; None without a sentence."""
        if not self.sentence:
            return None
        return Finding(code or self.code, Severity.VERDICT, self.sentence, self.note)


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

    @property
    def unknown(self) -> bool:
        """Whether nothing is known of who is first: more answers are needed."""
        return not self.sure and not self.open


def first_place(rows: Sequence[Ranked], *, noun: str, by: str) -> Place:
    """Say who can be first on board 1 by the possible ranks, and who follows.

    ``noun`` is what is ranked (one of them), ``by`` the evidence.
    """
    found = leaders([(row.component, row.best, row.worst) for row in rows])
    if not found.ranked:
        return Place(MESSAGES.text("place_unknown"), code="place_unknown")
    first = [rows[at].in_sentence for at in found.first]
    after = [rows[at].in_sentence for at in found.following]
    note = ""
    if len({row.component for row in rows if row.component}) > 1:
        note = _("This is board 1; nobody on another board compares.")
    alone, is_any = found.ranked == 1, found.is_open and found.ranked > NAMED
    code = _place_code(len(first), len(after))
    if alone or is_any:
        code = "place_alone" if alone else "place_any"
    text = MESSAGES.text(
        code,
        names=named(first, noun),
        by=by,
        rows=plural(found.ranked, noun),
        after=named(after, noun),
    )
    if alone:
        return Place(text, note, code=code)
    is_open = is_any or len(first) > 1
    sure = found.is_sure and not is_any
    return Place(text, note, sure=sure, open=is_open, first=tuple(first), code=code)


def _place_code(first: int, after: int) -> str:
    """The message for so many in first place, and so many in the place that follows."""
    if first > 1:
        return "place_both" if first == 2 else "place_several"
    if not after:
        return "place_first"
    return "place_first_next" if after == 1 else "place_first_next_several"


def named(names: Sequence[str], noun: str) -> str:
    """Names with "and" before the last; their number where they are many."""
    return plural(len(names), noun) if len(names) > NAMED else listed(names)


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
    rivals = [str(row.name) for row in others if row.high is None or row.high >= first.low]
    if not rivals:
        told["other"] = others[0].name
        said = (
            _("%(name)s has the highest %(what)s, above all others.")
            if others[1:]
            else _("%(name)s has a higher %(what)s than %(other)s.")
        )
        return Place(said % told, sure=True)
    if len(rivals) == 1:
        said = _("%(name)s and %(other)s may both have the highest %(what)s.")
        told["other"] = rivals[0]
    elif len(rivals) < NAMED:
        said = _("%(names)s may each have the highest %(what)s.")
        told["names"] = listed([str(first.name), *rivals])
    else:
        said = _("Any of %(n)s may have the highest %(what)s, %(name)s among them.")
        told["n"] = str(1 + len(rivals))
    return Place(said % told, _("Their intervals overlap."), open=True)


TOO_FEW = "%(count)s; an interval needs %(least)s"
UNEVEN = (
    "%(count)s, but a few did most of the work: as much as %(even)s equally active ones; "
    "an interval needs %(least)s"
)


def why_not_exact(reason: str) -> str:
    """Why a figure has no interval (``core.inference.too_few_clusters``), as a verdict's note."""
    if found := values_in(UNEVEN, reason):
        said = _(
            "How exact this is cannot be said: of %(units)s a few did most of the work, as much as "
            "%(even)s equally active ones would. At least %(least)s are needed."
        )
        return said % {**found, "units": found["count"]}
    found = values_in(TOO_FEW, reason)
    if found is None:
        return f"{reason[:1].upper()}{reason[1:].removesuffix('.')}." if reason else ""
    said = _("How exact this is cannot be said with %(units)s: at least %(least)s are needed.")
    return said % {**found, "units": found["count"]}


def against_middle(rows: Sequence[Told]) -> tuple[Verdict, list[Told]]:
    """Say how many workers are surely below the median competence; return their rows too.

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
        return Verdict(said % told), []
    said = _("Surely below the median competence of %(middle)s: %(n)s of %(of)s workers.") % told
    note = _(
        "Half of all workers are always below the median, most of them by chance. These are below "
        "it by an interval that holds for all workers at once."
    )
    return Verdict(said, note), sorted(below, key=lambda row: row["estimate"])


def change(low: float | None, high: float | None, *, up: str, down: str, unknown: str) -> str:
    """Choose the sentence for an interval of a difference: above 0, below 0, or neither."""
    if low is None or high is None or low <= 0 <= high:
        return unknown
    return up if low > 0 else down


def sides_of_zero(spans: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Count the intervals that are above 0, and those below."""
    return sum(low > 0 for low, _high in spans), sum(high < 0 for _low, high in spans)
