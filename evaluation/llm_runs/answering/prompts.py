"""The prompts of answers: everything that a person who answers the item is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Item, Task
from annotation.task_types import get_type
from annotation.task_types.free_text.type import DONT_KNOW
from annotation.task_types.writing.page import passages, style_of
from evaluation.llm.prompting import Rendered, Template

Settings = Mapping[str, Any]


def settings_of(task: Task, item: Item) -> Settings:
    """The settings in force for an item: the version's, and the item's own over them."""
    assert task.current is not None  # noqa: S101 (only a published task is answered)
    return {**task.current.settings, **item.settings}


def rendered(prompt: Template, item: Item, task: Task, *, passage: bool) -> Rendered:
    """The prompt for one item; ``passage``: with the text that it is about."""
    settings = settings_of(task, item)
    if get_type(task.type).shape == "responses":
        return prompt.render(**_response(item, settings, passages_too=passage))
    return prompt.render(
        passage=item.group.passage if passage else "",
        topic=item.group.title,
        question=item.question,
        limits=words_wanted(settings),
        unknown=DONT_KNOW if settings["dont_know"] else "",
    )


def words_wanted(settings: Settings) -> str:
    """The limits in words; "" where there are none to speak of."""
    low, high = settings["min_words"], settings["max_words"]
    target = settings.get("target_words")
    aim = f"about {target} words, " if target else ""
    return f"{aim}{low} to {high} words" if low > 1 else f"{aim}at most {high} words"


def _response(item: Item, settings: Settings, *, passages_too: bool) -> dict[str, str]:
    style = style_of(settings)
    shown = passages(item.group, settings) if passages_too else []
    return {
        "passages": "\n\n".join(
            "\n".join(filter(None, (f"[{one.number}] {one.title}".rstrip(), one.text)))
            for one in shown
        ),
        "query": item.question,
        "style": style["label"],
        "instructions": style["instructions"],
        "limits": words_wanted(settings),
        "citing": _citing([one.number for one in shown], settings["min_citations"]),
    }


def _citing(numbers: list[int], least: int) -> str:
    """How passages are cited; "" where there are none."""
    if not numbers:
        return ""
    first, last = numbers[0], numbers[-1]
    which = f"[{first}]" if first == last else f"[{first}] to [{last}]"
    rule = (
        "put the number of the passage in brackets behind each statement that comes from it, as "
        f"in [{first}]. There are {which} and no others."
    )
    return f"{rule} Cite {least} different passages or more." if least > 1 else rule
