"""What to do before models of a task are first tested: get their answers, or more of people."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.formats.registry import formats_listed
from annotation.models import Task
from crowdqc.numbers import count, several
from evaluation.methods.replacement.annotator import ITEMS, PEOPLE
from evaluation.runs import run_types
from evaluation.runs.adapters import adapter_of
from evaluation.runs.model_answers import count_comparable_people, model_answers


@dataclass(frozen=True)
class FirstStep:
    """The one way on, and what is missing; ``url`` "": nothing can be done on this task."""

    url: str
    label: str
    missing: str


def first_step(task: Task, method: str, *, requester: bool) -> FirstStep:
    """Return how a test of this method comes about: never a link that cannot lead to one."""
    people = count_comparable_people(task)
    missing = ""
    if people < PEOPLE:
        missing = ngettext(
            "%(n)s person has %(items)s such items so far.",
            "%(n)s people have %(items)s such items so far.",
            people,
        ) % {"n": count(people), "items": count(ITEMS)}
    if not model_answers(task):
        return _step_to_answers(task, missing, requester=requester)
    here = [task.project_id, task.pk]
    if missing:
        return FirstStep(reverse("task", args=here), _("Open the task"), missing)
    url = f"{reverse('run_start', args=here)}?method={method}"
    return FirstStep(url, _("Test the models"), "")


def _step_to_answers(task: Task, missing: str, *, requester: bool) -> FirstStep:
    """Lead to asking a model for what people give, else to importing it, or say who can."""
    here = [task.project_id, task.pk]
    for slug, kind in run_types.run_types().items():
        if kind.asking and kind.fits(task) and kind.asking.answers_items(task):
            url = reverse("task_ask", args=[*here, slug])
            return FirstStep(url, _("Let a model answer first"), missing)
    nouns = {"nouns": several(adapter_of(task).answer_noun)}
    for form in formats_listed(task, task.version_or_draft().settings):
        if form.of_answers and "system" in {field.name for field in form.for_task(task).fields}:
            if not requester:
                return FirstStep("", "", _("A requester can import a model’s %(nouns)s.") % nouns)
            url = reverse("task_import", args=[*here, form.slug])
            return FirstStep(url, _("Import a model’s %(nouns)s") % nouns, missing)
    return FirstStep("", "", _("This task takes no %(nouns)s of models.") % nouns)
