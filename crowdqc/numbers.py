"""Numbers, times and counts as pages write them: one home, so that no two pages disagree.

Pure: plain values in, text out. ``None`` reads "none" everywhere, never "nan" or "".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.utils import dateformat, timezone
from django.utils.formats import get_format
from django.utils.translation import get_language, gettext, ngettext, pgettext

from crowdqc.currencies import CENTS
from crowdqc.money import SYMBOLS, as_decimal, round_money

NBSP = "\u00a0"
FOUR_DIGITS = re.compile(r"^(\D*\d),(\d{3})(?![\d,])")
MINUS = "\u2212"
EN_DASH = "\u2013"
NONE = "none"
WORDS = (
    *("none", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
MONTHS = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Number = int | float | Decimal


def _missing(value: Number | None) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def score(value: Number | None, digits: int = 3) -> str:
    """Format a number like ``.871`` (German ``0,871``): a true minus, "none" for None.

    Only English leaves out the zero before the point.
    """
    if value is None or _missing(value):
        return gettext("none")
    text = f"{abs(float(value)):.{digits}f}"
    negative = float(value) < 0 and float(text) != 0
    if _is_english() and text.startswith("0."):
        text = text[1:]
    return (MINUS if negative else "") + _localized(text)


def probability(value: Number | None, digits: int = 2) -> str:
    """Format an estimated probability like ``.87``; what rounds to 1 is not certain: ``>.99``."""
    if value is None or _missing(value) or round(float(value), digits) < 1:
        return score(value, digits)
    return ">" + score(1 - 10**-digits, digits)


def interval(low: Number | None, high: Number | None, digits: int = 3) -> str:
    """Format an interval like ``.846–.892``; with a negative end the dash becomes "to".

    With one digit and an end beyond 1 (per cent, grades) both keep their zero: ``0.4–3.1``.
    """
    if low is None or high is None or _missing(low) or _missing(high):
        return gettext("none")
    left, right = score(low, digits), score(high, digits)
    if digits == 1 and max(abs(float(low)), abs(float(high))) >= 1:
        left, right = (re.sub(r"^(\D?)\.", r"\g<1>0.", text) for text in (left, right))
    if MINUS in left + right:
        return gettext("%(low)s to %(high)s") % {"low": left, "high": right}
    return f"{left}{EN_DASH}{right}"


def format_signed(value: Number | None, digits: int = 2) -> str:
    """``+ .02`` or ``− .02``; a difference that rounds to nothing is ``0``."""
    if value is None or _missing(value):
        return gettext("none")
    text = score(abs(float(value)), digits)
    if float(f"{abs(float(value)):.{digits}f}") == 0:
        return "0"
    return f"{'+' if float(value) > 0 else MINUS}{NBSP}{text}"


def percent(share: Number | None, digits: int = 0) -> str:
    """A share from 0 to 1 as ``61%`` (German and Spanish ``61 %``)."""
    if share is None or _missing(share):
        return gettext("none")
    text = _localized(f"{float(share) * 100:.{digits}f}")
    return f"{text}%" if _is_english() else f"{text}{NBSP}%"


def percent_interval(low: float, high: float, digits: int = 0) -> str:
    """Two shares from 0 to 1 as ``30–93%`` (German and Spanish ``30–93 %``)."""
    return f"{_localized(f'{100 * low:.{digits}f}')}{EN_DASH}{percent(high, digits)}"


def general(value: float) -> str:
    """A number without zeros behind the point: ``22.5``, ``3`` (German ``22,5``)."""
    return _localized(f"{value:g}").replace("-", MINUS)


def p_value(p: Number | None) -> str:
    """``.034``, or ``< .001``; "none" where there is none."""
    return f"< {score(0.001)}" if p is not None and p < 0.001 else score(p)


def plain_decimal(value: Decimal) -> str:
    """``5`` or ``2.5``: without zeros behind the point and without an exponent."""
    return f"{value.normalize():f}"


def _is_english() -> bool:
    return (get_language() or "en").startswith("en")


def _localized(text: str) -> str:
    """A number written the English way, in the language that is spoken."""
    if _is_english():
        return text
    if get_language() == "es":  # Spanish separates thousands from five digits on
        text = FOUR_DIGITS.sub(r"\1\2", text)
    signs = get_format("THOUSAND_SEPARATOR"), get_format("DECIMAL_SEPARATOR")
    return text.translate(dict(zip((ord(","), ord(".")), signs, strict=True)))


def written(text: str) -> str:
    """Return a number that somebody wrote the English way in the language; else as it is."""
    return _localized(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text


def stored_number(text: str) -> str:
    """Return a number as stored English sentences write it (``.05``, ``1,000``, ``61%``)."""
    if _is_english():
        return text
    share = text.endswith("%")
    figure = _localized(re.sub(r"^(\D?)\.", r"\g<1>0.", text.removesuffix("%")))
    return f"{figure}{NBSP}%" if share else figure


def decimal(value: Number, digits: int = 1) -> str:
    """A number with so many decimals: ``1.0``, ``1,272.5`` (German ``1.272,5``)."""
    return _localized(f"{value:,.{digits}f}")


def count(value: Number | None) -> str:
    """Format a whole number with separators of thousands, like ``1,272`` (German ``1.272``)."""
    return gettext("none") if value is None else _localized(f"{int(value):,}")


def amount(value: Number | None) -> str:
    """Money without its sign, two decimals: ``1,100.00``."""
    if value is None:
        return gettext("none")
    exact = round_money(value)
    return _localized(f"{MINUS}{-exact:,}" if exact < 0 else f"{exact:,}")


def currency_sign(currency: str) -> str:
    """``€``, or the code of a currency without a common sign, for the heads of columns."""
    return SYMBOLS.get(currency.upper(), currency.upper())


def money(value: Number | None, currency: str = "EUR", *, whole: bool = False) -> str:
    """``€1.80``, in other languages ``1,80 €``; ``CHF 1.80``. ``whole`` drops cents."""
    if value is None:
        return gettext("none")
    text = amount(value)
    if whole:
        text = amount(round_money(value, 0))[:-3]
    return _with_currency(text, currency)


def _with_currency(text: str, currency: str) -> str:
    """A written amount with the sign of its currency where the language puts it."""
    if not _is_english():
        return f"{text}{NBSP}{currency_sign(currency)}"
    symbol = SYMBOLS.get(currency.upper(), currency.upper() + NBSP)
    return f"{MINUS}{symbol}{text[1:]}" if text.startswith(MINUS) else f"{symbol}{text}"


def small_money(value: Number, currency: str = "EUR", *, digits: int = 2) -> str:
    """An amount with so many ``digits`` that matter: ``€1.80``, ``€0.0042``, ``€0``."""
    exact = as_decimal(value)
    if exact == 0:
        return _with_currency("0", currency)
    places = digits - 1 - exact.adjusted()
    if places <= CENTS:
        return money(exact, currency)
    least = Decimal("0.00000001")
    if abs(exact) < least:
        written = _with_currency(_localized(f"{least:f}"), currency)
        return gettext("under %(amount)s") % {"amount": written}
    units, _point, decimals = f"{abs(exact):.{min(places, 8)}f}".partition(".")
    text = f"{units}.{decimals.rstrip('0').ljust(CENTS, '0')}"
    return _with_currency(_localized(f"{MINUS if exact < 0 else ''}{text}"), currency)


def power_of_ten(value: float) -> str:
    """``7 × 10⁻⁷`` for small numbers, ``.0001`` down to four decimals."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)) + 1e-12)
    if exponent >= -4:
        return score(value, max(0, -exponent))
    lead = round(value / 10.0**exponent)
    if abs(lead) == 10:
        lead, exponent = lead // 10, exponent + 1
    ten = "10" + str(exponent).translate(_SUPERSCRIPT)
    return ten if lead == 1 else f"{lead}{NBSP}×{NBSP}{ten}"


