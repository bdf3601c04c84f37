"""Amounts and texts as people enter them: kept whole, or refused by their field's name."""

from __future__ import annotations

from decimal import Decimal

from crowdqc.errors import Invalid

MOST, CENT = Decimal(100_000), Decimal("0.01")


def clean_amount(value: Decimal, name: str) -> Decimal:
    """An amount of 0 or more in whole cents, or Invalid naming the field."""
    if not value.is_finite() or not 0 <= value <= MOST or value != value.quantize(CENT):
        raise Invalid(f"{name} is not an amount.", fields={name: "0 or more, two decimals."})
    return value.quantize(CENT)


def clean_text(text: str, name: str, most: int) -> str:
    """A text that fits, or Invalid: nothing that somebody wrote is cut silently."""
    text = text.replace("\x00", "").strip()
    if len(text) > most:
        raise Invalid(f"{name} is too long.", fields={name: f"{most:,} characters at most."})
    return text
