"""What a task that compares texts lacks: texts, pairs as designed, attention pairs that hold."""

from __future__ import annotations

from annotation.models import Item, Task, TaskVersion
from annotation.task_types.missing import Missing
from annotation.task_types.pairwise.sides import NEUTRAL
from annotation.task_types.pairwise.texts import attention_pairs, signature, texts_of


def missing_pairs(task: Task, version: TaskVersion, now: str | None) -> list[Missing]:
    """``now``: the signature of the version, where it is known already."""
    if not task.items.in_version(version.number).filter(expected__isnull=True).exists():
        texts = texts_of(task, version).exclude(pk__in=version.settings.get("left_out", []))
        if texts.count() < 2:
            return [Missing("The task has no texts", "texts")]
        return [Missing("No pairs are made yet", "pairs")]
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