def size_parts(value: float) -> tuple[str, str]:
    """Bytes as a number and a unit."""
    for unit, bytes_of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= bytes_of:
            number = value / bytes_of
            return decimal(number, 1 if number < 100 else 0), unit
    return f"{value / 1e3:.0f}", "kB"


def sized(value: float) -> str:
    """Format a size in bytes with its unit."""
    return " ".join(size_parts(value))


def word(value: int) -> str:
    """Write a whole number in words up to twelve, then in figures; only English has words."""
    return WORDS[value] if _is_english() and 0 <= value < len(WORDS) else count(value)


def plural(value: Number, one: str, many: str | None = None) -> str:
    """``1 answer``, ``1,272 answers``; the catalogues hold both with their number."""
    forms = f"%(count)s {one}", f"%(count)s {many or one + 's'}"
    # A part of one (1.5 answers) is several; int() would make it one.
    told = ngettext(*forms, 1 if value == 1 else 2 if value < 2 else int(value))
    return told % {"count": count(value)}


def several(noun: str) -> str:
    """Return the plural of a task type's noun, translated: ``questions``."""
    many = f"{noun}s"
    return pgettext("nouns", many)


def mid_sentence(title: object) -> str:
    """Write a title as within a sentence: in lower case, but for German, abbreviations and names.

    A name has two capitals: ``Label Studio``.
    """
    text = str(title)
    is_name = "".join(text.split()[1:2]).istitle()
    if get_language() == "de" or text[1:2].isupper() or is_name:
        return text
    return text[:1].lower() + text[1:]


