"""The demo's experts: requester and manager grade what the language models answered, blindly."""

from __future__ import annotations

import numpy as np

from annotation import demo
from annotation.models import Answer, Task, User
from evaluation.grading import actions as grading
from evaluation.models import Grading

SEED = 7
SLIP = 3  # which of the answers the second grader first takes for something else


def grade_all(data: demo.DemoData, task: Task, first: User, second: User) -> Grading:
    """Open a grading, let both mark every answer near the grade it was written with, close it."""
    found = grading.open_grading(by=first, task=task, first=first, second=second, seed=SEED)
    planted = {
        (row.system, row.prompt_strategy, row.item): 100 * row.grade // demo.TOP_GRADE
        for row in data.system_answers
    }
    rng = np.random.default_rng(SEED)
    answers = Answer.objects.select_related("system", "item").in_bulk(found.answer_ids)
    for number, pk in enumerate(found.answer_ids):
        one = answers[pk]
        if one.system is None:
            continue
        mark = planted[one.system.name, one.system.prompt_strategy, one.item.key]
        for grader in (first, second):
            given = int(np.clip(mark + 5 * rng.integers(-2, 3), 0, 100))
            if number == SLIP and grader is second:
                given = 100 - given if abs(100 - 2 * given) > found.gap else max(0, given - 40)
            grading.grade(by=grader, grading=found, answer_id=pk, value=given)
    for pk, both in grading.marks_of(found).items():
        if both.apart(found.gap) and both.first is not None:
            grading.reconcile(
                by=second,
                grading=found,
                answer_id=pk,
                value=both.first,
                note="I had read the wrong paragraph.",
            )
    return grading.close(by=first, grading=found)
