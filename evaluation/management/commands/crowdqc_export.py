"""Export to a file: the same rows as the browser and the API give, with a manifest beside."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.files.writing import tables as files
from annotation.files.writing.tables import Table
from annotation.formats.exports import free_text, manifest
from annotation.formats.exports.pairwise import (
    MEDIA,
    PAIR_EXPORTS,
    count_left_out,
    exports_of,
    get_export,
)
from annotation.formats.exports.tools.frames import dimension_of
from annotation.models import ExportFile, Task
from crowdqc.errors import DomainError, Invalid
from evaluation.bundles import writing as bundle
from evaluation.bundles.makers import (
    REPORT_FORMS,
    live_file,
    recipe,
    recipes,
    report_of,
    run_of,
    written_as,
)
from evaluation.free_text.columns import TABLES
from evaluation.items.joined import FORMS as JOINED_FORMS
from evaluation.items.joined import JOINED, JoinedMaker, JoinedTable, describe_joined
from evaluation.pairwise import arena_board
from evaluation.runs.exports import scores

SCORES = "scores"
BOARD = "leaderboard"
FORMS = [*MEDIA, *REPORT_FORMS, "hf"]
LIVE = {"live-bundle": "zip", "live-report": "html"}


def families() -> dict[str, dict[str, str]]:
    """Formats of judgments and responses: the export of each --what (the first by default)."""
    found: dict[str, dict[str, str]] = {}
    # What a family has for itself comes first, and of that what is of one dimension.
    exports = PAIR_EXPORTS.items()
    for slug, one in sorted(exports, key=lambda it: (len(it[1].commands), not it[1].per_dimension)):
        for family, what in one.commands:
            found.setdefault(family, {})[what] = slug
    found["arena"][BOARD] = ""
    return found


@dataclass
class FileSummary:
    """What the manifest says, the parts of the file, and its rows where its parts do not tell."""

    about: dict[str, Any]
    parts: Iterator[Any]
    rows: Callable[[], int] | None = None

    @classmethod
    def of(cls, about: dict[str, Any], table: Table, form: str) -> FileSummary:
        return cls(about, table.parts(form), lambda: table.count)


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
        free.add_argument("--table", choices=list(TABLES), default="workers", help="scores: whose")
        runs = formats.add_parser(
            "run", help="the tables of a run with its figures, as one archive (ZIP)"
        )
        packed = formats.add_parser(
            "bundle", help="a run with all that gives its numbers again (ZIP); see verify_bundle"
        )
        reported = formats.add_parser(
            "report", help="a run as a report with methods, figures, recipe and limits (HTML, PDF)"
        )
        for own in (runs, packed, reported):
            own.add_argument("--run", type=int, help="the run's number (the last finished)")
        lives = [
            formats.add_parser("live-bundle", help="the result of a live evaluation (ZIP)"),
            formats.add_parser("live-report", help="the same as a report (HTML)"),
        ]
        joined = formats.add_parser(
            JOINED, help="items with their texts, votes and final labels in one table"
        )
        joined.add_argument("--query", default="", help="filters, as in the list of items")
        parsers = [free, runs, packed, reported, joined, *lives]
        for family, kinds in families().items():
            titles = [str(PAIR_EXPORTS[slug].title) for slug in kinds.values() if slug]
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
            own.add_argument("--format", dest="form", choices=FORMS, help="by the file's name")

    def handle(self, *args: Any, **options: Any) -> None:
        task = Task.objects.filter(pk=options["task"]).select_related("project", "current").first()
        if task is None:
            raise CommandError(f"There is no task {options['task']}.")
        path: Path = options["out"]
        try:
            if path.name == manifest.NAME:
                raise Invalid(f"{manifest.NAME} is written beside the file; choose another name.")
            manifest.read(path.parent / manifest.NAME)  # refuses before anything is written
            form, told = _chosen(task, options, path)
            written = files.write(path, told.parts, head=form == "csv")
            if told.rows is not None:
                written = replace(written, rows=told.rows())
            beside = manifest.add(path, written, {"format": form, **told.about})
        except DomainError as error:
            raise CommandError(_refused(error)) from error
        self.stdout.write(f"{path}: {written.rows:,} rows; {beside.name} says what they are.")


def _refused(error: DomainError) -> str:
    """The refusal, and what there is instead where it says so."""
    return "\n".join([error.message, *(f"{name}: {why}" for name, why in error.fields.items())])


def _chosen(task: Task, options: dict[str, Any], path: Path) -> tuple[str, FileSummary]:
    """The format, what the manifest says, and the lines."""
    family, what = options["family"], options.get("what")
    if family == "free-text":
        form = _form(options["form"], path, tuple(files.FORMATS))
        made = _scores(task, options, form) if what == SCORES else _collected(task, options, form)
        return form, made
    if family == JOINED:
        return _joined(task, options, path)
    if family in LIVE:
        form = _form(options["form"], path, (LIVE[family],))
        of_live = live_file(task, form)
        return form, FileSummary(manifest.describe(task, family), of_live.parts, of_live.rows)
    if family in ("run", "bundle", "report"):
        return _packed(task, options, path)
    if what == BOARD:
        return _form(options["form"], path, ("json",)), _board(task, options)
    slug = families()[family][str(what)]
    known = exports_of(task)
    if slug not in known:
        raise Invalid(f"The task has no {slug}.", fields={"format": ", ".join(known)})
    form = _form(options["form"], path, known[slug].formats)
    export, dimension = get_export(task, slug, form), options["dimension"]
    told = manifest.describe(task, slug)
    if export.per_dimension:
        told["dimension"] = dimension_of(task, dimension)
    told["left_out"] = count_left_out(task, slug, dimension)
    told["runs"] = recipes(task)
    return form, FileSummary.of(told, export.table(task, form, dimension), form)


def _packed(task: Task, options: dict[str, Any], path: Path) -> tuple[str, FileSummary]:
    """The tables of a run, its bundle or its report."""
    run = run_of(task.project, task, {"run": options["run"]})
    told = manifest.describe(task, options["family"]) | {"run": recipe(run)}
    if options["family"] == "bundle":
        form = _form(options["form"], path, ("zip",))
        counted = len(run.snapshot.answer_ids) if run.snapshot else 0
        return form, FileSummary(told, bundle.parts(run), lambda: counted)
    if options["family"] == "report":
        form = _form(options["form"], path, REPORT_FORMS)
        html, _ = report_of(run)
        content = iter([written_as(form, html)])
        return form, FileSummary(told, content, lambda: html.count("data-at="))
    chosen = options["form"] if options["form"] in files.FORMATS else "csv"
    archive = scores.Archive(run, chosen)
    return "zip", FileSummary(told, archive.parts(), lambda: archive.rows)


def _board(task: Task, options: dict[str, Any]) -> FileSummary:
    run = arena_board.core_run(task, options["run"])
    dimension = dimension_of(task, options["dimension"])
    told = manifest.describe(task, BOARD)
    told |= {"dimension": dimension, "component": options["component"], "run": recipe(run)}
    return FileSummary(told, arena_board.lines(run, dimension, options["component"]))


def _joined(task: Task, options: dict[str, Any], path: Path) -> tuple[str, FileSummary]:
    """The joined table; a folder for Hugging Face where the file is an archive."""
    is_folder = options["form"] is None and path.suffix == ".zip"
    form = "hf" if is_folder else _form(options["form"], path, JOINED_FORMS)
    params = {"query": options["query"]} if options["query"] else {}
    maker = JoinedMaker()
    maker.check(task.project, task, JOINED, form, params)
    made = maker.make(ExportFile(task=task, form=form, what=JOINED, params=params))
    about = describe_joined(JoinedTable(task, options["query"]), form)
    return form, FileSummary(about, made.parts, made.rows)


def _form(said: str | None, path: Path, formats: tuple[str, ...]) -> str:
    """The format said, else by the file's name, else the first; Invalid where the two differ."""
    suffix = path.suffix.lstrip(".").lower()
    by_name = "jsonl" if suffix == "ndjson" else suffix
    if said and by_name in FORMS and said != by_name:
        raise Invalid(f"{path.name} is not a name for {said}.")
    form = said or (by_name if by_name in FORMS else formats[0])
    if form not in formats:
        raise Invalid(f"This is not written as {form}.", fields={"format": ", ".join(formats)})
    return form


def _collected(task: Task, options: dict[str, Any], form: str) -> FileSummary:
    what, uncounted = options["what"], options["uncounted"]
    told = manifest.describe(task, what, uncounted=uncounted)
    told["runs"] = recipes(task)
    rows = free_text.rows(task, what, uncounted=uncounted)
    return FileSummary.of(told, Table(free_text.COLUMNS[what], rows), form)


def _scores(task: Task, options: dict[str, Any], form: str) -> FileSummary:
    run = run_of(task.project, task, {"run": options["run"]})
    scores.check(run, options["table"], form)
    told = manifest.describe(task, SCORES)
    told |= {"table": options["table"], "run": scores.manifest(run, {})}
    return FileSummary.of(told, scores.table(run, options["table"]), form)
