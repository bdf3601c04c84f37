"""Texts to be judged: taken in from a file or from the answers of an earlier task, once each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from annotation.accounts.named.actions import systems_by_name, workers_named
from annotation.chats.storage import keep_rows
from annotation.models import (
    Answer,
    Candidate,
    ChatContent,
    ChoiceValue,
    Membership,
    Project,
    System,
    Task,
    TextValue,
    User,
)
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.task_types.rendering import words_in
from crowdqc.errors import Invalid

BATCH = 2000
HUMAN, MODEL = "human", "llm"  # origins of texts that people and systems of this project wrote
TOPICS = ("item", "group")
WRITTEN = "written"  # responses of a writing task: topic, query and style are those of the item
Rows = Sequence[Mapping[str, Any]]


def add_candidates(*, by: User, project: Project, rows: Rows, name: str = "") -> tuple[int, int]:
    """Add texts under their keys; returns how many are new and how many were there already.

    Rows hold key, topic, text and system (a name), and may hold query, style, origin,
    prompt_strategy, author (a worker's id in the file, or their pseudonym in the project), and
    chat: a conversation (``annotation.chats.model.dump_chat``), of which text is the plain text.
    Raises Invalid, and adds nothing, where a key is there with another text or topic.
    """
    with transaction.atomic():
        project = lock_project(project.pk)
        fresh = _fresh(project, rows)
        systems = systems_by_name(project, fresh)
        chats = keep_rows(project, fresh)
        authors = workers_named(project, {row["author"] for row in fresh if row.get("author")})
        made = [
            _candidate(
                project,
                row,
                systems[row["system"], row.get("prompt_strategy", "")],
                authors[row["author"]] if row.get("author") else None,
                chats[row["chat"]][0] if row.get("chat") else None,
            )
            for row in fresh
        ]
        return _store(by, project, made, len(rows), name)


def candidates_from_answers(
    *,
    by: User,
    project: Project,
    source_task: Task,
    topic: str = "item",
    keys: Collection[str] | None = None,
    people: bool = True,
    systems: bool = True,
    style: str = "",
    field: str = "answer",
    items: Collection[int] | None = None,
) -> tuple[int, int]:
    """Put the counting answers of an earlier task to judgment; returns new and there already.

    A text's topic is its question (``topic="item"``) or the text that its questions share
    (``"group"``); a response's is that of its item, with its query and style (``"written"``).
    ``keys`` are the questions wanted, ``items`` their ids (all). Answers that say "I don't know",
    empty ones and those of workers left out of the task are not taken. Each answer has one key,
    so that a second time adds nothing. Raises Invalid for a task of another project.
    """
    if source_task.project_id != project.pk:
        raise Invalid(_("The task belongs to another project."), fields={"task": _("One of this.")})
    if topic not in (*TOPICS, WRITTEN):
        raise Invalid(_("There is no such topic."), fields={"topic": ", ".join(TOPICS)})
    with transaction.atomic():
        project = lock_project(project.pk)
        texts = [
            row
            for row in _texts(source_task, keys, people, systems, field)
            if items is None or row["answer__item_id"] in items
        ]
        styles = {_style(row, topic, style) for row in texts if row["answer__system_id"] is None}
        humans = {
            one: System.objects.get_or_create(project=project, name=HUMAN, prompt_strategy=one)[0]
            for one in styles
        }
        rows = [_from_answer(row, humans, topic, style) for row in texts]
        made = [Candidate(project=project, **row) for row in _fresh(project, rows)]
        return _store(by, project, made, len(rows), f"task {source_task.pk}")


def _fresh(project: Project, rows: Rows) -> list[Mapping[str, Any]]:
    """The rows whose key is new; Invalid where a key is there with another content."""
    there = {
        key: (topic, text)
        for key, topic, text in Candidate.objects.filter(
            project=project, key__in={row["key"] for row in rows}
        ).values_list("key", "topic", "text")
    }
    seen, fresh = dict(there), dict[str, Mapping[str, Any]]()
    for row in rows:
        key, content = row["key"], (row["topic"], row["text"])
        if seen.setdefault(key, content) != content:
            raise Invalid(
                _("The text %(key)s is in the project already, with another text or topic.")
                % {"key": key},
                fields={"key": _("Texts under judgment never change; give it another id.")},
            )
        if key not in there:
            fresh.setdefault(key, row)
    return list(fresh.values())


def _candidate(
    project: Project,
    row: Mapping[str, Any],
    system: System,
    author: Membership | None,
    chat: ChatContent | None,
) -> Candidate:
    return Candidate(
        project=project,
        key=row["key"],
        topic=row["topic"],
        query=row.get("query", ""),
        text=row["text"],
        style=row.get("style", ""),
        origin=row.get("origin", ""),
        system=system,
        author=author,
        chat=chat,
        words=words_in(row["text"]),
    )


def _texts(
    task: Task, keys: Collection[str] | None, people: bool, systems: bool, field: str
) -> list[dict[str, Any]]:
    """The answers that become texts, in the order in which they were asked and given."""
    declined = ChoiceValue.objects.filter(answer=OuterRef("answer"), field="declined")
    found = TextValue.objects.filter(
        ~Exists(declined),
        field=field,
        index=0,
        answer__item__task=task,
        answer__counts=True,
        answer__stage=Answer.Stage.MAIN,
        answer__item__expected__isnull=True,
    )
    if keys is not None:
        found = found.filter(answer__item__key__in=keys)
    if not people:
        found = found.filter(answer__worker__isnull=True)
    if not systems:
        found = found.filter(answer__system__isnull=True)
    out = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    rows: Any = found.order_by("answer__item__position", "answer__item_id", "answer_id").values(
        "answer_id",
        "text",
        "answer__worker_id",
        "answer__system_id",
        "answer__item_id",
        "answer__item__key",
        "answer__item__settings",
        "answer__item__question",
        "answer__item__group__key",
        "answer__item__group__title",
    )
    return [row for row in rows if row["text"].strip() and row["answer__worker_id"] not in out]


def _style(row: Mapping[str, Any], topic: str, style: str) -> str:
    return str(row["answer__item__settings"].get("style", "")) if topic == WRITTEN else style


def _from_answer(
    row: Mapping[str, Any], humans: Mapping[str, System], topic: str, style: str
) -> dict[str, Any]:
    by_item, own_query = topic == "item", topic != "group"
    system, style = row["answer__system_id"], _style(row, topic, style)
    text = row["text"].strip()
    return {
        "key": f"answer-{row['answer_id']}",
        "topic": row["answer__item__key" if by_item else "answer__item__group__key"],
        "query": row["answer__item__question" if own_query else "answer__item__group__title"],
        "text": text,
        "style": style,
        "origin": HUMAN if system is None else MODEL,
        "system_id": humans[style].pk if system is None else system,
        "author_id": row["answer__worker_id"],
        "source_answer_id": row["answer_id"],
        "words": words_in(text),
    }


def _store(
    by: User, project: Project, made: list[Candidate], given: int, name: str
) -> tuple[int, int]:
    Candidate.objects.bulk_create(made, batch_size=BATCH)
    if made:
        record(
            by=by, project=project, action="candidates.add", on=project, new=len(made), file=name
        )
    return len(made), given - len(made)
