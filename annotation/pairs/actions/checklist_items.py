"""The questions of a checklist task, line by line, and a task made of a frozen checklist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.authoring.actions.drafts import edit_draft
from annotation.authoring.actions.rows import Rows, change_rows, drop_row, row_at, shift_row
from annotation.authoring.actions.tasks import create_task, find_task_of_form
from annotation.models import Candidate, ItemGroup, Project, Task, User
from annotation.pairs.actions.pair_items import make_texts
from annotation.pairs.actions.topics import TopicContent, add_topics
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.task_types.checklist.type import MAX_COMPONENT, free_name
from crowdqc.errors import Invalid

QUESTIONS = "questions"


@transaction.atomic
def make_task(
    *,
    by: User,
    project: Project,
    title: str,
    dimension: str,
    questions: Sequence[Mapping[str, Any]],
    version: int,
    texts: Iterable[Candidate],
    key: UUID | None = None,
) -> Task:
    """Create a draft that asks people ``questions`` about each of ``texts``.

    A question has name, label (or text: its wording), component, and the attributes that it came
    from; ``version`` is the frozen checklist's id, 0 for none. A text stands beside the passage
    that another task of the project shows on its topic. Nothing is handed out before somebody
    publishes it. The form of a ``key`` makes one task, however often it is sent. Raises Invalid
    for texts of another project, or without questions.
    """
    there = find_task_of_form(by=by, project=project, key=key)
    if there is not None:
        return there
    wanted = list(texts)
    if not questions:
        raise Invalid(
            _("The checklist asks nothing."), fields={QUESTIONS: _("One question at least.")}
        )
    if any(text.project_id != project.pk for text in wanted):
        raise Invalid(
            _("A text belongs to another project."), fields={"texts": _("Those of this one.")}
        )
    rows = [{**row, "label": row.get("label") or row.get("text", "")} for row in questions]
    task = create_task(by=by, project=project, type="checklist", title=title, key=key)
    settings = {QUESTIONS: rows, "dimension": dimension[:80], "version": version}
    edit_draft(by=by, task=task, fields={"settings": settings})
    take_texts(by=by, task=task, texts=wanted)
    record(
        by=by,
        project=project,
        action="checklist.task",
        on=task,
        questions=len(rows),
        texts=len(wanted),
    )
    return task


@transaction.atomic
def take_texts(*, by: User, task: Task, texts: Iterable[Candidate]) -> None:
    """Set the texts of the draft: these, and no others on their topics, with their sources."""
    wanted = {text.pk: text for text in texts}
    if not wanted:
        return
    topics = {text.topic: text.query for text in wanted.values()}
    shown = _passages(task.project, topics)
    about = {key: TopicContent(query, shown.get(key, "")) for key, query in topics.items()}
    before = set(task.groups.filter(until__isnull=True).values_list("key", flat=True))
    add_topics(by=by, task=task, topics=about)
    others = Candidate.objects.filter(
        project=task.project_id, topic__in=topics.keys() - before
    ).exclude(pk__in=wanted)
    left = set(task.versions.latest("number").settings["left_out"]) - wanted.keys()
    left |= set(others.values_list("pk", flat=True))
    edit_draft(by=by, task=task, fields={"settings": {"left_out": sorted(left)}})
    make_texts(by=by, task=task)


def _passages(project: Project, topics: Iterable[str]) -> dict[str, str]:
    """Return the passages that the project's tasks show on these topics; the last one wins."""
    rows = ItemGroup.objects.filter(task__project=project, key__in=list(topics)).exclude(passage="")
    return dict(rows.order_by("pk").values_list("key", "passage"))


# Questions -------------------------------------------------------------------------------------


def _change(*, by: User, task: Task, change: Any) -> None:
    """Change the lines; a changed list is no longer the frozen version that it was taken from."""
    if not get_type(task.type).has_checklist:
        raise Invalid(_("This type of task has no checklist."))
    before = task.versions.latest("number").settings
    after = change_rows(by=by, task=task, name=QUESTIONS, change=change).settings
    if after["version"] and _questions_of(after) != _questions_of(before):
        edit_draft(by=by, task=task, fields={"settings": {"version": 0}})


def _questions_of(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(row["name"], row["label"]) for row in settings[QUESTIONS]]


@transaction.atomic
def edit_question(*, by: User, task: Task, name: str, fields: Mapping[str, Any]) -> None:
    """Change the wording (``label``) or the component of a line; its short name stays."""
    if "label" in fields and not str(fields["label"]).strip():
        raise Invalid(_("A line asks something."), fields={"label": _("Write the question.")})

    def change(rows: Rows) -> Rows:
        row = rows[row_at(rows, name)]
        for field in ("label", "component"):
            if field in fields:
                row[field] = str(fields[field]).strip()
        return rows

    _change(by=by, task=task, change=change)


@transaction.atomic
def add_questions(*, by: User, task: Task, text: str, component: str = "") -> list[str]:
    """Lines at the end, one for each line of ``text``; returns their short names."""
    asked = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    if not asked:
        raise Invalid(_("A line asks something."), fields={"new": _("Write a question.")})
    there = [row["label"] for row in task.versions.latest("number").settings.get(QUESTIONS, [])]
    twice = [line for at, line in enumerate(asked) if line in there or line in asked[:at]]
    if twice:
        raise Invalid(
            _("A question is asked twice."),
            fields={"new": _("Take it out here: %(twice)s") % {"twice": twice[0]}},
        )
    if len(component.strip()) > MAX_COMPONENT:
        raise Invalid(
            _("The component's name is too long."),
            fields={"new_component": _("%(most)s characters at most.") % {"most": MAX_COMPONENT}},
        )
    names: list[str] = []

    def change(rows: Rows) -> Rows:
        names.clear()
        taken = [row["name"] for row in rows]
        for label in asked:
            names.append(free_name([*taken, *names]))
            rows.append(
                {
                    "name": names[-1],
                    "label": label,
                    "component": component.strip(),
                    "attributes": [],
                }
            )
        return rows

    _change(by=by, task=task, change=change)
    return names


@transaction.atomic
def remove_question(*, by: User, task: Task, name: str) -> None:
    """Remove a question from the draft's checklist; its answers stay with older versions."""
    _change(by=by, task=task, change=lambda rows: drop_row(rows, name))


@transaction.atomic
def move_question(*, by: User, task: Task, name: str, step: int) -> None:
    """Move a line up (-1) or down (1); at the end it stays where it is."""
    _change(by=by, task=task, change=lambda rows: shift_row(rows, name, step))
