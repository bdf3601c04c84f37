"""How many came in, how many are used, and why each of the others is not: it always adds up.

One shape for the rows of an imported file and for the votes behind a board. The database checks
the same sum where a tally is stored (``crowdqc_adds_up`` in the migrations of triggers).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop

# Why something is not used, as pages say it after its number.
REASONS = {
    "there": gettext_noop("already in the task"),
    "twice": gettext_noop("given twice in the file"),
    "repeated": gettext_noop("second answers of a worker to a question"),
    "repeat": gettext_noop("repeats by the same person on the same texts"),
    "uncounted": gettext_noop("marked as not counting"),
    "excluded": gettext_noop("by workers left out by hand"),
    "gold": gettext_noop("on gold or attention items"),
    "other_fields": gettext_noop("on a version that asks for something else"),
    "no_text": gettext_noop("without a text"),
    "not_on_panel": gettext_noop("by workers outside the panel"),
    "saw": gettext_noop("by people who had seen the judge or other reviews"),
    "not_answered": gettext_noop("without an answer on this dimension"),
    "one_source": gettext_noop("between two texts of one system"),
    "no_weight": gettext_noop("by workers of unknown competence"),
    "no_label": gettext_noop("on pairs without an estimated label"),
    "no_board": gettext_noop("on a dimension without a board"),
    "alone": gettext_noop("the only answer to their question"),
    "unsure": gettext_noop("marked as unsure"),
    "no_choice": gettext_noop("without a choice in this field"),
    "other": gettext_noop("for other reasons"),
}
MOST = 12  # reasons that are told apart


class DoesNotAddUp(ValueError):
    """The used and the left-out votes do not add up to the votes received."""


@dataclass(frozen=True)
class Tally:
    """``came`` = ``used`` + the sum of ``left_out`` (reason -> number, without zeros).

    Raises DoesNotAddUp.
    """

    came: int
    used: int
    left_out: Mapping[str, int]

    def __post_init__(self) -> None:
        known = {reason: n for reason, n in self.left_out.items() if n}
        object.__setattr__(self, "left_out", known)
        if min((self.came, self.used, *known.values())) < 0:
            raise DoesNotAddUp(f"{self.as_dict()} holds a number below 0")
        if self.came != self.used + sum(known.values()):
            raise DoesNotAddUp(f"{self.as_dict()} does not add up")

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Tally:
        """Make a tally from what ``as_dict`` returned."""
        return cls(told["came"], told["used"], told["left_out"])

    def as_dict(self) -> dict[str, Any]:
        """Return the tally as a dict, for the database and the API."""
        return {"came": self.came, "used": self.used, "left_out": dict(self.left_out)}

    @property
    def lines(self) -> list[tuple[int, str]]:
        """List the left-out votes as (number, reason), largest first."""
        ordered = sorted(self.left_out.items(), key=lambda one: (-one[1], one[0]))
        return [(n, reason_words(reason)) for reason, n in ordered]


def reason_words(reason: str) -> str:
    """Return the text of a reason code for pages; a reason that is a sentence already is kept."""
    return gettext(REASONS[reason]) if reason in REASONS else reason


def by_reason(sentences: Iterable[str]) -> Counter[str]:
    """Count equal messages regardless of their line numbers; rare ones are summed as "other"."""
    found = Counter(re.sub(r"(, first)? [oi]n line \d[\d,]*\b", "", one) for one in sentences)
    kept = Counter(dict(found.most_common(MOST)))
    if other := found.total() - kept.total():
        kept["other"] += other
    return kept
