"""Bundles of labels, and of what people and models chose in one field."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from annotation.work.snapshots import choices as chosen_fields
from annotation.work.snapshots import labels as label_fields
from annotation.work.snapshots.choices import Choice, ChoiceField
from annotation.work.snapshots.judgments import item_metadata
from annotation.work.snapshots.labels import LabelField, LabelVote
from annotation.work.snapshots.other_fields import OtherField, other_fields
from evaluation.bundles.kinds.base import (
    ANSWERS,
    FIELD,
    KINDS_OF,
    OTHERS,
    SOURCES,
    TEXTS,
    TOPICS,
    Recomputed,
    Row,
    as_run,
    json_bytes,
    jsonl,
    read_jsonl,
    read_value,
    snapshot_of,
)
from evaluation.labels import dataset as labelled
from evaluation.labels import results as label_results
from evaluation.labels import run as label_runs
from evaluation.methods.core.base import Hooks
from evaluation.models import ItemDraw, Run
from evaluation.replacement import dataset as replacing
from evaluation.replacement import run as replacement_runs

DRAW = "data/draw.json"
REPEATS = "data/repeats.jsonl"  # what models said again of the same items


class OfLabels:
    """Labels of one field: every label with its time, its options, and what stood beside it."""

    given = ""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = snapshot_of(run)
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

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        told = read_value(files[FIELD])
        options = tuple((code, label) for code, label in told["options"])
        field = LabelField(told["name"], told["label"], options)
        rows = [
            LabelVote(**{**row, "answered_at": dt.datetime.fromisoformat(row["answered_at"])})
            for row in read_jsonl(files[ANSWERS])
        ]
        data_hash = labelled.content_hash(rows, field)
        run = as_run(recipe, data_hash)
        frozen = replace(labelled.to_arrays(rows, field), others=read_others(files[OTHERS]))
        known = read_value(files.get(KINDS_OF, b"{}"))
        frozen = labelled.with_kinds(frozen, {int(pk): said for pk, said in known.items()})
        done = label_runs.fit(run, frozen, hooks)
        return Recomputed(*label_results.content(run, done.frozen, done.result), data_hash)


class OfChoices:
    """What people and models chose in one field, and whose the systems are."""

    given = ""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = snapshot_of(run)
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
        used = {row.item_id for row in rows}
        yield TOPICS, json_bytes({str(pk): more.topics[pk] for pk in sorted(used)})
        if more.draw is not None:
            names = ("recipe", "known", "chances", "drawn")
            drawn = {name: getattr(more.draw, name) for name in names}
            yield DRAW, json_bytes(drawn)

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        told = read_value(files[FIELD])
        lines = tuple(told.get("lines", ()))
        field = ChoiceField(told["name"], told["label"], tuple(told["codes"]), lines)
        rows, again = (_choices(files.get(name, b"")) for name in (ANSWERS, REPEATS))
        names = {int(pk): name for pk, name in read_value(files[SOURCES]).items()}
        texts = {pk: told for pk, *told in read_jsonl(files.get(TEXTS, b""))}
        draw = ItemDraw(**read_value(files[DRAW])) if DRAW in files else None
        topics = {int(pk): told for pk, told in read_value(files.get(TOPICS, b"{}")).items()}
        more = replacing.Frozen(again, texts, draw, topics)
        data_hash = replacing.content_hash(rows, field, more)
        run = as_run(recipe, data_hash)
        done = replacement_runs.fit(run, replacing.to_arrays(rows, field, names, more), hooks)
        return Recomputed({}, replacement_runs.content(run, done), data_hash)


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
    """Read the other fields back from the bundle's file."""
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
        for one in read_value(content)
    )
