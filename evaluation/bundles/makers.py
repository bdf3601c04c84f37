"""Files about runs, as the background writes them: a run's tables, its bundle, its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.writing.tables import check_format
from annotation.formats.exports.makers import PreparedFile, refuse_options
from annotation.models import ExportFile, Project, Task
from crowdqc.errors import Conflict, Invalid, Missing
from crowdqc.numbers import parse_whole
from evaluation.bundles import live, pdf, report
from evaluation.bundles import writing as bundle
from evaluation.bundles.page import page_of
from evaluation.models import Run, RunState
from evaluation.runs.exports import scores as exports

REPORT_FORMS = ("html", "pdf")


def run_of(project: Project, task: Task | None, params: Mapping[str, Any]) -> Run:
    """Return the finished run that the options number, or the task's official one.

    A trial is exported only where it is named.
    """
    runs = Run.objects.filter(project=project).select_related("task", "snapshot")
    number = params.get("run")
    if number is None and task is None:
        raise Invalid(_("Say of which run."), fields={"params.run": _("The number of a run.")})
    if number is not None:
        number = parse_whole(number)
        if number is None:
            raise Invalid(
                _("This is no number of a run."), fields={"params.run": _("A whole number.")}
            )
        runs = runs.filter(number=number)
    elif task is not None:
        runs = runs.filter(official__task=task, official__until__isnull=True)
    if task is not None:
        runs = runs.filter(task=task)
    done = runs.filter(state=RunState.DONE).first()
    if done is None and number is not None and runs.exists():
        raise Conflict(_("Run %(number)s is not finished.") % {"number": number})
    if done is None and number is None:
        raise Missing(_("This task has no official run. Name a run to export a trial."))
    if done is None:
        raise Missing(_("There is no such run of this task that is finished."))
    return done


def recipes(task: Task) -> list[dict[str, Any]]:
    """Return the recipes of the task's finished runs."""
    done = Run.objects.filter(task=task, state=RunState.DONE).select_related("snapshot")
    return [recipe(run) for run in done.order_by("number")]


def recipe(run: Run) -> dict[str, Any]:
    """Return what is needed to compute a run's scores again: method, version, parameters, data."""
    return {
        "number": run.number,
        "method": run.method,
        "method_version": run.version,
        "params": run.params,
        "seed": run.seed,
        "snapshot": run.snapshot.content_hash if run.snapshot else None,
        "result_hash": run.result_hash,
        "official": run.official.filter(until__isnull=True).exists(),
    }


class RunMaker:
    """All tables of a run with its figures and its manifest."""

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        refuse_options(params, "run")
        check_format(form)
        run_of(project, task, params)

    def make(self, file: ExportFile) -> PreparedFile:
        run = run_of(file.project, file.task, file.params)
        written = exports.Archive(run, file.form)
        name = f"task-{run.task_id}-run-{run.number}-{file.form}.zip"
        return PreparedFile(
            name, written.parts(), lambda: written.rows, lambda digest: written.manifest
        )

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        return (
            _("Scores of run %(run)s") % {"run": params["run"]}
            if "run" in params
            else _("Scores of the official run")
        )


class BundleMaker:
    """A run with everything that gives its numbers again."""

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        refuse_options(params, "run")
        if form != "zip":
            raise Invalid(_("A bundle is a ZIP file."), fields={"form": "zip"})
        bundle.check(run_of(project, task, params))

    def make(self, file: ExportFile) -> PreparedFile:
        run = run_of(file.project, file.task, file.params)
        last: dict[str, Any] = {}
        parts: Iterator[bytes] = bundle.parts(run, last)
        name = f"task-{run.task_id}-run-{run.number}-bundle.zip"
        answers = len(run.snapshot.answer_ids) if run.snapshot else 0
        return PreparedFile(name, parts, lambda: answers, lambda digest: last)

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        return (
            _("Bundle of run %(run)s") % {"run": params["run"]}
            if "run" in params
            else _("Bundle of the official run")
        )


class ReportMaker:
    """A run as one HTML file made for printing, or as PDF: methods, figures, recipe, limits."""

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        refuse_options(params, "run")
        if form not in REPORT_FORMS:
            raise Invalid(_("A report is an HTML or a PDF file."), fields={"form": "html, pdf"})
        if form == "pdf":
            pdf.check_available()
        bundle.check(run_of(project, task, params))

    def make(self, file: ExportFile) -> PreparedFile:
        run = run_of(file.project, file.task, file.params)
        html, manifest = report_of(run)
        numbers = html.count("data-at=")
        name = f"task-{run.task_id}-run-{run.number}-report.{file.form}"
        content = written_as(file.form, html)
        return PreparedFile(name, iter([content]), lambda: numbers, lambda digest: manifest)

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        return (
            _("Report of run %(run)s") % {"run": params["run"]}
            if "run" in params
            else _("Report of the official run")
        )


def written_as(form: str, html: str) -> bytes:
    """Convert a report's HTML to one of ``REPORT_FORMS``."""
    return pdf.to_pdf(html) if form == "pdf" else html.encode()


def report_of(run: Run) -> tuple[str, dict[str, Any]]:
    """The report of a run, and the manifest of what it was made of. Raises as a bundle does."""
    bundle.check(run)
    recipe = bundle.recipe_of(run)
    files = dict(bundle.files_of_result(run, recipe))
    manifest = with_hashes(bundle.manifest(run, recipe), files)
    return report.write(files, manifest, page_of(run)), manifest


def with_hashes(manifest: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """Add the SHA-256 of every file to a report's manifest."""
    return {**manifest, "files": {name: sha256(one).hexdigest() for name, one in files.items()}}


class LiveMaker:
    """The result of a live evaluation: its bundle, or its report."""

    def __init__(self, form: str) -> None:
        self.form = form

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        refuse_options(params)
        if form != self.form:
            raise Invalid(_("There is no such format."), fields={"form": self.form})
        if task is None:
            raise Invalid(
                _("Say of which task."), fields={"task": _("One with a live evaluation.")}
            )
        live.ended_evaluation(task)

    def make(self, file: ExportFile) -> PreparedFile:
        if file.task is None:  # cannot be: ``check`` asks for one
            raise Invalid(_("Say of which task."))
        return live_file(file.task, self.form)

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        return (
            _("Bundle of the live evaluation")
            if self.form == "zip"
            else _("Report of the live evaluation")
        )


def live_file(task: Task, form: str) -> PreparedFile:
    """The bundle (zip) or report (html) of the task's live evaluation, which has ended."""
    evaluation = live.ended_evaluation(task)
    name, told = f"task-{task.pk}-live", dict[str, Any]()
    if form == "zip":
        parts, count = live.parts(evaluation, task, told)
        return PreparedFile(f"{name}-bundle.zip", parts, lambda: count, lambda digest: told)
    files, manifest = live.contents(evaluation, task)
    manifest = with_hashes(manifest, files)
    html = report.write(files, manifest)
    numbers = html.count("data-at=")
    parts = iter([html.encode()])
    return PreparedFile(f"{name}-report.html", parts, lambda: numbers, lambda digest: manifest)


MAKERS = {
    "run": RunMaker(),
    "bundle": BundleMaker(),
    "report": ReportMaker(),
    "live-bundle": LiveMaker("zip"),
    "live-report": LiveMaker("html"),
}
