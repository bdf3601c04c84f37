"""Known answers: what a type lets be known of an item, how it is stored, and what matches it.

Pure. ``Item.expected`` holds, by the name of what is asked: a code (``"yes"``); a number and how
far an answer may be off, ``{"value": "4", "within": "1"}``; or the answers in words that are
accepted, ``{"accept": ["stork", "a stork"]}``. Who works never reads it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext

from crowdqc.errors import Invalid
from crowdqc.numbers import exact

CHOICE, POINT, WORDS = "choice", "point", "words"
MOST_ACCEPTED, LONGEST = 20, 200  # answers in words that are accepted, and characters of each
LARGEST = 10**12
THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
Expected = Mapping[str, Any]


@dataclass(frozen=True)
class KnownField:
    """One thing that is asked of an item and can be known of it.

    ``kind``: a code out of the options, a point of a scale that may be off, or words. ``options``
    are codes with their labels, the codes as they are stored.
    """

    name: str
    label: str
    kind: str = CHOICE
    options: tuple[tuple[str, str], ...] = ()

    @property
    def takes_tolerance(self) -> bool:
        """Whether an answer may be off by so much."""
        return self.kind != CHOICE


def clean_known(fields: Sequence[KnownField], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check known answers and return them as stored; Invalid names the wrong field.

    ``given``: by field a text, or ``{"value", "within"}`` with an answer (in words: one a line)
    and how far a number may be off.
    """
    by_name, found = {one.name: one for one in fields}, {}
    for name, raw in given.items():
        row = raw if isinstance(raw, Mapping) else {"value": raw}
        value, within = (str(row.get(key) or "").strip() for key in ("value", "within"))
        if not value:
            continue
        if name not in by_name:
            raise Invalid(
                gettext("%(name)s is no field that can have a known answer.")
                % {"name": repr(name)},
                fields={name: ", ".join(by_name) or gettext("No field can.")},
            )
        found[name] = _read(by_name[name], value, within)
    return found


def _read(one: KnownField, value: str, within: str) -> Any:
    codes = [code for code, _ in one.options]
    if one.options and value not in codes:
        raise Invalid(
            gettext("“%(label)s” has no option %(value)s.")
            % {"label": one.label, "value": repr(value[:40])},
            fields={one.name: ", ".join(codes)[:300]},
        )
    if not one.takes_tolerance:
        if within:
            raise Invalid(
                gettext("“%(label)s” takes no tolerance.") % {"label": one.label},
                fields={one.name: gettext("Leave it empty.")},
            )
        return value
    if one.kind == WORDS and not within:
        return {"accept": _accepted(one, value)}
    off = exact(within or "0", 0, LARGEST)
    if off is None:
        raise Invalid(
            gettext("The tolerance of “%(label)s” is %(within)s.")
            % {"label": one.label, "within": repr(within[:40])},
            fields={one.name: gettext("A number from 0.")},
        )
    if number_in(value) is None:
        raise Invalid(
            gettext("“%(label)s” has a tolerance, and %(value)s is no number.")
            % {"label": one.label, "value": repr(value[:40])},
            fields={one.name: gettext("One number, or no tolerance.")},
        )
    return {"value": value, "within": str(off)}


def _accepted(one: KnownField, value: str) -> list[str]:
    lines = list(dict.fromkeys(line.strip() for line in value.splitlines() if line.strip()))
    if len(lines) > MOST_ACCEPTED or any(len(line) > LONGEST for line in lines):
        raise Invalid(
            gettext("“%(label)s” accepts too much.") % {"label": one.label},
            fields={
                one.name: gettext("%(most_accepted)s answers of %(longest)s characters at most.")
                % {"most_accepted": MOST_ACCEPTED, "longest": LONGEST}
            },
        )
    if not all(plain(line) for line in lines):
        raise Invalid(
            gettext("“%(label)s” accepts an answer without letters or digits.")
            % {"label": one.label},
            fields={one.name: gettext("Write a word or a number.")},
        )
    return lines


def plain(text: str) -> str:
    """Normalise a text for comparing: case, spaces and surrounding signs are ignored."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    ends = [at for at, sign in enumerate(folded) if sign.isalnum()]
    return folded[ends[0] : ends[-1] + 1] if ends else ""


def number_in(text: str) -> Decimal | None:
    """The number that a text is, "1,250" and "3,5" too; None for any other text."""
    text = text.strip().rstrip(".")
    text = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
    return exact(text, -LARGEST, LARGEST)


def matches(expected: Expected, given: Iterable[tuple[str, str]]) -> bool:
    """Return whether an answer matches the known answer on every field that has one.

    ``given``: the fields of the answer, each with its code or text. A line that is left out or
    declined does not match.
    """
    said: dict[str, list[str]] = {}
    for name, value in given:
        said.setdefault(name, []).append(value)
    return all(
        any(_fits(known, value) for value in said.get(name, ())) for name, known in expected.items()
    )


def values_given(values: Any) -> list[tuple[str, str]]:
    """Return the fields of ``Values`` as ``matches`` takes them."""
    said = [(name, code) for name, code, _ in values.choices]
    return said + [(name, text) for name, _, text in values.texts]


def _fits(known: Any, value: str) -> bool:
    if not isinstance(known, Mapping):
        return bool(known == value)
    if "accept" in known:
        return plain(value) in {plain(one) for one in known["accept"]}
    number, right = number_in(value), number_in(known["value"])
    return (
        number is not None and right is not None and abs(number - right) <= Decimal(known["within"])
    )


def as_cell(known: Any) -> str:
    """Write a known answer as a table cell; several accepted answers are lines."""
    if not isinstance(known, Mapping):
        return str(known)
    return "\n".join(known["accept"]) if "accept" in known else str(known["value"])


def in_words(fields: Sequence[KnownField], expected: Expected | None) -> str:
    """Known answers in one line, for those who author: "Quality: 4, 1 off at most"."""
    known, several = expected or {}, len(fields) > 1
    return "; ".join(
        (f"{one.label}: " if several else "") + _describe_known(one, known[one.name])
        for one in fields
        if one.name in known
    )


def _describe_known(one: KnownField, known: Any) -> str:
    labels = dict(one.options)
    if not isinstance(known, Mapping):
        return labels.get(known) or str(known)
    if "accept" in known:
        return gettext(" or ").join(f"“{text}”" for text in known["accept"])
    value = labels.get(known["value"]) or known["value"]
    if not Decimal(known["within"]):
        return str(value)
    return gettext("%(value)s, %(within)s off at most") % {
        "value": value,
        "within": known["within"],
    }


def wrong_in(fields: Sequence[KnownField], expected: Expected, noun: str = "known answer") -> str:
    """Return why known answers no longer fit the task's fields; "" if they fit."""
    one_of = gettext("An attention pair") if noun == "attention pair" else gettext("A known answer")
    by_name = {one.name: one for one in fields}
    for name, known in expected.items():
        if name not in by_name:
            return gettext("%(known)s expects something of “%(name)s”, which is not asked") % {
                "known": one_of,
                "name": name,
            }
        one = by_name[name]
        code = known.get("value", "") if isinstance(known, Mapping) else known
        if one.options and code not in dict(one.options):
            return gettext(
                "%(known)s expects “%(code)s” of “%(label)s”, which does not offer it"
            ) % {
                "known": one_of,
                "code": code,
                "label": one.label,
            }
    return ""
