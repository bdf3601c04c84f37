"""Notes of the books, kept in English, and their translation where people read them.

Statements, bonuses and entries keep their notes for files, which are English. A page finds the
template that a note fits and writes it in the reader's language, amounts and numbers included.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.utils import translation
from django.utils.translation import get_language, gettext, gettext_noop

from annotation.models import Payment
from annotation.models.decisions import Decision
from crowdqc.money import SYMBOLS, as_decimal
from crowdqc.numbers import mid_sentence, money, written

TEMPLATES = (
    # Statements.
    gettext_noop("nobody known here came by this submission"),
    gettext_noop("not approved there, and here: %(state)s"),
    gettext_noop("here: %(state)s"),
    gettext_noop("paid there, and here: %(state)s; decide about the work here"),
    gettext_noop("paid there, and here: %(state)s"),
    gettext_noop("paid there although it is rejected here"),
    gettext_noop("told of before"),
    gettext_noop("as %(statement)s said before: %(note)s"),
    gettext_noop("as %(statement)s said before"),
    gettext_noop("the books hold no such payment"),
    gettext_noop("not a payment of this worker: %(numbers)s"),
    gettext_noop("the same payment left a second time"),
    gettext_noop("not booked as paid here"),
    gettext_noop("in %(currency)s, and ours is in %(ours)s; correct it by hand"),
    gettext_noop("booked back since %(taken_back)s lacked it"),
    gettext_noop("ours is %(ours)s"),
    gettext_noop("fee %(fee)s, booked %(booked)s"),
    gettext_noop("booked as paid %(day)s, and the file lacks it"),
    gettext_noop("sent %(day)s, and the file lacks it"),
    gettext_noop("Statement %(statement)s: %(note)s"),
    # Payments by hand.
    gettext_noop("by hand"),
    gettext_noop("by hand: %(reference)s"),
    gettext_noop("by hand, %(reference)s"),
    gettext_noop("deducted"),
    # Bonuses.
    gettext_noop("no bonus: %(note)s"),
    gettext_noop("rank %(place)s, no step is reached in run %(run)s"),
    gettext_noop("ranks %(low)s–%(high)s, no step is reached in run %(run)s"),
    gettext_noop("lower end %(low)s, no step is reached in run %(run)s"),
    gettext_noop("rank %(place)s within the first %(first)s in run %(run)s"),
    gettext_noop("ranks %(low)s–%(high)s within the first %(first)s in run %(run)s"),
    gettext_noop("lower end %(low)s reaches %(step)s in run %(run)s"),
    gettext_noop("no run is finished yet"),
    gettext_noop("not scored in run %(run)s"),
    gettext_noop("no rank in run %(run)s"),
    gettext_noop("no interval in run %(run)s"),
    gettext_noop("shares no questions with most, so ranks do not compare"),
    gettext_noop("%(flat)s%% of the base"),
    gettext_noop("raised to %(floor)s an hour (%(time)s, %(how)s)"),
    gettext_noop("cut by the cap of %(amount)s a person"),
    gettext_noop("cut to its share of %(amount)s in total"),
    gettext_noop("written by hand; the rule gives %(amount)s"),
)
HOLDER = re.compile(r"%\\\((\w+)\\\)s")
CODES = {symbol: code for code, symbol in SYMBOLS.items()}
AMOUNT = re.compile(rf"({'|'.join(map(re.escape, CODES))}|[A-Z]{{3}}\s)(\d[\d,]*\.\d+)")


P = ParamSpec("P")
R = TypeVar("R")


def english(write: Callable[P, R]) -> Callable[P, R]:
    """Decorate what writes notes: they are kept in English, whoever causes them."""

    @wraps(write)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with translation.override(settings.LANGUAGE_CODE):
            return write(*args, **kwargs)

    return wrapped


@lru_cache(2000)
def _translated(note: str, _language: str) -> str:
    if (whole := _whole(note)) is not None:
        return whole
    return "; ".join(_whole(part) or part for part in note.split("; "))


def translate_note(note: str) -> str:
    """Return a note of the books in the reader's language; one that a person wrote stays."""
    language = get_language() or "en"
    # Older notes of bonuses name the measure, too.
    note = re.sub(r" of the \w+(?= reaches |, no step )", "", note)
    return note if language.startswith("en") else _translated(note, language)


def _whole(text: str) -> str | None:
    for pattern, template in _patterns():
        if match := pattern.fullmatch(text):
            values = {name: _value(name, one) for name, one in match.groupdict().items()}
            return gettext(template) % values
    return None


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """The templates as patterns, those with most text of their own first."""
    ordered = sorted(TEMPLATES, key=lambda one: -len(re.sub(r"%\(\w+\)s", "", one)))
    return [
        (re.compile(HOLDER.sub(_group, re.escape(one).replace("%%", "%")), re.DOTALL), one)
        for one in ordered
    ]


def _group(holder: re.Match[str]) -> str:
    """A value ends at a semicolon, behind which the next note begins, unless it is one itself."""
    mark = "." if holder[1] in ("note", "reference", "statement") else "(?:(?!; ).)"
    return f"(?P<{holder[1]}>{mark}+?)"


@cache
def _states() -> dict[str, Any]:
    with translation.override(settings.LANGUAGE_CODE):
        labels = [one.label for one in (*Decision, *Payment.State)]
        return {str(label).lower(): label for label in labels}


def _value(name: str, text: str) -> str:
    if name == "note":
        return _whole(text) or "; ".join(_whole(part) or part for part in text.split("; "))
    if name == "state":
        return mid_sentence(_states().get(text, text))
    if name == "how":
        return gettext(text)
    if amount := AMOUNT.fullmatch(text):
        code = CODES.get(amount[1]) or amount[1].strip()
        return money(as_decimal(amount[2].replace(",", "")), code)
    return written(f"0{text}" if re.fullmatch(r"\.\d+", text) else text)
