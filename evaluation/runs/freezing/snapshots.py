"""The only road from collected answers to methods: frozen rows, a content hash, index arrays."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from annotation.models import Task
from annotation.work.snapshots import answers
from annotation.work.snapshots.answers import AnswerText
from crowdqc.errors import Conflict
from evaluation.embeddings.embeddings import text_hash
from evaluation.methods.core.base import IntArray, Texts, VectorRows
from evaluation.models import Snapshot


def _order(row: AnswerText) -> tuple[Any, ...]:
    """Return the sort key: question, people before systems, author; the earliest answer first."""
    author = row.system_id if row.worker_id is None else row.worker_id
    return (
        row.item_key,
        row.item_since,
        row.item_id,  # questions of two tasks may share a key
        row.worker_id is None,
        author,
        row.replicate,
        row.answered_at,
        row.answer_id,
    )


def _author(row: AnswerText) -> tuple[str, int]:
    if row.worker_id is not None:
        return "worker", row.worker_id
    return "system", row.system_id or 0


def _drop_repeats(rows: Iterable[AnswerText]) -> tuple[list[AnswerText], int]:
    """Sorted rows with one answer a worker and question, and how many repeats were left out.

    A method takes one vote a person: the earliest answer stands. Systems keep their replicates.
    """
    kept: list[AnswerText] = []
    repeated = 0
    for row in sorted(rows, key=_order):
        again = (
            kept
            and row.worker_id is not None
            and (kept[-1].worker_id, kept[-1].item_id) == (row.worker_id, row.item_id)
        )
        if again:
            repeated += 1
        else:
            kept.append(row)
    return kept, repeated


def counted_once(task: Task) -> list[AnswerText]:
    """The counting answers that a snapshot would hold, in its order; nothing is frozen."""
    return _drop_repeats(answers.counting_texts(task))[0]


def content_hash(rows: Sequence[AnswerText]) -> str:
    """SHA-256 over question, author, replicate and text hash of each row, in order."""
    digest = hashlib.sha256()
    for row in rows:
        item = f"{row.item_key}@{row.item_since}"
        line = [item, *_author(row), row.replicate, text_hash(row.text)]
        digest.update(json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def freeze_answers(
    task: Task, *, only: Collection[int] | None = None, also: Sequence[Task] = ()
) -> Snapshot:
    """Freeze the counting answers of a task; the same content returns the same snapshot.

    ``only`` these workers' answers enter, and those of all systems; with those ``also`` of other
    tasks. Raises Conflict when there is no counting answer of a worker.
    """
    found = [answers.sorted_out(one) for one in (task, *also)]
    counting = [row for one in found for row in one.rows]
    wanted = [
        row for row in counting if only is None or row.worker_id is None or row.worker_id in only
    ]
    rows, repeated = _drop_repeats(wanted)
    people = [row for row in rows if row.worker_id is not None]
    if not people:
        raise Conflict("No answer counts yet, so there is nothing to score.")
    left_out = Counter(repeated=repeated, not_on_panel=len(counting) - len(wanted), uncounted=0)
    for one in found:
        left_out.update(one.left_out)
    counts = {
        "came": sum(one.came for one in found),
        "answers": len(people),
        "workers": len({row.worker_id for row in people}),
        "questions": len({row.item_id for row in people}),
        "system_answers": len(rows) - len(people),
        "systems": len({row.system_id for row in rows if row.worker_id is None}),
        # What tells later whether anything has changed since.
        "counting": len(counting),
        "max_id": max(row.answer_id for row in counting),
        "left_out": {
            name: n for name, n in left_out.items() if n or name in ("uncounted", "repeated")
        },
    }
    return keep_snapshot(task, content_hash(rows), [row.answer_id for row in rows], counts)


_rehashed: ContextVar[dict[int, str] | None] = ContextVar("rehashed", default=None)


@contextmanager
def rehash_snapshots() -> Iterator[dict[int, str]]:
    """Collect the hash of each snapshot that is read within the block, instead of comparing it.

    Hashes are over ids of workers and items, so a moved project's snapshots have others.
    """
    found: dict[int, str] = {}
    token = _rehashed.set(found)
    try:
        yield found
    finally:
        _rehashed.reset(token)


def is_unchanged(snapshot: Snapshot, digest: str) -> bool:
    """Whether rows that were read again have the hash that their snapshot was taken with."""
    found = _rehashed.get()
    if found is None:
        return digest == snapshot.content_hash
    found[snapshot.pk] = digest
    return True


def keep_snapshot(
    task: Task, content_hash: str, answer_ids: list[int], counts: dict[str, Any]
) -> Snapshot:
    """Return the task's snapshot with this content, creating it if there is none."""
    fields = {"answer_ids": answer_ids, "counts": counts}
    snapshot, made = Snapshot.objects.get_or_create(
        task=task, content_hash=content_hash, defaults={"project_id": task.project_id, **fields}
    )
    if not made and any(getattr(snapshot, name) != value for name, value in fields.items()):
        # The same content under other ids (taken out and imported again), or others left out.
        for name, value in fields.items():
            setattr(snapshot, name, value)
        snapshot.save(update_fields=list(fields))
    return snapshot


