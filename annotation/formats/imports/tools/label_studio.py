"""Label Studio's JSON in: tasks with annotations of people and predictions of models.

Text areas are texts, ratings and choices are points of scales or labels, labels of text are spans,
pairwise controls compare the first two texts of a task. Everything else is refused, naming the task
and the annotation.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.importer import MAX_PROBLEMS, MAX_SHOWN, Problem
from annotation.files.reading.times import parse_moment
from annotation.task_types import TYPES, TaskType
from annotation.task_types.free_text.type import FreeText
from annotation.task_types.label_studio import (
    CHOICES,
    MARKS,
    NUMBER,
    PAIRWISE,
    RANKER,
    RATING,
    TEXT,
    Mark,
    span_in_code_points,
)
from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable, read_json
from crowdqc.numbers import count

MAX_BYTES = 200 * 1024 * 1024
TAXONOMY = "taxonomy"  # choices that are paths
SIDES = {"left": "first", "right": "second", "none": "neutral", "neutral": "neutral"}
VALUES = {
    TEXT: ("text",),
    PAIRWISE: ("pairwise", "selected"),
    RATING: ("rating",),
    CHOICES: ("choices",),
    NUMBER: ("number",),
    MARKS: ("labels",),
    RANKER: ("ranker",),
    TAXONOMY: ("taxonomy",),
}
# What is left out while everything else is read.
IDS = gettext_noop("Predictions that are given as ids only")
NO_VERSION = gettext_noop("Predictions without a model_version")
OF_REGIONS = gettext_noop("Results about one region of a text")
MANY = ("evidence",)  # controls of ours that hold several choices
Row = dict[str, Any]


@dataclass(frozen=True)
class LSAnnotation:
    """One annotation or prediction: who, when, and what each control says.

    ``texts`` by control; ``choices`` as (control, type, value): a side, a number, labels;
    ``marks`` by control.
    """

    where: str  # task 3, annotation 12
    author: str
    system: bool
    texts: Mapping[str, Sequence[str]]
    choices: Sequence[tuple[str, str, Any]]
    at: dt.datetime | None = None
    seconds: float | None = None
    cancelled: bool = False
    ground_truth: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)
    marks: Mapping[str, Sequence[Mark]] = field(default_factory=dict)

    def results(self) -> Iterator[tuple[str, str, Any]]:
        """Yield control, type and value of every result in the annotation."""
        yield from self.choices
        yield from ((name, TEXT, held) for name, held in self.texts.items())
        yield from ((name, MARKS, held) for name, held in self.marks.items())


@dataclass(frozen=True)
class LSTask:
    """One task: its data, and what was said of it."""

    where: str
    key: str
    data: Mapping[str, Any]
    given: Sequence[LSAnnotation]
    meta: Mapping[str, Any] = field(default_factory=dict)  # what our own export says of it
    left: Sequence[str] = ()  # what was left out of it, a reason each

    def source_of(self, number: int | str) -> str:
        """Return the system that wrote a text of the data, or the text's name."""
        names = (f"source{number}", f"model_{number}")
        return str(next(filter(None, map(self.data.get, names)), f"text{number}"))


@dataclass(frozen=True)
class LSFile:
    """A file that was read; ``about`` is what our own export says of the task it is of."""

    tasks: Sequence[LSTask]
    about: Mapping[str, Any]

    @property
    def left(self) -> Counter[str]:
        """Count what was left out of the file, by kind."""
        return Counter(what for task in self.tasks for what in task.left)

    def task_type(self) -> TaskType:
        """Return the task type: named by our own export, or inferred from the controls in use."""
        own = self.about.get("type")
        if isinstance(own, str) and own in TYPES:
            return TYPES[own]
        used = {kind for task in self.tasks for one in task.given for _, kind, _ in one.results()}
        told = [type for type in TYPES.values() if type.label_studio.told_by & used]
        whole = [type for type in told if type.label_studio.told_by >= used - {TEXT}]
        return next(iter(whole or told), TYPES[FreeText.slug])


class BadValue(Exception):
    """What is wrong with one value."""

    def __init__(self, column: str, value: Any, wrong: str, mend: str) -> None:
        super().__init__(wrong)
        self.problem = (column, value, wrong, mend)


