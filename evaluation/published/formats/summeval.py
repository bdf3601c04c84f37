"""SummEval with its judges, and human scores of texts from a file of their own."""

from __future__ import annotations

import time
from argparse import ArgumentParser

from django.core.management.base import OutputWrapper
from django.db import transaction

from annotation.formats.actions.published.summeval import import_texts
from annotation.formats.imports.published.summeval import read_folder
from evaluation.checklists.filled.text_scores import import_human
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
from evaluation.published.studies.summeval import import_published


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
