"""Export to a file: the same rows as the browser and the API give, with a manifest beside."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.exports import files, free_text, manifest
from annotation.models import Task
from crowdqc.errors import DomainError, Invalid, Missing
from evaluation import exports as scores
from evaluation.models import Run, RunState

FAMILIES = ("free-text",)
SCORES = "scores"


class Command(BaseCommand):
    help = (
        "Export questions, answers, answers of systems, scores of a run or what was paid, as CSV "
        "or JSONL under pseudonyms, with a manifest.json beside the file. The file is there whole "
        "or not at all. Exit status 1 where it is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", choices=FAMILIES, help="what is exported")
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        parser.add_argument("--what", choices=[*free_text.COLUMNS, SCORES], required=True)
        parser.add_argument("--out", type=Path, required=True, help="the file to write")
        parser.add_argument(
            "--format", dest="form", choices=list(files.FORMATS), help="by the file's name, or csv"
        )
        parser.add_argument(
            "--uncounted", action="store_true", help="also answers that do not count"
        )
        parser.add_argument("--run", type=int, help="scores: the run's number (the last finished)")
        parser.add_argument(
            "--table", choices=list(scores.TABLES), default="workers", help="scores: whose"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        task = Task.objects.filter(pk=options["task"]).select_related("project", "current").first()
        if task is None:
            raise CommandError(f"There is no task {options['task']}.")
        path: Path = options["out"]
        try:
            form = _form(options["form"], path)
            manifest.read(path.parent / manifest.NAME)  # refuses before anything is written
            if options["what"] == SCORES:
                told, lines = _scores(task, options, form)
            else:
                told, lines = _collected(task, options, form)
            written = files.write(path, lines, head=form == "csv")
            beside = manifest.add(path, written, {"format": form, **told})
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{path}: {written.rows:,} rows; {beside.name} says what they are.")


def _form(said: str | None, path: Path) -> str:
    """csv or jsonl; a name that says the opposite is refused."""
    suffix = path.suffix.lstrip(".").lower()
    by_name = "jsonl" if suffix in ("jsonl", "ndjson") else suffix
    if path.name == manifest.NAME:
        raise Invalid(f"{manifest.NAME} is written beside the file; choose another name.")
    if said and by_name in files.FORMATS and said != by_name:
        raise Invalid(f"{path.name} is not a name for {said}.")
    return said or (by_name if by_name in files.FORMATS else "csv")


def _collected(
    task: Task, options: dict[str, Any], form: str
) -> tuple[dict[str, Any], Iterator[str]]:
    what, uncounted = options["what"], options["uncounted"]
    told = manifest.describe(task, what, uncounted=uncounted)
    told["runs"] = [_recipe(run) for run in _finished(task).order_by("number")]
    rows = free_text.rows(task, what, uncounted=uncounted)
    return told, files.lines(free_text.COLUMNS[what], rows, form)


def _scores(task: Task, options: dict[str, Any], form: str) -> tuple[dict[str, Any], Iterator[str]]:
    runs = _finished(task)
    if options["run"] is not None:
        runs = runs.filter(number=options["run"])
    run = runs.order_by("-number").first()
    if run is None:
        which = f"run {options['run']}" if options["run"] is not None else "run"
        raise Missing(f"There is no {which} of this task that is finished.")
    told = manifest.describe(task, SCORES)
    told |= {"table": options["table"], "run": scores.manifest(run, {})}
    return told, scores.lines(run, options["table"], form)


def _finished(task: Task) -> Any:
    return Run.objects.filter(task=task, state=RunState.DONE).select_related("snapshot")


def _recipe(run: Run) -> dict[str, Any]:
    """What it takes to compute a run's scores again."""
    return {
        "number": run.number,
        "method": run.method,
        "method_version": run.version,
        "params": run.params,
        "seed": run.seed,
        "snapshot": run.snapshot.content_hash if run.snapshot else None,
        "result_hash": run.result_hash,
    }