def read_label_studio(content: bytes, name: str) -> LSFile:
    """The tasks of a file. Raises Invalid whose ``rows`` name task, annotation and value."""
    try:
        raw = read_json(content, replace=True)
    except Unreadable as error:
        says = _("%(name)s cannot be read. %(says)s") % {"name": name, "says": error.says}
        raise Invalid(says, fields={"file": _("One list.")}) from error
    if not isinstance(raw, list) or not raw:
        raise Invalid(
            _("%(name)s holds no list of tasks.") % {"name": name},
            fields={"file": _("Export it as JSON.")},
        )
    tasks, problems, keys = [], list[Problem](), set[str]()
    for number, one in enumerate(raw, 1):
        try:
            task = read_task(one, number, problems)
            if task.key in keys:
                raise BadValue(
                    "id", task.key, _("Two tasks have this id."), _("Give each its own.")
                )
            keys.add(task.key)
            tasks.append(task)
        except BadValue as bad:
            problems.append(problem_of(number, _("task %(number)s") % {"number": number}, bad))
    if problems:
        bad_tasks = len({problem.line for problem in problems})
        raise Invalid(
            _("%(name)s: %(bad_tasks)s of %(raw)s tasks cannot be read. Nothing was imported.")
            % {"name": name, "bad_tasks": count(bad_tasks), "raw": count(len(raw))},
            rows=[problem.as_dict() for problem in problems[:MAX_PROBLEMS]],
        )
    return LSFile(tasks, tasks[0].meta)


