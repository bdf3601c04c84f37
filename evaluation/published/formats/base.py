"""What the formats of the import command share: who imports where, files, refusals in words."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Protocol

from django.core.management.base import CommandError, OutputWrapper

from annotation.accounts.projects.actions import create_project
from annotation.files.reading.sheet import check_size
from annotation.models import Membership, Project, Role, Task, User
from crowdqc.errors import DomainError

Options = dict[str, Any]
WIDTH = 24


class Format(Protocol):
    """A format of the command."""

    slug: str
    help: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The format's own arguments; FILE and --by are there."""
        ...

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        """Import; raises DomainError or CommandError, and has written nothing then."""
        ...


class Bar:
    """A progress bar with counts on a terminal; elsewhere a line for each thing that is done."""

    def __init__(self, stream: OutputWrapper) -> None:
        self.stream, self.live = stream, stream.isatty()

    def __call__(self, what: str, done: int, total: int) -> None:
        ended = done >= total
        if self.live:
            full = WIDTH * done // max(total, 1)
            bar = "█" * full + "·" * (WIDTH - full)
            end = "\n" if ended else ""
            self.stream.write(f"\r{what:<22} {bar} {done:,} of {total:,}{end}")
        elif ended:
            self.stream.write(f"{what}: {done:,} of {total:,}\n")
        self.stream.flush()


def add_target(parser: ArgumentParser, *, task: bool) -> None:
    """``--project``, ``--new-project`` and, where it makes sense, ``--task``: one of them."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--project", type=int, help="the project's id")
    where.add_argument("--new-project", metavar="NAME", help="make a project of this name")
    if task:
        where.add_argument("--task", type=int, help="the id of a task that is there")


def user_named(username: str) -> User:
    """Return the active user of this name; CommandError if there is none."""
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise CommandError(f"There is no user {username!r}.")
    return user


def requester(username: str, project: Project) -> User:
    """The user of this name, if they may import into the project (as in the browser)."""
    user = user_named(username)
    if not Membership.objects.filter(
        project=project, user=user, role=Role.REQUESTER, removed_at__isnull=True
    ).exists():
        raise CommandError(f"{username} is not a requester of the project “{project.name}”.")
    return user


def task_numbered(pk: int) -> Task:
    """Return the task of this id; CommandError if there is none."""
    task = Task.objects.filter(pk=pk).select_related("project", "current").first()
    if task is None:
        raise CommandError(f"There is no task {pk}.")
    return task


def target(options: Options) -> tuple[User, Project, Task | None]:
    """Return who imports, into which project, and into which task if one was named.

    A new project is made here, in the caller's transaction. A name that is taken by a project of
    the same owner means that one, so that the same command twice does the same.
    """
    if options.get("task") is not None:
        task = task_numbered(options["task"])
        return requester(options["by"], task.project), task.project, task
    if options["project"] is not None:
        project = Project.objects.filter(pk=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']}.")
        return requester(options["by"], project), project, None
    user = user_named(options["by"])
    name = options["new_project"].strip()
    there = Project.objects.filter(name=name, owner=user).order_by("pk").first()
    if there is not None:
        return requester(options["by"], there), there, None
    return user, create_project(by=user, name=name), None


def content_of(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file; CommandError where it cannot be read, Invalid where it is too large."""
    try:
        size = path.stat().st_size
        check_size(size) if most is None else check_size(size, most)
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error


def bad_row(row: Any) -> str:
    """``line 4, answer: An answer needs text. Write …``"""
    where = f"line {row['line']:,}" if row["line"] else "the file"
    about = f", {row['column']}" if row["column"] else ""
    value = f" ({row['value']!r})" if row["value"] else ""
    return f"{where}{about}: {row['wrong']}{value} {row['mend']}"


def refusal_text(error: DomainError) -> str:
    """Format an error with every bad row on a line of its own."""
    lines = [error.message]
    lines += [bad_row(row) for row in error.rows]
    if not error.rows:
        lines += [f"{field}: {wrong}" for field, wrong in error.fields.items()]
    return "\n".join(lines)


def parts(new: int, there: int) -> str:
    """Format counts like ``12 new, 0 there already``."""
    return f"{new:,} new, {there:,} there already"
