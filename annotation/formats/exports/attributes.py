"""Think-aloud tasks out: attributes of people and models, and the samples they were thought over.

People appear under their pseudonyms alone; the importers of the same names read what stands here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.files.writing.tables import Table
from annotation.models import Answer, Task, TextValue
from annotation.task_types.think_aloud.type import ATTRIBUTE
from annotation.work.snapshots import attributes

CHUNK = 2000
ATTRIBUTES = (
    "item_id",
    "dimension",
    "worker",
    "system",
    "prompt_strategy",
    "replicate",
    "index",
    "attribute",
    "start",
    "end",
    "transcript",
    "answered_at",
    "counts",
    "reason",
    "excluded",
    "version",
)
SAMPLES = ("dimension", "rubric", "sample_id", "title", "source", "text", "score")


def attribute_table(task: Task, form: str, dimension: str = "") -> Table:
    """Every attribute, counting or not; its transcript stands on an answer's first row.

    ``start`` and ``end`` count characters of the transcript, the end outside; empty where the
    attribute was typed.
    """
    return Table(ATTRIBUTES, _attributes(task))


def sample_table(task: Task, form: str, dimension: str = "") -> Table:
    """The samples in force, a row each, with the rubric of their dimension on every one."""
    version = task.current or task.versions.latest("number")
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


def _attributes(task: Task) -> Iterator[dict[str, Any]]:
    excluded = set(task.exclusions.in_force().values_list("worker_id", flat=True))
    ids = list(Answer.objects.filter(item__task=task).values_list("pk", flat=True))
    marks: dict[tuple[int, int], tuple[Any, Any]] = {**attributes.marks(ids)}
    said = attributes.transcripts(ids)
    rows = TextValue.objects.filter(
        field=ATTRIBUTE, answer__item__task=task, answer__stage=Answer.Stage.MAIN
    ).order_by("answer__item__position", "answer__item_id", "answer_id", "index")
    for stored in rows.values(
        "index",
        "text",
        "answer_id",
        "answer__item__key",
        "answer__item__group__title",
        "answer__worker_id",
        "answer__worker__pseudonym",
        "answer__system__name",
        "answer__system__prompt_strategy",
        "answer__replicate",
        "answer__answered_at",
        "answer__counts",
        "answer__uncounted_reason",
        "answer__version__number",
    ).iterator(CHUNK):
        row: dict[str, Any] = {k.removeprefix("answer__"): value for k, value in stored.items()}
        start, end = marks.get((row["answer_id"], row["index"]), (None, None))
        yield {
            "item_id": row["item__key"],
            "dimension": row["item__group__title"],
            "worker": row["worker__pseudonym"] or "",
            "system": row["system__name"] or "",
            "prompt_strategy": row["system__prompt_strategy"] or "",
            "replicate": row["replicate"],
            "index": row["index"],
            "attribute": row["text"],
            "start": start,
            "end": end,
            "transcript": said.get(row["answer_id"], "") if row["index"] == 0 else "",
            "answered_at": row["answered_at"].isoformat(),
            "counts": row["counts"],
            "reason": row["uncounted_reason"],
            "excluded": row["worker_id"] in excluded,
            "version": row["version__number"],
        }
