"""What a task of documents holds already, as the importers of answers and ratings need it."""

from __future__ import annotations

from collections import Counter, defaultdict

from annotation.formats.imports.documents import KnownDocuments
from annotation.formats.imports.ratings import KnownRatings, Said
from annotation.models import Answer, Candidate, ChoiceValue, Task, TextValue
from annotation.task_types.rating.explanation import EXPLANATION


def known_documents(task: Task) -> KnownDocuments:
    """The draft's documents, and the texts of the project by their ids."""
    version = task.versions.latest("number")
    items = set(task.items.in_version(version.number).values_list("key", flat=True))
    return KnownDocuments(
        documents=dict(task.groups.in_version(version.number).values_list("key", "passage")),
        answers={
            key: text
            for key, text in Candidate.objects.filter(project=task.project).values_list(
                "key", "text"
            )
            if key in items
        },
    )


def known_ratings(task: Task) -> KnownRatings:
    """The published items, and every rating under the worker's own id and under the pseudonym."""
    assert task.current is not None  # noqa: S101 (asked for by known_for)
    scales = [scale["name"] for scale in task.current.settings["scales"]]
    of_task = {"answer__item__task": task, "answer__worker__isnull": False}
    points: dict[int, dict[str, int]] = defaultdict(dict)
    for pk, field, value in ChoiceValue.objects.filter(**of_task, field__in=scales).values_list(
        "answer_id", "field", "ordinal"
    ):
        points[pk][field] = value or 0
    words = dict(
        TextValue.objects.filter(**of_task, field=EXPLANATION).values_list("answer_id", "text")
    )
    said: Counter[Said] = Counter()
    rows = Answer.objects.filter(item__task=task, worker__isnull=False)
    for pk, item, own, name in rows.values_list(
        "pk", "item__key", "worker__external_id", "worker__pseudonym"
    ):
        values = tuple((scale, points[pk].get(scale, 0)) for scale in scales)
        for worker in {own, name} - {""}:
            said[item, worker, values, words.get(pk, "")] += 1
    items = task.items.in_version(task.current.number).values_list("key", "settings__sentences")
    return KnownRatings(items={key: last or 0 for key, last in items}, said=said)
