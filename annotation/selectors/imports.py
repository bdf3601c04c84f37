"""What a task holds already, as importers need it, and a file examined against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.imports import get_format
from annotation.imports.answers import KnownAnswers
from annotation.imports.base import Checked, Field, Sheet, guess
from annotation.imports.candidates import KnownCandidates
from annotation.imports.items import KnownItems
from annotation.imports.system_answers import KnownSystems
from annotation.models import Candidate, Membership, Project, System, Task, TextValue
from crowdqc.errors import Conflict


def known_for(task: Task, kind: str) -> Any:
    """What the rows of a file are compared with."""
    if kind == "items":
        return _known_items(task)
    if kind == "candidates":
        return known_candidates(task.project)
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version they answer.")
    return _known_answers(task) if kind == "answers" else _known_systems(task)


def _known_items(task: Task) -> KnownItems:
    version = task.versions.order_by("-number").first()
    number = version.number if version else 1
    items = task.items.in_version(number).values_list("key", "question", "group__passage")
    groups = task.groups.in_version(number).values_list("key", "passage")
    return KnownItems(
        questions={key: (question, passage) for key, question, passage in items},
        topics=dict(groups),
    )


def _keys(task: Task) -> list[str]:
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    items = task.items.in_version(task.current.number)
    return list(items.order_by("group__position", "position", "pk").values_list("key", flat=True))


def _known_answers(task: Task) -> KnownAnswers:
    texts = TextValue.objects.filter(
        field="answer", index=0, answer__item__task=task, answer__worker__isnull=False
    ).exclude(answer__worker__external_id="")
    removed = Membership.objects.filter(project_id=task.project_id, removed_at__isnull=False)
    return KnownAnswers(
        keys=_keys(task),
        texts={
            (worker, key): text
            for worker, key, text in texts.values_list(
                "answer__worker__external_id", "answer__item__key", "text"
            )
        },
        removed=set(removed.exclude(external_id="").values_list("external_id", flat=True)),
    )


def _known_systems(task: Task) -> KnownSystems:
    texts = TextValue.objects.filter(
        field="answer", index=0, answer__item__task=task, answer__system__isnull=False
    )
    systems = list(
        System.objects.filter(project_id=task.project_id).values_list("name", "prompt_strategy")
    )
    return KnownSystems(
        keys=_keys(task),
        names=[name for name, _ in systems],
        strategies=[strategy for _, strategy in systems if strategy],
        texts={
            (name, strategy, key, replicate): text
            for name, strategy, key, replicate, text in texts.values_list(
                "answer__system__name",
                "answer__system__prompt_strategy",
                "answer__item__key",
                "answer__replicate",
                "text",
            )
        },
    )


def known_candidates(project: Project) -> KnownCandidates:
    """The texts under judgment of a project, their topics' queries, and the names of sources."""
    rows = list(
        Candidate.objects.filter(project=project).values_list("key", "topic", "query", "text")
    )
    names = System.objects.filter(project=project).values_list("name", flat=True)
    return KnownCandidates(
        texts={key: (topic, text) for key, topic, _, text in rows},
        queries={topic: query for _, topic, query, _ in rows if query},
        names=sorted(set(names)),
    )


@dataclass(frozen=True)
class Examined:
    """A file, how its columns are read, and what became of its rows."""

    sheet: Sheet
    mapping: dict[str, str]
    unmapped: list[Field]  # required fields that no column gives
    checked: Checked

    @property
    def bad_rows(self) -> int:
        return len(self.checked.bad_lines)

    @property
    def can_import(self) -> bool:
        return not self.unmapped


def examine(
    task: Task, kind: str, sheet: Sheet, mapping: Mapping[str, str] | None = None
) -> Examined:
    """Check every row of a file that was read; nothing is written.

    ``mapping`` (field -> column) overrules the guess from the columns' names. Conflict where
    the task takes no such file yet.
    """
    return _examined(kind, known_for(task, kind), sheet, mapping)


def examine_candidates(
    project: Project, sheet: Sheet, mapping: Mapping[str, str] | None = None
) -> Examined:
    """The same for a file of texts, which belong to a project and to no task."""
    return _examined("candidates", known_candidates(project), sheet, mapping)


def _examined(kind: str, known: Any, sheet: Sheet, mapping: Mapping[str, str] | None) -> Examined:
    importer = get_format(kind)
    columns = set(sheet.columns)
    chosen = (
        {f: column for f, column in mapping.items() if column in columns}
        if mapping
        else guess(sheet.columns, importer.fields)
    )
    unmapped = [f for f in importer.fields if f.required and f.name not in chosen]
    if unmapped:
        return Examined(sheet, chosen, unmapped, Checked())
    checked = importer.check(sheet.rows, chosen, known)
    checked.problems = sorted(
        [*sheet.unreadable, *checked.problems], key=lambda problem: problem.line or 0
    )
    return Examined(sheet, chosen, unmapped, checked)