def _own_metadata(one: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = one.get("meta")
    own = meta.get("crowdqc") if isinstance(meta, dict) else None
    return own if isinstance(own, dict) else {}


def problem_of(number: int, where: str, bad: BadValue) -> Problem:
    """Describe a bad value for pages: its place, what is wrong and how to mend it."""
    column, value, wrong, mend = bad.problem
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Problem(number, f"{where}, {column}", shown[:MAX_SHOWN], _(wrong), _(mend))


def read_task(one: Any, number: int, problems: list[Problem]) -> LSTask:
    """One task; annotations that cannot be read are left out and added to ``problems``.

    Raises BadValue.
    """
    if not isinstance(one, dict) or not isinstance(one.get("data"), dict):
        raise BadValue("data", one, _("A task needs an object of data."), _("Export it as JSON."))
    data = one["data"]
    key = data.get("item_id")
    key = str(key) if key not in (None, "") else f"ls-{one.get('id', number)}"
    if len(key) > 80:
        raise BadValue("data.item_id", key, _("Longer than 80 characters."), _("Shorten it."))
    found, left = [], list[str]()
    for kind, noun in (("annotations", "annotation"), ("predictions", "prediction")):
        rows = one.get(kind) or (one.get("completions") if kind == "annotations" else None) or []
        if not isinstance(rows, list):
            raise BadValue(kind, rows, _("This is no list."), _("Export it as JSON."))
        for place, row in enumerate(rows, 1):
            if kind == "predictions" and isinstance(row, int):
                left.append(IDS)
                continue
            name = row.get("id", place) if isinstance(row, dict) else place
            where = _("task %(id)s, %(noun)s %(name)s") % {
                "id": one.get("id", number),
                "noun": noun,
                "name": name,
            }
            try:
                said = _read_annotation(
                    row, where, _asked_text(data), left, system=kind == "predictions"
                )
            except BadValue as bad:
                problems.append(problem_of(number, where, bad))
                continue
            if said is None:
                left.append(NO_VERSION)
            elif said.texts or said.choices or said.marks:  # one that was skipped says nothing
                found.append(said)
    where = _("task %(id)s") % {"id": one.get("id", number)}
    return LSTask(where, key, data, found, _own_metadata(one), left)


def _asked_text(data: Mapping[str, Any]) -> str:
    """The text that results are about, as Label Studio counts in it."""
    texts = (value for name, value in data.items() if isinstance(value, str) and name != "item_id")
    return str(data.get("question") or data.get("text") or next(texts, ""))


def _stored(mark: Mark, text: str) -> Mark:
    """The mark in the text as tasks store it: LF for CR LF, and no outer space.

    Marks may count UTF-16 units, and quote with collapsed space; another one stays as it is.
    """
    quoted = " ".join(mark.quoted.split()) if isinstance(mark.quoted, str) else None
    in_units = span_in_code_points(text, mark.start, mark.end)
    for start, end in () if in_units is None else ((mark.start, mark.end), in_units):
        if end <= len(text) and " ".join(text[start:end].split()) == quoted:
            stored = text.replace("\r\n", "\n").strip()
            lead = len(text) - len(text.lstrip())
            low, high = (len(text[lead:at].replace("\r\n", "\n")) for at in (start, end))
            return mark._replace(start=low, end=high, quoted=stored[low:high])
    return mark


def _read_annotation(
    row: Any, where: str, text: str, left: list[str], *, system: bool
) -> LSAnnotation | None:
    """One annotation or prediction; None of a model that has no name. Raises BadValue."""
    if not isinstance(row, dict) or not isinstance(row.get("result", []), list):
        raise BadValue(
            "result", row, _("An annotation has a list of results."), _("Export it as JSON.")
        )
    texts: dict[str, list[str]] = {}
    choices: dict[str, tuple[str, str, Any]] = {}
    meta: dict[str, Any] = {}
    marks: dict[str, list[Mark]] = {}
    results = row.get("result") or []
    regions = {one.get("id") for one in results if isinstance(one, dict) and _is_mark(one)} - {None}
    for result in results:
        if isinstance(result, dict) and result.get("id") in regions and not _is_mark(result):
            left.append(OF_REGIONS)
            continue
        name, kind, value = _value(result)
        if name in choices or name in texts:
            raise BadValue(
                "result", name, _("This control has two results."), _("Keep one of them.")
            )
        if kind == MARKS:
            marks.setdefault(name, []).extend(_stored(mark, text) for mark in value)
        elif kind == TEXT:
            texts[name] = value
        else:
            choices[name] = (name, kind, value)
        own = result.get("meta")
        ours = own.get("crowdqc") if isinstance(own, dict) else None
        meta |= ours if isinstance(ours, dict) else {}
    author = row.get("model_version") if system else row.get("completed_by")
    if isinstance(author, dict):
        author = author.get("email") if author.get("id") is None else author["id"]
    if system and author in (None, ""):
        return None
    if author in (None, "") and (texts or choices or marks):
        raise BadValue(
            "completed_by",
            author,
            _("It names no author."),
            _("Write who gave it; any id will do."),
        )
    lead = row.get("lead_time")
    if lead is not None and (isinstance(lead, bool) or not isinstance(lead, int | float)):
        raise BadValue("lead_time", lead, _("This is no number of seconds."), _("Leave it out."))
    return LSAnnotation(
        where,
        str(author)[:120],
        system,
        texts,
        list(choices.values()),
        _moment(row.get("created_at")),
        lead if lead is None or 0 <= lead < 1e8 else None,
        bool(row.get("was_cancelled")),
        bool(row.get("ground_truth")),
        meta,
        marks,
    )


def _is_mark(result: Mapping[str, Any]) -> bool:
    return result.get("type") == MARKS


def _moment(raw: Any) -> dt.datetime | None:
    if raw in (None, ""):
        return None
    at = parse_moment(str(raw))
    if at is None:
        raise BadValue("created_at", raw, _("This is not a time."), "Write 2025-03-31T14:05Z.")
    return at


def _value(result: Any) -> tuple[str, str, Any]:
    """Control, type and value of a result. Raises BadValue."""
    if not isinstance(result, dict) or not isinstance(result.get("value"), dict):
        raise BadValue("result", result, _("A result has a value."), _("Export it as JSON."))
    name, kind, value = str(result.get("from_name", "")), result.get("type"), result["value"]
    if kind not in VALUES:
        raise BadValue(
            f"{name} type",
            kind,
            _("Only textarea, choices, labels, number, rating, ranker and pairwise are taken."),
            _("Leave these results out."),
        )
    held = next((value[key] for key in VALUES[kind] if key in value), None)
    if kind == TAXONOMY and isinstance(held, list):
        kind = CHOICES
        held = [" > ".join(map(str, path)) for path in held if isinstance(path, list)]
    if kind == PAIRWISE and held in SIDES:
        return name, kind, SIDES[held]
    if kind == RATING and isinstance(held, int) and not isinstance(held, bool):
        return name, kind, held
    if kind == TEXT:
        texts = [held] if isinstance(held, str) else held
        if isinstance(texts, list) and texts and all(isinstance(one, str) for one in texts):
            return name, kind, texts
    if kind == RANKER and isinstance(held, dict):  # several lists are buckets, and no ranking
        held = next(iter(held.values())) if len(held) == 1 else None
    if kind in (CHOICES, RANKER) and isinstance(held, list) and {*map(type, held)} <= {str}:
        return name, kind, held
    if kind == NUMBER and isinstance(held, int | float) and not isinstance(held, bool):
        return name, kind, held
    if kind == MARKS and isinstance(held, list) and all(isinstance(x, str) for x in held):
        start, end = value.get("start"), value.get("end")
        if type(start) is int and type(end) is int:
            return name, kind, [Mark(start, end, one, value.get("text")) for one in held]
    raise BadValue(
        f"{name} value",
        value,
        _("This is no value of a %(kind)s.") % {"kind": kind},
        _("Mend or leave it out."),
    )
