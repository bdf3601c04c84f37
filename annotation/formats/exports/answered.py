"""Answers of people and of models out: attributes, checklists, ratings, and what they are about.

People appear under their pseudonyms alone; the importers of the same names read what stands here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotation.files.writing.tables import Table
from annotation.formats.exports.tools.frames import in_chunks
from annotation.formats.imports.ratings import LABEL, Documents, columns_of
from annotation.models import (
    Answer,
    ChoiceValue,
    Item,
    PayoutLine,
    SpanValue,
    Task,
    TextValue,
)
from annotation.task_types.checklist.type import list_of
from annotation.task_types.rating.explanation import EVIDENCE, EXPLANATION, FEEDBACK
from annotation.task_types.think_aloud.type import ATTRIBUTE
from annotation.work.actions.answers import as_uncounted_reason
from annotation.work.snapshots import attributes
from annotation.work.snapshots.judgments import version_items

CHUNK = 2000
WHO = ("worker", "system", "prompt_strategy", "replicate")
WHETHER = ("answered_at", "counts", "reason", "excluded", "version")
HEADER = (
    "worker_id",
    "system_id",
    "replicate",
    "answered_at",
    "counts",
    "uncounted_reason",
    "version_id",
)
MARKED = ("index", "attribute", "start", "end", "transcript")
ATTRIBUTES = ("item_id", "dimension", *WHO, *MARKED, *WHETHER)
SAMPLES = ("dimension", "rubric", "sample_id", "title", "source", "text", "score")
CHECKS = ("item_id", "topic", "text", *WHO, "component", "name", "question", "answer", *WHETHER)
TAIL = ("feedback", "answered_at", "counts", "version")
Row = dict[str, Any]


Authors = Callable[[Sequence[Any]], tuple[tuple[Any, ...], tuple[Any, ...]]]


# In place of a reason that somebody wrote about a worker, which stays in the team.
LEFT_OUT, REJECTED = "by a worker left out by hand", "of rejected work"


def reasons_about_people(task: Task) -> dict[str, str]:
    """Return what an export says in place of each reason written about a worker of the task."""
    rejected = PayoutLine.objects.filter(assignment__task=task, leaves_out=True)
    return {
        **{as_uncounted_reason(one): REJECTED for one in rejected.values_list("reason", flat=True)},
        **{
            as_uncounted_reason(one): LEFT_OUT
            for one in task.exclusions.values_list("reason", flat=True)
        },
    }


def authors_of(task: Task) -> Authors:
    """Return a function that maps an answer's ``HEADER`` to the columns ``WHO`` and ``WHETHER``.

    Names are read once: a task has few authors, and many answers.
    """
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    workers = task.project.memberships.values_list("pk", "pseudonym")
    people = {pk: (name, "", "") for pk, name in workers.iterator()}
    named = task.project.systems.values_list("pk", "name", "prompt_strategy")
    systems = {pk: ("", name, strategy) for pk, name, strategy in named}
    numbers = dict(task.versions.values_list("pk", "number"))
    private = reasons_about_people(task)

    def told(header: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        worker, system, replicate, at, counts, reason, version = header
        who = people[worker] if worker else systems[system]
        why = private.get(reason, reason)
        whether = (at.isoformat(), counts, why, worker in excluded, numbers[version])
        return (*who, replicate), whether

    return told


def of_answers(
    task: Task, values: Any, *fields: str, chunk: int = CHUNK
) -> Iterator[tuple[Row, Row]]:
    """Yield stored values of a task's answers with their authors.

    Each is a pair: the value's fields (without "answer__"), and ``WHO``, time and ``WHETHER``.
    """
    authors = authors_of(task)
    names = (*(name.removeprefix("answer__") for name in fields), *HEADER)
    wanted = (*fields, *(f"answer__{name}" for name in HEADER))
    for stored in values.values_list(*wanted).iterator(chunk):
        who, whether = authors(stored[len(fields) :])
        row = dict(zip(names, stored, strict=True))
        yield row, dict(zip((*WHO, *WHETHER), (*who, *whether), strict=True))


def attribute_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every attribute, counting or not; its transcript stands on an answer's first row.

    ``start`` and ``end`` count characters of the transcript, the end outside; empty where the
    attribute was typed.
    """
    return Table(ATTRIBUTES, _attributes(task))


def sample_table(task: Task, form: str, dimension: str = "") -> Table:
    """The samples in force, a row each, with the rubric of their dimension on every one."""
    version = task.version_or_draft()
    groups = task.groups.in_version(version.number).order_by("position", "pk")
    rows = (
        {
            "dimension": group.title,
            "rubric": group.passage,
            "sample_id": row["key"],
            **{name: row[name] for name in SAMPLES[3:]},
        }
        for group in groups
        for row in group.passages
    )
    return Table(SAMPLES, rows)


