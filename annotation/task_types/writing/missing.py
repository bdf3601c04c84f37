"""What a task that asks for responses lacks: topics, queries, passages to cite, items."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Func, IntegerField

from annotation.models import Task, TaskVersion
from annotation.task_types.missing import Missing


def missing_topics(task: Task, version: TaskVersion) -> list[Missing]:
    """What a task that asks for responses lacks: topics, queries, passages to cite, items."""
    groups = with_passages(task.groups.in_version(version.number))
    topics = list(groups.order_by("position", "pk").values_list("pk", "key", "passages_there"))
    if not topics:
        return [Missing("The task has no topic", "topics")]
    items = task.items.in_version(version.number).values_list("group_id", "question", "settings")
    asked: dict[int, set[str]] = {}
    empty: set[int] = set()
    for group, question, settings in items:
        asked.setdefault(group, set()).add(settings.get("style", ""))
        if not question.strip():
            empty.add(group)
    wanted = version.settings["min_citations"]
    found = []
    for number, (pk, key, there) in enumerate(topics, 1):
        if pk in empty:
            found.append(Missing(f"Topic {number:,} has no query", "topics", text=key))
        if there < wanted:
            has = f"{there} passage{'' if there == 1 else 's'}" if there else "no passages"
            cited = "one has" if wanted == 1 else f"{wanted} have"
            found.append(
                Missing(f"Topic {number:,} has {has}; {cited} to be cited", "topics", text=key)
            )
    for style in version.settings["styles"]:
        lacking = sum(style["name"] not in asked.get(pk, set()) for pk, _, _ in topics)
        if lacking:
            topic = "topic has" if lacking == 1 else "topics have"
            found.append(
                Missing(f"{lacking:,} {topic} nothing in the style “{style['label']}”", "styles")
            )
    return found[:4]


def with_passages(groups: Any) -> Any:
    """Topics with ``passages_there``, how many they have; the passages themselves stay behind."""
    count = Func(F("passages"), function="jsonb_array_length", output_field=IntegerField())
    return groups.defer("passages").annotate(passages_there=count)
