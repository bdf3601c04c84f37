"""What can be written as a file in the background: a maker each, found by name.

Files about runs are made on the evaluation app, which registers their makers
(``annotation.hooks.export_makers``); they are loaded when they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.files.writing.zips import zip_with_manifest
from annotation.formats.exports import manifest
from annotation.formats.exports.pairwise import (
    PAIR_EXPORTS,
    PairExport,
    count_left_out,
    exports_of,
    get_export,
)
from annotation.hooks import export_makers, run_recipes
from annotation.models import ExportFile, Project, Task
from crowdqc.errors import Invalid

ALL = "all"  # every table of a task, or of all of them
TABLES = ("csv", "jsonl", "parquet")


@dataclass
class PreparedFile:
    """A file on its way: its name, its parts, and what is known when they have been gone through.

    ``manifest(sha256)`` is asked for at the end; so is ``rows``.
    """

    name: str
    parts: Iterator[Any]
    rows: Callable[[], int]
    manifest: Callable[[str], Mapping[str, Any]]


class Maker(Protocol):
    """One kind of files."""

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        """Raise Invalid, Missing or Conflict where there is no such file to be made."""
        ...

    def make(self, file: ExportFile) -> PreparedFile:
        """Start making the file; its parts are produced as they are read."""
        ...

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        """Return the title of the file on pages."""
        ...


def maker_of(what: str) -> Maker:
    """Return the maker of this name; by default that of a task's tables."""
    maker: Maker = export_makers().get(what) or TableMaker()
    return maker


def refuse_options(params: Mapping[str, Any], *known: str) -> None:
    """Raise Invalid on an option that nobody reads."""
    other = sorted(set(params) - set(known))
    if other:
        raise Invalid(
            _("There is no option %(option)s here.") % {"option": repr(other[0])},
            fields={f"params.{other[0]}": ""},
        )


class TableMaker:
    """One of a task's tables, or all of a task or a project in one archive."""

    def check(
        self, project: Project, task: Task | None, what: str, form: str, params: Mapping[str, Any]
    ) -> None:
        refuse_options(params, "dimension")
        if what == ALL:
            if form not in TABLES:
                raise Invalid(
                    _("There is no format %(format)s.") % {"format": repr(form)},
                    fields={"form": ", ".join(TABLES)},
                )
            return
        if task is None:
            raise Invalid(
                _("Say of which task."), fields={"task": _("Only all tables can be had of all.")}
            )
        # The table is begun and thrown away: it says what is wrong with a dimension.
        get_export(task, what, form).table(task, form, params.get("dimension", ""))

    def make(self, file: ExportFile) -> PreparedFile:
        if file.what == ALL:
            return _archive(file)
        if file.task is None:  # cannot be: ``check`` asks for one
            raise Invalid(_("Say of which task."))
        task, dimension = file.task, file.params.get("dimension", "")
        table = get_export(task, file.what, file.form).table(task, file.form, dimension)
        name = f"task-{task.pk}-{file.what}.{file.form}"
        if dimension:
            name = f"task-{task.pk}-{file.what}-{dimension}.{file.form}"

        def told(sha256: str) -> dict[str, Any]:
            about = {**_describe_file(task, file.what, file.form, dimension), "rows": table.count}
            return {"kind": manifest.KIND, "files": {name: {"sha256": sha256, **about}}}

        return PreparedFile(name, table.parts(file.form), lambda: table.count, told)

    def title(self, what: str, params: Mapping[str, Any]) -> str:
        if what == ALL:
            return _("All tables")
        known = PAIR_EXPORTS.get(what)
        dimension = params.get("dimension", "")
        return f"{known.title if known else what}{f', {dimension}' if dimension else ''}"


def _describe_file(task: Task, what: str, form: str, dimension: str = "") -> dict[str, Any]:
    told = {"format": form, **manifest.describe(task, what)}
    if dimension:
        told["dimension"] = dimension
    return {**told, "left_out": count_left_out(task, what, dimension), "runs": run_recipes(task)}


def _archive(file: ExportFile) -> PreparedFile:
    """All tables that fit the format, a folder a task, with one manifest."""
    tasks = [file.task] if file.task else list(file.project.tasks.order_by("pk"))
    about: dict[str, dict[str, Any]] = {}
    counts = {"rows": 0}

    def files() -> Iterator[tuple[str, Iterator[Any]]]:
        for task in tasks:
            for what, export in exports_of(task).items():
                if file.form not in export.formats or task.current_id is None:
                    continue
                name = f"task-{task.pk}/{what}.{file.form}"
                yield name, _filed(task, what, export, name)

    def _filed(task: Task, what: str, export: PairExport, name: str) -> Iterator[Any]:
        table = export.table(task, file.form, "")
        yield from table.parts(file.form)
        counts["rows"] += table.count
        about[name] = {**_describe_file(task, what, file.form), "rows": table.count}

    def inside(hashes: Mapping[str, str]) -> dict[str, Any]:
        told = {name: {"sha256": digest, **about[name]} for name, digest in hashes.items()}
        return {"kind": manifest.KIND, "files": told}

    last: dict[str, Any] = {}

    def remembered(hashes: dict[str, str]) -> dict[str, Any]:
        last.update(inside(hashes))
        return last

    day = timezone.now().date().isoformat()
    where = f"task-{file.task_id}" if file.task_id else f"project-{file.project_id}"
    name = f"{where}-{file.form}-{day}.zip"
    return PreparedFile(
        name, zip_with_manifest(files(), remembered), lambda: counts["rows"], lambda sha256: last
    )
