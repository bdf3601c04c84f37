"""What a judging model is shown and how it answers: the same as people, with A and B for sides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import ConfigDict, create_model

from annotation.models import Item, Task
from annotation.task_types.pairwise.sides import left_right
from evaluation.llm.own.selectors import template_for
from evaluation.llm.prompting import Rendered, Template
from evaluation.llm.schemas import Schema, Strict, WrongForm

COMBINED, INDIVIDUAL = "combined", "individual"
PURPOSES = {COMBINED: "pair_all", INDIVIDUAL: "pair_one"}
WINNER = "winner"  # the field of an answer on one dimension
NEUTRAL = "if neither is better"
Row = Mapping[str, Any]


class Letters(Strict):
    """Base of the answers on all dimensions, whose names are the requester's."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


def field_of(name: str) -> str:
    """Return the JSON field of a dimension: its name, changed if the schema uses that itself."""
    return f"{name}_" if hasattr(Letters, name) else name


def name_of(field: str) -> str:
    """Return the dimension of a JSON field, the inverse of ``field_of``."""
    plain = field.removesuffix("_")
    return plain if plain != field and hasattr(Letters, plain) else field


@dataclass(frozen=True)
class Form:
    """What one call asks: its prompt, the places that the dimensions fill, and the schema."""

    template: Template
    places: Mapping[str, str]
    schema: Schema


def template_of(project_id: int, mode: str, ref: str = "") -> Template:
    """The prompt of a mode: the project's own one of this reference, or the built-in one."""
    return template_for(project_id, PURPOSES[mode], ref)


def refs_of(mode: str, template: Template) -> str:
    """Return mode and prompt as in judges' names: ``combined@1``, ``combined own:mine@2``."""
    version = template.version
    return f"{mode} {template.ref}" if template.required is not None else f"{mode}@{version}"


def letters(row: Row) -> tuple[str, ...]:
    """Return the letters that may be answered on a dimension: A, B, and N for neutral."""
    return ("A", "N", "B") if row["neutral"] else ("A", "B")


def forms_of(dimensions: Sequence[Row], mode: str, template: Template) -> dict[str, Form]:
    """Return the calls needed for a pair: one for all dimensions (""), or one for each."""
    if mode == INDIVIDUAL:
        return {row["name"]: _single(template, row) for row in dimensions}
    offered = any(row["neutral"] for row in dimensions)
    told = "\n".join(_line(row) for row in dimensions)
    return {
        "": Form(
            template,
            {"dimensions": told, "neutral": NEUTRAL if offered else ""},
            combined_schema(dimensions),
        )
    }


def _line(row: Row) -> str:
    *others, last = letters(row)
    rest = " ".join(filter(None, (row["question"], row["description"])))
    head = f"- {field_of(row['name'])} ({row['label']}; {', '.join(others)} or {last})"
    return f"{head}: {rest}" if rest else head


def _single(template: Template, row: Row) -> Form:
    places = {
        "label": row["label"],
        "question": row["question"],
        "description": row["description"],
        "neutral": NEUTRAL if row["neutral"] else "",
    }
    return Form(template, places, single_schema(row))


def combined_schema(dimensions: Sequence[Row]) -> Schema:
    """A letter for each dimension by its name; a plain text is read line by line."""
    fields: dict[str, Any] = {
        field_of(row["name"]): (Literal[letters(row)], ...) for row in dimensions
    }
    example = ", ".join(f'"{field_of(row["name"])}": "A"' for row in dimensions)
    return Schema(
        "pair_judgment@1",
        create_model("PairJudgment", __base__=Letters, **fields),
        partial(_lines, names={field_of(row["name"]): row["label"] for row in dimensions}),
        example=f"{{{example}}}",
    )


def single_schema(row: Row) -> Schema:
    """Return the schema for one letter as the answer on a dimension."""
    offered = letters(row)
    model = create_model(
        "PairWinner",
        __base__=Strict,
        **{WINNER: (Literal[offered], ...)},  # type: ignore[call-overload]
    )
    return Schema(
        f"pair_winner_{''.join(offered).lower()}@1",
        model,
        _letter,
        words={letter: {WINNER: letter} for letter in offered},
        example='{"winner": "A"}',
    )


def _lines(text: str, *, names: Mapping[str, str]) -> dict[str, Any]:
    """``name: A`` or ``label: A`` of each dimension; raises WrongForm where one is missing."""
    found = {}
    for name, label in names.items():
        known = "|".join(re.escape(word) for word in (name, label))
        hit = re.search(rf"(?im)^[\W_]*(?:{known})\b[^\n:=]*[:=]\W*([ANB])\b", text)
        if hit is None:
            raise WrongForm(f"There is no letter for {name}.")
        found[name] = hit[1].upper()
    return found


def _letter(text: str) -> dict[str, Any]:
    """The letter of an answer: its last word in capitals that is one; raises WrongForm."""
    found = re.findall(r"\b([ANB])\b", text)
    if not found:
        raise WrongForm("The answer is none of the letters.")
    # "A" is also an article: of several the last one stands where an answer ends.
    return {WINNER: found[-1]}


def shown_of(task: Task, item: Item) -> dict[str, str]:
    """Return what people see around the texts: instructions, question, and sources if shown."""
    assert task.current is not None  # noqa: S101 (only a published task is judged)
    assert item.first is not None  # noqa: S101 (an item to be judged has a text)
    sources = item.group.passage if task.current.settings.get("show_sources") else ""
    return {
        "instructions": task.current.instructions,
        "query": item.question.strip() or item.first.query or item.group.title,
        "sources": sources,
    }


def pair_prompt(task: Task, item: Item, form: Form, *, flipped: bool) -> Rendered:
    """Fill in the prompt for a pair; with ``flipped`` the second text is called A."""
    assert item.first is not None and item.second is not None  # noqa: S101 (pairs have both)
    left, right = left_right(item.first.text, item.second.text, flipped=flipped)
    return form.template.render(**shown_of(task, item), **form.places, left=left, right=right)


def text_prompt(template: Template, task: Task, item: Item, text: str, row: Row) -> Rendered:
    """The prompt for one text on one dimension or scale, as a number from 0 to 100."""
    return template.render(
        **shown_of(task, item),
        text=text,
        label=row["label"],
        question=row.get("question", ""),
        description=row.get("description", ""),
    )
