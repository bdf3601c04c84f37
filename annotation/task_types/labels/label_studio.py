"""Labels in Label Studio: a control a field, spans as labels of its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Item
from annotation.task_types.label_studio import CHOICES, TEXT, LabelStudio
from annotation.task_types.labels.fields import (
    CHOOSE_SEVERAL,
    NOTHING,
    NUMBER,
    RANK,
    SCALE,
    UNSURE,
)

Result = tuple[str, str, dict[str, Any]]


class LabelsInLabelStudio(LabelStudio):
    """One item and its fields; what was kept with an item is data of it."""

    columns = ("item_id", "text", "context")
    about = "text"

    def data(self, item: Item) -> dict[str, Any]:
        meta = item.settings.get("meta", {})
        own = {"item_id": item.key, "text": item.question, "context": item.group.passage}
        return {**meta, **own}

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

    @staticmethod
    def _choices(field: Mapping[str, Any], given: Mapping[str, Any]) -> list[Result]:
        name, kind = field["name"], field["kind"]
        code, _ = given.get(name, ("", None))
        if code in (UNSURE, NOTHING) or (code and kind not in (SCALE, NUMBER)):
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
            return [(name, "ranker", {"ranker": {name: ranked}})]
        return []


def _values(field: Mapping[str, Any]) -> list[str]:
    return [option["value"] for option in field["options"]]
