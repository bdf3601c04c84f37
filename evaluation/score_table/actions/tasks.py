"""Checked rows of a table become a closed task with answers: one maker for each kind of table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotation.accounts.named.actions import workers_named
from annotation.authoring.actions.items import import_items
from annotation.authoring.actions.tasks import create_task, edit_draft, move, publish
from annotation.files.reading.importer import CheckedRows
from annotation.files.reading.spool import Spool
from annotation.formats.actions.answers import import_answers
from annotation.formats.actions.judgments import (
    PairItem,
    Vote,
    add_items,
    add_votes,
    import_task,
    place_votes,
    submission_time,
)
from annotation.formats.actions.label_studio import import_label_studio
from annotation.formats.actions.labels import import_label_items, import_labels
from annotation.formats.actions.votes import Target, import_battles
from annotation.formats.imports.candidates import key_of
from annotation.formats.imports.tables.label_studio import LabelStudioTable
from annotation.formats.imports.tools.arena import TOPIC, Battle
from annotation.models import Candidate, Project, Task, User
from annotation.pairs.actions.candidates import add_candidates
from annotation.task_types.labels.fields import CHOOSE_ONE, NOTHING, UNSURE
from crowdqc.errors import Invalid
from crowdqc.numbers import by_size

FIELD, SCALE, DIMENSION = "label", "score", "preference"
MOST_ASKED = 20  # answers that a task may ask for per item
PLAIN = re.compile(r"[^\s](?:[^\s]| (?! )){0,38}[^\s]|[^\s]")  # stored as it is, at most 40 long
Made = tuple[Task, int]  # and how many of the table's rows or votes are new


def make_labels(
    *, by: User, project: Project, title: str, checked: CheckedRows, column: str, name: str
) -> Made:
    """A labels task whose one field offers the labels of the table. Raises Invalid."""
    labels = {label for label, _ in checked.about["labels"]}
    known = {one["gold"] for one in checked.good if one["gold"]}
    options = _options(sorted(labels | known, key=by_size))
    if len(options) < 2:
        raise Invalid(
            "The table has fewer than 2 different labels.",
            fields={"label": "Choose another column as label."},
        )
    field = {
        "name": FIELD,
        "label": column[:60] or "Label",
        "question": "Which label fits best?",
        "kind": CHOOSE_ONE,
        "options": options,
    }
    task = _begun(
        by=by,
        project=project,
        type="labels",
        title=title,
        low=checked.about["low"],
        settings={"fields": [field]},
    )
    codes = {option["label"]: option["value"] for option in options}
    import_label_items(by=by, task=task, rows=_items(checked.good, codes), name=name)
    _closed(by, task)
    stored = _codes(task)
    rows = Spool(_answer(one, stored) for one in checked.good)
    return task, import_labels(by=by, task=task, rows=rows, name=name)


def make_comparisons(
    *, by: User, project: Project, title: str, checked: CheckedRows, column: str, name: str
) -> Made:
    """A pairwise task of the texts that were compared."""
    battles = [Battle(**one) for one in checked.good]
    target = Target(project, title=title, dimension=DIMENSION)
    task, added = import_battles(by=by, target=target, battles=battles, name=name)
    return task, added.new


def make_answers(
    *, by: User, project: Project, title: str, checked: CheckedRows, column: str, name: str
) -> Made:
    """A free-text task of the questions that were answered."""
    task = _begun(
        by=by,
        project=project,
        type="free_text",
        title=title,
        low=checked.about["low"],
        settings={},
    )
    items = {one["item_id"]: one for one in checked.good}
    rows = [{**one, "question": one["question"] or key} for key, one in items.items()]
    import_items(by=by, task=task, rows=rows, name=name)
    _closed(by, task)
    return task, import_answers(by=by, task=task, rows=checked.good, name=name)


def make_ratings(
    *, by: User, project: Project, title: str, checked: CheckedRows, column: str, name: str
) -> Made:
    """A rating task whose scale has the scores of the table as points."""
    points = [{"value": score, "label": written} for score, written in checked.about["scores"]]
    scale = {
        "name": SCALE,
        "label": column[:60] or "Score",
        "question": "How good is it?",
        "points": points,
        "factor": checked.about["factor"],
    }
    fields = {"settings": {"layout": "text", "scales": [scale]}}
    task = import_task(by=by, project=project, type="rating", title=title, fields=fields)
    texts: dict[str, dict[str, str]] = {}
    items_named = {one["item"] for one in checked.good}
    known = Candidate.objects.filter(project=project, key__in=items_named)
    taken = set(known.values_list("key", flat=True))  # by other tables of the project
    for one in checked.good:
        system, topic = one["system"] or title, one["topic"] or TOPIC
        key = one["item"]
        if key in taken:
            key = key_of(topic, "\0".join((system, key)), one["text"])
        texts.setdefault(
            one["item"], {"key": key, "topic": topic, "text": one["text"], "system": system}
        )
    add_candidates(by=by, project=project, rows=list(texts.values()), name=name)
    keys = [one["key"] for one in texts.values()]
    ids = dict(Candidate.objects.filter(project=project, key__in=keys).values_list("key", "pk"))
    pairs = [PairItem(item, one["topic"], "", ids[one["key"]]) for item, one in texts.items()]
    items = add_items(by=by, task=task, pairs=pairs, titles={})
    workers = workers_named(project, {one["worker"] for one in checked.good})
    votes = place_votes(
        Vote(
            workers[one["worker"]].pk,
            items[one["item"]],
            ((SCALE, str(one["score"]), one["score"]),),
            at=one["at"],
            meta=one["meta"],
        )
        for one in checked.good
    )
    added = add_votes(task=task, votes=votes, sessions=submission_time(votes))
    task.refresh_from_db()
    return task, added.new


def make_from_label_studio(
    *, by: User, project: Project, title: str, checked: CheckedRows, column: str, name: str
) -> Made:
    """Make a task from a Label Studio export, with its type inferred from the controls."""
    file = LabelStudioTable.file(checked.good)
    task, _ = import_label_studio(by=by, project=project, file=file, title=title, name=name)
    return task, len(file.tasks)


def _begun(
    *,
    by: User,
    project: Project,
    type: str,
    title: str,
    low: int,
    settings: Mapping[str, Any],
) -> Task:
    """A draft that asks for as many answers per item as each item of the table has."""
    task = create_task(by=by, project=project, type=type, title=title)
    rules: dict[str, Any] = {"redundancy": max(1, min(low, MOST_ASKED))}
    edit_draft(by=by, task=task, fields={**rules, "settings": settings} if settings else rules)
    return task


def _closed(by: User, task: Task) -> None:
    publish(by=by, task=task)
    move(by=by, task=task, to="close")
    task.refresh_from_db()


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
        item["meta"] |= one["about_item"]
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
        "meta": one["meta"],
    }
