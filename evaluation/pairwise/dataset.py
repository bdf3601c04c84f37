"""The road from collected judgments to methods: frozen rows, a content hash, index arrays.

The same as ``snapshots`` does for texts, for pairs and ratings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext

from annotation.models import Task
from annotation.work.snapshots import judgments as collected
from annotation.work.snapshots.judgments import AskedDimension, ItemRow, Judgment, TextRow
from crowdqc.errors import Conflict
from evaluation.methods.core.base import IntArray
from evaluation.methods.core.kinds import Column, columns_of
from evaluation.methods.pairwise.judgments import (
    MISSING,
    SIDES,
    Judgments,
    ShownVotes,
)
from evaluation.methods.rescaling.ratings import Ratings
from evaluation.methods.text.style import STYLE, style_counts
from evaluation.models import Snapshot
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot

Votes = dict[int, dict[str, int]]  # answer -> dimension -> ordinal, as stored
Counts = Mapping[int, Sequence[int]]  # candidate -> what is counted in its text, as STYLE names it
Metadata = Mapping[int, Mapping[str, str]]  # item -> column -> value


def _order(row: Judgment, keys: Mapping[int, str]) -> tuple[Any, ...]:
    """People before systems, then author, then the time at which they saw it."""
    author = row.system_id if row.worker_id is None else row.worker_id
    return (
        row.worker_id is None,
        author,
        row.answered_at,
        row.position or 0,
        keys[row.item_id],
        row.replicate,
        row.answer_id,
    )


def _votes(task: Task, answer_ids: Iterable[int]) -> Votes:
    found: Votes = {pk: {} for pk in answer_ids}
    for answer, field, ordinal in collected.choice_values(task):
        if answer in found and ordinal is not None:
            found[answer][field] = ordinal
    return found


def _content_hash(
    rows: Sequence[Judgment], votes: Votes, keys: Mapping[int, str], names: Sequence[str]
) -> str:
    """SHA-256 over item, author, how it was shown and every value of each row, in order."""
    digest = hashlib.sha256()
    digest.update(json.dumps(list(names)).encode())
    for row in rows:
        line = [
            keys[row.item_id],
            row.worker_id,
            row.system_id,
            row.replicate,
            int(row.flipped) if row.sides_known else None,
            row.position,
            [votes[row.answer_id].get(name) for name in names],
        ]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class SnapshotParts:
    """Everything that a snapshot is made of."""

    rows: list[Judgment]
    votes: Votes
    items: dict[int, ItemRow]
    keys: dict[int, str]
    asked: list[AskedDimension]

    @property
    def hash(self) -> str:
        """Return the hash over pairs, votes and dimensions that names the snapshot."""
        return _content_hash(self.rows, self.votes, self.keys, [one.name for one in self.asked])


def _read(task: Task, headers: list[Judgment]) -> SnapshotParts:
    if task.current is None:
        raise Conflict(gettext("The task was never published."))
    items = {row.item_id: row for row in collected.items(task)}
    keys = {pk: row.print for pk, row in items.items()}
    rows = sorted((row for row in headers if row.item_id in items), key=lambda r: _order(r, keys))
    votes = _votes(task, [row.answer_id for row in rows])
    return SnapshotParts(rows, votes, items, keys, collected.version_items(task.current))


def freeze_judgments(task: Task) -> Snapshot:
    """Freeze the counting judgments of a task; the same content returns the same snapshot.

    Raises Conflict when no judgment of a person counts.
    """
    found = collected.sorted_out(task)
    read = _read(task, found.rows)
    people = [row for row in read.rows if row.worker_id is not None]
    if not people:
        raise Conflict(gettext("No judgment counts yet, so there is nothing to rank."))
    ids = [row.answer_id for row in read.rows]
    counts = {
        "came": found.came,
        "answers": len(people),
        "workers": len({row.worker_id for row in people}),
        "questions": len({_pair(read.items[row.item_id]) for row in people}),
        "system_answers": len(read.rows) - len(people),
        "systems": len({row.system_id for row in read.rows if row.worker_id is None}),
        "counting": len(read.rows),
        "max_id": max(ids),
        "left_out": {
            **dict.fromkeys(("uncounted", "excluded", "other_fields"), 0),
            **found.left_out,
        },
    }
    return keep_snapshot(task, read.hash, ids, counts)


def _pair(row: ItemRow) -> tuple[int, int | None]:
    return row.first_id, row.second_id


@dataclass(frozen=True, eq=False)
class PairsDataset:
    """A snapshot of a pairwise task as arrays, and what its indices stand for.

    ``workers``, ``machines`` (systems that judge), ``sources`` (systems that wrote), ``candidates``
    and ``pair_items`` (the item that stands for a pair: the first one that named it) are ids;
    ``answer_ids`` and ``machine_answer_ids`` are aligned with the rows of the two vote arrays.
    """

    data: Judgments
    answer_ids: tuple[int, ...]
    machine_answer_ids: tuple[int, ...]
    workers: tuple[int, ...]
    machines: tuple[int, ...]
    sources: tuple[int, ...]
    candidates: tuple[int, ...]
    texts: tuple[TextRow, ...]
    pair_items: tuple[int, ...]
    asked: tuple[AskedDimension, ...]
    # The names of the groups of sources, by grouping.
    groups: dict[str, tuple[str, ...]]

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.asked)


@dataclass(frozen=True, eq=False)
class RatingsDataset:
    """A snapshot of a rating task as arrays, and what its indices stand for, as FrozenPairs."""

    data: Ratings
    answer_ids: tuple[int, ...]
    workers: tuple[int, ...]
    sources: tuple[int, ...]
    candidates: tuple[int, ...]
    asked: tuple[AskedDimension, ...]

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.asked)


def load(snapshot: Snapshot, *, counted: bool = False) -> PairsDataset:
    """The frozen judgments as arrays; ``counted``: with counts of the texts and kinds of pairs.

    Raises Conflict when they are no longer what was frozen (erased, or taken out meanwhile).
    """
    read, (texts, names) = reload_judgments(snapshot), texts_of(snapshot.task)
    if not counted:
        return to_arrays(read, texts, names)
    known = collected.item_metadata(snapshot.task)
    return to_arrays(read, texts, names, counts=counts_of(texts), metadata=known)


def counts_of(texts: Sequence[TextRow]) -> dict[int, tuple[int, ...]]:
    """Count the words and style marks of each text, by candidate.

    Texts without words are left out.
    """
    ids = [row.candidate_id for row in texts]
    found: dict[int, tuple[int, ...]] = {}
    for at in range(0, len(ids), collected.CHUNK):
        for pk, text in collected.candidate_texts(ids[at : at + collected.CHUNK]).items():
            if text.strip():
                found[pk] = style_counts(text)
    return found


def load_rated(snapshot: Snapshot) -> RatingsDataset:
    """The frozen ratings of people as arrays; raises Conflict as ``load`` does."""
    known = collected.item_metadata(snapshot.task)
    return arranged_ratings(reload_judgments(snapshot), *texts_of(snapshot.task), metadata=known)


def texts_of(task: Task) -> tuple[list[TextRow], dict[int, str]]:
    """The texts under judgment, and the names of their sources."""
    texts = collected.texts(task)
    return texts, collected.system_names(sorted({row.system_id for row in texts}))


def arranged_ratings(
    read: SnapshotParts,
    known: Sequence[TextRow],
    names: Mapping[int, str],
    *,
    metadata: Metadata | None = None,
) -> RatingsDataset:
    """Convert rows of ratings to arrays, with their texts, sources and metadata."""
    people = [row for row in read.rows if row.worker_id is not None]
    texts = {row.candidate_id: row for row in known}
    used = sorted({read.items[row.item_id].first_id for row in people})
    workers = sorted({row.worker_id for row in people if row.worker_id is not None})
    sources = sorted({texts[pk].system_id for pk in used})
    topics = sorted({texts[pk].topic for pk in used})
    place = {pk: k for k, pk in enumerate(used)}
    value = np.full((len(people), len(read.asked)), np.nan)
    for at, row in enumerate(people):
        for k, one in enumerate(read.asked):
            value[at, k] = read.votes[row.answer_id].get(one.name, np.nan) / one.factor
    data = Ratings.build(
        [workers.index(row.worker_id) for row in people if row.worker_id is not None],
        [place[read.items[row.item_id].first_id] for row in people],
        value,
        system=[sources.index(texts[pk].system_id) for pk in used],
        topic=[topics.index(texts[pk].topic) for pk in used],
        workers=[str(pk) for pk in workers],
        texts=[texts[pk].key for pk in used],
        systems=[names[pk] for pk in sources],
        scales=[one.name for one in read.asked],
        columns=_columns(metadata, _items_of(read, used), [texts[pk].topic for pk in used]),
        points=[[point / one.factor for point in one.points] for one in read.asked],
    )
    return RatingsDataset(
        data,
        tuple(row.answer_id for row in people),
        tuple(workers),
        tuple(sources),
        tuple(used),
        tuple(read.asked),
    )


def _items_of(read: SnapshotParts, texts: Sequence[int]) -> list[int]:
    """The first item that put each text to judgment."""
    first: dict[int, int] = {}
    for item in sorted(read.items.values()):
        first.setdefault(item.first_id, item.item_id)
    return [first[pk] for pk in texts]


def reload_judgments(snapshot: Snapshot) -> SnapshotParts:
    """Read the judgments of a snapshot again; Conflict if they changed."""
    task = snapshot.task
    read = _read(task, collected.of_answers(task, snapshot.answer_ids))
    if not is_unchanged(snapshot, read.hash):
        raise Conflict(
            gettext(
                "The judgments of snapshot %(content_hash)s (or their topics’ categories) "
                "are no longer what they were when it was taken; start a new run."
            )
            % {"content_hash": snapshot.content_hash[:8]}
        )
    return read


def judged(task: Task, answer_ids: Collection[int]) -> PairsDataset:
    """The judgments with these ids as arrays, whether or not they count."""
    return to_arrays(_read(task, collected.of_answers(task, answer_ids)), *texts_of(task))


def rated(task: Task, answer_ids: Collection[int]) -> RatingsDataset:
    """The ratings of people with these ids as arrays, whether or not they count."""
    return arranged_ratings(_read(task, collected.of_answers(task, answer_ids)), *texts_of(task))


def current_judgments(task: Task) -> PairsDataset:
    """The judgments that would be frozen now, nothing stored (previews)."""
    return to_arrays(_read(task, collected.counting_judgments(task)), *texts_of(task))


def to_arrays(
    read: SnapshotParts,
    known: Sequence[TextRow],
    names: Mapping[int, str],
    *,
    counts: Counts | None = None,
    metadata: Metadata | None = None,
) -> PairsDataset:
    """Convert rows of judgments to arrays, with texts, sources, counts and metadata."""
    pairs: dict[tuple[int, int | None], int] = {}  # pair -> the item that stands for it
    for item in sorted(read.items.values()):
        pairs.setdefault(_pair(item), item.item_id)
    used = {_pair(read.items[row.item_id]) for row in read.rows}
    order = sorted(used, key=lambda pair: pairs[pair])
    place = {pair: at for at, pair in enumerate(order)}
    texts = {row.candidate_id: row for row in known}
    shown = [texts[pk] for pk in sorted({pk for pair in order for pk in pair if pk is not None})]
    topics = sorted({row.topic for row in shown})
    sources = sorted({row.system_id for row in shown})
    people = [row for row in read.rows if row.worker_id is not None]
    machine = [row for row in read.rows if row.worker_id is None]
    workers = sorted({row.worker_id for row in people if row.worker_id is not None})
    machines = sorted({row.system_id for row in machine if row.system_id is not None})
    at = {row.candidate_id: k for k, row in enumerate(shown)}
    ids = [pairs[pair] for pair in order]

    def votes(rows: Sequence[Judgment], authors: Sequence[int]) -> ShownVotes:
        return _shown(read, rows, authors, place, [str(pk) for pk in ids])

    grouped = _groups(shown, sources)
    data = Judgments.build(
        votes(people, workers),
        [at[first] for first, _ in order],
        [at[second] for _, second in order if second],
        topic=[topics.index(row.topic) for row in shown],
        system=[sources.index(row.system_id) for row in shown],
        candidates=[row.key for row in shown],
        topics=topics,
        systems=[names[pk] for pk in sources],
        forced=np.array([not one.neutral for one in read.asked]),
        machine=votes(machine, machines) if machine else None,
        groups={name: found for name, (_, found) in grouped.items()},
        counts=_by_name(counts or {}, [row.candidate_id for row in shown]),
        columns=_columns(metadata, ids, [texts[first].topic for first, _ in order]),
    )
    return PairsDataset(
        data=data,
        answer_ids=tuple(row.answer_id for row in people),
        machine_answer_ids=tuple(row.answer_id for row in machine),
        workers=tuple(workers),
        machines=tuple(machines),
        sources=tuple(sources),
        candidates=tuple(row.candidate_id for row in shown),
        texts=tuple(shown),
        pair_items=tuple(ids),
        asked=tuple(read.asked),
        groups={name: found for name, (found, _) in grouped.items()},
    )


def _columns(
    metadata: Metadata | None, items: Sequence[int], topics: Sequence[str]
) -> dict[str, Column]:
    """Return the columns that split pairs or texts into kinds; none where not asked for."""
    if metadata is None:
        return {}
    return columns_of([metadata.get(item, {}) for item in items], topics)


def _by_name(counts: Counts, shown: Sequence[int]) -> dict[str, list[int]]:
    """The counts of the texts ``shown`` by name; none where one of them is not known."""
    if not all(pk in counts for pk in shown):
        return {}
    return {name: [counts[pk][k] for pk in shown] for k, name in enumerate(STYLE)}


def _groups(
    texts: Sequence[TextRow], sources: Sequence[int]
) -> dict[str, tuple[tuple[str, ...], IntArray]]:
    """The groupings of sources by name, as ``_grouped`` gives each."""
    return {
        name: _grouped(texts, sources, [getattr(row, name) for row in texts])
        for name in ("origin", "style")
    }


def _grouped(
    texts: Sequence[TextRow], sources: Sequence[int], names: Sequence[str]
) -> tuple[tuple[str, ...], IntArray]:
    """The groups by name, and which one each source belongs to (-1: none, or several)."""
    found: dict[int, set[str]] = {}
    for row, name in zip(texts, names, strict=True):
        found.setdefault(row.system_id, set()).add(name)
    known = tuple(sorted({name for own in found.values() for name in own if len(own) == 1} - {""}))
    of = {pk: next(iter(own)) for pk, own in found.items() if len(own) == 1}
    return known, np.array([known.index(of[pk]) if of.get(pk) else -1 for pk in sources])


def _shown(
    read: SnapshotParts,
    rows: Sequence[Judgment],
    authors: Sequence[int],
    place: Mapping[tuple[int, int | None], int],
    pairs: Sequence[str],
) -> ShownVotes:
    """Votes as displayed, in the order in which each author gave them."""
    number = {author: k for k, author in enumerate(authors)}
    who = np.array([number[r.worker_id if r.worker_id is not None else r.system_id] for r in rows])  # type: ignore[index]
    flipped = np.array([row.flipped for row in rows], dtype=bool)
    vote = np.full((len(rows), len(read.asked)), MISSING, dtype=np.int64)
    for at, row in enumerate(rows):
        given = read.votes[row.answer_id]
        for k, one in enumerate(read.asked):
            if one.name in given:
                vote[at, k] = given[one.name] + 1  # -1, 0, 1 -> first, neutral, second
    known = {
        "sides_known": np.array([row.sides_known for row in rows], dtype=bool),
        "order_known": np.array([row.position is not None for row in rows], dtype=bool),
    }
    stored = ShownVotes.build(
        who,
        np.array([place[_pair(read.items[row.item_id])] for row in rows]),
        flipped,
        _positions(who),
        vote,
        workers=[str(author) for author in authors],
        pairs=pairs,
        dimensions=[one.name for one in read.asked],
        labels=SIDES,
    )
    # Turning what is stored gives what was displayed: the same mirror, in the one place for it.
    return ShownVotes.build(
        stored.worker,
        stored.pair,
        flipped,
        stored.position,
        stored.canonical(),
        workers=stored.workers,
        pairs=pairs,
        dimensions=stored.dimensions,
        labels=SIDES,
        **known,
    )


def _positions(author: IntArray) -> IntArray:
    """Number each author's rows (n,) from 1, in their order."""
    order = np.argsort(author, kind="stable")
    first = np.r_[0, np.flatnonzero(np.diff(author[order])) + 1]
    starts = np.repeat(first, np.diff(np.r_[first, len(order)]))
    out = np.empty(len(order), dtype=np.int64)
    out[order] = np.arange(len(order)) - starts + 1
    return out
