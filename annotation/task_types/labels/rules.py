"""What an answer to the fields of a labels task must be, and what of it is stored.

Pure: settings and a draft in, values out. Draft keys: ``l-NAME`` holds the one value of a field
(a code, a number, a text; spans as JSON ``[[start, end, label], ...]``), ``l-NAME.VALUE`` a ticked
option or the rank of one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from annotation.task_types.base import Values
from annotation.task_types.labels.fields import (
    CHOOSE_ONE,
    CHOOSE_SEVERAL,
    CHOOSE_TURN,
    LONG_TEXT,
    NOTHING,
    NUMBER,
    NUMBERED,
    RANK,
    SCALE,
    SHORT,
    SHORT_TEXT,
    SPANS,
    UNSURE,
    codes_of,
    label_of,
)
from crowdqc import plugins
from crowdqc.errors import Invalid
from crowdqc.numbers import count, exact, parse_whole, plain_decimal, plural
from crowdqc.web.words import count_words

logger = logging.getLogger(__name__)
PREFIX = "l-"
MOST_SPANS = 1000
SMALL = 32_767  # the largest ordinal that is stored
Field = Mapping[str, Any]
Span = tuple[int, int, str]


@dataclass
class Answered:
    """What one field's answer comes to; ``codes`` is what conditions on it look at."""

    codes: frozenset[str] = frozenset()
    values: Values = field(default_factory=Values)
    given: bool = False


def check_answers(
    draft: Mapping[str, Any], fields: Sequence[Field], *, length: int | None = None
) -> Values:
    """The values of all fields that are asked; Invalid names the first field that is wrong.

    ``length``: characters of the item's text, which spans must lie within, where it is known.
    """
    found = Values()
    given: dict[str, frozenset[str]] = {}
    for one in fields:
        if not is_field_active(one, given):
            continue
        answer = read_answer(draft, one, length=length)
        if not answer.given and one["required"]:
            raise Invalid(
                _("“%(one)s” is not answered yet.") % {"one": field_name(one)},
                fields={one["name"]: _("Answer it.")},
            )
        if answer.given:
            given[one["name"]] = answer.codes
        found.texts.extend(answer.values.texts)
        found.choices.extend(answer.values.choices)
        found.spans.extend(answer.values.spans)
    return found


def asked_fields(draft: Mapping[str, Any], fields: Sequence[Field]) -> list[Field]:
    """Return the fields whose conditions the draft fulfils; invalid answers count as missing."""
    found: list[Field] = []
    given: dict[str, frozenset[str]] = {}
    for one in fields:
        if not is_field_active(one, given):
            continue
        found.append(one)
        try:
            answer = read_answer(draft, one)
        except Invalid:
            continue
        if answer.given:
            given[one["name"]] = answer.codes
    return found


def is_open(draft: Mapping[str, Any], one: Field) -> bool:
    """Return whether a field still lacks a valid required answer."""
    try:
        return not read_answer(draft, one).given and bool(one["required"])
    except Invalid:
        return True


def is_field_active(one: Field, given: Mapping[str, frozenset[str]]) -> bool:
    """Whether all conditions of a field hold.

    ``given``: the codes of each field that is answered.
    """
    return all(
        row["field"] in given and _holds(row["is"], given[row["field"]], row["values"])
        for row in one["ask_if"]
    )


def is_field_reachable(one: Field, fields: Sequence[Field]) -> bool:
    """Whether some answers satisfy all conditions of a field."""
    for about in fields:
        rows = [row for row in one["ask_if"] if row["field"] == about["name"]]
        if not rows or about["kind"] == CHOOSE_SEVERAL:
            continue
        tried = ({about["name"]: frozenset({code})} for code in codes_of(about))
        if not any(is_field_active({"ask_if": rows}, given) for given in tried):
            return False
    return True


def _holds(comparison: str, codes: frozenset[str], values: Sequence[str]) -> bool:
    hit = any(value in codes for value in values)
    return not hit if comparison in ("is_not", "none_of") else hit


def read_answer(draft: Mapping[str, Any], one: Field, *, length: int | None = None) -> Answered:
    """Parse the answer to one field; Invalid names the field if it does not offer the value."""
    raw = str(draft.get(PREFIX + one["name"]) or "").strip()
    if raw == UNSURE and one["unsure"]:
        found = Answered(frozenset({UNSURE}), given=True)
        found.values.choices.append((one["name"], UNSURE, None))
        return found
    if one["kind"] == SPANS:
        return _marked(one, raw, length)
    if one["kind"] in TICKED:
        return TICKED[one["kind"]](one, _ticked(draft, one))
    return SINGLE[one["kind"]](one, raw)


