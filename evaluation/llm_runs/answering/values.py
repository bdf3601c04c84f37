"""From a model's answer to the values of its task: checked as people's are, and never lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.formats.actions.responses import Written, values_of
from annotation.models import Item, Task
from annotation.task_types import Values, get_type
from annotation.task_types.writing.type import ENTRY, EXIT
from crowdqc.errors import DomainError
from evaluation.llm_runs.answering.prompts import settings_of
from evaluation.llm_runs.answering.texts import is_unknown


@dataclass(frozen=True)
class Read:
    """The values to store; ``flag`` says what people's answers would be sent back for."""

    values: Values
    flag: str = ""
    declined: bool = False


def read_answer(task: Task, item: Item, text: str) -> Read:
    """What is stored of an answer. One outside the limits is kept and flagged."""
    settings = settings_of(task, item)
    if get_type(task.type).shape == "responses":
        assert task.current is not None  # noqa: S101 (only a published task is answered)
        values, _ = values_of(Written(item.key, text), item, task.current)
        # A model is not asked the questionnaires.
        return Read(values, _checked(task, {"text": text}, {**settings, ENTRY: [], EXIT: []})[1])
    declined = settings["dont_know"] and is_unknown(text)
    found, flag = _checked(task, {"text": text, "declined": declined}, settings)
    return Read(found or Values(texts=[("answer", 0, text)]), flag, declined)


def _checked(
    task: Task, draft: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[Values | None, str]:
    """What the task's own check makes of a draft, or what it says against it."""
    try:
        return get_type(task.type).check(draft, settings), ""
    except DomainError as problem:
        return None, problem.message
