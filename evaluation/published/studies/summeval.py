"""What was published on SummEval as runs: the experts' mean scores, and each judge's scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from annotation.formats.imports.published.summeval import Scores, SummEval
from annotation.models import Candidate, Task, User
from evaluation.checklists.filled.text_scores import HUMAN, JUDGE, publish
from evaluation.models import Run

PEOPLE, JUDGED = "SummEval, people", "SummEval, judge"  # versions of the runs
PEOPLE_NAME = "SummEval, mean of three experts"
Progress = Callable[[str, int, int], None]


def import_published(
    *, by: User, task: Task, study: SummEval, progress: Progress
) -> tuple[list[Run], int]:
    """Every published set of scores as a run, people first, and how many of them are new.

    Each judge is held against the people as it comes in, on the summaries that it scored.
    """
    keys = dict(
        Candidate.objects.filter(
            project=task.project_id, key__in=[one.key for one in study.summaries]
        ).values_list("key", "pk")
    )
    sets = len(study.judges) + 1
    progress("published scores", 0, sets)
    run, new = publish(
        by=by,
        task=task,
        name=PEOPLE_NAME,
        version=PEOPLE,
        role=HUMAN,
        scores=_by_id(study.people, keys),
    )
    runs, fresh = [run], int(new)
    progress("published scores", 1, sets)
    for number, ((evaluator, prompt), scores) in enumerate(sorted(study.judges.items()), 2):
        run, new = publish(
            by=by,
            task=task,
            name=f"{evaluator}, {prompt}",
            version=JUDGED,
            role=JUDGE,
            scores=_by_id(scores, keys),
            about={"evaluator": evaluator, "prompt": prompt},
        )
        runs.append(run)
        fresh += int(new)
        progress("published scores", number, sets)
    return runs, fresh


def _by_id(scores: Scores, keys: Mapping[str, int]) -> dict[str, dict[int, float]]:
    return {
        dimension: {keys[key]: score for key, score in given.items()}
        for dimension, given in scores.items()
    }
