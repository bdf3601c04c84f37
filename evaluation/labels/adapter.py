"""Labels of items: in each field one of several options is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Task
from annotation.work.snapshots import labels
from annotation.work.snapshots.answers import Tally, tally_of
from evaluation.labels import planning
from evaluation.labels.selectors.plan import LabelPlanner
from evaluation.labels.selectors.study import alpha_of
from evaluation.llm_runs.answering.labels import LabelQuestions
from evaluation.methods.labels.method import METHOD
from evaluation.runs.adapters import COMPETENCE, KNOWN, CompetenceWords, ShapeAdapter
from evaluation.runs.planning.precision import Precision


class ItemLabels(ShapeAdapter):
    """Items that people put into classes."""

    shape = "labels"
    answer_noun, item_noun = "label", "item"
    main_run = METHOD.slug
    new_noun = "label"
    told_figures = {"agreement": ("value",), "class": ("prevalence", "majority_share")}
    fixed_words = _(
        "All methods are computed on the same labels. Labels marked as unsure do not count. Known "
        "answers measure workers and methods; they never change a label. Intervals are 95%."
    )
    results = "label_items"
    worker_score = COMPETENCE
    answering = LabelQuestions()
    planner = LabelPlanner()
    # Their labels are scored like the others; the other shapes leave such answers out.
    known_words = replace(KNOWN, said=_("items whose answer is known"))
    competence_words = CompetenceWords(
        said=_("how often the right label is given, by field"),
        line=_("Field"),
        votes=_("Labels"),
        every=_("every label"),
        no_interval=_("too few shared items"),
        shared=pgettext_lazy("noun", "item"),
        beside=_("Known answers"),
        beside_said=_("Known answers: labels that are right, of the known answers that were shown"),
        for_worker=False,
    )
    without_models = _(
        "Items are labelled by people, with competence, agreement and estimated labels. Labels "
        "given elsewhere can be imported."
    )

    def votes_url(self, task: Task, worker_id: int) -> str:
        return f"{reverse('label_items', args=[task.project_id, task.pk])}?worker={worker_id}"

    def whole_label(self, task: Task, params: Mapping[str, Any]) -> str:
        wanted = str(params.get("field") or "")
        found = labels.fields_of(task.current)
        return next((one.label for one in found if wanted in ("", one.name)), wanted)

    def beside_competence(self, extra: Mapping[str, Any]) -> tuple[float, int, str]:
        return extra.get("known_right") or 0, extra.get("known_n") or 0, "known answer"

    def overall_alpha(self, figures: Mapping[str, Any]) -> float | None:
        found = alpha_of(figures) if "agreement" in figures else None
        return found["value"] if found else None

    def counting_rows(self, task: Task) -> QuerySet[Answer]:
        return labels.counting_rows(task)

    def tally(self, task: Task, max_id: int) -> Tally:
        return tally_of(self.counting_rows(task), max_id)

    def precision(self, build: Build) -> Precision:
        return planning.precision_of(build)
