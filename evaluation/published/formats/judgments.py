"""Texts to be judged, questionnaires, and judgments in the formats of other tools."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence

from django.core.management.base import CommandError, OutputWrapper
from django.db import transaction

from annotation.files.reading.importer import refuse
from annotation.formats.actions.imports import import_candidates
from annotation.formats.actions.judgments import Added, import_task, task_called
from annotation.formats.actions.label_studio import import_label_studio
from annotation.formats.actions.votes import (
    Target,
    import_battles,
    import_comparisons,
    import_labels,
)
from annotation.formats.imports.published.study_json import read_study
from annotation.formats.imports.tools.arena import MAX_BYTES, read_battles
from annotation.formats.imports.tools.crowdkit import Label, read_comparisons, read_labels
from annotation.formats.imports.tools.label_studio import MAX_BYTES as LS_BYTES
from annotation.formats.imports.tools.label_studio import read_label_studio
from annotation.formats.imports.tools.reliability import read_matrix
from annotation.formats.registry import get_format
from annotation.models import Project, Task
from evaluation.published.formats.base import (
    Options,
    add_target,
    bad_row,
    content_of,
    parts,
    requester,
    target,
    task_numbered,
)
from evaluation.published.formats.free_text import add_mapping, into_task, mapped


def _print_result(
    options: Options, out: OutputWrapper, task: Task, added: Added, left_out: str = ""
) -> None:
    out.write(
        f"{options['file'].name}: task {task.pk}, {added.new + added.there:,} judgments, "
        f"{parts(*added)}{left_out}.\n"
    )


class Candidates:
    slug = "candidates"
    help = "texts to be judged, as CSV or JSONL, into a project"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=False)
        add_mapping(parser)

    @transaction.atomic
    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        user, project, _ = target(options)
        name, content = options["file"].name, content_of(options["file"])
        found, new = import_candidates(
            by=user,
            project=project,
            content=content,
            name=name,
            mapping=mapped(options, get_format(self.slug).fields, content, name),
            leave_out_bad=options["skip_bad"],
        )
        for problem in found.checked.problems:
            err.write(f"{bad_row(problem.as_dict())}\n")
        twice = len(found.checked.repeats)
        left = f", {found.bad_rows:,} left out" if found.bad_rows else ""
        there = found.sheet.total - new - twice - found.bad_rows
        again = f", {twice:,} given twice" if twice else ""
        rows = f"{found.sheet.total:,} rows, {parts(new, there)}{again}{left}"
        out.write(f"{name}: project {project.pk}, {rows}.\n")


class StudyJson:
    slug = "study-json"
    help = "a questionnaire (instructions, questions, options) as the draft of a new task"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=False)
        parser.add_argument("--title", help="the task's title (the file's name)")

    @transaction.atomic
    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path = options["file"]
        study = read_study(content_of(path), path.name)
        user, project, _ = target(options)
        title = options["title"] or path.stem
        there = task_called(project, study.type, title)
        task = there or import_task(
            by=user,
            project=project,
            type=study.type,
            title=title,
            fields={"instructions": study.instructions, "settings": dict(study.settings)},
        )
        state = "was there already" if there else "is a draft: choose its texts and publish it"
        out.write(f"{path.name}: task {task.pk} “{title}” of project {project.pk} {state}.\n")


class Judgments:
    slug = "judgments"
    help = "judgments of people and models on a task's pairs or texts, as the export writes them"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        add_mapping(parser)

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        into_task(self.slug, options, out, err)


class _Votes:
    """Formats whose rows name texts, and make a task of them where none is named."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=True)
        parser.add_argument("--title", help="the title of the task (the file's name)")
        parser.add_argument("--dimension", default="", help="what was judged (quality_overall)")

    @staticmethod
    def where(options: Options, project: Project, task: Task | None) -> Target:
        """The target as the options name it."""
        title = options["title"] or options["file"].stem
        return Target(project, task, title, options["dimension"])


class Arena(_Votes):
    slug = "arena"
    help = "arena battles (JSONL, CSV, Parquet): who won, on texts that the file holds"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--judge", default="", help="who judged battles that name nobody")
        parser.add_argument(
            "--both-bad",
            choices=("tie", "leave-out"),
            default="tie",
            help="how a battle counts in which both were bad: as a tie (the arena's way), or not",
        )

    @transaction.atomic
    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path = options["file"]
        every = read_battles(content_of(path, MAX_BYTES), path.name, judge=options["judge"])
        leave_out = options["both_bad"] == "leave-out"
        battles = [one for one in every if not (leave_out and one.both_bad)]
        refuse(path.name, [], len(battles), "battles that count")
        user, project, task = target(options)
        task, added = import_battles(
            by=user, target=self.where(options, project, task), battles=battles, name=path.name
        )
        left_out = len(every) - len(battles)
        _print_result(
            options, out, task, added, f", {left_out:,} left out (both bad)" if left_out else ""
        )


class CrowdKit(_Votes):
    slug = "crowdkit"
    help = "a crowd-kit frame (CSV): comparisons, or labels of a task's items"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--kind", choices=("pairwise", "labels"), default="pairwise")

    @transaction.atomic
    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path = options["file"]
        content = content_of(path)
        if options["kind"] == "labels":
            _labels(options, out, read_labels(content, path.name))
            return
        rows = read_comparisons(content, path.name)
        user, project, task = target(options)
        _print_result(
            options,
            out,
            *import_comparisons(
                by=user, target=self.where(options, project, task), rows=rows, name=path.name
            ),
        )


class LabelStudio:
    slug = "label-studio"
    help = "a Label Studio export (JSON): its tasks, annotations of people, predictions of models"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=True)
        parser.add_argument("--title", help="the title of the task (the file's name)")

    @transaction.atomic
    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path = options["file"]
        file = read_label_studio(content_of(path, LS_BYTES), path.name)
        user, project, task = target(options)
        task, added = import_label_studio(
            by=user,
            project=project,
            file=file,
            task=task,
            title=options["title"] or path.stem,
            name=path.name,
        )
        out.write(
            f"{path.name}: task {task.pk}, {added.new + added.there:,} answers, {parts(*added)}.\n"
        )
        for what, n in file.left.items():
            out.write(f"{what}: {n:,}. Left out.\n")


class Reliability:
    slug = "reliability"
    help = "a reliability matrix (CSV): a row a coder, a column an item of a task"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        parser.add_argument("--dimension", default="", help="what was judged (quality_overall)")

    @transaction.atomic
    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        path = options["file"]
        _labels(options, out, read_matrix(content_of(path), path.name))


def _labels(options: Options, out: OutputWrapper, labels: Sequence[Label]) -> None:
    """Labels name items, so their task has to be there."""
    if options.get("task") is None:
        raise CommandError("Labels name items of a task: say which one with --task.")
    task = task_numbered(options["task"])
    user = requester(options["by"], task.project)
    added = import_labels(
        by=user,
        task=task,
        dimension=options["dimension"],
        labels=labels,
        name=options["file"].name,
    )
    _print_result(options, out, task, added)
