"""What a bundle holds of each kind of run, and how the method is run again from it alone.

A kind packs a run's frozen answers into files and, without any database, turns such files back
into the rows and figures that the run wrote.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from django.db import models
from django.utils.translation import gettext as _

from annotation.models import Item, Membership, System, Task
from annotation.work.snapshots import answers
from annotation.work.snapshots import choices as chosen_fields
from annotation.work.snapshots import labels as label_fields
from annotation.work.snapshots.answers import AnswerText
from annotation.work.snapshots.choices import Choice, ChoiceField
from annotation.work.snapshots.judgments import (
    AskedDimension,
    ItemRow,
    Judgment,
    TextRow,
    item_metadata,
)
from annotation.work.snapshots.labels import LabelField, LabelVote
from annotation.work.snapshots.other_fields import OtherField, other_fields
from crowdqc.errors import Conflict
from evaluation.embeddings import vectors
from evaluation.embeddings.embeddings import get_encoder, text_hash
from evaluation.free_text import run as text_runs
from evaluation.free_text.joint import run as joint_runs
from evaluation.labels import dataset as labelled
from evaluation.labels import results as label_results
from evaluation.labels import run as label_runs
from evaluation.methods.core.base import Hooks
from evaluation.models import ItemDraw, Run, Snapshot
from evaluation.pairwise import dataset as judged
from evaluation.pairwise import results as pair_results
from evaluation.pairwise import run as pair_runs
from evaluation.replacement import dataset as replacing
from evaluation.replacement import run as replacement_runs
from evaluation.replacement import texts as writers
from evaluation.runs.freezing import snapshots
from evaluation.runs.results import rows as results

Row = dict[str, Any]
Rows = Mapping[type[models.Model], Sequence[Row]]
ANSWERS, TEXTS, ITEMS = "data/answers.jsonl", "data/texts.jsonl", "data/items.jsonl"
VECTORS, SOURCES, ASKED = "data/vectors.npy", "data/sources.json", "data/asked.json"
FIELD, OTHERS, DRAW = "data/field.json", "data/other_fields.json", "data/draw.json"
KINDS_OF = "data/kinds.json"  # what columns say of labelled items
REPEATS = "data/repeats.jsonl"  # what models said again of the same items


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


class ReadTexts(NamedTuple):
    """What a bundle of texts holds."""

    frozen: snapshots.AnswersDataset
    vectors: Any
    declined: set[int]
    data_hash: str


class OfTexts:
    """AQER: answers with their texts, and the vectors that the run saw."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        if run.params.get(text_runs.ENTAILMENT.name):
            raise Conflict(
                _("A run that begins by entailment needs its model, so it has no bundle.")
            )
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
        read = self.read(files)
        run = as_run(recipe, read.data_hash)
        done = results.Computed(
            _snapshot(run),
            read.frozen,
            recipe["encoder"],
            text_runs.fit(run, read.frozen, read.vectors, hooks),
        )
        return Again(*results.content(run, done, read.declined), read.data_hash)

    def read(self, files: Mapping[str, bytes]) -> ReadTexts:
        """The answers with the vectors of their texts. Raises Broken."""
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
        return ReadTexts(frozen, used, declined, snapshots.content_hash(rows))


class OfVoters(OfTexts):
    """People and models on one board: the same files."""

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        read = self.read(files)
        run = as_run(recipe, read.data_hash)
        found = text_runs.fit(run, read.frozen, read.vectors, hooks)
        done = results.Computed(_snapshot(run), read.frozen, recipe["encoder"], found)
        written = joint_runs.write(run, done)
        return Again(written.rows, dict(written.figures), read.data_hash)


