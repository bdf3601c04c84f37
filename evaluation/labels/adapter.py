"""Labels of items: in each field one of several options is chosen."""

from __future__ import annotations

from django.db.models import QuerySet

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Task
from annotation.work.snapshots import labels
from evaluation.methods.labels.method import METHOD
from evaluation.runs.adapters import COMPETENCE, ShapeAdapter
from evaluation.runs.precision import Precision


class ItemLabels(ShapeAdapter):
    """Items that people put into classes."""

    shape = "labels"
    answer_noun, item_noun = "label", "item"
    main_run = METHOD.slug
    new_noun = "label"
    told_figures = {"agreement": ("value",), "class": ("prevalence", "majority_share")}
    fixed_words = (
        "All methods are computed on the same labels. Labels marked as unsure do not count. Known "
        "answers measure workers and methods; they never change a label. Intervals are 95%."
    )
    results = "label_results"
    worker_score = COMPETENCE
    without_models = (
        "Items are labelled by people, with competence, agreement and estimated labels. Labels "
        "given elsewhere can be imported."
    )

    def counting_rows(self, task: Task) -> QuerySet[Answer]:
        return labels.counting_rows(task)

    def precision(self, build: Build) -> Precision:
        return Precision(why_not="not simulated for labels")
