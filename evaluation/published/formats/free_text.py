"""Free text: questions, answers of workers and of systems into a task."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from django.core.management.base import CommandError, OutputWrapper

from annotation.files.reading.importer import Field, guess, of_all_rows
from annotation.files.reading.sheet import read, spooled
from annotation.files.reading.sources import of_bytes
from annotation.formats.actions.imports import Report, import_content
from annotation.formats.registry import format_for, get_format
from annotation.formats.selectors.imports import check_rows
from annotation.models import Task, User
from annotation.task_types import get_type
from evaluation.published.formats.base import (
    Options,
    bad_row,
    content_of,
    parts,
    requester,
    task_numbered,
)


def add_mapping(parser: ArgumentParser) -> None:
    """Add the options ``--map`` and ``--skip-bad``."""
    parser.add_argument(
        "--map",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN=FIELD",
        help="read this column as that field; the other columns are guessed by their names",
    )
    parser.add_argument(
        "--all-by", metavar="NAME", help="all rows are of this model; no column names one"
    )
    parser.add_argument(
        "--skip-bad", action="store_true", help="leave bad rows out and import the rest"
    )


class FreeText:
    slug = "free-text"
    help = "questions, answers of workers or answers of systems, as CSV or JSONL, into a task"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        parser.add_argument("--kind", choices=get_type("free_text").imports, required=True)
        add_mapping(parser)

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        into_task(options["kind"], options, out, err)


def into_task(kind: str, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
    """Import a file into the task that was named, and print what became of its rows."""
    task = task_numbered(options["task"])
    user = requester(options["by"], task.project)
    report, skipped = _import(task, user, kind, options)
    for line in (*skipped, *report.notes):
        err.write(f"{line}\n")
    twice = f", {report.twice:,} given twice" if report.twice else ""
    left = f", {report.left_out:,} left out" if report.left_out else ""
    said = parts(report.new, report.there)
    out.write(f"{options['file'].name}: {report.rows:,} rows, {said}{twice}{left}.\n")


def _import(task: Task, user: User, kind: str, options: Options) -> tuple[Report, list[str]]:
    path: Path = options["file"]
    content = content_of(path)
    mapping = mapped(options, format_for(task, kind).fields, content, path.name)
    skipped: list[str] = []
    if options["skip_bad"]:
        sheet = spooled(get_format(kind).open_table(of_bytes(content), path.name))
        found = check_rows(task, kind, sheet, mapping)
        skipped = [bad_row(problem.as_dict()) for problem in found.checked.problems]
    report = import_content(
        by=user,
        task=task,
        kind=kind,
        content=content,
        name=path.name,
        mapping=mapping,
        leave_out_bad=options["skip_bad"],
    )
    return report, skipped


def mapped(
    options: Options, fields: Sequence[Field], content: bytes, name: str
) -> dict[str, str] | None:
    """Return the mapping field -> column: guessed, but for what ``--map`` and ``--all-by`` say."""
    all_by = options["all_by"]
    if not options["map"] and not all_by:
        return None
    columns = read(content, name).columns
    said: dict[str, str] = {}
    if all_by:
        if not any(one.name == "system" and one.is_of_file for one in fields):
            raise CommandError("--all-by: these rows are not of models.")
        said["system"] = of_all_rows(all_by)
    for pair in options["map"]:
        column, found, field = pair.rpartition("=")
        if not found or field not in {f.name for f in fields}:
            raise CommandError(
                f"--map {pair}: write COLUMN=FIELD with one of the fields "
                f"{', '.join(f.name for f in fields)}."
            )
        if column not in columns:
            raise CommandError(
                f"--map {pair}: the file has no column {column!r}; it has {', '.join(columns)}."
            )
        if field in said or column in said.values():
            raise CommandError(f"--map {pair}: a column is read as one field, once.")
        said[field] = column
    guessed = guess([column for column in columns if column not in said.values()], fields)
    return {**guessed, **said}
