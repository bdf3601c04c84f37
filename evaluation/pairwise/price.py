"""What judgments of pairs cost, in the cells and sentences of the Plan page."""

from __future__ import annotations

from django.utils.translation import gettext as _

from crowdqc.numbers import count, money, percent, plural
from evaluation.runs.planning.price import Price


def price_cells(price: Price, judgments: int) -> list[str]:
    """Judgments, cost and, where a rate is known, days."""
    cells = [count(judgments), money(price.cost(judgments), price.currency)]
    return [*cells, count(price.days(judgments))] if price.a_day else cells


def price_sentence(price: Price, judgments: int) -> str:
    """Say what so many judgments cost."""
    told = {
        "judgments": plural(judgments, "judgment"),
        "cost": money(price.cost(judgments), price.currency),
    }
    if not price.a_day:
        return _("That takes %(judgments)s for %(cost)s.") % told
    told |= {"days": plural(price.days(judgments), "day"), "rate": count(round(price.a_day))}
    return _("That takes %(judgments)s for %(cost)s, about %(days)s at last week’s rate.") % told


def price_basis(price: Price) -> str:
    """Say what the cost consists of: pay, pairs per assignment, fee."""
    told = {
        "pay": money(price.pay, price.currency),
        "n": plural(price.per_assignment, "pair"),
        "fee": percent(price.fee / 100, 1),
    }
    if price.fee:
        return (
            _("Cost: these pairs alone, %(pay)s per assignment of %(n)s, plus %(fee)s fee.") % told
        )
    return _("Cost: these pairs alone, %(pay)s per assignment of %(n)s, without fees.") % told