def _attributes(task: Task) -> Iterator[Row]:
    ids = list(Answer.objects.filter(item__task=task).values_list("pk", flat=True))
    marks: dict[tuple[int, int], tuple[Any, Any]] = {**attributes.marks(ids)}
    said = attributes.transcripts(ids)
    texts = TextValue.objects.filter(
        field=ATTRIBUTE, answer__item__task=task, answer__stage=Answer.Stage.MAIN
    ).order_by("answer__item__position", "answer__item_id", "answer_id", "index")
    fields = ("index", "text", "answer_id", "answer__item__key", "answer__item__group__title")
    for row, answer in of_answers(task, texts, *fields):
        start, end = marks.get((row["answer_id"], row["index"]), (None, None))
        yield {
            **answer,
            "item_id": row["item__key"],
            "dimension": row["item__group__title"],
            "index": row["index"],
            "attribute": row["text"],
            "start": start,
            "end": end,
            "transcript": said.get(row["answer_id"], "") if row["index"] == 0 else "",
        }


def check_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every answer to the questions of the list in force, counting or not.

    Answers to questions that were since worded anew are left out: they answer something else.
    """
    return Table(CHECKS, _checks(task))


def _checks(task: Task) -> Iterator[Row]:
    if task.current is None:
        return
    asked = {row["name"]: row for row in task.current.settings["questions"]}
    same = {version.pk: set(list_of(version)) for version in task.versions.all()}
    chosen = ChoiceValue.objects.filter(
        field__in=asked, answer__item__task=task, answer__stage=Answer.Stage.MAIN
    ).order_by("answer__item__position", "answer__item_id", "answer_id", "pk")
    of_item = ("answer__item__key", "answer__item__group__key", "answer__item__first__key")
    for row, answer in of_answers(task, chosen, "field", "code", *of_item):
        line = asked[row["field"]]
        if (row["field"], line["label"]) in same[row["version_id"]]:
            yield {
                **answer,
                "item_id": row["item__key"],
                "topic": row["item__group__key"],
                "text": row["item__first__key"] or "",
                "component": line["component"],
                "name": row["field"],
                "question": line["label"],
                "answer": row["code"],
            }


def rating_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every rating of a person, counting or not, with its words and sentence numbers."""
    if task.current is None:
        return Table((), [])
    named = columns_of(task.current.settings["scales"])
    others = [column for column in named.values() if column != LABEL]
    columns = ("item_id", "worker_id", LABEL, EXPLANATION, EVIDENCE, *others, *TAIL)
    return Table(columns, _ratings(task, named))


def _ratings(task: Task, named: dict[str, str]) -> Iterator[Row]:
    written = {one.name: one.written_codes for one in version_items(task.version_or_draft())}
    rows = Answer.objects.filter(item__task=task, worker__isnull=False, stage="main").order_by("pk")
    stored = rows.values_list(
        "pk", "item__key", "worker__pseudonym", "answered_at", "counts", "version__number"
    ).iterator(CHUNK)
    for part in in_chunks(stored):
        ids = [row[0] for row in part]
        own = {"answer_id__in": ids}
        words = {
            (pk, field): text
            for pk, field, text in TextValue.objects.filter(
                **own, field__in=(EXPLANATION, FEEDBACK)
            ).values_list("answer_id", "field", "text")
        }
        points: dict[int, dict[str, Any]] = defaultdict(dict)
        chosen = ChoiceValue.objects.filter(**own, field__in=named)
        for pk, field, value in chosen.values_list("answer_id", "field", "ordinal"):
            points[pk][named[field]] = written[field].get(str(value), value)
        shown: dict[int, list[int]] = defaultdict(list)
        spans = SpanValue.objects.filter(**own, field=EVIDENCE).order_by("answer_id", "start")
        for pk, start in spans.values_list("answer_id", "start"):
            shown[pk].append(start)
        for pk, item, worker, at, counts, version in part:
            yield {
                "item_id": item,
                "worker_id": worker,
                **{column: points[pk].get(column) for column in named.values()},
                EXPLANATION: words.get((pk, EXPLANATION), ""),
                EVIDENCE: ", ".join(map(str, shown[pk])),
                FEEDBACK: words.get((pk, FEEDBACK), ""),
                "answered_at": at.isoformat(),
                "counts": counts,
                "version": version,
            }


def document_table(task: Task, form: str, dimension: str = "") -> Table:
    """The answers under judgment with their questions and documents, in the task's order."""
    return Table(tuple(one.name for one in Documents.fields), _documents(task))


def _documents(task: Task) -> Iterator[Row]:
    version = task.version_or_draft()
    rows = Item.objects.filter(task=task).in_version(version.number)
    for row in (
        rows.select_related("group", "first__system")
        .order_by("group__position", "position", "pk")
        .iterator(CHUNK)
    ):
        if row.first is None:
            continue
        yield {
            "document_id": row.group.key,
            "document": row.group.passage,
            "title": row.group.title,
            "question_id": row.first.topic,
            "question": row.question,
            "sentence": row.settings.get("anchor", 0),
            "answer_id": row.key,
            "answer": row.first.text,
            "system": row.first.system.name,
            "prompt_strategy": row.first.system.prompt_strategy,
        }