def listed(names: Sequence[str], most: int | None = None) -> str:
    """``a, b and c``; with more than ``most`` names ``a, b and 3 more``."""
    if most is not None and len(names) > most:
        told = {"names": ", ".join(names[:most]), "n": count(len(names) - most)}
        return gettext("%(names)s and %(n)s more") % told
    if len(names) < 2:
        return "".join(names)
    return gettext("%(names)s and %(last)s") % {"names": ", ".join(names[:-1]), "last": names[-1]}


def seconds_of(value: Number | timedelta) -> float:
    """Seconds of a timedelta or of a plain number of seconds."""
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


def _unit(name: str) -> str:
    """Return the sign of a unit of time as the language writes it."""
    return {"h": pgettext("unit", "h"), "min": pgettext("unit", "min")}.get(name, name)


def duration(value: Number | timedelta | None) -> str:
    """``12 ms``, ``0.3 s``, ``41 s``, ``9 min 40 s``, ``1 h 05 min``, ``3 days``."""
    if value is None:
        return gettext("none")
    seconds = max(0.0, seconds_of(value))
    if seconds < 9.95:
        return _short_duration(seconds)
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NBSP}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}{NBSP}{_unit('min')}" + (f" {rest:02d}{NBSP}s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        more = f" {minutes:02d}{NBSP}{_unit('min')}" if minutes else ""
        return f"{hours}{NBSP}{_unit('h')}{more}"
    return plural(hours // 24, "day", "days").replace(" ", NBSP)


def _short_duration(seconds: float) -> str:
    if 0 < seconds < 0.0995:
        return f"{max(1, round(1000 * seconds))}{NBSP}ms"
    return f"{decimal(seconds, 1) if seconds % 1 else f'{seconds:.0f}'}{NBSP}s"


def clock(value: Number | timedelta | None) -> str:
    """``41:12``, with hours ``1:02:03``; what is over reads ``0:00``."""
    if value is None:
        return gettext("none")
    minutes, seconds = divmod(int(max(0.0, seconds_of(value))), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def short_date(value: date | None, *, today: date | None = None) -> str:
    """``11 Nov`` (German ``11. Nov.``), with the year where it is not this one."""
    if value is None:
        return gettext("none")
    today = today or datetime.now(UTC).date()
    if _is_english():
        text = f"{value.day}{NBSP}{MONTHS[value.month - 1]}"
    else:
        text = dateformat.format(value, gettext("j M")).replace(" ", NBSP)
    return text if value.year == today.year else f"{text} {value.year}"


def long_date(value: date, *, year: bool = True) -> str:
    """``11 November 2026`` (German ``11. November 2026``), or without its year."""
    return dateformat.format(value, gettext("j F Y") if year else gettext("j F"))


def month(value: date) -> str:
    """Format a month, like ``November 2026``."""
    return dateformat.format(value, gettext("F Y"))


def moment(value: datetime | None) -> str:
    """Format a time with its date, like ``21 Nov 08:12``."""
    if value is None:
        return gettext("none")
    local = timezone.localtime(value) if timezone.is_aware(value) else value
    return f"{short_date(local, today=timezone.localdate())} {local:%H:%M}"


def ago(value: datetime | None, *, now: datetime | None = None) -> str:
    """``2 s ago``, ``41 min ago``, ``4 days ago``, then the date; None reads "never"."""
    if value is None:
        return gettext("never")
    now = now or datetime.now(UTC)
    seconds = (now - value).total_seconds()
    ahead, seconds = seconds < -0.5, abs(seconds)
    if seconds < 1:
        return gettext("now")
    if seconds >= 7 * 86400:
        return short_date(value.date(), today=now.date())
    steps = ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h"), (math.inf, 86400, "day"))
    unit, name = next((unit, name) for limit, unit, name in steps if seconds < limit)
    number = int(seconds // unit)
    if name == "day":  # its case and number follow from the sentence
        days = (
            ngettext("in %(count)s day", "in %(count)s days", number)
            if ahead
            else ngettext("%(count)s day ago", "%(count)s days ago", number)
        )
        return days.replace("%(count)s ", f"%(count)s{NBSP}") % {"count": count(number)}
    text = f"{number}{NBSP}{_unit(name)}"
    return (gettext("in %(time)s") if ahead else gettext("%(time)s ago")) % {"time": text}


# What comes from outside ----------------------------------------------------------------------

LARGEST = 2**63 - 1  # of a row's id, and of every whole number that the database keeps
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_GROUPED_OR_FINE = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_EXACT = re.compile(r"[+-]?([0-9]{1,15}([.,][0-9]{0,15})?|[.,][0-9]{1,15})")


def parse_whole(raw: object, low: int = 0, high: int = LARGEST) -> int | None:
    """Parse a whole number from ``low`` to ``high`` from untrusted input; None for anything else.

    The one road from a request's text to an ``int``: its length is bounded before it is read, and
    other scripts' digits are none.
    """
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        return None
    if isinstance(raw, str):
        text = raw.strip()
        if not _WHOLE.fullmatch(text):
            return None
        raw = int(text)
    return raw if low <= raw <= high else None


def exact(raw: object, low: Number = 0, high: Number = LARGEST) -> Decimal | None:
    """Parse a decimal number without an exponent from untrusted input; a comma may be its point.

    None for "1,250" too, which may be 1250: it is not guessed. Amounts: ``crowdqc.money``.
    """
    if isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal):
        return None
    text = str(raw).strip()
    if not _EXACT.fullmatch(text) or _GROUPED_OR_FINE.fullmatch(text):
        return None
    value = as_decimal(text.replace(",", "."))
    return value if low <= value <= high else None


def parse_real(raw: object, low: float = -1e15, high: float = 1e15) -> float | None:
    """Parse a float from untrusted input, exponent allowed; None if invalid or out of range."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    if isinstance(raw, str) and (len(raw) > 40 or _GROUPED_OR_FINE.fullmatch(raw.strip())):
        return None
    try:
        value = float(raw.replace(",", ".") if isinstance(raw, str) else raw)
    except (ValueError, OverflowError):
        return None
    return value if low <= value <= high else None


def by_size(name: str) -> tuple[bool, float, str]:
    """A key that sorts names: numbers by size, before words."""
    try:
        value = float(name)
    except ValueError:
        value = math.nan
    return (False, value, name) if math.isfinite(value) else (True, 0.0, name)
