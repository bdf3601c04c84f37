"""What judgments of pairs cost, in the cells and sentences of the Plan page."""

from __future__ import annotations

from django.utils.translation import gettext as _

from crowdqc.numbers import count, money
from evaluation.runs.planning.price import Answers, Price


def price_cells(price: Price, judgments: Answers) -> list[str]:
    """Judgments, cost and, where a rate is known, days."""
    cells = [count(judgments.n), money(price.cost(judgments), price.currency)]
    return [*cells, count(price.days(judgments))] if price.a_day else cells


def price_sentence(price: Price, judgments: Answers) -> str:
    """Say what so many judgments cost at most, and how long they take."""
    return _("Cost: %(cost)s.") % {"cost": price.limit(judgments)}