@dataclass(frozen=True, eq=False)
class AnswersDataset:
    """A snapshot as index arrays; names were mapped once.

    ``worker``, ``question`` and ``text`` are (n,) over workers' answers and index ``workers``
    (membership ids), ``items`` (item ids) and ``texts`` (distinct, in order of appearance);
    ``system``, ``system_question`` and ``system_text`` (k,) likewise over systems' answers.
    """

    answer_ids: tuple[int, ...]
    worker: IntArray
    question: IntArray
    text: IntArray
    system_answer_ids: tuple[int, ...]
    system: IntArray
    system_question: IntArray
    system_text: IntArray
    workers: tuple[int, ...]
    systems: tuple[int, ...]
    items: tuple[int, ...]
    texts: tuple[str, ...]

    def split_by_question(self) -> tuple[AnswersDataset, IntArray]:
        """The same answers with a text for each question that it answers, and these questions.

        For vectors that mean something within one question alone.
        """
        pairs = np.concatenate(
            [
                np.stack([self.question, self.text], axis=1),
                np.stack([self.system_question, self.system_text], axis=1),
            ]
        )
        known, at = np.unique(pairs, axis=0, return_inverse=True)
        n = len(self.text)
        split = replace(
            self,
            texts=tuple(self.texts[text] for text in known[:, 1]),
            text=at.reshape(-1)[:n],
            system_text=at.reshape(-1)[n:],
        )
        return split, known[:, 0]

    def with_vectors(self, vectors: VectorRows) -> Texts:
        """The data of a text method; ``vectors`` (len(texts), width) are those of ``texts``."""
        questions = [str(item) for item in self.items]
        outside = None
        if self.system_answer_ids:
            outside = Texts.build(
                self.system,
                self.system_question,
                vectors,
                workers=[str(system) for system in self.systems],
                questions=questions,
                vector=self.system_text,
                repeats=True,
            )
        return Texts.build(
            self.worker,
            self.question,
            vectors,
            workers=[str(worker) for worker in self.workers],
            questions=questions,
            vector=self.text,
            outside=outside,
        )


def load(snapshot: Snapshot) -> AnswersDataset:
    """Load the frozen answers as arrays.

    Raises Conflict when they are no longer what was frozen (erased, or taken out meanwhile).
    """
    found = answers.texts_of(snapshot.answer_ids)
    rows = [found[pk] for pk in snapshot.answer_ids if pk in found]
    if not is_unchanged(snapshot, content_hash(rows)):
        raise Conflict(
            f"The answers of snapshot {snapshot.content_hash[:8]} are no longer what they were "
            "when it was taken; start a new run."
        )
    return to_arrays(rows)


def to_arrays(rows: Sequence[AnswerText]) -> AnswersDataset:
    """Rows in the order of a snapshot as arrays."""
    people = [row for row in rows if row.worker_id is not None]
    systems = [row for row in rows if row.worker_id is None]
    items = list(dict.fromkeys(row.item_id for row in people))
    # A question which only systems answered has nothing to be compared with.
    known = set(items)
    systems = [row for row in systems if row.item_id in known]
    texts = list(dict.fromkeys(row.text for row in [*people, *systems]))
    workers = sorted({row.worker_id for row in people if row.worker_id is not None})
    machines = sorted({row.system_id for row in systems if row.system_id is not None})
    places: dict[str, dict[Any, int]] = {
        "item": {item: at for at, item in enumerate(items)},
        "text": {text: at for at, text in enumerate(texts)},
        "worker": {worker: at for at, worker in enumerate(workers)},
        "system": {system: at for at, system in enumerate(machines)},
    }

    def column(kind: str, values: Iterable[Any]) -> IntArray:
        return np.array([places[kind][value] for value in values], dtype=np.int64)

    return AnswersDataset(
        answer_ids=tuple(row.answer_id for row in people),
        worker=column("worker", (row.worker_id for row in people)),
        question=column("item", (row.item_id for row in people)),
        text=column("text", (row.text for row in people)),
        system_answer_ids=tuple(row.answer_id for row in systems),
        system=column("system", (row.system_id for row in systems)),
        system_question=column("item", (row.item_id for row in systems)),
        system_text=column("text", (row.text for row in systems)),
        workers=tuple(workers),
        systems=tuple(machines),
        items=tuple(items),
        texts=tuple(texts),
    )
