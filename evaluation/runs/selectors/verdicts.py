"""The sentence on top of a result page: what its intervals allow to conclude, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.numbers import count, score, word

Told = Mapping[str, Any]
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
NAMED = 3  # that share a place by name; more are counted


def verdict(sentence: str, note: str = "") -> dict[str, str]:
    """What ``_includes/verdict.html`` shows; nothing where the sentence is empty."""
    return {"sentence": sentence, "note": note}


def first_place(groups: Sequence[Told], names: Mapping[int, str], *, noun: str, by: str) -> str:
    """The first place of the largest board, and the second where that is sure; "" without ranks.

    ``groups`` are those of a board in order, ``noun`` what is ranked (many), ``by`` the evidence.
    """
    own = [group for group in groups if group["component"] == 1]
    if not own:
        return ""
    parts = len({group["component"] for group in groups})
    head = "On board 1: " if parts > 1 else ""
    members = own[0]["members"]
    if len(own) == 1:
        if len(members) == 1:
            return ""
        return f"{head}These {word(len(members))} {noun} cannot be separated by {by}."
    sure = own[1]["clear_above"]
    if len(members) > 1:
        said = f"{_named(members, names, noun)} share first place: {by} cannot separate them."
    elif sure:
        said = f"{names[members[0]]} is first."
    else:
        return (
            f"{head}{names[members[0]]} has the highest score, but its lead over the next is not "
            "certain."
        )
    return f"{head}{said}{_next(own, names, noun) if sure else ''}"


def _next(own: Sequence[Told], names: Mapping[int, str], noun: str) -> str:
    """The group after the first, where the one after it is surely below."""
    group = own[1]
    if group["first"] >= len(ORDINALS) or not all(one["clear_above"] for one in own[1:3]):
        return ""
    place, members = ORDINALS[group["first"]], group["members"]
    if len(members) == 1:
        return f" {names[members[0]]} is {place}."
    return f" {_named(members, names, noun)} share {place} place."


def _named(members: Sequence[int], names: Mapping[int, str], noun: str) -> str:
    """Names with "and" before the last; their number where they are many."""
    if len(members) > NAMED:
        return f"{word(len(members)).capitalize()} {noun}"
    known = [names[pk] for pk in members]
    return " and ".join(part for part in (", ".join(known[:-1]), known[-1]) if part)


def highest(rows: Sequence[Told], what: str) -> dict[str, str]:
    """Of rows with ``name``, ``estimate``, ``low``, ``high``: whether one is surely above all.

    An interval that lies above every other says it; two that overlap leave it open.
    """
    known = [row for row in rows if row["estimate"] is not None]
    if len(known) < 2:
        return verdict("")
    first, *others = sorted(known, key=lambda row: -row["estimate"])
    told = {"name": first["name"], "what": what, "value": score(first["estimate"], 2)}
    if any(row["low"] is None for row in known):
        return verdict(
            _("%(name)s has the highest %(what)s, but nothing says how sure that is.") % told,
            _("Some rows have no interval yet: collect more before you decide."),
        )
    if first["low"] > max(row["high"] for row in others):
        return verdict(_("%(name)s has the highest %(what)s, above all others.") % told)
    return verdict(
        _("%(name)s has the highest %(what)s, but others may be as good.") % told,
        _("Their intervals overlap: collect more before you decide."),
    )


def against_middle(rows: Sequence[Told]) -> dict[str, str]:
    """How many workers are surely below the median competence, by their intervals."""
    known = [row for row in rows if row["low"] is not None]
    if len(known) < 3:
        return verdict("")
    middle = sorted(row["estimate"] for row in known)[len(known) // 2]
    below = [row for row in known if row["high"] < middle]
    told = {"n": count(len(below)), "of": count(len(known)), "middle": score(middle, 2)}
    if not below:
        return verdict(
            _("No worker is shown to be below the median competence of %(middle)s.") % told
        )
    return verdict(
        _("Surely below the median competence of %(middle)s: %(n)s of %(of)s workers.") % told,
        _("Look at their work before you leave anybody out."),
    )


def change(low: float | None, high: float | None, *, up: str, down: str, unknown: str) -> str:
    """One of three sentences by where the interval of a difference lies; if any."""
    if low is None or high is None or low <= 0 <= high:
        return unknown
    return up if low > 0 else down


def possible_first(rows: Sequence[Told], noun: str) -> dict[str, str]:
    """Who can be first by the possible ranks of board 1.

    Rows have ``name``, ``component``, ``best`` and ``worst``; ``noun`` is what is ranked (many).
    """
    known = [row for row in rows if row["component"] == 1 and row["best"] is not None]
    if not known:
        return verdict(
            _("Nobody has enough answers for an interval yet, so nobody can be called first."),
            _("Collect more answers, then run this again."),
        )
    first = {at: row["name"] for at, row in enumerate(known) if row["best"] == 1}
    parts = {row["component"] for row in rows if row["component"]}
    told = {"names": _named(list(first), first, noun), "n": len(known), "noun": noun}
    if len(first) > 1 and len(first) == len(known):
        said = _("All %(n)s %(noun)s can be first: their scores cannot be separated.") % told
    elif len(first) > 1:
        said = _("%(names)s can each be first: their scores cannot be separated.") % told
    else:
        said = _("%(names)s is first.") % told
    note = _("This is board 1; nobody on another board compares.") if len(parts) > 1 else ""
    return verdict(said, note)


def sides_of_zero(spans: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """How many intervals of differences lie above 0, and how many below."""
    return sum(low > 0 for low, _high in spans), sum(high < 0 for _low, high in spans)
