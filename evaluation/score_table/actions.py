"""A table that was checked becomes a closed task with its labels, and is scored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from annotation.accounts.projects.actions import MAX_NAME, create_project
from annotation.authoring.actions.tasks import create_task, edit_draft, move, publish
from annotation.files.reading.importer import CheckedRows
from annotation.formats.actions.imports import report_of
from annotation.formats.actions.labels import import_label_items, import_labels
from annotation.formats.selectors.imports import check_rows
from annotation.formats.uploads.actions import finish
from annotation.formats.uploads.staging import sheet_of
from annotation.models import ImportFile, Project, Task, User
from annotation.task_types.labels.fields import CHOOSE_ONE, NOTHING, UNSURE
from crowdqc.errors import Conflict, Invalid
from evaluation.models import Run
from evaluation.runs import engine

FIELD = "label"
PLAIN = re.compile(r"[^\s](?:[^\s]| (?! )){0,38}[^\s]|[^\s]")  # stored as it is, at most 40 long
State = ImportFile.State


@transaction.atomic
def score_table(*, by: User, file: ImportFile) -> Run:
    """Make a task of a table, with a project where it has none, and queue its run.

    Rows with a problem are left out; the file keeps a record of each reason and its lines.
    Raises Conflict where the table is not checked yet or was scored, and Invalid where a column is
    missing or fewer than two labels are left.
    """
    locked = ImportFile.objects.select_for_update(of=("self",)).get(pk=file.pk)
    if locked.state != State.READY:
        raise Conflict("The table cannot be scored now. Reload the page.")
    found = check_rows(None, locked.kind, sheet_of(locked), locked.mapping or None)
    if found.unmapped:
        names = ", ".join(one.label.lower() for one in found.unmapped)
        raise Invalid(f"No column is read as {names}.", fields={"columns": "Choose it."})
    project = locked.project or create_project(by=by, name=title_of(locked.name))
    task = _make_task(by, project, locked, found.checked)
    codes = _codes(task)
    rows = [_answer(one, codes) for one in found.checked.good]
    new = import_labels(by=by, task=task, rows=rows, name=locked.name)
    finish(locked, report_of(found, new))
    ImportFile.objects.filter(pk=locked.pk).update(project=project, task=task, imported_by=by)
    return engine.start(by=by, task=task)


def title_of(name: str) -> str:
    """What a table's task and project are called."""
    return name.rpartition(".")[0].strip()[:MAX_NAME] or name[:MAX_NAME]


def _make_task(by: User, project: Project, file: ImportFile, checked: CheckedRows) -> Task:
    """The closed task with its items, whose one field offers the labels of the table."""
    labels = [label for label, _ in checked.about["labels"]]
    known = {one["gold"] for one in checked.good if one["gold"]} - set(labels)
    options = _options([*labels, *sorted(known)])
    if len(options) < 2:
        raise Invalid(
            "The table has fewer than 2 different labels.",
            fields={"label": "Choose another column as label."},
        )
    field = {
        "name": FIELD,
        "label": file.found["mapping"].get("label", "Label")[:60],
        "question": "Which label fits best?",
        "kind": CHOOSE_ONE,
        "options": options,
    }
    task = create_task(by=by, project=project, type="labels", title=title_of(file.name))
    rules = {"redundancy": max(1, min(checked.about["low"], 20)), "settings": {"fields": [field]}}
    edit_draft(by=by, task=task, fields=rules)
    codes = {option["label"]: option["value"] for option in options}
    import_label_items(by=by, task=task, rows=_items(checked.good, codes), name=file.name)
    publish(by=by, task=task)
    move(by=by, task=task, to="close")
    task.refresh_from_db()
    return task


def _options(labels: Sequence[str]) -> list[dict[str, str]]:
    """An option a label: its value is the label itself where that can be stored."""
    taken = {label for label in labels if _plain(label)}
    options = []
    for number, label in enumerate(labels, 1):
        value = label if label in taken else f"label-{number}"
        while label not in taken and value in taken:
            value += "-"
        options.append({"value": value, "label": label})
    return options


def _plain(label: str) -> bool:
    return label not in (UNSURE, NOTHING) and PLAIN.fullmatch(label) is not None


def _codes(task: Task) -> Mapping[str, tuple[str, int]]:
    assert task.current is not None  # noqa: S101 (it was published a moment ago)
    options = task.current.settings["fields"][0]["options"]
    return {one["label"]: (one["value"], place) for place, one in enumerate(options)}


def _items(good: Iterable[Mapping[str, Any]], codes: Mapping[str, str]) -> list[dict[str, Any]]:
    """An item of every id, with its first text and its known answer."""
    items: dict[str, dict[str, Any]] = {}
    for one in good:
        key = one["item"]
        item = items.setdefault(key, {"key": key, "text": "", "expected": {}, "meta": {}})
        item["text"] = item["text"] or one["text"]
        if one["gold"]:
            item["expected"] = {FIELD: codes[one["gold"]]}
    return [{**item, "text": item["text"] or item["key"]} for item in items.values()]


def _answer(one: Mapping[str, Any], codes: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """A label as ``import_labels`` takes it."""
    code, place = codes[one["label"]]
    return {
        "worker": one["worker"],
        "system": "",
        "prompt_strategy": "",
        "replicate": 0,
        "item": one["item"],
        "choices": [(FIELD, code, place)],
        "texts": [],
        "spans": [],
        "uncounted": "",
        "expected": {},
        "at": one["at"],
    }
