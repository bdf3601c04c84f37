"""Label Studio's JSON as a table that is to become a task: a row a task, all of its annotations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.files.reading.importer import Field, Reader, Row, guess
from annotation.files.reading.rows import Problem
from annotation.formats.imports.tables.base import Fit, Fixes, TableReader
from annotation.formats.imports.tools.label_studio import (
    BadValue,
    LSFile,
    LSTask,
    problem_of,
    read_task,
)
from annotation.task_types.label_studio import CHOICES, TEXT
from crowdqc.files.json_input import Unreadable, read_json
from crowdqc.numbers import count, plural

ANNOTATIONS, COMPLETIONS = "annotations", "completions"  # as exports before 1.0 call them
NESTED = ("data", ANNOTATIONS, "predictions", "meta")


class LabelStudioTable(TableReader):
    """Rows {task}: what ``read_task`` makes of an element of the list."""

    slug = "label_studio"
    title = gettext_lazy("Label Studio")
    unit = "task"
    unread = gettext_lazy("Not read")
    fields = (
        Field("data", gettext_lazy("Data"), True),
        Field(ANNOTATIONS, gettext_lazy("Annotations"), True, (COMPLETIONS,)),
        Field("predictions", gettext_lazy("Predictions")),
        Field("meta", gettext_lazy("Metadata")),
        Field("id", gettext_lazy("Task id")),
    )

    def fit(self, columns: Sequence[str], rows: Sequence[Row]) -> Fit:
        """Data and annotations are there, nested."""
        mapping = guess(columns, self.fields)
        if lacks := self.lacks(mapping):
            return Fit(False, lacks)
        nested = sum(row.values.get(mapping[ANNOTATIONS], "").startswith("[") for row in rows)
        return Fit(
            nested > 0,
            _("%(tasks)s with a list of annotations") % {"tasks": plural(nested, "task")},
        )

    def read(self, reader: Reader, rows: Iterable[Row], known: Fixes) -> None:
        """Tasks that somebody annotated; an annotation that cannot be read takes no other along."""
        keys: dict[str, int] = {}
        bare, left = 0, Counter[str]()
        for row in rows:
            problems: list[Problem] = []
            task = None
            try:
                task = read_task(_nested(reader, row), row.line, problems)
                if keys.setdefault(task.key, row.line) != row.line:
                    wrong = _("Task %(keys)s of the file has this id, too.") % {
                        "keys": count(keys[task.key])
                    }
                    raise BadValue("id", task.key, wrong, _("Left out."))
            except BadValue as bad:
                task = None
                problems.append(
                    problem_of(row.line, _("task %(line)s") % {"line": count(row.line)}, bad)
                )
            if task is not None and task.given:
                reader.checked.good.append({"task": task}, len(str(task.data)))
                left.update(task.left)
                left.update(f"{one.wrong} ({one.value[:40]})" for one in problems)
            elif problems:
                for one in problems:
                    reader.checked.problems.append(one)
            else:
                bare += 1
                reader.add_error(row, ANNOTATIONS, _("Nobody annotated this task"), _("Left out."))
        reader.checked.about |= _file_facts([one["task"] for one in reader.checked.good])
        end = _("Left out.")
        reader.checked.notes += [f"{_(what)}: {count(n)}. {end}" for what, n in left.items()]

    @staticmethod
    def file(good: Iterable[Mapping[str, Any]]) -> LSFile:
        """The rows that were read, as ``import_label_studio`` takes them."""
        tasks = [one["task"] for one in good]
        return LSFile(tasks, tasks[0].meta)


def annotators(row: Row) -> set[str]:
    """Return who annotated a row's task; empty if the row is no task of Label Studio."""
    try:
        said = row.values.get(ANNOTATIONS) or row.values.get(COMPLETIONS)
        given = read_json(said or "[]", any_text=True)
    except Unreadable:
        return set()
    authors = [one.get("completed_by") for one in given if isinstance(one, dict)]
    return {
        str(one)
        for author in authors
        for one in (author.values() if isinstance(author, dict) else [author])
    }


def _nested(reader: Reader, row: Row) -> dict[str, Any]:
    """A row as the object that it was."""
    found: dict[str, Any] = {}
    for name in (*NESTED, "id"):
        said = reader.value(row, name)
        if said and name in NESTED:
            try:
                found[name] = read_json(said, any_text=True)
            except Unreadable as error:
                raise BadValue(name, said, error.says, _("Left out.")) from error
        elif said:
            found[name] = said
    return found


def scored_control(tasks: Sequence[LSTask], kind: str) -> str:
    """Return the most used control of this type ("" if none); for choices, single choices only."""
    used, several = Counter[str](), set[str]()
    for _author, name, told, value in _results(tasks):
        used[name] += told == kind
        if kind == CHOICES and told == kind and len(value) != 1:
            several.add(name)
    return next((name for name, n in used.most_common() if n and name not in several), "")


def _results(tasks: Iterable[LSTask]) -> Iterator[tuple[str, str, str, Any]]:
    """Author, control, type and value of all that people said and that counts."""
    for task in tasks:
        for one in task.given:
            if not (one.system or one.cancelled or one.ground_truth):
                yield from ((one.author, *said) for said in one.results())


def _file_facts(tasks: Sequence[LSTask]) -> dict[str, Any]:
    """The file in numbers, and what of it is scored."""
    if not tasks:
        return {"cannot": [], "facts": [], "by": []}
    type = LSFile(tasks, tasks[0].meta).task_type()
    said = list(_results(tasks))
    people, models = {author for author, *_ in said}, set[str]()
    aside = 0
    for one in (given for task in tasks for given in task.given):
        models |= {one.author} if one.system else set()
        aside += one.cancelled or one.ground_truth
    control = scored_control(tasks, type.label_studio.scored)
    values = Counter(
        value[0] if kind == CHOICES else json.dumps(value)
        for _, name, kind, value in said
        if name == control
    )
    warnings = []
    if aside:
        text = _("%(annotations)s skipped or marked as ground truth: kept, not scored.") % {
            "annotations": plural(aside, "annotation")
        }
        warnings.append({"level": "", "head": _("Some annotations do not count."), "text": text})
    cannot: list[str] = []
    if not control:
        kinds = sorted({f"{name} ({kind})" for _who, name, kind, _value in said})
        cannot = [
            _("Nothing to score"),
            _(
                "No control has one choice, a rating, a side or a text in each annotation. There "
                "are: %(controls)s."
            )
            % {
                "controls": ", ".join(kinds) or "none",
            },
        ]
    elif len(values) == 1 and type.label_studio.scored != TEXT:
        cannot = [
            _("Only one value"),
            _("Every annotation says the same in %(control)s.") % {"control": control},
        ]
    return {
        "type": type.slug,
        "control": control,
        "labels": values.most_common(),
        "workers": max(1, len(people)),
        "ties": any(value == "neutral" for _, name, _, value in said if name == control),
        "facts": [
            [_("Tasks"), count(len(tasks))],
            [_("Annotators"), count(len(people))],
            [_("Models"), count(len(models))],
            [_("Controls"), f"{len({name for _, name, *_ in said}):,}"],
            [_("Scored first"), control or "none"],
        ],
        "by": [plural(len(people), "annotator"), plural(len(models), "model")][: 1 + bool(models)],
        "warnings": warnings,
        "cannot": cannot,
    }
