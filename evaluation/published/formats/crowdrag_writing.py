"""CrowdRAG-25's writing study, and anybody's writing logs."""

from __future__ import annotations

import time
from argparse import ArgumentParser

from django.core.management.base import CommandError, OutputWrapper
from django.db import transaction

from annotation.formats.actions.published.writing import form_points, import_writing
from annotation.formats.actions.responses import ImportedTask, import_logs, stored_bytes
from annotation.formats.imports.published.crowdrag_writing import WritingStudy, read_writing
from annotation.formats.imports.published.files import Source
from annotation.formats.imports.writing.logs import NEEDED, read_logs
from annotation.models import Task
from annotation.task_types.texts import storable
from evaluation.published.formats.base import (
    Bar,
    Options,
    add_target,
    parts,
    requester,
    target,
    task_numbered,
)
from evaluation.published.formats.free_text import add_mapping, into_task
from evaluation.runs.run_types import fits
from evaluation.writing.run import SLUG


def require(task: Task) -> None:
    """CommandError where the task asks for no responses."""
    if not fits(task, SLUG):
        raise CommandError(f"Task {task.pk} asks for no responses.")


class WritingLogs:
    slug = "writing-logs"
    help = "logs of how responses were written (JSONL, snapshots or changes), into a task"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        task, path, bar = task_numbered(options["task"]), options["file"], Bar(err)
        require(task)
        user = requester(options["by"], task.project)
        if task.current is None:
            raise CommandError("Publish the task first: responses name the version they answer.")
        number = task.current.number
        logs = read_logs(
            Source(path.parent, path.name, needed=NEEDED),
            clean=storable,
            topics=set(task.groups.in_version(number).values_list("key", flat=True)),
            styles={row["name"] for row in task.current.settings["styles"]},
            advance=lambda done, total: bar("bytes of the logs", done, total),
        )
        total = len(logs)
        added, odd = import_logs(
            by=user,
            task=task,
            logs=logs,
            name=path.name,
            advance=lambda done: bar("responses", done, total),
        )
        out.write(f"{path.name}: {total:,} logs, {parts(*added)}.\n")
        if odd:
            out.write(f"{odd:,} citations name no passage.\n")
        snapshots, characters = sum(o.snapshots for o in logs), sum(o.characters for o in logs)
        out.write(f"{logs_line(task, snapshots, characters)}\n")


class WritingRows:
    """A table of a writing task, as the browser and the API take it too."""

    def __init__(self, slug: str, help: str) -> None:
        self.slug, self.help = slug, help

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        add_mapping(parser)

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        into_task(self.slug, options, out, err)


TOPICS = WritingRows("topics", "queries with ranked passages, into the draft of a writing task")
RESPONSES = WritingRows("responses", "responses of people and systems, into a writing task")


class CrowdRagWriting:
    slug = "crowdrag-writing"
    help = "the published writing study (a folder): topics, responses, logs, questionnaires"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_target(parser, task=True)

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        began, bar = time.monotonic(), Bar(err)
        study = read_writing(options["file"], points=form_points(), clean=storable, say=bar)
        err.write(f"read {study.snapshots:,} snapshots in {time.monotonic() - began:.1f} s\n")
        with transaction.atomic():
            user, project, task = target(options)
            if task is not None:
                require(task)
            found = import_writing(by=user, project=project, study=study, task=task, progress=bar)
        out.write(_report(found, study))
        out.write(f"{time.monotonic() - began:.1f} s\n")


def _report(found: ImportedTask, study: WritingStudy) -> str:
    lines = [f"Task {found.task.pk} of project {found.task.project_id}"]
    lines += [f"  {name}: {parts(*added)}" for name, added in found.added.items()]
    lines.append(f"  workers: {len({one.worker for one in study.responses}):,}")
    if found.unknown_numbers:
        many = found.unknown_numbers != 1
        lines.append(
            f"  {found.unknown_numbers:,} citation{'s' if many else ''} of numbers that no passage "
            f"has; {'they stay' if many else 'it stays'} in the text and point{'' if many else 's'}"
            " at nothing"
        )
    lines.append(f"  {logs_line(found.task, study.snapshots, study.characters)}")
    if not any(added.new for added in found.added.values()):
        lines.append("Everything was there already; nothing was added.")
    return "\n".join(lines) + "\n"


def logs_line(task: Task, snapshots: int, characters: int) -> str:
    """Summarise the stored size of a task's logs, compared with the files read."""
    size, batches, events = stored_bytes(task)
    line = f"logs: {events:,} events in {batches:,} batches, {size / 1e6:.1f} MB stored"
    if size and characters:
        line += (
            f"; the {snapshots:,} snapshots read have {characters / 1e6:.1f} million characters, "
            f"{characters / size:.0f} times as much"
        )
    return line
