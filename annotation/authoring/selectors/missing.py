"""What stands in the way of publishing a task that judges texts, or asks for responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, IntegerField

from annotation.authoring.selectors.builder.pair_texts import attention_pairs, signature, texts_of
from annotation.models import Item, ItemGroup, Task, TaskVersion
from annotation.task_types.pairwise.sides import NEUTRAL


@dataclass(frozen=True)
class Missing:
    """What stands in the way of publishing, and where it is mended."""

    sentence: str
    part: str
    question: str = ""
    text: str = ""  # the topic


def missing_in(
    task: Task, version: TaskVersion, shape: str, now: str | None = None
) -> list[Missing]:
    """What a task of another shape than "texts" lacks before it can be published.

    ``now``: the signature of the version, where it is known already.
    """
    if shape == "responses":
        return _missing_topics(task, version)
    if shape == "attributes":
        return _missing_dimensions(task, version)
    items = task.items.in_version(version.number)
    if not items.filter(expected__isnull=True).exists():
        texts = texts_of(task, version).exclude(pk__in=version.settings.get("left_out", []))
        if shape in ("ratings", "checks") or texts.count() < 2:
            beside = version.settings.get("layout") == "document"
            lacking = "The task has no answer to rate" if beside else "The task has no texts"
            return [*_missing_questions(version), Missing(lacking, "texts")]
        return [Missing("No pairs are made yet", "pairs")]
    if shape in ("ratings", "checks"):
        return _missing_questions(version)
    found = []
    made = version.settings.get("made")
    if made and made != (signature(task, version) if now is None else now):
        found.append(
            Missing("Texts, design or assignment size changed: make the pairs again", "pairs")
        )
    return found + _gold_missing(attention_pairs(task, version), version)


def _gold_missing(gold: list[Item], version: TaskVersion) -> list[Missing]:
    wanted = version.settings.get("gold_per_assignment", 0)
    found = []
    if wanted > len(gold):
        there = f"there {'is' if len(gold) == 1 else 'are'} {len(gold) or 'none'}"
        found.append(Missing(f"{wanted} attention pairs an assignment, {there}", "pairs"))
    known = {dimension["name"]: dimension for dimension in version.settings["dimensions"]}
    for item in gold:
        for name, code in (item.expected or {}).items():
            if name not in known:
                wrong = f"expects something of “{name}”, which is not asked"
            elif code == NEUTRAL and not known[name]["neutral"]:
                wrong = f"expects neutral of “{known[name]['label']}”, which asks for a side"
            else:
                continue
            found.append(Missing(f"An attention pair {wrong}", "pairs", item.key))
            break
    return found[:4]


def _missing_questions(version: TaskVersion) -> list[Missing]:
    """What a checklist lacks to be asked; nothing of a task that has none."""
    if version.settings.get("questions", True):
        return []
    return [Missing("The checklist has no question", "asked")]


def _missing_dimensions(task: Task, version: TaskVersion) -> list[Missing]:
    """What a think-aloud task lacks: dimensions, their rubrics, samples with text and score."""
    groups = list(task.groups.in_version(version.number).order_by("position", "pk"))
    if not groups:
        return [Missing("The task has no dimension", "dimensions")]
    found = [
        Missing(f"Dimension {number} {lack}", "dimensions", text=group.key)
        for number, group in enumerate(groups, 1)
        if (lack := lacks(group))
    ]
    return found[:4]


def lacks(group: ItemGroup) -> str:
    """What a dimension needs before its task can be published, in words; empty when nothing."""
    if not group.title:
        return "has no name"
    if not group.passage.strip():
        return "has no rubric"
    if not group.passages:
        return "has no scored sample"
    if any(not str(row.get("text", "")).strip() for row in group.passages):
        return "has a sample without text"
    if any(not str(row.get("score", "")).strip() for row in group.passages):
        return "has a sample without a score"
    return ""


def _missing_topics(task: Task, version: TaskVersion) -> list[Missing]:
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
