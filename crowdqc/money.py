"""Amounts of money: the only place where they are parsed and rounded.

Reading never guesses. In "1,250" and "1.250" the mark may group thousands or end the units, so
that both readings are named and nothing is taken; "1,250.00", "1.250,00", "1 250,00" and "1'250"
have one reading. Programs write plain decimals with a point (``parse_plain_amount``). Pages format
amounts by ``numbers.amount`` and ``numbers.money``.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal

from django.utils.translation import gettext as _

from crowdqc.currencies import CENTS, DIGITS
from crowdqc.errors import Invalid

SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}
ZERO = Decimal("0.00")
MOST = Decimal(10) ** 15
MOST_TYPED = 40  # characters of one amount

# Signs that mean the same as one on every keyboard; spaces and digits are folded by their kind.
_SAME = str.maketrans("−－﹣＋，．’‘ʼ＇٬", "---+,.'''''")
_DIRECTION = dict.fromkeys(map(ord, "\u200e\u200f\u061c"))  # marks that pages of RTL scripts hold
_DECIMAL_MARK = "٫"  # of Arabic script: it never groups
_SHAPE = re.compile(r"([+-]?) ?([^\d\s.,'+٫-]*) ?([+-]?) ?([\d.,' ٫]*?) ?([^\d\s.,'+٫-]*)", re.A)
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([ ',.])\d{3}(?:\1\d{3})*)|[1-9]\d?(?:,\d{2})+,\d{3}", re.A)
_PLAIN = re.compile(r"[+-]?\d{1,15}(?:\.(\d{1,15}))?", re.A)

Number = int | float | str | Decimal


class NotAnAmount(Invalid):
    """An amount that is not accepted; ``hint`` says why, ``readings`` what it may mean."""

    def __init__(self, field: str, code: str, hint: str, readings: tuple[str, ...] = ()) -> None:
        message = _("%(name)s is not an amount.") % {"name": field}
        super().__init__(message, fields={field: hint}, code=code)
        self.hint, self.readings = hint, readings


def parse_amount(
    raw: object,
    currency: str = "",
    *,
    field: str = "amount",
    places: int = CENTS,
    low: Decimal | int = 0,
    high: Decimal | int = MOST,
) -> Decimal:
    """Parse an amount that a person wrote, with ``places`` decimals at most.

    A sign or code of ``currency`` may stand before or after it. Raises NotAnAmount with the code
    ``ambiguous-amount``, ``not-an-amount``, ``other-currency``, ``too-fine`` or ``out-of-range``.
    """
    if isinstance(raw, str):
        value = _parse_text(raw, currency.upper(), field, places)
    elif isinstance(raw, int | float | Decimal) and not isinstance(raw, bool):
        value = as_decimal(raw)
        if not value.is_finite():
            raise _not_an_amount(field)
        # Beyond MOST it is refused as out of range; so many digits cannot be rounded.
        if abs(value) <= MOST and value != round_money(value, places):
            raise _too_fine(field, places)
    else:
        raise _not_an_amount(field)
    return _check_range(value, field, places, low, high)


def parse_plain_amount(
    raw: str,
    *,
    field: str = "amount",
    places: int = CENTS,
    low: Decimal | int = 0,
    high: Decimal | int = MOST,
) -> Decimal:
    """Parse an amount that a program wrote, as "1250.00"."""
    match = _PLAIN.fullmatch(raw)
    if match is None:
        raise _not_an_amount(field)
    if len(match[1] or "") > places:
        raise _too_fine(field, places)
    return _check_range(Decimal(raw), field, places, low, high)


def is_plain_decimal(raw: str) -> bool:
    """Whether this is a decimal as programs write it."""
    return _PLAIN.fullmatch(raw) is not None


def as_decimal(value: Number) -> Decimal:
    """Convert a number of our own rows; a float by its shortest text."""
    return value if isinstance(value, Decimal) else Decimal(str(value))


def round_money(value: Number, places: int = CENTS, *, up: bool = False) -> Decimal:
    """Round half to even, or ``up`` where less would not suffice."""
    how = ROUND_CEILING if up else ROUND_HALF_EVEN
    return as_decimal(value).quantize(Decimal(1).scaleb(-places), rounding=how)


def format_input(value: Number, places: int = CENTS) -> str:
    """Format an amount for an input; ``parse_amount`` reads the same amount."""
    text = f"{round_money(value, places):f}"
    if places <= CENTS:
        return text
    units, _point, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(CENTS, "0")
    return f"{units}.{decimals}0" if len(decimals) == 3 else f"{units}.{decimals}"


def _parse_text(raw: str, currency: str, field: str, places: int) -> Decimal:
    if len(raw) > MOST_TYPED:
        raise _not_an_amount(field)
    match = _SHAPE.fullmatch(_fold(raw))
    if match is None:
        raise _not_an_amount(field)
    sign, before, inner_sign, body, after = match.groups()
    if (sign and inner_sign) or (before and after):
        raise _not_an_amount(field)
    _check_currency(before or after, currency, field)
    whole, decimals = _split(body, field, places)
    if len(decimals) > places:
        raise _too_fine(field, places)
    return Decimal(f"{sign or inner_sign}{whole or 0}.{decimals or 0}")


def _fold(raw: str) -> str:
    """Normalise digits, spaces, minus signs and apostrophes of all scripts."""

    def folded(sign: str) -> str:
        digit = unicodedata.decimal(sign, None)
        if digit is not None:
            return str(digit)
        return " " if sign.isspace() or unicodedata.category(sign) == "Zs" else sign

    return "".join(map(folded, raw.translate(_DIRECTION).translate(_SAME))).strip()


def _split(body: str, field: str, places: int) -> tuple[str, str]:
    """Split at the decimal mark."""
    marks = re.sub(r"[^.,٫]", "", body)
    if _DECIMAL_MARK in marks or len(set(marks)) > 1:
        mark = _DECIMAL_MARK if _DECIMAL_MARK in marks else marks[-1]
        whole, _mark, decimals = body.rpartition(mark)
    elif len(marks) == 1:
        whole, _mark, decimals = body.partition(marks)
        if re.fullmatch(r"[1-9]\d{0,2}", whole, re.A) and re.fullmatch(r"\d{3}", decimals, re.A):
            raise _ambiguous(field, whole, decimals, places)
    else:
        whole, decimals = body, ""
    if _GROUPED.fullmatch(whole):
        whole = re.sub(r"[ ',.]", "", whole)
    if not re.fullmatch(r"\d{0,15}", whole, re.A) or not re.fullmatch(r"\d{0,15}", decimals, re.A):
        raise _not_an_amount(field)
    if not whole and not decimals:
        raise _not_an_amount(field)
    return whole, decimals


def _check_currency(named: str, currency: str, field: str) -> None:
    if not named or (currency and named.upper() in (currency, SYMBOLS.get(currency))):
        return
    if currency and (named in SYMBOLS.values() or named.upper() in DIGITS):
        hint = _("Amounts here are in %(currency)s.") % {"currency": currency}
        raise NotAnAmount(field, "other-currency", hint)
    raise _not_an_amount(field)


def _check_range(
    value: Decimal, field: str, places: int, low: Decimal | int, high: Decimal | int
) -> Decimal:
    if not low <= value <= high:
        hint = (
            _("%(low)s or more.") % {"low": low}
            if value < low
            else _("%(high)s at most.") % {"high": f"{high:,}"}
        )
        raise NotAnAmount(field, "out-of-range", hint)
    return round_money(value, places)


def _not_an_amount(field: str) -> NotAnAmount:
    return NotAnAmount(field, "not-an-amount", _("An amount, as 1.80."))


def _too_fine(field: str, places: int) -> NotAnAmount:
    hint = _("%(places)s decimals at most.") % {"places": places}
    return NotAnAmount(field, "too-fine", hint)


def _ambiguous(field: str, whole: str, decimals: str, places: int) -> NotAnAmount:
    readings = (
        format_input(Decimal(whole + decimals), places),
        format_input(Decimal(f"{whole}.{decimals}"), max(places, 3)),
    )
    hint = _("This can mean %(thousands)s or %(units)s. Write the one that you mean.")
    values = {"thousands": readings[0], "units": readings[1]}
    return NotAnAmount(field, "ambiguous-amount", hint % values, readings)
