"""A table that was checked becomes a closed task with its answers, and is scored."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.projects.actions import MAX_NAME, create_project
from annotation.files.reading.importer import Sheet
from annotation.formats.actions.imports import Report, report_of
from annotation.formats.imports.tables.possible import reason_of_columns
from annotation.formats.selectors.imports import check_rows
from annotation.models import ImportFile, Project, User
from crowdqc.errors import Invalid
from evaluation.runs import engine
from evaluation.score_table.kinds import KINDS


@transaction.atomic
def write_table(*, by: User, file: ImportFile, sheet: Sheet) -> Report:
    """Make a task of a table, with a project where it has none, and queue its run.

    Rows with a problem are left out; the report has each reason and its lines. Raises Invalid where
    a column is missing, or where nothing is left that can be scored.
    """
    found = check_rows(None, file.kind, sheet, file.mapping or None, file.fixes)
    checked, kind = found.checked, KINDS[file.kind]
    if found.unmapped:
        lacking = [{"name": one.name, "label": one.label} for one in found.unmapped]
        said = reason_of_columns(kind.reader.fields, found.mapping, lacking, {})
        raise Invalid(said, fields={"columns": _("Choose it.")})
    if not checked.good or checked.about["cannot"]:
        said = checked.about["cannot"][1] if checked.good else _("No row can be used.")
        raise Invalid(said, fields={"file": _("Choose another column or file.")})
    kind.refuse_if_too_large(checked)
    project = file.project or create_project(by=by, name=title_of(file.name))
    task, new = kind.make(
        by=by,
        project=project,
        title=_free_title(project, title_of(file.name)),
        checked=checked,
        column=found.mapping.get(kind.votes, ""),
        name=file.name,
    )
    ImportFile.objects.filter(pk=file.pk).update(project=project, task=task)
    engine.start(by=by, task=task)
    return report_of(found, new)


def title_of(name: str) -> str:
    """Return the title of a table's task and project: the file's name without its ending."""
    return name.rpartition(".")[0].strip()[:MAX_NAME] or name[:MAX_NAME]


def _free_title(project: Project, title: str) -> str:
    """The title, numbered where the project has a task of it."""
    taken = set(project.tasks.values_list("versions__title", flat=True))
    free, number = title, 2
    while free in taken:
        free, number = f"{title[: MAX_NAME - 4]} {number}", number + 1
    return free
