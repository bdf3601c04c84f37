"""How a model labels items: every field in one answer, checked as people's answers are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from django.utils.translation import gettext, gettext_noop
from pydantic import Field as Described
from pydantic import create_model

from annotation.chats.storage import UNITS, chat_for_workers
from annotation.chats.text import plain_text
from annotation.models import Item, Task
from annotation.task_types.labels.content import FILES
from annotation.task_types.labels.fields import (
    CHOOSE_ONE,
    CHOOSE_SEVERAL,
    CHOOSE_TURN,
    COMPARISONS,
    NUMBER,
    RANK,
    SCALE,
    SPANS,
    TEXTS,
    UNSURE,
    codes_of,
    item_fields,
)
from annotation.task_types.labels.page import hint
from annotation.task_types.labels.rules import PREFIX, check_answers
from annotation.task_types.texts import MAX_CHARACTERS, storable
from crowdqc.errors import Conflict, Invalid
from evaluation.llm.prompting import Rendered, Template
from evaluation.llm.schemas import Schema, Strict, WrongForm, json_object, lacking
from evaluation.llm_runs.answering.questions import ParsedValues, Questions
from evaluation.llm_runs.answering.texts import THOUGHT
from evaluation.llm_runs.parts import asked_items

DRAFT = "draft"
LISTS = frozenset({CHOOSE_SEVERAL, RANK})
MAX_CHAT = 60_000  # characters of a conversation in a prompt; turns in its middle are left out
OPEN = "..."  # stands for a value in the example, as an option there would be copied
Field = Mapping[str, Any]


class LabelQuestions(Questions):
    """Items with their fields. Fields in which text is marked are not asked."""

    first = family = "labels"
    shows_examples = True
    does, given = gettext_noop("%(model)s labels %(items)s"), "label"
    results = "label_results"
    passage_label = gettext_noop("Show the model the item's other content")
    next_step = (
        gettext_noop("The labels stand beside those of people."),
        "replacement",
        gettext_noop("Compare with people"),
    )

    def items(self, task: Task) -> list[Item]:
        """Return all items; those with a known answer show how often the model is right."""
        fields_of(task)
        return asked_items(task, known=True)

    def prompt(self, prompt: Template, item: Item, task: Task, *, passage: bool) -> Rendered:
        assert task.current is not None  # noqa: S101 (only a published task is answered)
        return prompt.render(
            instructions=task.current.instructions,
            passage=item.group.passage if passage else "",
            item=_item_text(item),
            fields="\n\n".join(told_field(one) for one in fields_of(task, item)),
        )

    def schema(self, task: Task, name: str, item: Item) -> Schema:
        return labels_schema(json.dumps(fields_of(task, item)))

    def example_fields(self, task: Task) -> Mapping[str, bool]:
        fields = fields_of(task)
        if any(one["kind"] not in (CHOOSE_ONE, SCALE) for one in fields):
            raise Invalid(
                gettext("Examples need fields of which people choose one value."),
                fields={"examples": gettext("Ask for none.")},
            )
        return {one["name"]: bool(one["ask_if"] or not one["required"]) for one in fields}

    def read(self, task: Task, item: Item, value: Mapping[str, Any]) -> ParsedValues:
        values = check_answers(value[DRAFT], fields_of(task, item))
        decided = values.texts or any(code != UNSURE for _, code, _ in values.choices)
        return ParsedValues(values, declined=not decided)


def _item_text(item: Item) -> str:
    """The item as a model reads it: of a conversation all turns, as far as there is room."""
    if item.chat is not None:
        return plain_text(chat_for_workers(item), most=MAX_CHAT, system=True)
    return item.question or item.key


def fields_of(task: Task, item: Item | None = None) -> list[dict[str, Any]]:
    """Return the fields that a model is asked; Conflict if there are none or items are files.

    With ``item`` those about turns of its conversation, one for each turn.
    """
    if task.current is None:
        raise Conflict(gettext("Publish the task first: answers name the version they answer."))
    if task.current.settings["content"] in FILES:
        raise Conflict(
            gettext("Models are asked in text only, and the items of this task show files.")
        )
    own = item.settings if item is not None else {}
    rows = (
        item_fields({**task.current.settings, **own})
        if own.get(UNITS)
        else (task.current.settings["fields"])
    )
    found = [one for one in rows if one["kind"] != SPANS]
    if not found:
        raise Conflict(
            gettext("Models are not asked to mark text, and the task has no other field.")
        )
    return found


def told_field(one: Field) -> str:
    """Describe a field for a prompt: name, question, values, and when it is asked."""
    about = f" (about [{one['unit']}])" if one.get("unit") else ""
    lines = [f"{one['name']}: {one['question']}{about}"]
    lines.append(f"  {_answer_form(one)}")
    named = {option["value"]: option for option in one["options"]}
    if one["kind"] not in (NUMBER, SCALE, *TEXTS):
        lines += [f"  - {_option(named[code])}" for code in named]
    elif one["kind"] == SCALE:
        lines += [f"  - {_option(option)}" for option in one["options"]]
    if one["unsure"]:
        lines.append(f"  - {UNSURE}: you cannot tell")
    for row in one["ask_if"]:
        values = ", ".join(row["values"])
        lines.append(f"  Asked only if {row['field']} {COMPARISONS[row['is']]} {values}.")
    if not one["required"]:
        lines.append("  May be null.")
    return "\n".join(lines)


def _option(option: Field) -> str:
    label = option["label"] or option["value"]
    said = label if label != option["value"] else ""
    return ": ".join(filter(None, (option["value"], said, option["description"])))


def _answer_form(one: Field) -> str:
    kind, limits = one["kind"], hint({**one, "required": True})
    if kind in (CHOOSE_ONE, CHOOSE_TURN):
        return "One of these values:"
    if kind == CHOOSE_SEVERAL:
        return f"A list of these values ({limits}):"
    if kind == RANK:
        return "A list of all these values, the best first:"
    if kind == SCALE:
        steps = f" in steps of {one['step']}" if one["step"] != 1 else ""
        return f"A point from {one['low']} to {one['high']}{steps}."
    if kind == NUMBER:
        steps = f"steps of {one['step']}" if one["step"] is not None else ""
        more = ", ".join(filter(None, (limits, steps)))
        return f"A number, {more}." if more else "A number."
    return f"A text, {limits}." if limits else "A text."


@dataclass(frozen=True)
class LabelsSchema(Schema):
    """The answers to all fields: {"draft"}, as a worker's page would send them."""

    fields: str = "[]"  # JSON: a schema is held by its value

    def parse(self, text: str) -> dict[str, Any]:
        """The draft; raises WrongForm for what no worker could submit."""
        fields = json.loads(self.fields)
        try:
            found = json_object(THOUGHT.sub("", text).strip())
        except ValueError:
            raise WrongForm("The answer is no JSON.") from None
        if not any(one["name"] in found for one in fields):
            raise lacking(fields[0]["name"])
        draft: dict[str, str] = {}
        for one in fields:
            draft |= _drafted(one, found.get(one["name"]))
        try:
            check_answers(draft, fields)
        except Invalid as problem:
            where = next(iter(problem.fields or {}), "")
            if found.get(where) is None:
                raise lacking(where) from None
            raise WrongForm(f"{where}: {problem.message}"[:200]) from None
        return {DRAFT: draft}


