"""What judgments of pairs cost, in the cells and sentences of the Plan page."""

from __future__ import annotations

from django.utils.translation import gettext as _

from crowdqc.numbers import count, money
from evaluation.runs.planning.price import Price


def price_cells(price: Price, judgments: int, pairs: int = 0) -> list[str]:
    """Judgments, cost and, where a rate is known, days."""
    cells = [count(judgments), money(price.cost(judgments, pairs), price.currency)]
    return [*cells, count(price.days(judgments, pairs))] if price.a_day else cells


def price_sentence(price: Price, judgments: int, pairs: int) -> str:
    """Say what so many judgments cost at most, and how long they take."""
    return _("Cost: %(cost)s.") % {"cost": price.limit(judgments, pairs)}
