"""Which columns may say who answered what, by their values: offered where no name tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.text import get_text_list
from django.utils.translation import gettext as _

from annotation.files.reading.importer import Field
from annotation.files.reading.recognise import MOST_LABELS, are_objects, are_sentences, repeats
from annotation.files.reading.rows import Row
from annotation.files.reading.times import parse_moment
from annotation.files.reading.values import NUMBER
from annotation.formats.imports.tables.base import SAME_FIELDS
from crowdqc.numbers import mid_sentence

ROLES = ("worker", "item", "label")
SHOWN = 4  # columns that a sentence names
Possible = Mapping[str, Sequence[str]]


def possible_columns(columns: Sequence[str], rows: Sequence[Row]) -> dict[str, list[str]]:
    """Role -> the columns whose values may be its own; the most likely kinds of values only.

    Names of workers repeat, are short and no decimals; labels are a few that repeat; items are no
    times.
    """
    found: dict[str, list[str]] = {role: [] for role in ROLES}
    for name in filter(None, columns):
        values = [value for row in rows if (value := row.values.get(name, "").strip())]
        several = set(values)
        if len(several) < 2 or are_objects(values) or all(map(parse_moment, several)):
            continue
        if repeats(values):
            is_decimal = all(map(NUMBER.fullmatch, several)) and any(map(_has_point, several))
            if not is_decimal and not are_sentences(several):
                found["worker"].append(name)
            if len(several) <= MOST_LABELS:
                found["label"].append(name)
        found["item"].append(name)
    return found


def _has_point(value: str) -> bool:
    return "." in value or "," in value


def reason_of_columns(
    fields: Sequence[Field],
    mapping: Mapping[str, str],
    unmapped: Sequence[Mapping[str, Any]],
    possible: Possible,
) -> str:
    """Say which fields (``unmapped``: name and label) have no column, and which columns may do.

    One sentence on what lacks, one on what is read or may be.
    """
    names = [mid_sentence(one["label"]) for one in unmapped]
    said = _("No column is read as %(names)s.") % {"names": get_text_list(names, _("and"))}
    taken = set(mapping.values())
    may: dict[str, str] = {}
    for one in unmapped:
        role = _role_of(one["name"])
        left = [name for name in possible.get(role, ()) if name not in taken] if role else []
        if role == "worker" and not left and possible:
            none = _("No column repeats a few names, as those of workers do.")
            return f"{said} {none}"
        if left and len(unmapped) < len(ROLES):
            may[mid_sentence(one["label"])] = get_text_list(left[:SHOWN], _("or"))
    if may:
        columns = "; ".join(f"{label}: {left}" for label, left in may.items())
        told = _("Possible columns: %(columns)s.") % {"columns": columns}
        return f"{said} {told}"
    labels = {one.name: mid_sentence(one.label) for one in fields}
    read = "; ".join(f"{labels[name]}: {column}" for name, column in mapping.items() if column)
    told = _("Read: %(columns)s.") % {"columns": read}
    return f"{said} {told}" if read else said


def _role_of(names: str) -> str:
    """The role of a field, or of the first of several."""
    first = names.split(maxsplit=1)[0]
    return next((group[0] for group in SAME_FIELDS[:3] if first in group), "")
