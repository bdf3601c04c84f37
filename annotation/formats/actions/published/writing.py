"""CrowdRAG-25's writing study into a project: topics, responses with their logs, a model's beside.

All or nothing, and each part once: taken in again, the same files add nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.formats.actions.judgments import import_task
from annotation.formats.actions.published.crowdrag import ignore_progress
from annotation.formats.actions.published.rows import MODEL, Progress
from annotation.formats.actions.responses import (
    IMPORTED,
    ImportedTask,
    ResponseRow,
    add_responses,
    add_system_responses,
    publish_topics,
)
from annotation.formats.imports.published.crowdrag_writing import WritingStudy
from annotation.models import Project, Task, User
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from annotation.task_types.writing.type import ENTRY, ENTRY_TEMPLATE, EXIT, EXIT_TEMPLATE
from crowdqc.errors import Conflict

TITLE = "CrowdRAG-25, responses written from sources"
INSTRUCTIONS = (
    "Write a response to the query of about **250 words** in the style that is asked for, and cite "
    "the passages that you use by their numbers, which begin with 0."
)
# As stored, every published response is within these: the shortest has 16 words.
LIMITS = {"target_words": 250, "min_words": 0, "max_words": 500, "min_citations": 0}


def form_points() -> dict[str, dict[int, str]]:
    """Return the points of each question of the default forms: field -> value -> label."""
    return {
        f"{stage}.{row['name']}": {point["value"]: point["label"] for point in row["points"]}
        for stage, rows in ((ENTRY, ENTRY_TEMPLATE), (EXIT, EXIT_TEMPLATE))
        for row in rows
    }


def settings() -> dict[str, Any]:
    """Return the rules of the published study: citations count from 0, forms are optional.

    Some people wrote on a topic in two styles.
    """
    return {
        **LIMITS,
        "first_number": 0,
        "once_a_topic": False,
        ENTRY: [{**row, "required": False} for row in ENTRY_TEMPLATE],
        EXIT: [{**row, "required": False} for row in EXIT_TEMPLATE],
    }


@transaction.atomic
def import_writing(
    *,
    by: User,
    project: Project,
    study: WritingStudy,
    task: Task | None = None,
    progress: Progress = ignore_progress,
) -> ImportedTask:
    """Write a study that was read into ``task``, or into the project's task of its title.

    Raises Conflict where the task counts passages from another number or has a draft of other
    changes, and NotAllowed where one of the writers was removed from the project.
    """
    lock_project(project.pk)
    if task is None:
        rules = {"redundancy": 1, "items_per_assignment": 1, "lease_minutes": 120}
        fields: Mapping[str, Any] = {
            "instructions": INSTRUCTIONS,
            "settings": settings(),
            **rules,
        }
        task = import_task(by=by, project=project, type="writing", title=TITLE, fields=fields)
    if task.versions.latest("number").settings["first_number"] != 0:
        raise Conflict(
            _("The published responses cite passages from 0 on, and this task does not.")
        )
    found = ImportedTask(task)
    progress("topics", 0, len(study.topics))
    topics = [
        {"topic": one.key, "query": one.query, "passages": one.passages} for one in study.topics
    ]
    found.added["topics"] = publish_topics(by=by, task=task, topics=topics, name="retrieval")
    progress("topics", len(study.topics), len(study.topics))
    people = [
        ResponseRow(
            f"{one.log.topic}-{one.log.style}",
            one.log.text,
            one.worker,
            answers=one.answers,
            log=one.log,
        )
        for one in study.responses
    ]
    total = len(people)
    progress(_("responses with logs"), 0, total)
    found.added["responses"], odd = add_responses(
        task=task, rows=people, advance=lambda done: progress(_("responses with logs"), done, total)
    )
    if found.added["responses"].new < total:
        progress(_("responses with logs"), total, total)
    models = [ResponseRow(f"{o.topic}-{o.style}", o.text, system=(MODEL, "")) for o in study.models]
    found.added["responses of the model"], more = add_system_responses(task=task, rows=models)
    found.unknown_numbers = odd + more
    if any(part.new for part in found.added.values()):
        new = {name: part.new for name, part in found.added.items()}
        record(by=by, project=project, action=IMPORTED, on=task, new=new)
    return found
