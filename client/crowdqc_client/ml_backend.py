"""The protocol of Label Studio's ML backends: tasks as they know them, predictions as rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from crowdqc_client.errors import CrowdqcError, UnexpectedResponse
from crowdqc_client.models import ItemOut, TaskOut

CHOICE = "choose_one"
BATCH = 50  # items in one request
Row = dict[str, Any]


class NoSuchPrediction(CrowdqcError):
    """The task asks for nothing that a backend can predict, or the backend for something else."""


def choice_fields(task: TaskOut) -> dict[str, dict[str, str]]:
    """Return the fields of a task in which one option is chosen: labels by code, by field.

    Raises NoSuchPrediction for a task that has none, or that was never published.
    """
    fields = (task.current.settings or {}).get("fields", []) if task.current else []
    found = {
        field["name"]: {
            option["value"]: option["label"] or option["value"] for option in field["options"]
        }
        for field in fields
        if field["kind"] == CHOICE
    }
    if not found:
        raise NoSuchPrediction("The task is not published, or has no field with one choice.")
    return found


def label_config(fields: Mapping[str, Mapping[str, str]]) -> str:
    """Return the labelling configuration of these fields, as XML."""
    parts = ['<View><Text name="text" value="$text"/>']
    for name, options in fields.items():
        parts.append(f'<Choices name={quoteattr(name)} toName="text" choice="single">')
        parts += [f"<Choice value={quoteattr(code)}/>" for code in options]
        parts.append("</Choices>")
    return "".join([*parts, "</View>"])


def predict_body(task: TaskOut, config: str, items: Sequence[ItemOut]) -> Row:
    """Return the body of a request for predictions of these items."""
    return {
        "tasks": [
            {"id": item.id, "data": {"text": item.question, "context": item.context}}
            for item in items
        ],
        "project": f"{task.id}.{int(time.time())}",
        "label_config": config,
        "params": {"login": None, "password": None, "context": None},
    }


def predicted_rows(
    answer: Any, items: Sequence[ItemOut], fields: Mapping[str, Any], system: str
) -> list[Row]:
    """Return the predictions of a backend as rows of labels by a system.

    Raises UnexpectedResponse for an answer that is no such thing, and NoSuchPrediction for a label
    that the task does not offer. A field without a prediction has no row.
    """
    try:
        results = answer["results"]
        predictions = [
            (item, region["from_name"], region["value"]["choices"])
            for item, result in zip(items, results, strict=True)
            for region in result["result"]
            if region["type"] == "choices"
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UnexpectedResponse(f"The backend sent no predictions: {error!r}") from error
    rows = []
    for item, field, choices in predictions:
        if field not in fields or len(choices) != 1 or choices[0] not in fields[field]:
            raise NoSuchPrediction(f"{item.item_id}: {field!r} does not offer {choices!r}.")
        rows.append(
            {"item_id": item.item_id, "system": system, "field": field, "label": choices[0]}
        )
    return rows


def backend_name(health: Any) -> str:
    """Return what a backend calls itself. Raises UnexpectedResponse unless it is up."""
    if not isinstance(health, Mapping) or health.get("status") != "UP":
        raise UnexpectedResponse("The backend does not say that it is up.")
    return str(health.get("model_class") or "ML backend")
