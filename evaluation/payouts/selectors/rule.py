"""The rule of a task's payouts in words, and what its type gives to pay by."""

from __future__ import annotations

from annotation.models import PayoutRule, Project, Task
from annotation.payouts.actions.bonus_rule import bases_of
from annotation.task_types import get_type
from crowdqc.numbers import money, score

By = PayoutRule.BonusBy


def score_name(task: Task) -> str:
    """What the score of its workers is called; empty for a type that gives none."""
    bases = bases_of(task)
    if not bases:
        return ""
    return "Competence" if By.COMPETENCE in bases else "Score"


def why_no_bonus(task: Task) -> str:
    """Why this type of task offers no bonus by rule; empty where it offers one."""
    if bases_of(task):
        return ""
    return get_type(task.type).no_bonus


def rule_words(rule: PayoutRule | None, project: Project) -> str:
    """The rule as one sentence; empty where there is none."""
    if rule is None:
        return ""
    currency = project.currency
    said = ["Base as agreed"]
    if rule.bonus_by == By.NONE:
        said.append("no bonus by score")
    else:
        steps = ", ".join(_step(rule, row, currency) for row in rule.steps)
        said.append(f"bonus by {By(rule.bonus_by).label}: {steps}")
    if rule.top_up and project.hourly_floor is not None:
        said.append(f"raised to {money(project.hourly_floor, currency)} an hour")
    if rule.cap_each is not None:
        said.append(f"at most {money(rule.cap_each, currency)} of bonus a person")
    if rule.cap_total is not None:
        said.append(f"at most {money(rule.cap_total, currency)} of bonus in total")
    return "; ".join(said) + "."


def _step(rule: PayoutRule, row: dict[str, str], currency: str) -> str:
    at = f"first {row['at']}" if rule.bonus_by == By.RANK else f"from {score(float(row['at']))}"
    return f"{at} {money(float(row['bonus']), currency)}"
