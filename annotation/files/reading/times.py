"""Moments as files write them: ISO 8601, seconds since 1970 and thousandths, dates with slashes.

Forms of Google write ``2026/11/01 9:00:00 AM GMT+1``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

ZONE = re.compile(r" (?:GMT|UTC)(?:([+-])(\d{1,2})(?::?(\d{2}))?)?$", re.IGNORECASE | re.ASCII)
CLOCK = r"(?:,? (\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?: ?([AP])M)?(?: (?:GMT|UTC)[\d+:-]*)?)?"
SLASHES = re.compile(r"(\d{1,2})([/.])(\d{1,2})\2(\d{4})" + CLOCK, re.IGNORECASE)
YEAR_FIRST = re.compile(r"(\d{4})([/.])(\d{1,2})\2(\d{1,2})" + CLOCK, re.IGNORECASE)
EPOCH = re.compile(r"\d*\.?\d+(?:[eE]\+?\d{1,2})?|\d+\.", re.ASCII)
LEAST_EPOCH = 1e8  # seconds; smaller numbers are no moments
UNITS = ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))  # below, and how many of it a second has


def parse_moment(raw: str, day_first: bool | None = None) -> dt.datetime | None:
    """Parse a time from text, in UTC unless it names a zone; None if it cannot be read.

    ``day_first`` says which of two numbers up to 12 is the day; without it such a date is none.
    """
    try:
        bare, zone = _without_zone(raw)
        at = _from_number(raw) or _from_slashes(bare, day_first) or dt.datetime.fromisoformat(bare)
        at = at if at.tzinfo else at.replace(tzinfo=zone)
        return at if 1990 <= at.astimezone(dt.UTC).year <= 2100 else None
    except (ValueError, OverflowError, OSError):
        return None


def is_day_first(values: Iterable[str]) -> bool | None:
    """Whether dates with slashes begin with the day; None where no date or both tell."""
    found = None
    for value in values:
        if (match := SLASHES.fullmatch(value.strip())) and match[2] == "/":
            first, second = int(match[1]), int(match[3])
            if max(first, second) > 12:
                if found is not None and found != (first > 12):
                    return None
                found = first > 12
    return found


def _from_number(raw: str) -> dt.datetime | None:
    if EPOCH.fullmatch(raw) is None or float(raw) < LEAST_EPOCH:
        return None
    number = float(raw)
    per_second = next((per for most, per in UNITS if number < most), 1)
    return dt.datetime.fromtimestamp(number / per_second, dt.UTC)


def _without_zone(raw: str) -> tuple[str, dt.timezone]:
    """A time without the zone that ends it, such as ``GMT+1``, and that zone; UTC without."""
    match = ZONE.search(raw)
    if match is None:
        return raw, dt.UTC
    away = dt.timedelta(hours=int(match[2] or 0), minutes=int(match[3] or 0))
    return raw[: match.start()], dt.timezone(-away if match[1] == "-" else away)


def _from_slashes(raw: str, day_first: bool | None) -> dt.datetime | None:
    if (match := YEAR_FIRST.fullmatch(raw)) is not None:
        year, month, day = int(match[1]), int(match[3]), int(match[4])
        return dt.datetime(year, month, day, *_clock(*match.groups()[4:]))
    match = SLASHES.fullmatch(raw)
    if match is None:
        return None
    first, second = int(match[1]), int(match[3])
    if match[2] == ".":
        day_first = True
    elif max(first, second) > 12:
        day_first = first > 12
    if day_first is None:
        return None
    day, month = (first, second) if day_first else (second, first)
    return dt.datetime(int(match[4]), month, day, *_clock(*match.groups()[4:]))


def _clock(hour: str, minute: str, second: str, half: str) -> tuple[int, int, int]:
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + (12 if half.upper() == "P" else 0)
    return hours, int(minute or 0), int(second or 0)
