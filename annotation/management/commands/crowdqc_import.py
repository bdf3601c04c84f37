"""Import a file: the same checks and the same writes as in the browser and over the API."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.actions.imports import Report, import_content
from annotation.imports import FORMATS, get_format
from annotation.imports.base import guess
from annotation.imports.reading import check_size, read
from annotation.models import Membership, Role, Task, User
from annotation.selectors.imports import examine
from crowdqc.errors import DomainError

FAMILIES = ("free-text",)


class Command(BaseCommand):
    help = (
        "Import a CSV or JSONL file of questions, answers of workers or answers of systems into a "
        "task. All rows are taken or none, unless --skip-bad. Exit status 1 where it is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=FAMILIES, help="what the file is")
        parser.add_argument("file", type=Path)
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        parser.add_argument("--kind", choices=list(FORMATS), required=True)
        parser.add_argument("--by", required=True, help="username of a requester of the project")
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="COLUMN=FIELD",
            help="read this column as that field; the other columns are guessed by their names",
        )
        parser.add_argument(
            "--skip-bad", action="store_true", help="leave bad rows out and import the rest"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        task = _task(options["task"])
        user = _requester(options["by"], task)
        try:
            report, skipped = self._run(task, user, options)
        except DomainError as error:
            raise CommandError(_told(error)) from error
        for line in skipped:
            self.stderr.write(line)
        parts = [f"{report.new:,} new", f"{report.there:,} there already"]
        if report.left_out:
            parts.append(f"{report.left_out:,} left out")
        self.stdout.write(f"{options['file'].name}: {report.rows:,} rows, {', '.join(parts)}.")

    def _run(self, task: Task, user: User, options: dict[str, Any]) -> tuple[Report, list[str]]:
        path: Path = options["file"]
        try:
            check_size(path.stat().st_size)
            content = path.read_bytes()
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        mapping = _mapping(options["map"], options["kind"], content, path.name)
        skipped: list[str] = []
        if options["skip_bad"]:
            found = examine(task, options["kind"], read(content, path.name), mapping)
            skipped = [_bad_row(problem.as_dict()) for problem in found.checked.problems]
        report = import_content(
            by=user, task=task, kind=options["kind"], content=content, name=path.name,
            mapping=mapping, leave_out_bad=options["skip_bad"],
        )  # fmt: skip
        return report, skipped


def _task(pk: int) -> Task:
    task = Task.objects.filter(pk=pk).select_related("project", "current").first()
    if task is None:
        raise CommandError(f"There is no task {pk}.")
    return task


def _requester(username: str, task: Task) -> User:
    """The user of this name, if they may import into the task (as in the browser)."""
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise CommandError(f"There is no user {username!r}.")
    if not Membership.objects.filter(
        project=task.project_id, user=user, role=Role.REQUESTER, removed_at__isnull=True
    ).exists():
        raise CommandError(f"{username} is not a requester of the project “{task.project.name}”.")
    return user


def _mapping(pairs: list[str], kind: str, content: bytes, name: str) -> dict[str, str] | None:
    """Field -> column: as guessed, but for what was said."""
    if not pairs:
        return None
    fields = get_format(kind).fields
    columns = read(content, name).columns
    said: dict[str, str] = {}
    for pair in pairs:
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


def _bad_row(row: Any) -> str:
    """``line 4, answer: An answer needs text. Write …``"""
    where = f"line {row['line']:,}" if row["line"] else "the file"
    about = f", {row['column']}" if row["column"] else ""
    value = f" ({row['value']!r})" if row["value"] else ""
    return f"{where}{about}: {row['wrong']}{value} {row['mend']}"


def _told(error: DomainError) -> str:
    """The refusal with every bad row on a line of its own."""
    lines = [error.message]
    lines += [_bad_row(row) for row in error.rows]
    if not error.rows:
        lines += [f"{field}: {wrong}" for field, wrong in error.fields.items()]
    return "\n".join(lines)
