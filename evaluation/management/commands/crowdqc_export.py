"""Export to a file: the same rows as the browser and the API give, with a manifest beside."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.exports import files, free_text, manifest
from annotation.exports.frames import dimension_of
from annotation.exports.pairwise import MEDIA, PAIR_EXPORTS, exports_of, get_export, left_out
from annotation.models import Task
from crowdqc.errors import DomainError, Invalid, Missing
from evaluation import arena_board
from evaluation import exports as scores
from evaluation.models import Run, RunState

SCORES = "scores"
# Formats of judgments and responses: the export of each --what (the first by default).
JUDGMENTS = {
    "judgments": {"all": "judgments"},
    "candidates": {"all": "candidates"},
    "arena": {"battles": "arena", "leaderboard": ""},
    "crowdkit": {"pairwise": "crowdkit-pairwise", "labels": "crowdkit-labels"},
    "reliability": {"matrix": "reliability"},
    "crowdrag": {"raw": "crowdrag-raw", "llm": "crowdrag-llm"},
    "thinking": {"attributes": "attributes", "samples": "samples"},
    "checklist": {"checks": "checks", "candidates": "candidates"},
    "writing": {
        name: name for name in ("responses", "writing-logs", "events", "surveys", "topics")
    },
}
BOARD = "leaderboard"
Told = tuple[dict[str, Any], Iterator[str] | Iterator[str | bytes]]


class Command(BaseCommand):
    help = (
        "Export a task's questions, answers, scores, judgments, responses or texts, under "
        "pseudonyms, with a manifest.json beside the file. The file is there whole or not at all. "
        "Exit status 1 where it is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        formats = parser.add_subparsers(dest="family", metavar="FORMAT", required=True)
        free = formats.add_parser("free-text", help="questions, answers, scores, what was paid")
        free.add_argument("--what", choices=[*free_text.COLUMNS, SCORES], required=True)
        free.add_argument("--uncounted", action="store_true", help="also answers that do not count")
        free.add_argument("--run", type=int, help="scores: the run's number (the last finished)")
        free.add_argument(
            "--table", choices=list(scores.TABLES), default="workers", help="scores: whose"
        )
        parsers = [free]
        for family, kinds in JUDGMENTS.items():
            titles = [PAIR_EXPORTS[slug].title for slug in kinds.values() if slug]
            own = formats.add_parser(family, help=", ".join(titles))
            own.add_argument("--what", choices=list(kinds), default=next(iter(kinds)))
            own.add_argument("--dimension", default="", help="on which dimension or scale")
            parsers.append(own)
            if BOARD in kinds:
                own.add_argument("--run", type=int, help="leaderboard: the run's number")
                own.add_argument("--component", type=int, default=1, help="leaderboard: which")
        for own in parsers:
            own.add_argument("--task", type=int, required=True, help="the task's id")
            own.add_argument("--out", type=Path, required=True, help="the file to write")
            own.add_argument(
                "--format", dest="form", choices=[*MEDIA, "json"], help="by the file's name"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        task = Task.objects.filter(pk=options["task"]).select_related("project", "current").first()
        if task is None:
            raise CommandError(f"There is no task {options['task']}.")
        path: Path = options["out"]
        try:
            if path.name == manifest.NAME:
                raise Invalid(f"{manifest.NAME} is written beside the file; choose another name.")
            manifest.read(path.parent / manifest.NAME)  # refuses before anything is written
            form, (told, lines) = _chosen(task, options, path)
            written = files.write(path, lines, head=form == "csv")
            beside = manifest.add(path, written, {"format": form, **told})
        except DomainError as error:
            raise CommandError(_refused(error)) from error
        self.stdout.write(f"{path}: {written.rows:,} rows; {beside.name} says what they are.")


def _refused(error: DomainError) -> str:
    """The refusal, and what there is instead where it says so."""
    return "\n".join([error.message, *(f"{name}: {why}" for name, why in error.fields.items())])


def _chosen(task: Task, options: dict[str, Any], path: Path) -> tuple[str, Told]:
    """The format, what the manifest says, and the lines."""
    family, what = options["family"], options["what"]
    if family == "free-text":
        form = _form(options["form"], path, tuple(files.FORMATS))
        made = _scores(task, options, form) if what == SCORES else _collected(task, options, form)
        return form, made
    if what == BOARD:
        return _form(options["form"], path, ("json",)), _board(task, options)
    slug = JUDGMENTS[family][what]
    known = exports_of(task)
    if slug not in known:
        raise Invalid(f"The task has no {slug}.", fields={"format": ", ".join(known)})
    form = _form(options["form"], path, known[slug].formats)
    export, dimension = get_export(task, slug, form), options["dimension"]
    told = manifest.describe(task, slug)
    if export.per_dimension:
        told["dimension"] = dimension_of(task, dimension)
    told["left_out"] = left_out(task, slug, dimension)
    told["runs"] = [_recipe(run) for run in _finished(task).order_by("number")]
    return form, (told, export.lines(task, form, dimension))


def _board(task: Task, options: dict[str, Any]) -> Told:
    run = arena_board.core_run(task, options["run"])
    dimension = dimension_of(task, options["dimension"])
    told = manifest.describe(task, BOARD)
    told |= {"dimension": dimension, "component": options["component"], "run": _recipe(run)}
    return told, arena_board.lines(run, dimension, options["component"])


def _form(said: str | None, path: Path, formats: tuple[str, ...]) -> str:
    """The format said, else by the file's name, else the first; Invalid where the two differ."""
    suffix = path.suffix.lstrip(".").lower()
    by_name = "jsonl" if suffix == "ndjson" else suffix
    if said and by_name in (*MEDIA, "json") and said != by_name:
        raise Invalid(f"{path.name} is not a name for {said}.")
    form = said or (by_name if by_name in (*MEDIA, "json") else formats[0])
    if form not in formats:
        raise Invalid(f"This is not written as {form}.", fields={"format": ", ".join(formats)})
    return form


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
