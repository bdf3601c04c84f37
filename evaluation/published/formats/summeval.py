"""SummEval with its judges, and human scores of texts from a file of their own."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping

from django.core.management.base import OutputWrapper
from django.db import transaction

from annotation.formats.actions.published.summeval import import_texts
from annotation.formats.imports.published.summeval import Scores, SummEval, read_folder
from annotation.models import Candidate, Task, User
from evaluation.checklists.filled.text_scores import HUMAN, JUDGE, import_human, publish
from evaluation.models import Run
from evaluation.published.formats.base import (
    Bar,
    Options,
    add_target,
    content_of,
    parts,
    requester,
    target,
    task_numbered,
)

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


class SummEvalFolder:
    slug = "summeval"
    help = "SummEval (a folder): summaries, experts' scores, published judges' scores"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=False)

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        began, bar = time.monotonic(), Bar(err)
        study = read_folder(options["file"], say=lambda line: err.write(f"read {line}\n"))
        with transaction.atomic():
            user, project, _ = target(options)
            task, added = import_texts(by=user, project=project, study=study, progress=bar)
            runs, new = import_published(by=user, task=task, study=study, progress=bar)
        out.write(
            f"Project {project.pk}\n  task {task.pk}: {parts(*added)} summaries\n"
            f"  runs {runs[0].number} (people) and {len(runs) - 1} of judges, "
            f"{study.judged:,} scores: {parts(new, len(runs) - new)}\n"
        )
        for name in study.missing:
            out.write(f"Not in the folder: {name}.\n")
        if not new and not added.new:
            out.write("Everything was there already; nothing was added.\n")
        out.write(f"{time.monotonic() - began:.1f} s\n")


class TextScores:
    slug = "text-scores"
    help = "human scores of a task's texts, as CSV or JSONL: key, dimension, score"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        parser.add_argument("--name", default="", help="whose scores they are (the file's name)")

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path = options["file"]
        task = task_numbered(options["task"])
        user = requester(options["by"], task.project)
        run, new, count = import_human(
            by=user, task=task, content=content_of(path), file=path.name, name=options["name"]
        )
        state = "written" if new else "there already"
        out.write(f"{path.name}: task {task.pk}, run {run.number}, {count:,} scores, {state}.\n")
