"""CrowdRAG's responses, passages and writers' questionnaires read into arrays.

A citation number in a text counts passages from 0: the numbers run from 0 to 19 in both origins,
and statements share far more words with the passage of that place than with its neighbours
(``shared_words`` measures it).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annotation.task_types.writing.citations import parse
from crowdqc.errors import Invalid
from evaluation.methods.core.base import FloatArray
from evaluation.methods.text.corpus import words
from evaluation.methods.writing.method import Responses
from evaluation.methods.writing.statements import cut
from evaluation.published.reproduce.columns import columns, numbers
from evaluation.published.reproduce.crowdrag.data import ORIGINS, STYLES

RESPONSES, PASSAGES = "responses.jsonl.gz", "study1_retrieval.jsonl.gz"
SURVEYS, LOGS = "study1_tasks_surveys.jsonl.gz", "writing_log_summary.csv"
ASKED = (
    "worker_knowledge",
    "worker_expertise",
    "worker_satisfaction",
    "references_quality",
    "references_extra",
    "references_omission",
)
# The published reading of a mark: whatever stands in brackets, and all whole numbers in it.
BRACKETS, NUMBER = re.compile(r"\[[^\]]+\]"), re.compile(r"\d+")


@dataclass(frozen=True, eq=False)
class Writing:
    """What section 4 and the questionnaires of section 3.1.4 are computed from.

    ``data`` reads marks as the project does, ``as_published`` as the published code does.
    ``documents`` are the ids of every topic's passages. ``surveys`` maps a question to its answers
    (n,), NaN where there is none; ``writers`` name who wrote each human response; ``active`` are
    the seconds that each was written at, with pauses cut at a minute.
    """

    data: Responses
    as_published: Responses
    documents: tuple[tuple[str, ...], ...]
    surveys: dict[str, FloatArray]
    writers: tuple[str, ...]
    active: FloatArray


def load(folder: Path) -> Writing:
    """Read all files. Raises Invalid, naming the file and the line or column."""
    retrieved = {
        row["topic"]: row
        for row in lines(folder, PASSAGES, ("topic", "references_ids", "references_texts"))
    }
    topics = sorted(retrieved)
    rows = lines(folder, RESPONSES, ("response", "topic", "style", "origin", "text"))
    for line, row in enumerate(rows, start=1):
        for column, allowed in (("topic", topics), ("style", STYLES), ("origin", ORIGINS)):
            if row[column] not in allowed:
                raise Invalid(
                    f"{RESPONSES}, line {line}: {column} is {row[column]!r}.", rows=[line]
                )
    passages = [retrieved[topic]["references_texts"] for topic in topics]
    marks = [[(mark.start, mark.end, mark.numbers) for mark in parse(row["text"])] for row in rows]
    surveys = lines(folder, SURVEYS, ("worker", *ASKED))
    log = columns(folder, "crowdrag", LOGS, ("active_seconds_gapcap60",))
    return Writing(
        data=_responses(rows, marks, topics, passages),
        as_published=_responses(rows, [_lenient(row["text"]) for row in rows], topics, passages),
        documents=tuple(tuple(retrieved[topic]["references_ids"]) for topic in topics),
        surveys={name: _answers(surveys, name) for name in ASKED},
        writers=tuple(row["worker"] for row in surveys),
        active=numbers(LOGS, "active_seconds_gapcap60", log["active_seconds_gapcap60"]),
    )


def lines(folder: Path, name: str, needed: Sequence[str]) -> list[dict[str, Any]]:
    """Objects of a gzipped JSON Lines file with all ``needed`` keys. Raises Invalid."""
    places = [
        folder / "crowdrag" / name,
        folder / "crowdrag" / "raw" / name,
        folder / name,
        folder / "raw" / name,
    ]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise Invalid(f"There is no {name} in {folder}.", fields={"data": "no file"})
    found: list[dict[str, Any]] = []
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        for number, line in enumerate(handle, start=1):
            try:
                row = json.loads(line)
            except ValueError as problem:
                raise Invalid(f"{name}, line {number} is no JSON.", rows=[number]) from problem
            missing = [key for key in needed if key not in row]
            if missing:
                raise Invalid(f"{name}, line {number}: no {missing[0]}.", rows=[number])
            found.append(row)
    if not found:
        raise Invalid(f"{name} has no rows.", fields={"data": "empty"})
    return found


Marks = list[tuple[int, int, tuple[int, ...]]]


def _lenient(text: str) -> Marks:
    return [
        (mark.start(), mark.end(), tuple(int(one) for one in NUMBER.findall(mark.group())))
        for mark in BRACKETS.finditer(text)
        if NUMBER.search(mark.group())
    ]


def _responses(
    rows: list[dict[str, Any]], marks: list[Marks], topics: list[str], passages: list[list[str]]
) -> Responses:
    place = {topic: k for k, topic in enumerate(topics)}
    cited = np.array(
        [
            (k, start, end, number)
            for k, some in enumerate(marks)
            for start, end, listed in some
            for number in listed
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    return Responses.build(
        [ORIGINS.index(row["origin"]) for row in rows],
        [STYLES.index(row["style"]) for row in rows],
        [place[row["topic"]] for row in rows],
        [row["text"] for row in rows],
        response=cited[:, 0],
        start=cited[:, 1],
        end=cited[:, 2],
        rank=cited[:, 3],
        passages=passages,
        groups=ORIGINS,
        styles=STYLES,
        topics=topics,
    )


def _answers(rows: list[dict[str, Any]], name: str) -> FloatArray:
    try:
        return np.array([np.nan if row[name] is None else float(row[name]) for row in rows])
    except (TypeError, ValueError) as problem:
        raise Invalid(f"{SURVEYS}: {name} holds something that is no number.") from problem


def shared_words(data: Responses, shifts: Sequence[int]) -> FloatArray:
    """Share of a statement's words that the passage some places on has (shifts, groups).

    The mean over all citations of a passage that has such a neighbour.
    """
    statements = cut(data)
    own = [set(words(text)) for text in statements.texts]
    theirs = [[set(words(text)) for text in some] for some in data.passages]
    total, count = np.zeros((2, len(shifts), len(data.groups)))
    for statement, rank in statements.pairs.tolist():
        response = int(statements.response[statement])
        passages, said = theirs[int(data.topic[response])], own[statement]
        for k, place in enumerate(rank + shift for shift in shifts):
            if said and 0 <= place < len(passages):
                total[k, data.group[response]] += len(said & passages[place]) / len(said)
                count[k, data.group[response]] += 1
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
