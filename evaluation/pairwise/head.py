"""Two systems against each other, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.numbers import percent, percent_interval, plural

Told = Mapping[str, Any]


def preferred(names: tuple[str, str], head: Told) -> str:
    """Say in how many decided votes the better of two was preferred, with its interval.

    ``head`` is a row of ``methods.pairwise``: ``names`` are those of system_a and system_b.
    """
    share, low, high = head["share"], head["low"], head["high"]
    if share is None:
        return ""
    name = names[0]
    if share < 0.5:
        name, share = names[1], 1 - share
        low, high = (None, None) if low is None or high is None else (1 - high, 1 - low)
    told = {
        "name": name,
        "share": percent(share),
        "votes": plural(head["decided"], "decided vote"),
        "ties": plural(head["ties"], "tie"),
    }
    if low is None or high is None:
        return _("%(name)s is preferred in %(share)s of %(votes)s, %(ties)s.") % told
    told["level"] = percent(head["level"])
    told["span"] = percent_interval(low, high)
    return (
        _("%(name)s is preferred in %(share)s of %(votes)s (%(level)s CI %(span)s), %(ties)s.")
        % told
    )


def head_of(figures: Told, dimension: str) -> Told | None:
    """The row of a run's figures on two systems; None where more were compared.

    Runs older than the figure have counts alone.
    """
    rows = figures.get("head")
    if rows is not None:
        return next((row for row in rows if row["dimension"] == dimension), None)
    met = [row for row in figures.get("win") or () if row["dimension"] == dimension]
    if len(met) != 1:
        return None
    (row,) = met
    decided = row["wins"] + row["losses"]
    share = row["wins"] / decided if decided else None
    return {**row, "share": share, "low": None, "high": None, "decided": decided}


def head_words(figures: Told, names: Mapping[int, str], dimension: str) -> str:
    """The sentence on two systems by the names of their ids; "" where more were compared."""
    head = head_of(figures, dimension)
    if head is None or not {head["system_a"], head["system_b"]} <= names.keys():
        return ""
    return preferred((names[head["system_a"]], names[head["system_b"]]), head)


def with_head(sentence: str, said: str) -> str:
    """A verdict with the sentence on two systems after it."""
    return " ".join(part for part in (sentence, said) if part)


def named(rows: Sequence[Any]) -> dict[int, str]:
    """Names of the rows of a board by id."""
    return {row.id: row.in_sentence for row in rows}