def _refuse(one: Field, wrong: str, mend: str, **told: object) -> Invalid:
    """Return the error of a field as a sentence; %(field)s and names in ``told`` are filled in."""
    return Invalid(wrong % {"field": field_name(one), **told}, fields={one["name"]: mend})


def field_name(one: Field) -> str:
    """Return the question of a field, with the turn or call that it is asked about."""
    unit = one.get("unit")
    return f"{one['question']} [{unit}]" if unit else str(one["question"])


def _chosen(one: Field, raw: str) -> Answered:
    offered = [code for code in codes_of(one) if code != UNSURE]
    if not raw:
        return Answered()
    if raw not in offered:
        mend = ", ".join([*offered, *([UNSURE] if one["unsure"] else [])])[:300]
        wrong = _("“%(field)s” has no option %(value)s.")
        raise _refuse(one, wrong, mend, value=repr(raw[:40]))
    ordinal = parse_whole(raw, -SMALL, SMALL) if one["kind"] == SCALE else offered.index(raw)
    found = Answered(frozenset({raw}), given=True)
    found.values.choices.append((one["name"], raw, ordinal))
    return found


def _number(one: Field, raw: str) -> Answered:
    if not raw:
        return Answered()
    number = exact(raw, -NUMBERED, NUMBERED) if len(raw) <= 40 else None
    if number is None:
        wrong = _("“%(field)s” takes a number, not %(value)s.")
        raise _refuse(one, wrong, _("A number."), value=repr(raw[:40]))
    low, high, step = one["low"], one["high"], one["step"]
    if (low is not None and number < _exactly(low)) or (
        high is not None and number > _exactly(high)
    ):
        wrong = _("“%(field)s” is %(value)s, out of range.")
        raise _refuse(one, wrong, _range(low, high), value=raw)
    if step is not None and (number - _exactly(low or 0)) % _exactly(step):
        wrong = _("“%(field)s” goes in steps of %(step)s.")
        raise _refuse(one, wrong, _("Steps of %(step)s.") % {"step": step}, step=step)
    whole = number == number.to_integral_value()
    code = str(int(number)) if whole else plain_decimal(number)
    ordinal = int(number) if whole and abs(number) <= SMALL else None
    found = Answered(frozenset({code}), given=True)
    found.values.choices.append((one["name"], code, ordinal))
    return found


def _exactly(number: int | float) -> Decimal:
    return Decimal(str(number))


def _range(low: int | float | None, high: int | float | None) -> str:
    if low is None:
        return _("%(most)s at most.") % {"most": high}
    if high is None:
        return _("%(least)s at least.") % {"least": low}
    return _("%(low)s to %(high)s.") % {"low": low, "high": high}


def _text(one: Field, raw: str) -> Answered:
    if not raw:
        return Answered()
    if one["kind"] == SHORT_TEXT and len(raw) > SHORT:
        wrong = _("“%(field)s” has %(length)s characters.")
        mend = _("%(most)s characters at most.") % {"most": SHORT}
        raise _refuse(one, wrong, mend, length=count(len(raw)))
    _count(one, count_words(raw), lambda n: plural(n, "word"))
    return Answered(given=True, values=Values(texts=[(one["name"], 0, _ruled(one, raw))]))


def _ruled(one: Field, raw: str) -> str:
    """Return a text as the check of a plug-in has it; a check that fails itself keeps no work."""
    rule = plugins.current().text_rule(one.get("rule", ""))
    if rule is None:
        return raw
    try:
        return str(rule.check(raw))
    except ValueError as error:
        raise Invalid(str(error), fields={one["name"]: str(error)}) from error
    except Exception:
        logger.exception("The check %s failed.", one["rule"])
        return raw


def _count(one: Field, number: int, counted: Callable[[int], str]) -> None:
    now = _("%(number)s now.") % {"number": number}
    if number < one["min"]:
        wrong = _("“%(field)s” needs at least %(counted)s.")
        raise _refuse(one, wrong, now, counted=counted(one["min"]))
    if one["max"] and number > one["max"]:
        wrong = _("“%(field)s” takes at most %(counted)s.")
        raise _refuse(one, wrong, now, counted=counted(one["max"]))


