"""Reads the demo's JSON files and refuses what does not fit together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from annotation.demo.dataset import (
    KINDS,
    TOP_GRADE,
    DemoData,
    Question,
    System,
    SystemAnswer,
    Text,
    Worker,
    WorkerAnswer,
)
from crowdqc.errors import Invalid

HERE = Path(__file__).parent
PSEUDONYM = re.compile(r"[a-z]+-\d\d")
T = TypeVar("T")


def read(folder: Path = HERE) -> DemoData:
    """The demo data in ``folder``; raises Invalid naming file and row."""
    texts, answers, systems = (
        json_file(folder, name) for name in ("texts.json", "answers.json", "systems.json")
    )
    data = DemoData(
        title=key_of(texts, "title", "texts.json"),
        instructions=key_of(texts, "instructions", "texts.json"),
        texts=tuple(_text(row) for row in key_of(texts, "texts", "texts.json")),
        workers=rows_of(answers, "workers", Worker, "answers.json"),
        answers=rows_of(answers, "answers", WorkerAnswer, "answers.json"),
        systems=rows_of(systems, "systems", System, "systems.json"),
        system_answers=rows_of(systems, "answers", SystemAnswer, "systems.json"),
    )
    _check(data)
    return data


def json_file(folder: Path, name: str) -> dict[str, Any]:
    """The object that a file holds; Invalid where it cannot be read."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid(f"{name} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise Invalid(f"{name} is not an object.")
    return content


def key_of(content: dict[str, Any], key: str, name: str) -> Any:
    """Return the value of a key of the file ``name``; raise Invalid if it is missing or empty."""
    if not content.get(key):
        raise Invalid(f"{name} has no {key}.", fields={key: "Missing."})
    return content[key]


def rows_of(content: dict[str, Any], key: str, kind: type[T], name: str) -> tuple[T, ...]:
    """The rows under a key, each a ``kind``; Invalid names the row that is none."""
    rows: list[T] = []
    for number, row in enumerate(key_of(content, key, name), 1):
        try:
            rows.append(kind(**row))
        except TypeError as error:
            raise Invalid(f"{name}, {key}, row {number}: {error}", rows=[number]) from error
    return tuple(rows)


def _text(row: dict[str, Any]) -> Text:
    try:
        questions = tuple(Question(**question) for question in row["questions"])
        return Text(**{**row, "passage": tuple(row["passage"]), "questions": questions})
    except (KeyError, TypeError) as error:
        raise Invalid(f"texts.json, text {row.get('id')}: {error}") from error


def _check(data: DemoData) -> None:
    items = {question.id for text in data.texts for question in text.questions}
    refuse_duplicates("texts.json, question", (q.id for text in data.texts for q in text.questions))
    refuse_duplicates("answers.json, worker", (worker.id for worker in data.workers))
    refuse_duplicates("answers.json, answer", ((row.worker, row.item) for row in data.answers))
    refuse_duplicates(
        "systems.json, system", ((row.system, row.prompt_strategy) for row in data.systems)
    )
    refuse_duplicates(
        "systems.json, answer",
        ((row.system, row.prompt_strategy, row.item) for row in data.system_answers),
    )
    for worker in data.workers:
        if worker.kind not in KINDS or not PSEUDONYM.fullmatch(worker.id):
            raise Invalid(f"answers.json, worker {worker.id}: unknown kind or form of name.")
    planted = [(worker.id, worker.planted) for worker in data.workers]
    planted += [(row.system, row.planted) for row in data.systems]
    for name, quality in planted:
        if not 0 <= quality <= 1:
            raise Invalid(f"{name}: planted is {quality}, not between 0 and 1.")
    people = {worker.id for worker in data.workers}
    combos = {(row.system, row.prompt_strategy) for row in data.systems}
    for answer in data.answers:
        _answer(f"answers.json, {answer.worker}, {answer.item}", answer, items)
        if answer.worker not in people:
            raise Invalid(f"answers.json: {answer.worker} is not among the workers.")
    for row in data.system_answers:
        _answer(f"systems.json, {row.system}, {row.item}", row, items)
        if (row.system, row.prompt_strategy) not in combos:
            raise Invalid(f"systems.json: {row.system}, {row.prompt_strategy} is not listed.")


def _answer(where: str, row: WorkerAnswer | SystemAnswer, items: set[str]) -> None:
    if row.item not in items:
        raise Invalid(f"{where}: no question has this id.")
    if not isinstance(row.grade, int) or not 0 <= row.grade <= TOP_GRADE:
        raise Invalid(f"{where}: the grade is not a whole number from 0 to {TOP_GRADE}.")
    if not row.text or row.text != row.text.strip():
        raise Invalid(f"{where}: the text is empty or has space around it.")


def refuse_duplicates(what: str, keys: Iterable[object]) -> None:
    """Raise Invalid where a key comes twice."""
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise Invalid(f"{what} {key} stands there twice.")
        seen.add(key)
