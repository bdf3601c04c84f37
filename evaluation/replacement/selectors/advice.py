"""What to do now about each model of a test, in words that need no other part of the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.numbers import count
from evaluation.methods.replacement.method import NO, UNDECIDED, YES
from evaluation.methods.replacement.power import SIZES
from evaluation.replacement.selectors import asking
from evaluation.replacement.selectors.naming import listed
from evaluation.replacement.selectors.tables import ModelRow

Told = Mapping[str, Any]


def advice(rows: Sequence[ModelRow], told: Told) -> list[dict[str, str]]:
    """Say what to do about each model, grouped by the same advice."""
    found: dict[str, list[ModelRow]] = {}
    for row in rows:
        found.setdefault(_advice(row, told), []).append(row)
    return [
        {"names": listed([one.short for one in of]), "mark": of[0].mark, "said": said}
        for said, of in found.items()
    ]


def _advice(row: ModelRow, told: Told) -> str:
    kind = row.verdict
    if kind == YES:
        return _("Can take the place of one annotator on items like these. Keep the others.")
    if kind == UNDECIDED:
        return _undecided(row, told)
    if kind == NO:
        if any(one["model"] == row.place and _saves(one) for one in told["combined"]):
            return _(
                "Keep all annotators: it is clearly worse than most of them. Its answers still "
                "save some of their work."
            )
        return _("Keep all annotators: it is clearly worse than most of them.")
    return _("Could not be tested. Keep all annotators.")


def _undecided(row: ModelRow, told: Told) -> str:
    """Say what would decide, by how many items the model labelled and people did not."""
    if row.needed is None:
        return _("Keep all annotators. Even %(n)s items would hardly decide it at this ε.") % {
            "n": count(SIZES[-1])
        }
    missing, left = _missing(row), asking.unlabelled_items(told, row.place)
    known = {
        "missing": count(missing),
        "left": count(left or 0),
        "now": count(row.n),
        "needed": count(row.needed),
    }
    if left is None or left >= missing:
        said = _(
            "Do not decide yet. Let people label about %(missing)s more of the items that the "
            "model labelled: %(now)s now, about %(needed)s are needed. Then test again. Keep all "
            "annotators until then."
        )
    elif left:
        said = _(
            "Do not decide yet. %(now)s items were compared, about %(needed)s are needed. Let "
            "people label the %(left)s that only the model labelled, and let the model label more; "
            "if there are none, import items. Or leave it undecided and keep all annotators."
        )
    else:
        said = _(
            "Do not decide yet. %(now)s items were compared, about %(needed)s are needed, and "
            "people labelled all items that the model labelled. Let the model label more items; if "
            "there are none, import some. Or leave it undecided and keep all annotators."
        )
    return said % known


def _missing(row: ModelRow) -> int:
    """Count the items that are still missing for a decision."""
    return max(math.ceil((row.needed or 0) - (row.n or 0)), 1)


def _saves(one: Told) -> bool:
    """Whether a combined estimate is as exact as noticeably more labels of people."""
    return not one["reason"] and round(one["worth"] - one["labelled"]) > 0
