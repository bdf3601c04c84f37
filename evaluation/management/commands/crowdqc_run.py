"""manage.py crowdqc_run: start a run of any method from the command line, or list the options."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.access import STAFF
from annotation.models import Task, User
from crowdqc.errors import DomainError
from evaluation.llm_runs import start as ask_start
from evaluation.methods.core.params import Param
from evaluation.models import Run
from evaluation.runs import engine as runs
from evaluation.runs import run_types


class Command(BaseCommand):
    help = (
        "Start a run on a task: of the method of its type, or of another one that fits. With "
        "--options, say what a method takes instead. The run waits for a worker; --wait computes "
        "it here."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options: what to run, on what, for whom."""
        parser.add_argument("task", type=int, nargs="?", help="number of the task")
        parser.add_argument("--method", default="", help="default: that of the task's type")
        parser.add_argument("--by", help="username of somebody who may start runs there")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="an option; repeat it"
        )
        parser.add_argument("--seed", type=int, default=runs.DEFAULT_SEED)
        parser.add_argument(
            "--agreed", action="store_true", help="also where a soft budget may be passed"
        )
        parser.add_argument("--wait", action="store_true", help="compute it here, to its end")
        parser.add_argument("--options", action="store_true", help="list methods or their options")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start it and say its number; exit status 1 where it cannot be started or fails."""
        if options["options"]:
            self.stdout.write("\n".join(describe_methods(options["method"])))
            return
        task = Task.objects.filter(pk=options["task"]).first()
        if task is None:
            raise CommandError("There is no such task: name its number.")
        by = User.objects.filter(
            username=options["by"],
            memberships__project=task.project_id,
            memberships__role__in=STAFF,
            memberships__removed_at__isnull=True,
        ).first()
        if by is None:
            raise CommandError(
                "Say with --by who starts the run: a requester or manager of its project."
            )
        try:
            run = start_run(task, by, options)
        except DomainError as error:
            fields = "".join(f" {name}: {why}" for name, why in error.fields.items())
            raise CommandError(f"{error.message}{fields}") from error
        self.stdout.write(f"Run {run.number} of project {run.project_id}: {run.method}")
        if options["wait"]:
            state = runs.execute(run.pk)
            run.refresh_from_db()
            self.stdout.write(f"Run {run.number} is {state}. {run.error}".strip())
            if state != "done":
                raise CommandError(f"Run {run.number} did not end well.")


def start_run(task: Task, by: User, options: dict[str, Any]) -> Run:
    """The run, queued; of a way of asking models too."""
    method, chosen = options["method"] or runs.main_method(task), parse_options(options["set"])
    if run_types.asking_of(method) is not None:
        return ask_start.start(
            by=by, task=task, method=method, raw=chosen, agreed=options["agreed"], trigger="command"
        )
    return runs.start(
        by=by, task=task, method=method, params=chosen, seed=options["seed"], trigger="command"
    )


def parse_options(pairs: Sequence[str]) -> dict[str, Any]:
    """Options from ``NAME=VALUE``; a value is JSON, else text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, there, value = pair.partition("=")
        if not there:
            raise CommandError(f"--set {pair}: write NAME=VALUE.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def describe_methods(slug: str) -> list[str]:
    """The methods a line each; of one method its options with default and range."""
    kinds = run_types.run_types()
    if not slug:
        return [f"{one:20} {kind.recipe.title}" for one, kind in kinds.items()]
    if slug not in kinds:
        raise CommandError(f"There is no method {slug!r}; there are: {', '.join(kinds)}.")
    return [line for one in kinds[slug].options.options for line in _lines(one)]


def _lines(one: Param) -> list[str]:
    must = f": must {one.wanted}" if one.kind else ""
    return [
        f"{one.name} = {json.dumps(one.default)}{must}",
        *([f"    {one.label}. {one.help}".rstrip()] if one.label else []),
    ]
