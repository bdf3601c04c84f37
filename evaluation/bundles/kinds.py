"""What a bundle holds of each kind of run, and how the method is run again from it alone.

A kind packs a run's frozen answers into files and, without any database, turns such files back
into the rows and figures that the run wrote.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from django.db import models

from annotation.models import Item, Membership, System
from annotation.work.snapshots import answers
from annotation.work.snapshots.answers import AnswerText
from annotation.work.snapshots.judgments import AskedDimension, ItemRow, Judgment, TextRow
from crowdqc.errors import Conflict
from evaluation.embeddings import vectors
from evaluation.embeddings.embeddings import get_encoder, text_hash
from evaluation.free_text import run as text_runs
from evaluation.methods.core.base import Hooks
from evaluation.models import Run, Snapshot
from evaluation.pairwise import dataset as judged
from evaluation.pairwise import results as pair_results
from evaluation.pairwise import run as pair_runs
from evaluation.runs.freezing import snapshots
from evaluation.runs.results import rows as results

Row = dict[str, Any]
Rows = Mapping[type[models.Model], Sequence[Row]]
ANSWERS, TEXTS, ITEMS = "data/answers.jsonl", "data/texts.jsonl", "data/items.jsonl"
VECTORS, SOURCES, ASKED = "data/vectors.npy", "data/sources.json", "data/asked.json"


class Broken(Exception):
    """A bundle that cannot be run again; the message says why."""


@dataclass(frozen=True)
class Again:
    """What running again gave: rows by model, figures by name, and the hash of the data."""

    rows: Rows
    told: Row
    data_hash: str


class Kind(Protocol):
    """How runs of one method are packed and run again."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        """The files under data/, by name."""
        ...

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        """Run the method on them. Raises Broken."""
        ...


def json_bytes(value: Any) -> bytes:
    """A value as a small JSON document."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def jsonl(rows: Iterable[Any]) -> bytes:
    """A JSON value a line."""
    return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows).encode()


def read_jsonl(content: bytes) -> list[Any]:
    """The values of such a file."""
    return [json.loads(line) for line in content.decode().splitlines()]


def as_run(recipe: Row, data_hash: str) -> Run:
    """The run that a recipe describes, as a row that no database has."""
    snapshot = Snapshot(content_hash=data_hash, counts=recipe["counts"])
    return Run(
        method=recipe["method"],
        version=recipe["version"],
        params=recipe["params"],
        seed=recipe["seed"],
        snapshot=snapshot,
    )


