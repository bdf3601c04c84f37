"""Answers in people's own words, which AQER scores."""

from __future__ import annotations

import math

import numpy as np
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.authoring.selectors.builder.frame import Build
from annotation.models import Answer, Task
from annotation.work.snapshots import answers
from crowdqc import numbers
from evaluation.free_text.planning import MODEL, TextPlanner
from evaluation.llm_runs.answering.questions import Questions
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.redundancy import FEW
from evaluation.runs.adapters import AQER_SCORE, ShapeAdapter
from evaluation.runs.planning.precision import Precision, plan_precision, recipe_words

LARGEST = 8_000  # workers x questions of one simulated study of texts, 0.2 s each
SECONDS_A_CELL, SECONDS_AN_ANSWER = 2e-5, 4.5e-5  # of a simulated study of texts, measured
FEWEST, MOST = 4, 60


def _redundancy(votes: int, now: float, more: float) -> tuple[str, ...]:
    """A warning where few people answer a question, and what one more would bring."""
    brings = _(
        "Scores will correlate with workers’ quality by about %(now)s; with "
        "%(votes)s answers per question by about %(more)s, if the same people write "
        "them. Real crowds reach less than simulated ones."
    ) % {"now": numbers.score(now, 2), "votes": votes + 1, "more": numbers.score(more, 2)}
    if votes >= FEW:
        return (brings,)
    return (
        _(
            "Ask for %(few)s or more answers per question: with %(votes)s a score "
            "depends mostly on whose answers it was compared with."
        )
        % {"few": FEW, "votes": votes},
        brings,
    )


def of_texts(build: Build) -> Precision:
    """Estimate the width of a worker's AQER interval in a drafted task."""
    cost, votes = build.cost(), build.version.redundancy
    per, items = cost.per_assignment, build.questions
    if votes < 2:
        return Precision(why_not=_("one answer a question, so that none is compared"))
    if per < 2:
        return Precision(why_not=_("one question an assignment; an interval needs two"))
    # The width depends on answers a worker and answers a question, not on how many questions
    # there are; so a large task is simulated by a part of it.
    items = max(per, min(items, int(math.sqrt(LARGEST * per / votes))))
    workers = max(3, votes, math.ceil(items * votes / per))
    if workers * items > 5 * LARGEST:
        return Precision(why_not=_("too large to be simulated here"))
    values = {"workers": workers, "items": items, "votes": votes}
    # The same people, each with more questions.
    more = {**values, "workers": max(workers, votes + 1), "votes": votes + 1}
    taken = SECONDS_A_CELL * workers * items + SECONDS_AN_ANSWER * items * votes
    replicates = int(np.clip(0.5 / taken, FEWEST, MOST))
    try:
        found, after = (plan_precision(MODEL, replicates, **one) for one in (values, more))
    except BadParameter as problem:
        return Precision(why_not=_("not simulated: %(problem)s") % {"problem": problem})
    half, error = (value / 2 for value in found["score_width"])
    sentences = (
        *_redundancy(votes, found["score_truth"][0], after["score_truth"][0]),
        _(
            "A worker’s score will be known to ± %(half)s, from %(each)s each and "
            "%(answers)s a question, if everybody takes one assignment."
        )
        % {
            "half": numbers.score(half),
            "each": numbers.plural(per, "answer"),
            "answers": numbers.plural(votes, "answer"),
        },
        _(
            "Simulated with workers of three qualities, a third each (model F2); error "
            "of the width ± %(error)s."
        )
        % {"error": numbers.score(error)},
    )
    return Precision(
        _("a score"), half, error, sentences, recipe=recipe_words(MODEL, replicates, **values)
    )


class Texts(ShapeAdapter):
    """Workers are compared by what they wrote about the same question."""

    shape = "texts"
    main_run = "aqer"
    told_figures = {"components": ("mean", "raw_best")}
    fixed_words = gettext_lazy(
        "At most 100 rounds; a run that has not settled by then fails and says so. Intervals are "
        "95% and need 5 answers. Where workers answered different questions, ranks go by scores "
        "adjusted for the questions."
    )
    results = "task_results"
    worker_score = AQER_SCORE
    scores_answers = True
    answering = Questions()
    planner = TextPlanner()
    pools = ("answers", "systems")
    without_models = gettext_lazy(
        "People’s answers are scored by AQER, and answers that models gave elsewhere can be "
        "imported; they stand on the same board."
    )

    def counting_rows(self, task: Task) -> QuerySet[Answer]:
        return answers.counting_rows(task)

    def tally(self, task: Task, max_id: int) -> answers.Tally:
        return answers.tally_from_counts(
            answers.counts_of(task), answers.counting_rows(task), max_id
        )

    def precision(self, build: Build) -> Precision:
        return of_texts(build)
