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
    return f"{', '.join(known[:-1])} and {known[-1]}"


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
