"""Validate amounts and texts; refusals name the field."""

from __future__ import annotations

from decimal import Decimal

from django.utils.translation import gettext as _

from crowdqc.errors import Invalid
from crowdqc.money import round_money
from crowdqc.numbers import count

MOST = Decimal(100_000)


def clean_amount(value: Decimal, name: str) -> Decimal:
    """Return an amount of 0 or more in whole cents, or raise Invalid."""
    if not value.is_finite() or not 0 <= value <= MOST or value != round_money(value):
        raise Invalid(
            _("%(name)s is not an amount.") % {"name": name},
            fields={name: _("0 or more, two decimals.")},
        )
    return round_money(value)


def clean_text(text: str, name: str, most: int) -> str:
    """Return a text that fits, or raise Invalid; nothing is cut."""
    text = text.replace("\x00", "").strip()
    if len(text) > most:
        raise Invalid(
            _("%(name)s is too long.") % {"name": name},
            fields={name: _("%(most)s characters at most.") % {"most": count(most)}},
        )
    return text
