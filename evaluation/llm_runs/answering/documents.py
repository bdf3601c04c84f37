"""How models answer the questions about a rating task's documents; their answers are rated."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from annotation.formats.actions.system_answers import MOST, SystemAnswer
from annotation.models import Candidate, Item, Task, User
from annotation.pairs.actions.rating_documents import add_documents, documents_version, require
from annotation.task_types import Values
from crowdqc.errors import Conflict, Invalid
from evaluation.llm.prompting import Rendered, Template
from evaluation.llm_runs.answering.questions import ParsedValues, Questions
from evaluation.llm_runs.parts import MOST_REPLICATES

Asked = tuple[str, str, int]  # a document's key, the question, the sentence it arose from


class DocumentQuestions(Questions):
    """Every question of the newest version once, whoever has answered it."""

    does, given = gettext_noop("%(model)s answers %(items)s"), "answer"
    noun = "question"
    answers_items = False
    results = ""
    passage_label = gettext_noop("Show the model the document")
    next_step = (
        gettext_noop("The answers are in the draft. Publish it, so that people rate them."),
        "task",
        gettext_noop("To the task"),
    )

    def fits(self, task: Task) -> bool:
        return documents_version(task) is not None

    def items(self, task: Task) -> list[Item]:
        version = require(task)
        rows = task.items.in_version(version.number).filter(expected__isnull=True)
        rows = rows.select_related("group", "first")
        found: dict[Asked, Item] = {}
        for item in rows.order_by("group__position", "group_id", "position", "pk"):
            found.setdefault(_question_key(item), item)
        if not found:
            raise Conflict(gettext("No document has a question yet. Write one first."))
        return list(found.values())

    def prompt(self, prompt: Template, item: Item, task: Task, *, passage: bool) -> Rendered:
        return prompt.render(
            passage=item.group.passage if passage else "",
            topic=item.group.title,
            question=item.question,
            limits="",
            unknown="",
        )

    def read(self, task: Task, item: Item, value: Mapping[str, Any]) -> ParsedValues:
        return ParsedValues(Values(texts=[("answer", 0, value["text"])]))

    def answered(self, task: Task, system: tuple[str, str]) -> set[tuple[int, int]]:
        """Return what the system has answered, also answers whose text was removed since."""
        texts = Candidate.objects.filter(project=task.project, key__startswith=f"t{task.pk}-m")
        there = set(texts.values_list("key", flat=True))
        return {
            (item.pk, number)
            for item in self.items(task)
            for number in range(MOST_REPLICATES)
            if _key(task, item, system, number) in there
        }

    def store(
        self, *, by: User | None, task: Task, system: tuple[str, str], rows: Sequence[SystemAnswer]
    ) -> None:
        """Put the answers into the draft as texts to rate. Raises Invalid without a person."""
        if by is None:
            raise Invalid(gettext("Whoever started this run is gone; nothing was stored."))
        items = {item.pk: item for item in self.items(task)}
        name, strategy = (part[:MOST] for part in system)
        wanted = [
            {
                "document_id": item.group.key,
                "question_id": item.first.topic if item.first else item.group.key,
                "question": item.question,
                "sentence": item.settings.get("anchor", 0),
                "answer_id": _key(task, item, system, row.replicate),
                "answer": row.values.texts[0][2],
                "system": name,
                "prompt_strategy": strategy,
            }
            for row in rows
            if (item := items.get(row.item)) is not None
        ]
        add_documents(by=by, task=task, rows=wanted)


def _question_key(item: Item) -> Asked:
    return item.group.key, item.question, int(item.settings.get("anchor") or 0)


def _key(task: Task, item: Item, system: tuple[str, str], replicate: int) -> str:
    """The same question to the same system gives the same id."""
    words = "\x00".join((*map(str, _question_key(item)), *system, str(replicate)))
    return f"t{task.pk}-m{hashlib.sha256(words.encode()).hexdigest()[:20]}"
