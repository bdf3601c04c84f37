"""What think-aloud and checklist tasks hold already, as the importers of their files need it."""

from __future__ import annotations

from typing import Any

from annotation.formats.imports.authors import Author, KnownAnswers
from annotation.formats.imports.samples import KnownSamples, content_of
from annotation.models import Answer, ChoiceValue, Membership, Role, System, Task, TextValue
from annotation.task_types.checklist.type import list_of
from annotation.task_types.think_aloud.type import ATTRIBUTE


def known_samples(task: Task) -> KnownSamples:
    """The rubrics and samples of the draft."""
    version = task.versions.latest("number")
    groups = list(task.groups.in_version(version.number))
    return KnownSamples(
        rubrics={group.title: group.passage for group in groups},
        samples={
            (group.title, row["key"]): content_of(row["text"], row["source"], row["score"])
            for group in groups
            for row in group.passages
        },
    )


def known_attributes(task: Task) -> KnownAnswers:
    """The dimensions in force, and whose attributes are there."""
    there: dict[tuple[Author, str], list[str]] = {}
    rows = TextValue.objects.filter(field=ATTRIBUTE, answer__item__task=task)
    authors = _authors(task)
    for pk, text in rows.order_by("answer", "index").values_list("answer_id", "text"):
        if pk in authors:
            there.setdefault(authors[pk], []).append(text)
    return _known(task, there)


def known_checks(task: Task) -> KnownAnswers:
    """The texts and questions in force, and whose checklists are there."""
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    asked = dict(list_of(task.current))
    there: dict[tuple[Author, str], dict[str, str]] = {}
    rows = ChoiceValue.objects.filter(field__in=asked, answer__item__task=task)
    authors = _authors(task)
    for pk, field, code in rows.values_list("answer_id", "field", "code"):
        if pk in authors:
            there.setdefault(authors[pk], {})[field] = code
    return _known(task, there, asked)


def _authors(task: Task) -> dict[int, tuple[Author, str]]:
    """Whose each answer to the items in force is, and to which."""
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    items = task.items.in_version(task.current.number).values("pk")
    found = {}
    for pk, key, worker, system, strategy, replicate in Answer.objects.filter(
        item__in=items, stage=Answer.Stage.MAIN
    ).values_list(
        "pk", "item__key", "worker_id", "system__name", "system__prompt_strategy", "replicate"
    ):
        author: Author = ("worker", worker) if worker else ("system", system, strategy, replicate)
        found[pk] = (author, key)
    return found


def _known(task: Task, there: dict[Any, Any], asked: dict[str, str] | None = None) -> KnownAnswers:
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    items = task.items.in_version(task.current.number).filter(expected__isnull=True)
    rows = list(items.order_by("position", "pk").values_list("key", "group__title", "first__key"))
    names = {text: key for key, _, text in rows if text}
    if asked is None:
        names |= {title: key for key, title, _ in rows if title}
    workers = Membership.objects.filter(project_id=task.project_id, role=Role.WORKER)
    people = list(workers.values_list("pk", "pseudonym", "external_id", "removed_at"))
    systems = list(
        System.objects.filter(project_id=task.project_id).values_list("name", "prompt_strategy")
    )
    return KnownAnswers(
        items=names | {key: key for key, _, _ in rows},
        order=[key for key, _, _ in rows],
        people={pseudonym: pk for pk, pseudonym, _, _ in people}
        | {external: pk for pk, _, external, _ in people if external},
        removed=frozenset(name for _, *both, removed in people if removed for name in both if name),
        names=[name for name, _ in systems],
        strategies=[strategy for _, strategy in systems if strategy],
        there=there,
        asked=asked or {},
    )
