"""The fields of a labels task as a version stores them: cleaned, named, and in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.chats.units import (
    AMONG,
    ASSISTANT,
    LAST,
    LONGEST_UNIT,
    MARK,
    PER,
    TURNS,
    WHOLE,
    unit_label,
)
from annotation.files.reading.values import plain_value
from annotation.task_types.base import whole_number
from annotation.task_types.scales import MAX_LABEL, MAX_POINTS, name_of, text, truth
from crowdqc.errors import Invalid
from crowdqc.numbers import exact
from crowdqc.web.terms import Words

CHOOSE_ONE, CHOOSE_SEVERAL = "choose_one", "choose_several"
SCALE, NUMBER = "scale", "number"
SHORT_TEXT, LONG_TEXT = "short_text", "long_text"
SPANS, RANK, CHOOSE_TURN = "spans", "rank", "choose_turn"
KINDS: Mapping[str, Words] = {
    CHOOSE_ONE: gettext_lazy("Choose one"),
    CHOOSE_SEVERAL: gettext_lazy("Choose several"),
    SCALE: gettext_lazy("Scale"),
    NUMBER: gettext_lazy("Number"),
    SHORT_TEXT: gettext_lazy("Short text"),
    LONG_TEXT: gettext_lazy("Long text"),
    SPANS: gettext_lazy("Text span"),
    RANK: gettext_lazy("Rank"),
    CHOOSE_TURN: gettext_lazy("Choose a turn"),
}
WITH_OPTIONS = frozenset({CHOOSE_ONE, CHOOSE_SEVERAL, SPANS, RANK})
TEXTS = frozenset({SHORT_TEXT, LONG_TEXT})
CORRECTED = frozenset({ASSISTANT, LAST, TURNS})  # parts of which a better text can be written
# What can be asked about each turn or call of a conversation.
PER_UNIT = frozenset({CHOOSE_ONE, CHOOSE_SEVERAL, SCALE, NUMBER, SHORT_TEXT, LONG_TEXT})
CONDITIONAL = frozenset({CHOOSE_ONE, CHOOSE_SEVERAL, SCALE})  # what a condition can look at
SINGLE_CODES = frozenset({CHOOSE_ONE, SCALE})  # answered by one of a known list of codes
UNSURE, NOTHING = "unsure", "nothing"  # codes that no option may have
COMPARISONS: Mapping[str, Words] = {
    "is": gettext_lazy("is"),
    "is_not": gettext_lazy("is not"),
    "one_of": gettext_lazy("is one of"),
    "none_of": gettext_lazy("is none of"),
}
COLORS = ("blue", "orange", "purple", "green", "red", "grey")
MAX_FIELDS, MAX_OPTIONS, MAX_CODE, MAX_CONDITIONS = 30, 200, 40, 10
MAX_UNIT_NAME = 40 - LONGEST_UNIT - len(MARK)
MADE = 24  # characters of a name that is made of a label: values have to fit behind it
NUMBERED = Decimal(1_000_000_000)
SHORT = 300  # characters of a short text
FROM_TEMPLATE = "from_template"  # mark of a field or option whose codes nobody wrote by hand
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_RULE = re.compile(r"[a-z][a-z0-9_]*__[a-z0-9_]+")
Row = dict[str, Any]


def clean_fields(raw: Any) -> list[Row]:
    """Check a version's fields and return them with all keys; Invalid names the wrong field."""
    found: list[Row] = []
    taken: list[str] = []
    for number, row in enumerate(_listed(raw, "fields", MAX_FIELDS), 1):
        found.append(_field(row, f"field {number}", taken, found))
    marking = [(number, row) for number, row in enumerate(found, 1) if row["kind"] == SPANS]
    if len(marking) > 1:  # the page marks one text, and a digit names one label
        first, (number, second) = marking[0][1], marking[1]
        where = f"field {number} ({second['name']})"
        raise Invalid(
            _("%(where)s marks text, as %(first)s does already. A task has one text span field.")
            % {"where": where, "first": first["name"]},
            fields={
                where: _("“%(first)s” marks text already. Add the labels to that field.")
                % {"first": first["label"]}
            },
        )
    return found


def new_field(name: str, question: str) -> Row:
    """Make a field that has only a question so far."""
    return {"name": name, "label": question[:MAX_LABEL], "question": question, "kind": CHOOSE_ONE}


def points_of(field: Mapping[str, Any]) -> list[int]:
    """List the points of a scale, lowest first."""
    low, high, step = field["low"], field["high"], field["step"]
    return list(range(int(low), int(high) + 1, max(1, int(step or 1))))