def _ticked(draft: Mapping[str, Any], one: Field) -> dict[str, str]:
    """Return the ticked options of a field by value; Invalid for an unknown option."""
    before = f"{PREFIX}{one['name']}."
    held = {
        key.removeprefix(before): str(value)
        for key, value in draft.items()
        if key.startswith(before) and value not in ("", None, False)
    }
    offered = [option["value"] for option in one["options"]]
    unknown = sorted(set(held) - set(offered))
    if unknown:
        wrong = _("“%(field)s” has no option %(value)s.")
        raise _refuse(one, wrong, ", ".join(offered)[:300], value=repr(unknown[0][:40]))
    return held


def _several(one: Field, held: Mapping[str, str]) -> Answered:
    chosen = {value for value, said in held.items() if said != "no"}
    if not chosen and not (held and not one["min"]):
        return Answered()
    _count(one, len(chosen), lambda n: plural(n, "option"))
    found = Answered(frozenset(chosen), given=True)
    for option in one["options"]:
        code = "yes" if option["value"] in chosen else "no"
        found.values.choices.append((f"{one['name']}.{option['value']}", code, int(code == "yes")))
    return found


def _ranked(one: Field, held: Mapping[str, str]) -> Answered:
    if not held:
        return Answered()
    size = len(one["options"])
    ranks = {value: parse_whole(said, 1, size) for value, said in held.items()}
    unread = next((value for value, rank in ranks.items() if rank is None), "")
    if unread:
        wrong = _("“%(field)s” has no rank %(value)s.")
        raise _refuse(one, wrong, _range(1, size), value=repr(held[unread][:20]))
    if len(ranks) < size or len(set(ranks.values())) < size:
        wrong = _("“%(field)s” needs each rank from 1 to %(size)s once.")
        raise _refuse(one, wrong, _("Rank every option."), size=size)
    found = Answered(given=True)
    for option in one["options"]:
        rank = ranks[option["value"]]
        found.values.choices.append((f"{one['name']}.{option['value']}", str(rank), rank))
    return found


def read_spans(raw: str) -> list[Span] | None:
    """Parse a draft's spans from JSON [start, end, label]; None if they are malformed."""
    try:
        rows = json.loads(raw) if raw else []
    except (ValueError, RecursionError):
        return None
    if not isinstance(rows, list) or len(rows) > MOST_SPANS:
        return None
    found: list[Span] = []
    for row in rows:
        if not (isinstance(row, list) and len(row) == 3 and isinstance(row[2], str)):
            return None
        start, end = (parse_whole(one, 0, 10**7) for one in row[:2])
        if start is None or end is None or start >= end:
            return None
        found.append((start, end, row[2]))
    return found


def _marked(one: Field, raw: str, length: int | None) -> Answered:
    if raw == NOTHING and not one["min"]:
        values = Values(choices=[(one["name"], NOTHING, None)])
        return Answered(frozenset({NOTHING}), values, given=True)
    spans = read_spans(raw)
    if spans is None:
        wrong = _("“%(field)s” has marks that cannot be read.")
        raise _refuse(one, wrong, "[[start, end, label], ...]")
    if not spans:
        return Answered()
    known = {option["value"] for option in one["options"]}
    for start, end, label in spans:
        if label not in known:
            wrong = _("“%(field)s” has no label %(value)s.")
            raise _refuse(one, wrong, ", ".join(sorted(known))[:300], value=repr(label[:40]))
        if length is not None and end > length:
            wrong = _(
                "“%(field)s” has a mark from %(start)s to %(end)s; the text has %(length)s "
                "characters."
            )
            told = {"start": start, "end": end, "length": length}
            raise _refuse(one, wrong, _range(None, length), **told)
    unique = sorted(set(spans))
    _count(one, len(unique), lambda n: plural(n, "mark"))
    rows = [(one["name"], n, label, start, end) for n, (start, end, label) in enumerate(unique)]
    return Answered(given=True, values=Values(spans=rows))


SINGLE = {
    CHOOSE_ONE: _chosen,
    CHOOSE_TURN: _chosen,
    SCALE: _chosen,
    NUMBER: _number,
    SHORT_TEXT: _text,
    LONG_TEXT: _text,
}
TICKED = {CHOOSE_SEVERAL: _several, RANK: _ranked}


def reason_asked(draft: Mapping[str, Any], one: Field, fields: Sequence[Field]) -> str:
    """Return the chosen options that made a conditional field appear, such as "“Brown spots”"."""
    by_name = {row["name"]: row for row in fields}
    said: list[str] = []
    for row in one["ask_if"]:
        about = by_name[row["field"]]
        try:
            codes = read_answer(draft, about).codes
        except Invalid:
            codes = frozenset()
        said += [f"“{label_of(about, code)}”" for code in codes_of(about) if code in codes]
    return _(" and ").join(dict.fromkeys(said))
