"""The road from collected responses to methods: frozen rows, a content hash, index arrays.

The same as ``snapshots`` does for texts. What is described of a response depends on its passages,
on its forms and on what its log says, so all of them are part of the hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.task_types.writing.citations import parse
from annotation.work.snapshots import judgments as collected
from annotation.work.snapshots import responses as collected_texts
from annotation.work.snapshots.responses import Header, LogSize, Topic, TopicItem
from crowdqc.errors import Conflict
from evaluation.methods.writing.method import Responses
from evaluation.models import Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot

PEOPLE, MODELS = "people", "models"


@dataclass(frozen=True, eq=False)
class ResponsesParts:
    """Everything that a snapshot is made of, in the order of its rows."""

    rows: list[Header]
    texts: dict[int, str]
    asked: dict[int, TopicItem]
    topics: dict[int, Topic]
    forms: dict[int, dict[str, int]]
    logs: dict[int, LogSize]

    @property
    def hash(self) -> str:
        """SHA-256 over the passages of every topic, then over every row."""
        digest = hashlib.sha256()
        for topic in _topics(self):
            digest.update(_line([topic.key, *map(_short, (*topic.passages, *topic.titles))]))
        for row in self.rows:
            item, log = self.asked[row.item_id], self.logs.get(row.assignment_id or 0)
            digest.update(
                _line(
                    [
                        f"{item.key}@{item.since}",
                        item.style,
                        self.topics[item.topic_id].key,
                        item.query,
                        row.worker_id,
                        row.system_id,
                        row.replicate,
                        row.first_number,
                        _short(self.texts[row.answer_id]),
                        sorted(self.forms.get(row.answer_id, {}).items()),
                        [log.streams, log.events, log.bytes] if log else None,
                    ]
                )
            )
        return digest.hexdigest()


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _line(values: Sequence[Any]) -> bytes:
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _order(row: Header, asked: Mapping[int, TopicItem]) -> tuple[Any, ...]:
    """People before systems, then author, item, and the time at which they wrote."""
    author = row.system_id if row.worker_id is None else row.worker_id
    item = asked[row.item_id]
    return (
        row.worker_id is None,
        author,
        item.key,
        item.since,
        row.replicate,
        row.answered_at,
        row.answer_id,
    )


def _read(task: Task, answer_ids: Iterable[int]) -> ResponsesParts:
    ids = list(answer_ids)
    asked, texts = collected_texts.items_by_id(task), collected_texts.texts(ids)
    rows = [row for row in collected_texts.headers(ids) if row.answer_id in texts]
    rows.sort(key=lambda row: _order(row, asked))
    used = {asked[row.item_id].topic_id for row in rows}
    assignments = {row.assignment_id for row in rows if row.assignment_id is not None}
    return ResponsesParts(
        rows,
        texts,
        asked,
        collected_texts.topics(used),
        collected_texts.forms(ids),
        collected_texts.log_sizes(sorted(assignments)),
    )


def freeze_responses(task: Task) -> Snapshot:
    """Freeze the counting responses of a task; the same content returns the same snapshot.

    Responses of excluded workers are left out. Raises Conflict when no response counts.
    """
    read = _read(task, (row.answer_id for row in collected.counting_judgments(task)))
    if not read.rows:
        raise Conflict(_("No response counts yet, so there is nothing to describe."))
    ids = [row.answer_id for row in read.rows]
    people = [row for row in read.rows if row.worker_id is not None]
    counts = {
        "answers": len(people),
        "workers": len({row.worker_id for row in people}),
        "questions": len(read.topics),
        "system_answers": len(read.rows) - len(people),
        "systems": len({row.system_id for row in read.rows if row.worker_id is None}),
        "logs": sum(row.assignment_id in read.logs for row in people),
        "counting": len(read.rows),
        "max_id": max(ids),
        "left_out": collected.count_left_out(task),
    }
    return keep_snapshot(task, read.hash, ids, counts)


@dataclass(frozen=True, eq=False)
class ResponsesDataset:
    """A snapshot of a writing task as arrays, and what its rows are.

    ``rows`` are aligned with ``data``, ``titles`` with its passages, ``queries`` with its topics;
    ``forms`` hold the points that each writer chose; ``logged`` are the assignments whose log is
    kept.
    """

    data: Responses
    titles: tuple[tuple[str, ...], ...]
    queries: tuple[str, ...]
    rows: tuple[Header, ...]
    forms: tuple[Mapping[str, int], ...]
    logged: frozenset[int]

    @property
    def people(self) -> list[int]:
        """Indices of the responses that people wrote."""
        return [at for at, row in enumerate(self.rows) if row.worker_id is not None]


def load(snapshot: Snapshot) -> ResponsesDataset:
    """The frozen responses as arrays; raises as ``reload_responses``."""
    read = reload_responses(snapshot)
    used = (read.asked[row.item_id].style for row in read.rows)
    return to_arrays(read, style_names(snapshot.task, used))


def reload_responses(snapshot: Snapshot) -> ResponsesParts:
    """Read the frozen responses again.

    Raises Conflict when they are no longer what was frozen (erased, or changed meanwhile).
    """
    read = _read(snapshot.task, snapshot.answer_ids)
    if not is_unchanged(snapshot, read.hash):
        raise Conflict(
            _(
                "The responses of snapshot %(content_hash)s are no longer what they were "
                "when it was taken; start a new run."
            )
            % {"content_hash": snapshot.content_hash[:8]}
        )
    return read


def to_arrays(read: ResponsesParts, styles: Sequence[str]) -> ResponsesDataset:
    """Everything as arrays, ``styles`` in their order; reads no database."""
    topics = _topics(read)
    queries = {item.topic_id: item.query for item in read.asked.values()}
    return ResponsesDataset(
        data=_arrays(read, styles),
        titles=tuple(one.titles for one in topics),
        queries=tuple(queries[one.topic_id] for one in topics),
        rows=tuple(read.rows),
        forms=tuple(read.forms.get(row.answer_id, {}) for row in read.rows),
        logged=frozenset(read.logs),
    )


def style_names(task: Task, used: Iterable[str]) -> list[str]:
    """The styles in the order of the version in force, then those of older versions."""
    settings = task.current.settings if task.current is not None else {}
    named = [str(row["name"]) for row in settings.get("styles", [])]
    there = set(used)
    return [name for name in named if name in there] + sorted(there - set(named))


def _topics(read: ResponsesParts) -> list[Topic]:
    """The topics in the order of the arrays."""
    return sorted(read.topics.values(), key=lambda one: (one.key, one.topic_id))


def _arrays(read: ResponsesParts, styles: Sequence[str]) -> Responses:
    items = [read.asked[row.item_id] for row in read.rows]
    topics = _topics(read)
    topic_at = {one.topic_id: at for at, one in enumerate(topics)}
    origin = [MODELS if row.worker_id is None else PEOPLE for row in read.rows]
    groups = [name for name in (PEOPLE, MODELS) if name in origin]
    cited = [
        (at, mark.start, mark.end, number - (1 if row.first_number is None else row.first_number))
        for at, row in enumerate(read.rows)
        for mark in parse(read.texts[row.answer_id])
        for number in mark.numbers
    ]
    columns = [list(column) for column in zip(*cited, strict=True)] or [[], [], [], []]
    return Responses.build(
        [groups.index(name) for name in origin],
        [styles.index(item.style) for item in items],
        [topic_at[item.topic_id] for item in items],
        [read.texts[row.answer_id] for row in read.rows],
        response=columns[0],
        start=columns[1],
        end=columns[2],
        rank=columns[3],
        passages=[one.passages for one in topics],
        groups=groups,
        styles=styles,
        topics=[one.key for one in topics],
    )