def codes_of(field: Mapping[str, Any]) -> list[str]:
    """List the codes that a condition on this field can test, "unsure" included."""
    if field["kind"] == SCALE:
        codes = [str(point) for point in points_of(field)]
    else:
        codes = [option["value"] for option in field["options"]]
    return [*codes, UNSURE] if field["unsure"] else codes


def code_of(one: Mapping[str, Any], said: str) -> str:
    """Return the code that a cell names by its value or label; else the cell's text."""
    codes = codes_of(one)
    if said in codes:
        return said
    by_label = {plain_value(str(row["label"])): row["value"] for row in one["options"]}
    plain = {plain_value(code): code for code in codes}
    return plain.get(plain_value(said)) or by_label.get(plain_value(said)) or said


def label_of(field: Mapping[str, Any], code: str) -> str:
    """Return the label that people read for a code of this field."""
    if code == UNSURE:
        return _("Unsure")
    for option in field["options"]:
        if option["value"] == code:
            return str(option["label"] or option["value"])
    return code


def _field(row: Mapping[str, Any], where: str, taken: list[str], before: Sequence[Row]) -> Row:
    question = text(row, "question", where)
    label = text(row, "label", where, MAX_LABEL) or question[:MAX_LABEL].strip()
    if not label:
        raise Invalid(
            _("%(where)s asks nothing.") % {"where": where},
            fields={where: _("Write the question.")},
        )
    name = _name(row, where, label, taken)
    where = f"{where} ({name})"
    kind = str(row.get("kind") or CHOOSE_ONE)
    if kind not in KINDS:
        raise Invalid(
            _("%(where)s: there is no kind %(kind)s.") % {"where": where, "kind": repr(kind[:40])},
            fields={where: ", ".join(KINDS)},
        )
    has_unsure = kind not in TEXTS
    found: Row = {
        "name": name,
        "label": label,
        "question": question or label,
        "kind": kind,
        "options": _options(row.get("options") or [], where),
        "required": truth(row.get("required", True)),
        "unsure": has_unsure and truth(row.get("unsure", False)),
        "shuffle": kind in WITH_OPTIONS and truth(row.get("shuffle", False)),
        **_numbers(row, where, kind),
        **_counts(row, where),
        **_rule(row, where, kind),
        **_mark(row),
    }
    found |= _units(row, where, name, kind)
    if kind == CHOOSE_TURN:
        found["among"] = _among(row, where)
    found["ask_if"] = _conditions(row.get("ask_if") or [], where, before)
    _check_options(found, where)
    _check_units(found, where, before)
    return found


def _units(row: Mapping[str, Any], where: str, name: str, kind: str) -> Row:
    """The key "per" of a field about turns or calls of a conversation; fields of the whole: {}."""
    per = str(row.get("per") or WHOLE)
    if per not in PER:
        raise Invalid(
            _("%(where)s: there is no part %(per)s.") % {"where": where, "per": repr(per[:40])},
            fields={where: ", ".join(filter(None, PER))},
        )
    if not per:
        return {}
    if kind not in PER_UNIT:
        raise Invalid(
            _("%(where)s: %(kind)s is asked about the whole conversation only.")
            % {"where": where, "kind": KINDS[kind]},
            fields={where: _("Choose another kind, or the whole conversation.")},
        )
    if len(name) > MAX_UNIT_NAME:
        raise Invalid(
            _("%(where)s: the short name is too long for a field about turns.") % {"where": where},
            fields={where: _("%(most)s characters at most.") % {"most": MAX_UNIT_NAME}},
        )
    corrects = kind == LONG_TEXT and per in CORRECTED and truth(row.get("corrects", False))
    return {"per": per, **({"corrects": True} if corrects else {})}


def _among(row: Mapping[str, Any], where: str) -> str:
    """The parts of a conversation of which a field chooses one."""
    among = str(row.get("among") or ASSISTANT)
    if among not in AMONG:
        raise Invalid(
            _("%(where)s: there is no part %(per)s.") % {"where": where, "per": repr(among[:40])},
            fields={where: ", ".join(AMONG)},
        )
    return among


def _check_units(field: Row, where: str, before: Sequence[Row]) -> None:
    """Invalid where a field depends on one that is asked about other parts than its own."""
    per = {row["name"]: row.get("per", WHOLE) for row in before}
    for row in field["ask_if"]:
        if per[row["field"]] not in (WHOLE, field.get("per", WHOLE)):
            raise Invalid(
                _("%(where)s depends on %(name)s, which is asked about other parts.")
                % {"where": where, "name": row["field"]},
                fields={where: _("Choose a field about the same parts.")},
            )


