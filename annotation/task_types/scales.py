"""What the types that ask several things of one item share: names, texts and lists in settings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.errors import Invalid
from crowdqc.numbers import count

MAX_NAME, MAX_LABEL, MAX_TEXT = 40, 80, 600
MAX_ASKED, MAX_IDS = 20, 20_000
MAX_POINTS = 101  # of a scale, from 0 to 100
SPELLED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l"}
)
FACTORS = (10, 100)  # by which a scale stores decimals
DECIMAL = re.compile(r"[+-]?\d{1,9}(?:[.,]\d{1,30})?(?:[eE][+-]?\d{1,2})?")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def truth(value: Any) -> bool:
    """Return whether a setting or a form's checkbox is on."""
    return value in (True, "true", "True", "on", "1", 1)


def name_of(label: str, taken: Sequence[str]) -> str:
    """Make a free short name from a label, for exports and results."""
    base = re.sub(r"[^a-z0-9]+", "_", _in_ascii(label.lower())).strip("_")
    base = base if _NAME.match(base) else f"d_{base}".strip("_")
    name, number = base[:MAX_NAME], 2
    while name in taken:
        name, number = f"{base[: MAX_NAME - 4]}_{number}", number + 1
    return name


def _in_ascii(text: str) -> str:
    """Spell umlauts out and drop accents; letters of other scripts stay."""
    spelled = unicodedata.normalize("NFC", text).translate(SPELLED)
    parts = unicodedata.normalize("NFKD", spelled)
    return "".join(one for one in parts if not unicodedata.combining(one))


def scaled(written: str, factor: int = 1) -> int | None:
    """A number as a file writes it, times ``factor``; None where that is no whole number.

    3.50 and 3,5 times 10 are 35.
    """
    if DECIMAL.fullmatch(written) is None:
        return None
    number = Fraction(written.replace(",", ".")) * factor
    return number.numerator if number.denominator == 1 else None


def written_points(scale: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the points of a scale of decimals as files write them; () of any other scale."""
    factor = scale.get("factor", 1)
    return tuple(
        point["label"]
        if scaled(point["label"], factor) == point["value"]
        else f"{point['value'] / factor:g}"
        for point in (scale["points"] if factor > 1 else ())
    )


def text(raw: Mapping[str, Any], field: str, where: str, most: int = MAX_TEXT) -> str:
    """A text of a row of settings, without what cannot be stored; Invalid names the row."""
    value = str(raw.get(field) or "").replace("\r\n", "\n").replace("\x00", "").strip()
    if len(value) > most:
        raise Invalid(
            _("%(where)s: %(field)s is too long.") % {"where": where, "field": field},
            fields={where: _("%(most)s characters at most.") % {"most": most}},
        )
    return value


def draft_values(
    raw: Mapping[str, Any], prefix: str, fits: Callable[[Any], bool], hint: str
) -> dict[str, Any]:
    """Read a draft's values by field, and whether the item is skipped.

    Fields of lines begin with ``prefix``. Raises Invalid, naming the field, with ``hint``.
    """
    draft: dict[str, Any] = {}
    for name, value in raw.items():
        if name.startswith(prefix) and value not in ("", None):
            if len(name) > len(prefix) + MAX_NAME or not fits(value):
                raise Invalid(
                    _("%(name)s is %(value)s.") % {"name": name, "value": repr(str(value)[:40])},
                    fields={name: hint},
                )
            draft[name] = str(value)
    if len(draft) > MAX_ASKED:
        raise Invalid(
            _("There are too many lines."),
            fields={"draft": _("%(max_asked)s at most.") % {"max_asked": MAX_ASKED}},
        )
    draft["skipped"] = truth(raw.get("skipped", False))
    return draft


def answered_lines(draft: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """Return the draft's values by the name of their line, without ``prefix``."""
    return {
        name.removeprefix(prefix): value for name, value in draft.items() if name.startswith(prefix)
    }


def rows(raw: Any, what: str, most: int = MAX_ASKED) -> list[Mapping[str, Any]]:
    """Check that a setting is a list of objects, and return it; Invalid if not."""
    if not isinstance(raw, list) or not all(isinstance(row, Mapping) for row in raw):
        raise Invalid(
            _("%(what)s is not a list.") % {"what": what}, fields={what: _("A list of objects.")}
        )
    if len(raw) > most:
        raise Invalid(
            _("Too many %(what)s.") % {"what": what},
            fields={what: _("%(max_asked)s at most.") % {"max_asked": most}},
        )
    return raw


def parse_label(raw: Mapping[str, Any], where: str, taken: list[str]) -> dict[str, str]:
    """Parse name, label and question of one row; a missing name is made from the label."""
    label = text(raw, "label", where, MAX_LABEL)
    if not label:
        raise Invalid(
            _("%(where)s has no name.") % {"where": where}, fields={where: _("Write a name.")}
        )
    name = str(raw.get("name") or "") or name_of(label, taken)
    if not _NAME.fullmatch(name):
        raise Invalid(
            _("%(where)s: %(name)s cannot be a short name.") % {"where": where, "name": repr(name)},
            fields={where: _("Small letters, digits and _, beginning with a letter.")},
        )
    if name in taken:
        raise Invalid(
            _("%(where)s: %(name)s is there twice.") % {"where": where, "name": name},
            fields={where: _("Another name.")},
        )
    taken.append(name)
    return {"name": name, "label": label, "question": text(raw, "question", where)}


def ids(raw: Any, what: str) -> list[int]:
    """Check that a setting is a list of ids, and return each once, in order; Invalid if not."""
    if raw is None:
        return []
    if not isinstance(raw, list) or not all(type(pk) is int for pk in raw):
        raise Invalid(
            _("%(what)s is not a list of ids.") % {"what": what},
            fields={what: _("A list of numbers.")},
        )
    if len(raw) > MAX_IDS:
        raise Invalid(
            _("Too many in %(what)s.") % {"what": what},
            fields={what: _("%(max_ids)s at most.") % {"max_ids": count(MAX_IDS)}},
        )
    return sorted(set(raw))
