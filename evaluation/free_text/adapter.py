"""Answers in people's own words, which AQER scores."""

from __future__ import annotations

from django.db.models import QuerySet

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Task
from annotation.work.snapshots import answers
from evaluation.free_text.precision import of_texts
from evaluation.llm_runs.answering.questions import Questions
from evaluation.runs.adapters import AQER_SCORE, ShapeAdapter
from evaluation.runs.precision import Precision


class Texts(ShapeAdapter):
    """Workers are compared by what they wrote about the same question."""

    shape = "texts"
    main_run = "aqer"
    told_figures = {"components": ("mean", "raw_best")}
    fixed_words = (
        "At most 100 rounds; a run that has not settled by then fails and says so. Intervals are "
        "95% and need 5 answers. Where workers answered different questions, ranks go by scores "
        "adjusted for the questions."
    )
    results = "task_results"
    worker_score = AQER_SCORE
    scores_answers = True
    answering = Questions()
    pools = ("answers", "systems")
    without_models = (
        "People’s answers are scored by AQER, and answers that models gave elsewhere can be "
        "imported; they stand on the same board."
    )

    def counting_rows(self, task: Task) -> QuerySet[Answer]:
        return answers.counting_rows(task)

    def precision(self, build: Build) -> Precision:
        return of_texts(build)
