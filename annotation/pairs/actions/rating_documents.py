"""The documents of a rating task with their questions and the answers under judgment.

A document is a group, its text the passage; an answer is an item: the question, the number of the
sentence it arose from, and the answer as a frozen text of its system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import as_stored, clean_title, draft_of, lock_draft
from annotation.authoring.actions.items import (
    MAX_PASSAGE,
    STEP,
    clean_question,
    free_key,
    remove_item,
    save_group,
    supersede,
)
from annotation.models import Candidate, Item, ItemGroup, Task, TaskVersion, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.records.actions.audit import record
from annotation.task_types.rating.page import item_settings
from annotation.task_types.rating.type import DOCUMENT
from crowdqc.errors import Conflict, Invalid

BATCH = 2000
Rows = Sequence[Mapping[str, Any]]


def require(task: Task) -> TaskVersion:
    """Return the newest version of a task that rates answers about documents; else Invalid."""
    version = task.versions.order_by("-number").first()
    if version is None or version.settings.get("layout") != DOCUMENT:
        raise Invalid(
            _("This task rates texts by themselves."),
            fields={"layout": _("Choose documents first.")},
        )
    return version


@transaction.atomic
def add_documents(*, by: User, task: Task, rows: Rows, name: str = "") -> int:
    """Put answers with their documents into the draft; returns how many are new.

    Rows hold document_id, document, question_id, question, sentence, answer_id, answer, system
    and may hold title and prompt_strategy. An answer that is there by its id stays. Raises
    Invalid, and adds nothing, where the project has this id with another text, or a document has
    no such sentence.
    """
    shown = require(task)
    there = set(task.items.in_version(shown.number).values_list("key", flat=True))
    fresh = [row for row in rows if row["answer_id"] not in there]
    if not fresh:
        return 0
    draft = lock_draft(task, by=by)
    groups = _groups(task, draft, fresh)
    texts = _texts(by, task, fresh, name)
    position = task.items.aggregate(m=Max("position"))["m"] or 0
    made = [
        Item(
            task=task,
            group=groups[row["document_id"]],
            key=row["answer_id"],
            question=clean_question(row["question"]),
            first_id=texts[row["answer_id"]],
            position=position + STEP * number,
            since=draft.number,
            settings=item_settings(
                groups[row["document_id"]].passage,
                row["question"],
                row["answer"],
                int(row.get("sentence") or 0),
            ),
        )
        for number, row in enumerate(_together(fresh), 1)
    ]
    Item.objects.bulk_create(made, batch_size=BATCH)
    record(
        by=by, project=task.project, action="documents.import", on=task, file=name, new=len(made)
    )
    return len(made)


def _together(rows: Rows) -> list[Mapping[str, Any]]:
    """Rows by document and, within it, by question, each where it came first."""
    documents = {key: at for at, key in enumerate(dict.fromkeys(r["document_id"] for r in rows))}
    asked = {
        key: at
        for at, key in enumerate(dict.fromkeys((r["document_id"], r["question_id"]) for r in rows))
    }
    return sorted(
        rows,
        key=lambda r: (documents[r["document_id"]], asked[r["document_id"], r["question_id"]]),
    )


def _groups(task: Task, draft: TaskVersion, rows: Rows) -> dict[str, ItemGroup]:
    found = {group.key: group for group in task.groups.in_version(draft.number)}
    last = task.groups.aggregate(m=Max("position"))["m"] or 0
    made: dict[str, ItemGroup] = {}
    for row in rows:
        key = row["document_id"]
        if key in found or key in made:
            continue
        passage = as_stored(row.get("document", ""))
        if len(passage) > MAX_PASSAGE:
            raise Invalid(
                _("Document %(key)s is too long.") % {"key": key},
                fields={"document": f"{MAX_PASSAGE:,}."},
            )
        made[key] = ItemGroup(
            task=task,
            key=key,
            title=clean_title(row.get("title", "")),
            passage=passage,
            position=last + STEP * (len(made) + 1),
            since=draft.number,
        )
    ItemGroup.objects.bulk_create(made.values(), batch_size=BATCH)
    return found | made


def _texts(by: User, task: Task, rows: Rows, name: str) -> dict[str, int]:
    """The answers as frozen texts of the project, by their ids."""
    wanted = [
        {
            "key": row["answer_id"],
            "topic": row["question_id"],
            "query": row["question"],
            "text": row["answer"],
            "system": row["system"],
            "prompt_strategy": row.get("prompt_strategy", ""),
        }
        for row in rows
    ]
    add_candidates(by=by, project=task.project, rows=wanted, name=name)
    keys = [row["key"] for row in wanted]
    there = Candidate.objects.filter(project=task.project, key__in=keys)
    return dict(there.values_list("key", "pk"))


# One by one, in the builder ----------------------------------------------------------------------


@transaction.atomic
def save_document(
    *, by: User, task: Task, group: ItemGroup | None, title: str, passage: str
) -> ItemGroup:
    """Add a document or change one; its items are asked anew where its sentences changed.

    Raises Invalid where a question would be anchored to a sentence that is gone.
    """
    require(task)
    before = None if group is None else group.passage
    key = "" if group is not None else free_key(task.groups, "doc-{}")
    saved = save_group(by=by, task=task, group=group, key=key, title=title, passage=passage)
    if before is not None and saved.passage != before:
        draft = draft_of(task, by=by)
        for item in saved.items.in_version(draft.number).select_related("first"):
            try:
                _renew(item, draft, saved.passage)
            except Invalid as error:
                asked = item.settings.get("anchor", 0)
                raise Invalid(
                    _("A question arose from sentence %(asked)s, which is not there any more.")
                    % {"asked": asked},
                    fields={
                        "passage": _(
                            "A question arose from sentence %(asked)s, which would go. "
                            "Change that first."
                        )
                        % {"asked": asked}
                    },
                ) from error
    return saved


def _renew(item: Item, draft: TaskVersion, passage: str, **changes: Any) -> Item:
    question = changes.get("question", item.question)
    anchor = changes.pop("anchor", item.settings.get("anchor", 0))
    answer = item.first.text if item.first is not None else ""
    settings = {**item.settings, **item_settings(passage, question, answer, anchor)}
    return supersede(item, draft, settings=settings, **changes)


@transaction.atomic
def add_answer(
    *, by: User, task: Task, group: ItemGroup, question: str, anchor: int, answer: str, system: str
) -> Item:
    """Put one answer to a question of the document under judgment, at the document's end.

    Raises Invalid naming the field that is missing.
    """
    require(task)
    for field, value, wrong in (
        ("question", question, _("Write the question.")),
        ("answer", answer, _("Write the answer.")),
        ("system", system, _("Write the source.")),
    ):
        if not value.strip():
            raise Invalid(wrong, fields={field: _("Write it.")})
    question, answer = clean_question(question), as_stored(answer).strip()
    key = free_key(task.items, f"{group.key[:60]}-{{}}")
    asked = list(dict.fromkeys(group.items.values_list("question", flat=True)))
    at = asked.index(question) if question in asked else len(asked)
    row = {
        "document_id": group.key,
        "question_id": f"{group.key[:60]}-q{at + 1}",
        "question": question,
        "sentence": anchor,
        "answer_id": f"t{task.pk}-{key}",
        "answer": answer,
        "system": system.strip()[:120],
    }
    add_documents(by=by, task=task, rows=[row])
    return task.items.get(key=row["answer_id"], until__isnull=True)


@transaction.atomic
def change_question(*, by: User, task: Task, item: Item, question: str, anchor: int) -> Item:
    """Change the wording of an item's question or the sentence it is anchored to."""
    require(task)
    draft = lock_draft(task, by=by)
    live = task.items.filter(key=item.key, until__isnull=True)
    found = live.select_related("first", "group").first()
    if found is None:
        raise Conflict(_("This answer was taken out meanwhile. Reload the page."))
    question = clean_question(question)
    if not question:
        raise Invalid(_("Write the question."), fields={"question": _("Write it.")})
    if question == found.question and anchor == found.settings.get("anchor", 0):
        return found
    return _renew(found, draft, found.group.passage, question=question, anchor=anchor)


def remove_answer(*, by: User, task: Task, item: Item) -> None:
    """Take an answer out of the draft; ratings of it stay with the older version."""
    require(task)
    remove_item(by=by, task=task, item=item)