def item_fields(settings: Mapping[str, Any]) -> list[Row]:
    """List the fields as they are asked of one item, one for each turn or call they are about.

    ``settings``: the version's with the item's over them, whose ``units`` come from its
    conversation. A field of a unit is named "NAME@UNIT" and has the unit under "unit"; its
    conditions look at the same unit. A field that chooses a turn has the units as options.
    """
    units = settings.get("units") or {}
    found: list[Row] = []
    about = {row["name"]: row.get("per", WHOLE) for row in settings["fields"]}
    for row in settings["fields"]:
        per = row.get("per", WHOLE)
        if not per:
            found.append(_with_turns(row, units))
            continue
        for unit in units.get(per, ()):
            conditions = [
                {
                    **one,
                    "field": f"{one['field']}{MARK}{unit}" if about[one["field"]] else one["field"],
                }
                for one in row["ask_if"]
            ]
            found.append(
                {**row, "name": f"{row['name']}{MARK}{unit}", "unit": unit, "ask_if": conditions}
            )
    return found


def _with_turns(row: Row, units: Mapping[str, Sequence[str]]) -> Row:
    if row["kind"] != CHOOSE_TURN:
        return row
    options = [
        {"value": unit, "label": unit_label(unit), "description": "", "color": ""}
        for unit in units.get(row["among"], ())
    ]
    return {**row, "options": options, "required": row["required"] and bool(options)}


def _name(row: Mapping[str, Any], where: str, label: str, taken: list[str]) -> str:
    name = str(row.get("name") or "") or name_of(label[:MADE], taken)
    if not _NAME.fullmatch(name):
        raise Invalid(
            _("%(where)s: %(name)s cannot be a short name.")
            % {"where": where, "name": repr(name[:60])},
            fields={where: _("Lowercase letters, digits and _, beginning with a letter.")},
        )
    if name in taken:
        raise Invalid(
            _("%(where)s: %(name)s is used twice.") % {"where": where, "name": name},
            fields={where: _("Use another name.")},
        )
    taken.append(name)
    return name


def _options(raw: Any, where: str) -> list[Row]:
    found: list[Row] = []
    for number, row in enumerate(_listed(raw, f"{where} options", MAX_OPTIONS), 1):
        one = f"{where}, option {number}"
        label = text(row, "label", one, MAX_LABEL)
        value = text(row, "value", one, MAX_CODE) or _value_of(label, found)
        color = str(row.get("color") or "")
        if color and color not in COLORS:
            raise Invalid(
                _("%(one)s: there is no color %(color)s.") % {"one": one, "color": repr(color)},
                fields={one: ", ".join(COLORS)},
            )
        found.append(
            {
                "value": value,
                "label": label,
                "description": text(row, "description", one, 300),
                "color": color,
                **_mark(row),
            }
        )
    return found


def _mark(row: Mapping[str, Any]) -> Row:
    return {FROM_TEMPLATE: True} if truth(row.get(FROM_TEMPLATE)) else {}


def _value_of(label: str, before: Sequence[Row]) -> str:
    return name_of(label, [row["value"] for row in before]) if label else ""


def _check_options(field: Row, where: str) -> None:
    """Invalid for options that cannot be stored or told apart; what is unwritten is no error."""
    seen: set[str] = set()
    scale = {str(point) for point in points_of(field)} if field["kind"] == SCALE else None
    for number, option in enumerate(field["options"], 1):
        value, one = option["value"], f"{where}, option {number}"
        if not value:
            continue
        if value in (UNSURE, NOTHING):
            raise Invalid(
                _("%(one)s: %(value)s is reserved.") % {"one": one, "value": repr(value)},
                fields={one: _("Use another value.")},
            )
        if value in seen:
            raise Invalid(
                _("%(one)s: %(value)s is used twice.") % {"one": one, "value": repr(value)},
                fields={one: _("Use another value.")},
            )
        if scale is not None and value not in scale:
            raise Invalid(
                _("%(one)s: the scale has no point %(value)s.")
                % {"one": one, "value": repr(value)},
                fields={one: _("A point of the scale.")},
            )
        longest = len(field["name"]) + 1 + len(value)
        if field.get("per"):
            longest += len(MARK) + LONGEST_UNIT
        if field["kind"] in (CHOOSE_SEVERAL, RANK) and longest > MAX_CODE:
            raise Invalid(
                _("%(one)s: %(field)s.%(value)s is too long.")
                % {"one": one, "field": field["name"], "value": value},
                fields={
                    one: _("Name and value have %(value)s characters at most.")
                    % {"value": MAX_CODE - 1}
                },
            )
        seen.add(value)