class OfTexts:
    """AQER: answers with their texts, and the vectors that the run saw."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = _snapshot(run)
        frozen = snapshots.load(snapshot)  # refuses what was erased or changed since
        found = answers.texts_of(snapshot.answer_ids)
        declined = answers.declined(snapshot.answer_ids)
        rows = [found[pk] for pk in snapshot.answer_ids]
        yield (
            ANSWERS,
            jsonl({**row._asdict(), "declined": row.answer_id in declined} for row in rows),
        )
        yield TEXTS, jsonl(map(text_hash, frozen.texts))
        handle = io.BytesIO()
        np.save(handle, _vectors(run, frozen.texts), allow_pickle=False)
        yield VECTORS, handle.getvalue()

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        stored = read_jsonl(files[ANSWERS])
        declined = {row["answer_id"] for row in stored if row.pop("declined")}
        rows = [
            AnswerText(**{**row, "answered_at": dt.datetime.fromisoformat(row["answered_at"])})
            for row in stored
        ]
        frozen = snapshots.to_arrays(rows)
        hashes = read_jsonl(files[TEXTS])
        place = {key: at for at, key in enumerate(hashes)}
        matrix = np.load(io.BytesIO(files[VECTORS]), allow_pickle=False)
        wanted = [place.get(text_hash(text)) for text in frozen.texts]
        if None in wanted or len(matrix) != len(hashes):
            lost = frozen.texts[wanted.index(None)] if None in wanted else ""
            raise Broken(f"There is no vector of an answer: “{lost[:60]}” is not what was encoded.")
        used = matrix[[at for at in wanted if at is not None]]
        data_hash = snapshots.content_hash(rows)
        run = as_run(recipe, data_hash)
        done = results.Computed(
            _snapshot(run), frozen, recipe["encoder"], text_runs.fit(run, frozen, used, hooks)
        )
        return Again(*results.content(run, done, declined), data_hash)


class OfJudgments:
    """Pairs and ratings: judgments with how each was shown, items, and whose texts they are."""

    def __init__(self, *, rated: bool = False) -> None:
        self.rated = rated

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = _snapshot(run)
        read = judged.reload_judgments(snapshot)  # refuses what was erased or changed since
        texts, names = judged.texts_of(snapshot.task)
        used = {row.item_id for row in read.rows}
        yield (
            ANSWERS,
            jsonl({**row._asdict(), "votes": read.votes[row.answer_id]} for row in read.rows),
        )
        # All items: the first one that named a pair stands for it, judged or not.
        yield (
            ITEMS,
            jsonl({**row._asdict(), "judged": row.item_id in used} for row in read.items.values()),
        )
        yield TEXTS, jsonl(row._asdict() for row in texts)
        yield SOURCES, json_bytes({str(pk): name for pk, name in names.items()})
        yield (
            ASKED,
            json_bytes(
                [
                    {
                        "name": one.name,
                        "label": one.label,
                        "neutral": one.neutral,
                        "points": one.points,
                    }
                    for one in read.asked
                ]
            ),
        )

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        read = _read(files)
        texts = [TextRow(**row) for row in read_jsonl(files[TEXTS])]
        names = {int(pk): name for pk, name in json.loads(files[SOURCES]).items()}
        run = as_run(recipe, read.hash)
        frozen: judged.PairsDataset | judged.RatingsDataset
        if self.rated:
            frozen = judged.arranged_ratings(read, texts, names)
        else:
            frozen = judged.to_arrays(read, texts, names)
        done = pair_runs.fit(run, frozen, hooks)
        return Again(*pair_results.content(run, frozen, done.result, done.more), read.hash)


def _read(files: Mapping[str, bytes]) -> judged.SnapshotParts:
    rows, votes = [], {}
    for row in read_jsonl(files[ANSWERS]):
        votes[row["answer_id"]] = row.pop("votes")
        at = dt.datetime.fromisoformat(row["answered_at"])
        rows.append(Judgment(**{**row, "answered_at": at}))
    items = {}
    for row in read_jsonl(files[ITEMS]):
        row.pop("judged")
        items[row["item_id"]] = ItemRow(**row)
    asked = [
        AskedDimension(one["name"], one["label"], one["neutral"], tuple(one["points"]))
        for one in json.loads(files[ASKED])
    ]
    keys = {pk: f"{row.key}@{row.since}" for pk, row in items.items()}
    return judged.SnapshotParts(rows, votes, items, keys, asked)


def _snapshot(run: Run) -> Snapshot:
    if run.snapshot is None:
        raise Conflict(f"Run {run.number} has no frozen answers, so it cannot be bundled.")
    return run.snapshot


def _vectors(run: Run, texts: Sequence[str]) -> Any:
    """The vectors of the run: those that are kept, or made again by what is fitted to its texts."""
    told = run.figures.filter(name="recipe").values_list("data", flat=True).first() or {}
    kept = vectors.stored_vectors(str(told.get("encoder", "")), texts)
    if kept is not None:
        return kept
    slug = run.params["encoder"]
    if not slug.startswith(("endpoint:", "path:")):
        encoder = get_encoder(slug)
        if not encoder.cacheable:
            return encoder.encode(texts)
    raise Conflict(
        f"The vectors of run {run.number} are not kept any more, so it cannot be bundled."
    )


def names_of(run: Run) -> bytes:
    """What the numbers of the results stand for: pseudonyms, systems' names, ids of questions."""
    people = Membership.objects.filter(answers__item__task=run.task_id).distinct()
    systems = System.objects.filter(project=run.project_id)
    items = Item.objects.filter(task=run.task_id)
    return json_bytes(
        {
            "workers": {str(pk): name for pk, name in people.values_list("pk", "pseudonym")},
            "systems": {str(one.pk): str(one) for one in systems},
            "items": {str(pk): key for pk, key in items.values_list("pk", "key")},
        }
    )


KINDS: dict[str, Kind] = {
    "aqer": OfTexts(),
    "pairwise": OfJudgments(),
    "ratings": OfJudgments(rated=True),
}
