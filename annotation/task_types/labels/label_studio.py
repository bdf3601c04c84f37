"""Labels in Label Studio: a control a field, spans as labels of its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from annotation.models import Item
from annotation.task_types.label_studio import (
    CHOICES,
    MARKS,
    NUMBER,
    RANKER,
    TEXT,
    Control,
    LabelStudio,
    Mark,
    Stored,
    span_in_code_points,
)
from annotation.task_types.labels import fields as kinds
from annotation.task_types.labels.fields import (
    CHOOSE_ONE,
    CHOOSE_SEVERAL,
    NOTHING,
    RANK,
    SCALE,
    UNSURE,
    code_of,
)
from annotation.task_types.labels.rules import PREFIX, check_answers
from crowdqc.errors import Invalid

LIST = "_options"  # behind the name of a field: the data that its ranker orders
Result = tuple[str, str, dict[str, Any]]


class LabelsInLabelStudio(LabelStudio):
    """One item and its fields; what was kept with an item is data of it."""

    columns = ("item_id", "text", "context")
    about = "text"
    told_by = frozenset({MARKS, NUMBER, CHOICES, RANKER})
    scored = CHOICES

    def data(self, item: Item) -> dict[str, Any]:
        meta = item.settings.get("meta", {})
        own = {"item_id": item.key, "text": item.question, "context": item.group.passage}
        if item.media is not None:  # under the name of the tag that shows it
            own["image" if item.media.is_image else "audio"] = item.media.name
        return {**meta, **own}

    def lists(self, settings: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
        return {
            field["name"] + LIST: [
                {"id": one["value"], "title": one["label"] or one["value"]}
                for one in field["options"]
            ]
            for field in settings.get("fields", [])
            if field["kind"] == RANK
        }

    def results(
        self, item: Item, settings: Mapping[str, Any], row: Mapping[str, Any]
    ) -> list[Result] | None:
        found: list[Result] = []
        for field in settings["fields"]:
            found += self._choices(field, row["choices"])
            name = field["name"]
            if name in row["texts"]:
                found.append((name, TEXT, {"text": list(row["texts"][name])}))
            for start, end, target in row["spans"].get(name, []):
                value = {"start": start, "end": end, "text": item.question[start:end]}
                found.append((name, "labels", {**value, "labels": [target]}))
        return found

    def settings(self, controls: Sequence[Control]) -> dict[str, Any]:
        """Derive the fields from an imported file's controls; none becomes required."""
        kinds_of = {
            MARKS: kinds.SPANS,
            NUMBER: kinds.NUMBER,
            CHOICES: CHOOSE_ONE,
            RANKER: RANK,
        }
        found = []
        for one in controls:
            options = [] if one.kind == NUMBER else [{"label": said} for said in sorted(one.said)]
            own = {"name": one.name, "label": one.label[:80], "question": one.label}
            kind = kinds_of.get(one.kind, kinds.LONG_TEXT)
            if kind == CHOOSE_ONE and (one.several or len(options) < 2):
                kind = CHOOSE_SEVERAL
            found.append({**own, "kind": kind, "options": options, "required": False})
        return {"fields": found}

    def values(
        self, given: Mapping[str, tuple[str, Any]], settings: Mapping[str, Any], text: str
    ) -> Stored:
        asked = {row["name"]: row for row in settings["fields"]}
        draft: dict[str, str] = {}
        for name, (kind, value) in given.items():
            if name not in asked:
                mend = {"from_name": ", ".join(asked)}
                raise Invalid(
                    gettext("the task has no field %(name)s.") % {"name": name}, fields=mend
                )
            draft |= _draft_of(asked[name], kind, value, text)
        # What was left open elsewhere is left open, and conditions were theirs.
        fields = [{**row, "required": False, "ask_if": []} for row in asked.values()]
        found = check_answers(draft, fields, length=len(text))
        return Stored(found.choices, found.texts, found.spans)

    @staticmethod
    def _choices(field: Mapping[str, Any], given: Mapping[str, Any]) -> list[Result]:
        name, kind = field["name"], field["kind"]
        code, _ = given.get(name, ("", None))
        if code in (UNSURE, NOTHING) or (code and kind not in (SCALE, kinds.NUMBER)):
            return [(name, CHOICES, {"choices": [code]})]
        if code:
            number = float(code)
            whole = int(number) if number.is_integer() else number
            return [(name, "number", {"number": whole})]
        own = {value: given.get(f"{name}.{value}") for value in _values(field)}
        there = {value: said for value, said in own.items() if said is not None}
        if there and kind == CHOOSE_SEVERAL:
            ticked = [value for value, (code, _) in there.items() if code == "yes"]
            return [(name, CHOICES, {"choices": ticked})]
        if there and kind == RANK:
            ranked = sorted(there, key=lambda value: there[value][1])
            return [(name, RANKER, {RANKER: {name: ranked}})]
        return []


def _draft_of(field: Mapping[str, Any], kind: str, value: Any, text: str) -> dict[str, str]:
    """Return a result's value of a field in the form of drafts."""
    key = PREFIX + field["name"]
    if kind == MARKS:
        marks = [_in_points(mark, field, text) for mark in value]
        rows = [[mark.start, mark.end, code_of(field, mark.label)] for mark in marks]
        return {key: json.dumps(rows)}
    if kind == RANKER:
        ranked = [code_of(field, said) for said in value]
        return {f"{key}.{code}": str(rank) for rank, code in enumerate(ranked, 1)}
    if kind == TEXT:
        return {key: "\n\n".join(value)}
    if kind != CHOICES:
        return {key: str(value)}
    codes = [code_of(field, said) for said in value]
    if field["kind"] == CHOOSE_SEVERAL and codes != [UNSURE]:
        return {f"{key}.{code}": "yes" for code in codes} or {
            f"{key}.{code}": "no" for code in _values(field)
        }
    if len(codes) != 1:
        mend = {field["name"]: gettext("Keep one of them.")}
        raise Invalid(
            gettext("“%(field)s” has %(codes)s choices.")
            % {"field": field["question"], "codes": len(codes)},
            fields=mend,
        )
    return {key: codes[0]}


def _in_points(mark: Mark, field: Mapping[str, Any], text: str) -> Mark:
    """The mark counted in code points; before 2021 Label Studio counted UTF-16 units."""
    quoted = mark.quoted
    if not isinstance(quoted, str):
        return mark
    if mark.end <= len(text) and text[mark.start : mark.end] == quoted:
        return mark
    span = span_in_code_points(text, mark.start, mark.end)
    if span is None or text[slice(*span)] != quoted:
        raise Invalid(
            gettext("“%(field)s” has a mark at %(start)s that is not “%(quoted)s”.")
            % {"field": field["question"], "start": mark.start, "quoted": quoted[:40]},
            fields={field["name"]: gettext("Its offsets count characters of another text.")},
        )
    return mark._replace(start=span[0], end=span[1])


def _values(field: Mapping[str, Any]) -> list[str]:
    return [option["value"] for option in field["options"]]