class OfWriters(OfTexts):
    """People and models who write: the same files, and what the models are called."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        yield from super().pack(run)
        names = writers.names_of(snapshots.load(_snapshot(run)))
        yield SOURCES, json_bytes({str(pk): name for pk, name in names.items()})

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        read = self.read(files)
        names = {int(pk): name for pk, name in json.loads(files[SOURCES]).items()}
        run = as_run(recipe, read.data_hash)
        data = writers.beside(read.frozen, read.vectors, names)
        done = writers.fit(run, data, hooks, encoder=recipe["encoder"])
        return Again({}, replacement_runs.content(run, done), read.data_hash)


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
        known = item_metadata(snapshot.task)
        # All items: the first one that named a pair stands for it, judged or not.
        yield (
            ITEMS,
            jsonl(
                {
                    **row._asdict(),
                    "judged": row.item_id in used,
                    "metadata": known.get(row.item_id, {}),
                }
                for row in read.items.values()
            ),
        )
        counts = {} if self.rated else judged.counts_of(texts)
        # The texts stay here; what was counted in them goes along.
        yield (
            TEXTS,
            jsonl({**row._asdict(), "counts": counts.get(row.candidate_id)} for row in texts),
        )
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
        stored = read_jsonl(files[TEXTS])
        counts = {row["candidate_id"]: row.pop("counts", None) for row in stored}
        texts = [TextRow(**row) for row in stored]
        names = {int(pk): name for pk, name in json.loads(files[SOURCES]).items()}
        run = as_run(recipe, read.hash)
        frozen: judged.PairsDataset | judged.RatingsDataset
        kinds = {row["item_id"]: row.get("metadata", {}) for row in read_jsonl(files[ITEMS])}
        if self.rated:
            frozen = judged.arranged_ratings(read, texts, names, metadata=kinds)
        else:
            known = {pk: found for pk, found in counts.items() if found is not None}
            frozen = judged.to_arrays(read, texts, names, counts=known, metadata=kinds)
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
        row.pop("metadata", None)
        items[row["item_id"]] = ItemRow(**row)
    asked = [
        AskedDimension(one["name"], one["label"], one["neutral"], tuple(one["points"]))
        for one in json.loads(files[ASKED])
    ]
    keys = {pk: row.print for pk, row in items.items()}
    return judged.SnapshotParts(rows, votes, items, keys, asked)


class OfLabels:
    """Labels of one field: every label with its time, its options, and what stood beside it."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = _snapshot(run)
        field = label_fields.field_of(run.task, run.params["field"])
        rows = labelled.reload_labels(snapshot, field)  # refuses what was changed since
        yield ANSWERS, jsonl(row._asdict() for row in rows)
        yield (
            FIELD,
            json_bytes({"name": field.name, "label": field.label, "options": field.options}),
        )
        yield OTHERS, others_bytes(other_fields(run.task, snapshot.answer_ids))
        used, known = {row.item_id for row in rows}, item_metadata(run.task)
        yield KINDS_OF, json_bytes({str(pk): known[pk] for pk in sorted(used & set(known))})

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        told = json.loads(files[FIELD])
        options = tuple((code, label) for code, label in told["options"])
        field = LabelField(told["name"], told["label"], options)
        rows = [
            LabelVote(**{**row, "answered_at": dt.datetime.fromisoformat(row["answered_at"])})
            for row in read_jsonl(files[ANSWERS])
        ]
        data_hash = labelled.content_hash(rows, field)
        run = as_run(recipe, data_hash)
        frozen = replace(labelled.to_arrays(rows, field), others=read_others(files[OTHERS]))
        known = json.loads(files.get(KINDS_OF, b"{}"))
        frozen = labelled.with_kinds(frozen, {int(pk): said for pk, said in known.items()})
        done = label_runs.fit(run, frozen, hooks)
        return Again(*label_results.content(run, done.frozen, done.result), data_hash)


