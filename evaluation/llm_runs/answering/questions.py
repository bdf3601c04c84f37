"""How a model answers questions in free text: what it is asked, and what is kept of its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop

from annotation.formats.actions.system_answers import (
    SystemAnswer,
    answered_items,
    store_system_answers,
)
from annotation.models import Item, Task, User
from annotation.task_types import Values, get_type
from annotation.task_types.free_text.type import DONT_KNOW
from crowdqc.errors import DomainError, Invalid
from evaluation.llm.prompting import Rendered, Template
from evaluation.llm.schemas import Schema
from evaluation.llm_runs.answering.texts import ANSWER, REASONED, is_unknown
from evaluation.llm_runs.parts import asked_items

Settings = Mapping[str, Any]
SCHEMAS = {"steps": REASONED}


@dataclass(frozen=True)
class ParsedValues:
    """The values to store; ``flag`` says what people's answers would be sent back for."""

    values: Values
    flag: str = ""
    declined: bool = False


class Questions:
    """The items of a task as a model meets them; the adapter of their shape names it."""

    first = "sentence"  # the prompt strategy by default
    family = ""  # it takes the strategies whose names begin so; "": those of no family
    does, given = gettext_noop("%(model)s answers %(items)s"), "answer"  # in words
    results = "task_results_systems"  # where its answers stand; "" for no page of their own
    answers_items = True  # as people do; else the answers become new items
    noun = ""  # what is answered, where it is not called as the task's items are
    shows_examples = False  # whether answers of people can be examples in its prompts
    passage_label = ""  # of the choice to show what people are shown, where it is no one text
    # What follows once there are answers, where it is done, and what the link is called.
    next_step = (
        gettext_noop("The answers are scored by the next run of AQER."),
        "run_start",
        gettext_noop("Run AQER"),
    )

    def fits(self, task: Task) -> bool:
        """Return whether models can answer this task."""
        return True

    def items(self, task: Task) -> list[Item]:
        """Return the items to ask about; Conflict if there are none."""
        return asked_items(task)

    def schema(self, task: Task, name: str, item: Item) -> Schema:
        """The form of an answer about an item under the prompt strategy of this name."""
        return SCHEMAS.get(name, ANSWER)

    def prompt(self, prompt: Template, item: Item, task: Task, *, passage: bool) -> Rendered:
        """Everything that a person is given; ``passage``: with the text that it is about."""
        settings = settings_of(task, item)
        return prompt.render(
            passage=item.group.passage if passage else "",
            topic=item.group.title,
            question=item.question,
            limits=words_wanted(settings),
            unknown=DONT_KNOW if settings.get("dont_know") else "",
        )

    def example_fields(self, task: Task) -> Mapping[str, bool]:
        """The fields that an example answers, and whether each may be left open.

        Raises Invalid where people's answers are no examples: in free text each has its own.
        """
        raise Invalid(
            gettext("Only tasks with labels show a model examples."),
            fields={"examples": gettext("Ask for none.")},
        )

    def example_answer(self, codes: Mapping[str, str | None]) -> str:
        """Write the majority's answer in the form that the model must use."""
        return json.dumps(codes)

    def read(self, task: Task, item: Item, value: Mapping[str, Any]) -> ParsedValues:
        """Check a model's answer as people's are checked, and convert it to stored values."""
        text, settings = value["text"], settings_of(task, item)
        declined = bool(settings.get("dont_know") and is_unknown(text))
        found, flag = check_draft(task, {"text": text, "declined": declined}, settings)
        return ParsedValues(found or Values(texts=[("answer", 0, text)]), flag, declined)

    def answered(self, task: Task, system: tuple[str, str]) -> set[tuple[int, int]]:
        """Return what a system (name, prompt strategy) has answered: (item, replicate)."""
        return answered_items(task, system)

    def store(
        self, *, by: User | None, task: Task, system: tuple[str, str], rows: Sequence[SystemAnswer]
    ) -> None:
        """Store the system's answers."""
        store_system_answers(by=by, task=task, system=system, rows=rows)


def settings_of(task: Task, item: Item) -> Settings:
    """The settings in force for an item: the version's, and the item's own over them."""
    assert task.current is not None  # noqa: S101 (only a published task is answered)
    return {**task.current.settings, **item.settings}


def words_wanted(settings: Settings) -> str:
    """Describe the limits on words; "" if there is no upper limit."""
    low, high = settings.get("min_words", 0), settings.get("max_words")
    if high is None:
        return ""
    target = settings.get("target_words")
    aim = f"about {target} words, " if target else ""
    return f"{aim}{low} to {high} words" if low > 1 else f"{aim}at most {high} words"


def check_draft(
    task: Task, draft: Mapping[str, Any], settings: Settings
) -> tuple[Values | None, str]:
    """Check a draft by its task type; return the values, or None and the error."""
    try:
        return get_type(task.type).check(draft, settings), ""
    except DomainError as problem:
        return None, problem.message
