"""How a model writes a response from passages: what it is asked, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_noop

from annotation.formats.actions.responses import ResponseRow, values_of
from annotation.models import Item, Task
from annotation.task_types.writing.page import passages, style_of
from annotation.task_types.writing.type import ENTRY, EXIT
from evaluation.llm.prompting import Rendered, Template
from evaluation.llm.schemas import Schema
from evaluation.llm_runs.answering.questions import (
    ParsedValues,
    Questions,
    check_draft,
    settings_of,
    words_wanted,
)
from evaluation.llm_runs.answering.texts import RESPONSE


class Responses(Questions):
    """Topics in a style, with ranked passages."""

    first = family = "writing"
    does, given = gettext_noop("%(model)s writes %(items)s"), "response"
    results = ""
    passage_label = gettext_noop("Show the model the passages")
    next_step = (
        gettext_noop("The responses can be judged beside people’s, and described by the next run."),
        "task",
        gettext_noop("To the task"),
    )

    def prompt(self, prompt: Template, item: Item, task: Task, *, passage: bool) -> Rendered:
        settings = settings_of(task, item)
        style = style_of(settings)
        shown = passages(item.group, settings) if passage else []
        return prompt.render(
            passages="\n\n".join(
                "\n".join(filter(None, (f"[{one.number}] {one.title}".rstrip(), one.text)))
                for one in shown
            ),
            query=item.question,
            style=style["label"],
            instructions=style["instructions"],
            limits=words_wanted(settings),
            citing=_citing([one.number for one in shown], settings["min_citations"]),
        )

    def schema(self, task: Task, name: str, item: Item) -> Schema:
        return RESPONSE

    def read(self, task: Task, item: Item, value: Mapping[str, Any]) -> ParsedValues:
        text = value["text"]
        assert task.current is not None  # noqa: S101 (only a published task is answered)
        values, _ = values_of(ResponseRow(item.key, text), item, task.current)
        # A model is not asked the questionnaires.
        settings = {**settings_of(task, item), ENTRY: [], EXIT: []}
        return ParsedValues(values, check_draft(task, {"text": text}, settings)[1])


def _citing(numbers: list[int], least: int) -> str:
    """Say how passages are cited; "" where there are none."""
    if not numbers:
        return ""
    first, last = numbers[0], numbers[-1]
    which = f"[{first}]" if first == last else f"[{first}] to [{last}]"
    rule = (
        "put the number of the passage in brackets behind each statement that comes from it, as "
        f"in [{first}]. There are {which} and no others."
    )
    return f"{rule} Cite {least} different passages or more." if least > 1 else rule
