"""What a think-aloud task lacks: dimensions, their rubrics, samples with text and score."""

from __future__ import annotations

from annotation.models import ItemGroup, Task, TaskVersion
from annotation.task_types.missing import Missing


def missing_dimensions(task: Task, version: TaskVersion) -> list[Missing]:
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
