"""Files made in the background, and what can be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.formats.exports.makers import ALL, TABLES, maker_of
from annotation.formats.exports.pairwise import exports_of
from annotation.hooks import export_makers
from annotation.models import Answer, ExportFile, Project, Task, TaskVersion
from annotation.work.snapshots import judgments
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Missing
from crowdqc.numbers import plural

LARGE = 20_000  # answers, from which on a file is written in the background
SHOWN = 50
UNITS = {
    **dict.fromkeys(("bundle", "live-bundle"), "answer"),
    **dict.fromkeys(("report", "live-report"), "number"),
}
MARKS = {"queued": "waiting", "running": "running", "done": "done", "failed": "bad"}


@dataclass(frozen=True)
class FileRow:
    """A file as the page lists it."""

    file: ExportFile
    title: str
    about: str
    mark: str

    @property
    def active(self) -> bool:
        return self.file.state in ("queued", "running")

    @property
    def size(self) -> str:
        """Size of the file with its unit, like ``3.4 MB``."""
        size: float = self.file.size
        for unit in ("bytes", "kB"):
            if size < 1000:
                return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
            size /= 1000
        return f"{size:,.1f} MB"

    @property
    def unit(self) -> str:
        """Number of rows with their unit, like ``1,204 rows``."""
        return plural(self.file.rows, UNITS.get(self.file.what, "row"))


def get_file(project: Project, file_id: int) -> ExportFile:
    """A file of the project; Missing where there is none."""
    file = (
        ExportFile.objects.select_related("project", "task", "stored")
        .filter(project=project, pk=file_id)
        .first()
    )
    if file is None:
        raise Missing(_("There is no such file in this project, or its days are over."))
    return file


def rows(project: Project) -> list[FileRow]:
    """The project's files, the newest first."""
    files = list(ExportFile.objects.filter(project=project).select_related("by", "project")[:SHOWN])
    titles = titles_of(project)
    return [
        FileRow(
            file,
            maker_of(file.what).title(file.what, file.params),
            titles.get(file.task_id, _("all tasks")) if file.task_id else _("all tasks"),
            MARKS[file.state],
        )
        for file in files
    ]


def titles_of(project: Project) -> dict[int, str]:
    """The titles of the project's tasks by id, as their latest versions have them."""
    found = TaskVersion.objects.filter(task__project=project).order_by("task_id", "number")
    return dict(found.values_list("task_id", "title"))


def size_of(task: Task) -> int:
    """Return the number of answers of people and systems in the task."""
    return Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN).count()


def scales_of(task: Task) -> list[AskedDimension]:
    """The dimensions or scales of a published task."""
    return judgments.version_items(task.current) if task.current else []


def choices_of(task: Task, scale: AskedDimension | None, *, at_once: bool) -> list[dict[str, Any]]:
    """List the tables that can be exported from a published task, with their formats."""
    if task.current is None:
        return []
    found: list[dict[str, Any]] = [
        {
            "what": ALL,
            "title": _("All tables"),
            "note": _("one archive with a manifest"),
            "formats": TABLES,
            "scale": None,
            "at_once": False,
        }
    ]
    for what, maker in export_makers().items():
        if offered := getattr(maker, "task_export", None):
            title, note, formats = offered
            about = {"title": title, "note": note, "formats": formats}
            found.append({"what": what, **about, "scale": None, "at_once": False})
    for what, one in exports_of(task).items():
        found.append(
            {
                "what": what,
                "title": one.title,
                "note": one.note,
                "formats": one.formats,
                "scale": scale if one.per_dimension else None,
                "at_once": at_once,
            }
        )
    return found
