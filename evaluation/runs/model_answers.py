"""Answers of models on a task: who gave how many, and which came since models were last tested."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Answer, Task
from crowdqc.numbers import plural
from evaluation.methods.replacement.annotator import ITEMS
from evaluation.methods.replacement.method import METHOD as REPLACEMENT
from evaluation.models import RunState
from evaluation.results.findings import Action, Finding
from evaluation.runs.adapters import adapter_of
from evaluation.runs.messages import MESSAGES


@dataclass(frozen=True)
class ModelAnswers:
    """One model under one prompt, and the number of its answers."""

    name: str
    strategy: str
    n: int


def model_answers(task: Task) -> list[ModelAnswers]:
    """List the models with answers on the task, imported or asked here; the most first."""
    rows = _answers(task).values_list("system__name", "system__prompt_strategy")
    found = rows.annotate(n=Count("pk")).order_by("-n", "system__name", "system__prompt_strategy")
    return [ModelAnswers(*row) for row in found]


def untested_models(task: Task) -> Finding | None:
    """Name the answers of models that no finished test has compared with people's (2 queries)."""
    tests = task.runs.filter(method=REPLACEMENT.slug, state=RunState.DONE, snapshot__isnull=False)
    newest = tests.order_by("-pk").values_list("snapshot__counts__max_id", flat=True).first()
    rows = _answers(task).filter(pk__gt=newest or 0)
    found = rows.aggregate(n=Count("pk"), models=Count("system", distinct=True))
    if not found["n"]:
        return None
    url = reverse("replacement", args=[task.project_id, task.pk])
    return MESSAGES.find(
        "models_untested",
        action=Action(_("Compare models with people"), url),
        answers=plural(found["n"], adapter_of(task).answer_noun),
        models=plural(found["models"], "model"),
        n=found["n"],
    )


def count_comparable_people(task: Task) -> int:
    """Count the people with as many items as a test takes that another person answered as well.

    Where models have answered, only items that one of them answered. Fewer than ``PEOPLE``: no
    test can succeed. Two queries.
    """
    people = adapter_of(task).counting_rows(task).filter(worker__isnull=False).order_by()
    by_item = people.values("item").annotate(people=Count("worker", distinct=True))
    beside = people.filter(item__in=by_item.filter(people__gte=2).values("item"))
    if _answers(task).exists():
        beside = beside.filter(item__in=_answers(task).values("item"))
    by_person = beside.values("worker").annotate(items=Count("item", distinct=True))
    return by_person.filter(items__gte=ITEMS).count()


def _answers(task: Task) -> QuerySet[Answer]:
    return Answer.objects.filter(
        item__task=task, system__isnull=False, stage=Answer.Stage.MAIN
    ).order_by()