def _numbers(row: Mapping[str, Any], where: str, kind: str) -> Row:
    """low, high and step: whole numbers of a scale, decimals or None of a number."""
    if kind == SCALE:
        low = whole_number(row, "low", 1, -10_000, 10_000)
        high = whole_number(row, "high", 5, -10_000, 10_000)
        step = whole_number(row, "step", 1, 1, 10_000)
        if high <= low or (high - low) // step + 1 > MAX_POINTS:
            raise Invalid(
                _("%(where)s: a scale has 2 to %(max_points)s points.")
                % {"where": where, "max_points": MAX_POINTS},
                fields={
                    "high": _("Above %(low)s, with at most %(max_points)s points.")
                    % {"low": low, "max_points": MAX_POINTS}
                },
            )
        return {"low": low, "high": high, "step": step}
    if kind != NUMBER:
        return {"low": None, "high": None, "step": None}
    found = {name: _decimal(row, name, where) for name in ("low", "high", "step")}
    low_at, high_at = found["low"], found["high"]
    if low_at is not None and high_at is not None and high_at < low_at:
        raise Invalid(
            _("%(where)s: the highest is below the lowest.") % {"where": where},
            fields={"high": f"≥ {low_at}"},
        )
    if found["step"] is not None and found["step"] <= 0:
        raise Invalid(
            _("%(where)s: the step is not above 0.") % {"where": where},
            fields={"step": _("Above 0, or empty.")},
        )
    return found


def _rule(row: Mapping[str, Any], where: str, kind: str) -> Row:
    """rule: the check of a plug-in, by its full name; kept where the plug-in is not loaded."""
    name = str(row.get("rule") or "")
    if kind not in TEXTS or not name:
        return {}
    if not _RULE.fullmatch(name):
        raise Invalid(
            _("%(where)s: there is no check %(name)s.") % {"where": where, "name": repr(name[:60])},
            fields={"rule": _("Choose one.")},
        )
    return {"rule": name}


def _decimal(row: Mapping[str, Any], name: str, where: str) -> int | float | None:
    value = row.get(name)
    if value in ("", None):
        return None
    number = exact(value, -NUMBERED, NUMBERED)
    if number is None:
        raise Invalid(
            _("%(where)s: %(name)s is not a number.") % {"where": where, "name": name},
            fields={name: _("A number, or empty.")},
        )
    return int(number) if number == number.to_integral_value() else float(number)


def _counts(row: Mapping[str, Any], where: str) -> Row:
    """min and max: options chosen, spans marked, or words written; 0 is no limit."""
    low = whole_number(row, "min", 0, 0, 5000)
    high = whole_number(row, "max", 0, 0, 5000)
    if high and high < low:
        raise Invalid(
            _("%(where)s: the maximum is below the minimum.") % {"where": where},
            fields={"max": _("At least %(low)s, or 0.") % {"low": low}},
        )
    return {"min": low, "max": high}


def _conditions(raw: Any, where: str, before: Sequence[Row]) -> list[Row]:
    found: list[Row] = []
    earlier = {row["name"]: row for row in before}
    for row in _listed(raw, f"{where} ask_if", MAX_CONDITIONS):
        name, comparison = str(row.get("field") or ""), str(row.get("is") or "is")
        if name not in earlier:
            raise Invalid(
                _("%(where)s depends on %(name)s, which is not an earlier field.")
                % {"where": where, "name": repr(name[:40])},
                fields={where: _("Choose a field above it.")},
            )
        if earlier[name]["kind"] not in CONDITIONAL:
            raise Invalid(
                _("%(where)s depends on %(name)s, which has no options.")
                % {"where": where, "name": repr(name)},
                fields={where: _("Choose a field with options or a scale.")},
            )
        if comparison not in COMPARISONS:
            raise Invalid(
                _("%(where)s: there is no comparison %(comparison)s.")
                % {"where": where, "comparison": repr(comparison[:40])},
                fields={where: ", ".join(COMPARISONS)},
            )
        values = row.get("values")
        values = [str(value) for value in values] if isinstance(values, list) else []
        known = codes_of(earlier[name])
        unknown = [value for value in values if value not in known]
        if unknown:
            raise Invalid(
                _("%(where)s depends on %(unknown)s, which %(name)s does not offer.")
                % {"where": where, "unknown": repr(unknown[0][:40]), "name": name},
                fields={
                    where: ", ".join(known)[:300]
                    or _("%(name)s has no options yet.") % {"name": name}
                },
            )
        found.append({"field": name, "is": comparison, "values": list(dict.fromkeys(values))})
    return found


def _listed(raw: Any, what: str, most: int) -> list[Mapping[str, Any]]:
    if not isinstance(raw, list) or not all(isinstance(row, Mapping) for row in raw):
        raise Invalid(
            _("%(what)s is not a list.") % {"what": what}, fields={what: _("A list of objects.")}
        )
    if len(raw) > most:
        raise Invalid(
            _("%(what)s: too many.") % {"what": what},
            fields={what: _("%(most)s at most.") % {"most": most}},
        )
    return raw