def _drafted(one: Field, value: Any) -> dict[str, str]:
    """Return a field's value as the keys of a draft; WrongForm for a value of another form."""
    key = PREFIX + one["name"]
    if value is None or value == "":
        return {}
    if one["kind"] not in LISTS or value in (UNSURE, [UNSURE]):
        value = value[0] if value == [UNSURE] else value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise WrongForm(f"{one['name']}: one value is wanted.")
        return {key: storable(str(value))[:MAX_CHARACTERS]}
    if not isinstance(value, list) or not all(isinstance(row, str | int) for row in value):
        raise WrongForm(f"{one['name']}: a list of values is wanted.")
    chosen = [str(row) for row in value]
    if len(set(chosen)) < len(chosen):
        raise WrongForm(f"{one['name']}: a value stands twice.")
    if one["kind"] == RANK:
        return {f"{key}.{code}": str(rank) for rank, code in enumerate(chosen, 1)}
    # An empty list is an answer too: none of the options.
    none = {f"{key}.{option['value']}": "no" for option in one["options"][:1]}
    return {f"{key}.{code}": "yes" for code in chosen} or none


@lru_cache(maxsize=64)
def labels_schema(fields: str) -> LabelsSchema:
    """The form of these fields (JSON); the same fields give the same form."""
    rows: Sequence[Field] = json.loads(fields)
    # Names of fields may be those of pydantic's own methods, so they stand as aliases.
    form: dict[str, Any] = {
        f"f{at}": (_form_of(one), Described(alias=one["name"])) for at, one in enumerate(rows)
    }
    example = {one["name"]: [OPEN] if one["kind"] in LISTS else OPEN for one in rows}
    return LabelsSchema(
        "labels@1",
        create_model("LabelAnswers", __base__=Strict, **form),
        example=json.dumps(example, ensure_ascii=False),
        fields=fields,
    )


def _form_of(one: Field) -> Any:
    """The type of one field's value, with the values that it offers."""
    kind = one["kind"]
    found: Any
    if kind in (CHOOSE_ONE, CHOOSE_TURN, SCALE, *LISTS):
        codes: list[Any] = list(codes_of(one))
        word: Any = Annotated[str, Described(json_schema_extra={"enum": codes})]
        found = list[word] if kind in LISTS else word
    elif kind == NUMBER:
        found = float | str if one["unsure"] else float
    else:
        found = str
    return found | None if one["ask_if"] or not one["required"] else found