class OfChoices:
    """What people and models chose in one field, and whose the systems are."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = _snapshot(run)
        field = chosen_fields.field_of(run.task, run.params["field"])
        rows, more = replacing.reload_choices(snapshot, field)  # refuses what was changed since
        yield ANSWERS, jsonl(row._asdict() for row in rows)
        yield REPEATS, jsonl(row._asdict() for row in more.again)
        # The texts stay here; how long each is, and whose, goes along.
        yield TEXTS, jsonl([pk, *told] for pk, told in more.texts.items())
        yield (
            FIELD,
            json_bytes(
                {
                    "name": field.name,
                    "label": field.label,
                    "codes": field.codes,
                    "lines": field.lines,
                }
            ),
        )
        yield SOURCES, json_bytes({str(pk): name for pk, name in replacing.names_of(rows).items()})
        if more.draw is not None:
            names = ("recipe", "known", "chances", "drawn")
            drawn = {name: getattr(more.draw, name) for name in names}
            yield DRAW, json_bytes(drawn)

    def again(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Again:
        told = json.loads(files[FIELD])
        lines = tuple(told.get("lines", ()))
        field = ChoiceField(told["name"], told["label"], tuple(told["codes"]), lines)
        rows, again = (_choices(files.get(name, b"")) for name in (ANSWERS, REPEATS))
        names = {int(pk): name for pk, name in json.loads(files[SOURCES]).items()}
        texts = {pk: told for pk, *told in read_jsonl(files.get(TEXTS, b""))}
        draw = ItemDraw(**json.loads(files[DRAW])) if DRAW in files else None
        more = replacing.Frozen(again, texts, draw)
        data_hash = replacing.content_hash(rows, field, more)
        run = as_run(recipe, data_hash)
        done = replacement_runs.fit(run, replacing.to_arrays(rows, field, names, more), hooks)
        return Again({}, replacement_runs.content(run, done), data_hash)


def _choices(content: bytes) -> list[Choice]:
    return [
        Choice(**{**row, "answered_at": dt.datetime.fromisoformat(row["answered_at"])})
        for row in read_jsonl(content)
    ]


def others_bytes(others: Iterable[OtherField]) -> bytes:
    """Further fields of a labels task as JSON: sets as sorted lists."""
    return json_bytes(
        [
            {
                **{name: getattr(one, name) for name in ("name", "label", "kind", "marked")},
                "ticked": {
                    item: {who: sorted(codes) for who, codes in by.items()}
                    for item, by in one.ticked.items()
                },
            }
            for one in others
        ]
    )


def read_others(content: bytes) -> tuple[OtherField, ...]:
    """The same read back."""
    return tuple(
        OtherField(
            one["name"],
            one["label"],
            one["kind"],
            {
                item: {who: frozenset(codes) for who, codes in by.items()}
                for item, by in one["ticked"].items()
            },
            {
                item: {who: [(a, b, target) for a, b, target in spans] for who, spans in by.items()}
                for item, by in one["marked"].items()
            },
        )
        for one in json.loads(content)
    )


def _snapshot(run: Run) -> Snapshot:
    if run.snapshot is None:
        raise Conflict(
            _("Run %(number)s has no frozen answers, so it cannot be bundled.")
            % {"number": run.number}
        )
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
        _("The vectors of run %(number)s are not kept any more, so it cannot be bundled.")
        % {"number": run.number}
    )


def names_of(task: Task) -> bytes:
    """What the numbers of the results stand for: pseudonyms, systems' names, ids of questions."""
    people = Membership.objects.filter(answers__item__task=task).distinct()
    systems = System.objects.filter(project=task.project_id)
    items = Item.objects.filter(task=task)
    return json_bytes(
        {
            "workers": {str(pk): name for pk, name in people.values_list("pk", "pseudonym")},
            "systems": {str(one.pk): str(one) for one in systems},
            "items": {str(pk): key for pk, key in items.values_list("pk", "key")},
        }
    )


KINDS: dict[str, Kind] = {
    "aqer": OfTexts(),
    "aqer_joint": OfVoters(),
    "pairwise": OfJudgments(),
    "ratings": OfJudgments(rated=True),
    "labels": OfLabels(),
    "replacement": OfChoices(),
    "replacement_texts": OfWriters(),
}
