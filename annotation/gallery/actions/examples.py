"""Begin a task from a template, with its example items."""

from __future__ import annotations

import copy
from uuid import UUID

from django.db import transaction
from django.utils.translation import get_language

from annotation.authoring.actions.drafts import edit_draft
from annotation.authoring.actions.items import save_group
from annotation.authoring.actions.media import upload_media
from annotation.authoring.actions.tasks import create_task, find_task_of_form
from annotation.files.reading.importer import Row, refuse
from annotation.formats.registry import format_for
from annotation.gallery.example_files import make_file
from annotation.gallery.templates import Template, in_language
from annotation.models import Project, Task, User
from annotation.pairs.actions.pair_items import make_pairs
from annotation.records.actions.audit import record
from annotation.task_types import get_type
from annotation.task_types.labels.fields import FROM_TEMPLATE


@transaction.atomic
def begin_task(*, by: User, project: Project, template: Template, key: UUID | None = None) -> Task:
    """A draft with the template's words, fields and example items, ready to be previewed.

    They are in the language of whoever begins it, where the template is written in it.
    The form of a ``key`` makes one task, however often it is sent.
    """
    there = find_task_of_form(by=by, project=project, key=key)
    if there is not None:
        return there
    task = create_task(
        by=by, project=project, type=template.type, title=str(template.title), key=key
    )
    template = in_language(template, get_language())
    rules = copy.deepcopy(template.rules)
    for row in rules.get("settings", {}).get("fields", []):
        for marked in (row, *row.get("options", [])):
            marked[FROM_TEMPLATE] = True
    edit_draft(by=by, task=task, fields=rules)
    _add_examples(by, task, template)
    record(by=by, project=project, action="task.template", on=task, template=template.slug)
    return task


def _add_examples(by: User, task: Task, template: Template) -> None:
    """Import the rows as a file of them would be, and pair them where pairs are asked."""
    if template.files:
        made = [(name, make_file(spec)) for name, spec in template.files.items()]
        upload_media(by=by, task=task, files=made, make_items=False)
    form = format_for(task, template.format)
    rows = [Row(line, row) for line, row in enumerate(template.rows, 1)]
    columns = {name: name for row in template.rows for name in row}
    checked = form.check(rows, columns, form.known_of(task))
    refuse(template.slug, checked.problems, checked.used + checked.there, "examples")
    form.write(by=by, task=task, rows=list(checked.good), name=f"template: {template.slug}")
    # Texts that another task of the project has from the same template are there already.
    if checked.there and not checked.good:
        form.write(by=by, task=task, rows=[dict(row.values) for row in rows], name="")
    for key, passage in template.passages.items():
        group = save_group(by=by, task=task, key=key, passage=passage)
        task.items.filter(key=key).update(group=group)
    if get_type(task.type).pairs_texts:
        make_pairs(by=by, task=task)
