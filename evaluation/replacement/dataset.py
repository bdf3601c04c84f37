"""The road from what people and models chose to the method: frozen rows, a hash, index arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import QuerySet

from annotation.models import System, Task
from annotation.task_types.pairwise.sides import FIRST, SECOND
from annotation.work.snapshots import choices as collected
from annotation.work.snapshots import judgments
from annotation.work.snapshots.choices import Choice, ChoiceField
from crowdqc.errors import Conflict
from evaluation.methods.core.base import FloatArray, IntArray
from evaluation.methods.replacement.behavior import Aside
from evaluation.methods.replacement.data import ACCURACY, COSINE, RMSE, Beside, Drawn
from evaluation.models import ItemDraw, Snapshot
from evaluation.pairwise import dataset as pairs
from evaluation.runs.adapters import adapter_of
from evaluation.runs.freezing.snapshots import is_unchanged, keep_snapshot


@dataclass(frozen=True, eq=False)
class ChoicesDataset:
    """A snapshot of one field as arrays.

    ``workers`` (membership ids), ``systems`` (system ids) and ``items`` (item ids) are what the
    indices of ``data`` stand for.
    """

    data: Beside
    workers: tuple[int, ...]
    systems: tuple[int, ...]
    field: ChoiceField
    items: tuple[int, ...] = ()


@dataclass(frozen=True)
class Frozen:
    """What a snapshot holds beside the first answers, which are its rows.

    ``again``: what models said of the same items once more. ``texts``: by item, of the one or two
    texts judged the number of words and the source's name. ``topics``: by item, its group and the
    group's category. ``draw``: how items were drawn.
    """

    again: Sequence[Choice] = ()
    texts: Mapping[int, Sequence[tuple[int | None, str]]] = field(default_factory=dict)
    draw: ItemDraw | None = None
    topics: Mapping[int, Sequence[Any]] = field(default_factory=dict)


def newest_draw(task: Task, asked: ChoiceField) -> ItemDraw | None:
    """Return the newest draw of items for the field; None if there is none."""
    return draws_of(task, asked).first()


def draws_of(task: Task, asked: ChoiceField) -> QuerySet[ItemDraw]:
    """Return all draws of items for the field, newest first."""
    return ItemDraw.objects.filter(task=task, field=asked.name).order_by("-pk")


def content_hash(rows: Sequence[Choice], asked: ChoiceField, more: Frozen | None = None) -> str:
    """SHA-256 over the field, of each row in order item, who chose, and what, and the rest."""
    more = more or Frozen()
    digest = hashlib.sha256()
    codes = [list(asked.codes), *([list(asked.lines)] if asked.lines else [])]
    digest.update(json.dumps(["choices", asked.name, *codes]).encode() + b"\n")
    for row in (*rows, *more.again):
        who = [row.worker_id, row.system_id, row.replicate]
        line = [f"{row.item_key}@{row.item_since}", *who, row.code, row.ordinal]
        digest.update(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    if more.draw is not None:
        digest.update(json.dumps(_drawn_lines(rows, more.draw), separators=(",", ":")).encode())
    return digest.hexdigest()


def _drawn_lines(rows: Sequence[Choice], draw: ItemDraw) -> list[list[object]]:
    """Of each item that was drawn from, in the order of the rows: chance, and whether drawn."""
    known, drawn = set(draw.known), set(draw.drawn)
    keys = {row.item_id: f"{row.item_key}@{row.item_since}" for row in rows}
    return [
        ["trusted", bool(draw.recipe.get("trusted"))],
        *(
            [key, 1 if pk in known else draw.chances[str(pk)], pk in drawn]
            for pk, key in keys.items()
            if pk in known or str(pk) in draw.chances
        ),
    ]


def freeze_choices(task: Task, asked: ChoiceField) -> Snapshot:
    """Freeze what people and models chose in a field; the same content gives the same row again.

    Raises Conflict where nobody, or no model, chose anything.
    """
    rows = collected.choices_of(task, asked, adapter_of(task).counting_rows(task))
    people = [row for row in rows if row.worker_id is not None]
    models = [row for row in rows if row.worker_id is None]
    if not people or not models:
        who = "model" if people else "person"
        raise Conflict(f"No {who} has answered “{asked.label}” yet, so there is nothing to test.")
    counts = {
        "came": len(people),
        "answers": len(people),
        "workers": len({row.worker_id for row in people}),
        "questions": len({row.item_id for row in people}),
        "system_answers": len(models),
        "systems": len({row.system_id for row in models}),
        "field": asked.name,
        "counting": len(rows),
        "max_id": max(row.answer_id for row in rows),
        "left_out": dict.fromkeys(("uncounted", "excluded", "other_fields"), 0),
    }
    more = Frozen(collected.repeats_of(task, asked, rows), draw=newest_draw(task, asked))
    if more.draw is not None:
        counts["draw"] = more.draw.pk
    ids = [row.answer_id for row in (*rows, *more.again)]
    return keep_snapshot(task, content_hash(rows, asked, more), ids, counts)


def draw_of(snapshot: Snapshot) -> ItemDraw | None:
    """The draw that stood when the snapshot was taken."""
    return ItemDraw.objects.filter(pk=snapshot.counts.get("draw")).first()


def reload_choices(snapshot: Snapshot, asked: ChoiceField) -> tuple[list[Choice], Frozen]:
    """Read a snapshot's choices again; Conflict if they changed."""
    task, wanted = snapshot.task, set(snapshot.answer_ids)
    rows = collected.of_answers(task, asked, wanted)
    again = [row for row in collected.repeats_of(task, asked, rows) if row.answer_id in wanted]
    more = Frozen(again, texts_of(task), draw_of(snapshot), topics_of(task))
    if not is_unchanged(snapshot, content_hash(rows, asked, more)):
        raise Conflict(
            f"The answers of snapshot {snapshot.content_hash[:8]} are no longer what they were "
            "when it was taken; start a new run."
        )
    return rows, more


def topics_of(task: Task) -> dict[int, tuple[int, str]]:
    """Return each item's group and the group's category, by item id (one query)."""
    rows = task.items.values_list("pk", "group_id", "group__category")
    return {pk: (group, category) for pk, group, category in rows}


def topic_arrays(
    items: Sequence[int], topics: Mapping[int, Sequence[Any]]
) -> tuple[IntArray | None, IntArray | None]:
    """Return topic and kind of topic of each item as arrays; None if they do not split the items.

    Groups of one item each are no topics either.
    """
    if not items or not all(pk in topics for pk in items):
        return None, None
    groups, kinds = (
        np.unique([str(topics[pk][part]) for pk in items], return_inverse=True)[1]
        for part in (0, 1)
    )
    many = int(groups.max(initial=0)) + 1
    topic = groups.astype(np.int64) if 1 < many < len(items) else None
    return topic, kinds.astype(np.int64) if kinds.max(initial=0) > 0 else None


def texts_of(task: Task) -> dict[int, list[tuple[int | None, str]]]:
    """Return for each item the texts it shows as (words, source); words are None if unknown."""
    items = judgments.items(task)
    if not items:
        return {}
    texts, names = pairs.texts_of(task)
    counts = pairs.counts_of(texts)
    known = {
        row.candidate_id: (counts.get(row.candidate_id, (None,))[0], names[row.system_id])
        for row in texts
    }
    return {
        row.item_id: [known[pk] for pk in (row.first_id, row.second_id) if pk is not None]
        for row in items
    }


def load(snapshot: Snapshot, asked: ChoiceField) -> ChoicesDataset:
    """The frozen choices as arrays; raises Conflict as ``reload_choices``."""
    rows, more = reload_choices(snapshot, asked)
    return to_arrays(rows, asked, names_of(rows), more)


def names_of(rows: Sequence[Choice]) -> dict[int, str]:
    """Return the names of the systems in these rows, by id (one query)."""
    systems = {row.system_id for row in rows if row.system_id is not None}
    return {one.pk: str(one) for one in System.objects.filter(pk__in=systems)}


def to_arrays(
    rows: Sequence[Choice],
    asked: ChoiceField,
    names: Mapping[int, str],
    more: Frozen | None = None,
) -> ChoicesDataset:
    """Rows in the order of a snapshot as arrays; ``names`` of the systems by their ids."""
    more = more or Frozen()
    items = {pk: at for at, pk in enumerate(dict.fromkeys(row.item_id for row in rows))}
    workers = tuple(sorted({row.worker_id for row in rows if row.worker_id is not None}))
    systems = tuple(sorted({row.system_id for row in rows if row.system_id is not None}))
    worker_at = {pk: at for at, pk in enumerate(workers)}
    system_at = {pk: at for at, pk in enumerate(systems)}
    # Of checklists the lists that were given; lists agree by their cosine, +1 for yes, -1 for no,
    # which is twice the share of questions answered alike, less one.
    said = (*rows, *more.again)
    lists = sorted({row.code for row in said}) if asked.lines else []
    place = {code: float(at) for at, code in enumerate(lists or asked.codes)}
    people = [row for row in rows if row.worker_id is not None]
    model: FloatArray = np.full((len(systems), len(items)), np.nan)
    for row in rows:
        if row.system_id is not None:
            model[system_at[row.system_id], items[row.item_id]] = _value(row, place)
    topic, kind = topic_arrays(tuple(items), more.topics)
    data = Beside(
        person=np.array([worker_at[row.worker_id or 0] for row in people], dtype=np.int64),
        item=np.array([items[row.item_id] for row in people], dtype=np.int64),
        value=np.array([_value(row, place) for row in people], dtype=np.float64),
        model=model,
        people=tuple(map(str, workers)),
        models=tuple(names[pk] for pk in systems),
        score=COSINE if lists else ACCURACY if asked.codes else RMSE,
        labels=asked.codes,
        vectors=np.array([[2.0 * int(one) - 1 for one in code] for code in lists])
        if lists
        else None,
        lines=len(asked.lines),
        drawn=None if more.draw is None else _drawn(items, more.draw),
        aside=Aside(
            turned=np.array([row.flipped for row in people], dtype=bool),
            **_of_models([row for row in said if row.system_id in system_at], system_at, items),
            value=np.array(
                [_value(row, place) for row in said if row.system_id in system_at], dtype=np.float64
            ),
            **_of_texts(items, [names[pk] for pk in systems], more),
            sides=_sides(asked),
        ),
        topic=topic,
        kind=kind,
    )
    return ChoicesDataset(data, workers, systems, asked, tuple(items))


def _of_models(
    rows: Sequence[Choice], system_at: Mapping[int, int], items: Mapping[int, int]
) -> dict[str, Any]:
    """Return all answers of models, repeated ones too, as ``Aside`` has them."""
    return {
        "model": np.array([system_at[row.system_id or 0] for row in rows], dtype=np.int64),
        "item": np.array([items[row.item_id] for row in rows], dtype=np.int64),
        "seen": np.array([row.flipped for row in rows], dtype=bool),
        "at": np.array([row.answered_at.timestamp() / 86_400 for row in rows], dtype=np.float64),
    }


def _of_texts(items: Mapping[int, int], names: Sequence[str], more: Frozen) -> dict[str, Any]:
    """Lengths of the texts of each item, and which of them are a model's own, by its name."""
    words = np.full((len(items), 2), np.nan)
    own = np.zeros((len(names), len(items), 2), dtype=bool)
    bases = [name.partition(", ")[0] for name in names]
    for pk, at in items.items():
        for side, (count, source) in enumerate(more.texts.get(pk, ())):
            words[at, side] = np.nan if count is None else count
            own[:, at, side] = [base == source.partition(", ")[0] for base in bases]
    return {"words": words, "own": own}


def _sides(asked: ChoiceField) -> tuple[int, int] | None:
    """Return where the two texts of a pair stand among the labels."""
    if FIRST in asked.codes and SECOND in asked.codes:
        return asked.codes.index(FIRST), asked.codes.index(SECOND)
    return None


def _drawn(items: dict[int, int], draw: ItemDraw) -> Drawn:
    known, chosen = np.zeros(len(items), dtype=bool), np.zeros(len(items), dtype=bool)
    chance = np.full(len(items), np.nan)
    for pks, into in ((draw.known, known), (draw.drawn, chosen)):
        into[[items[pk] for pk in pks if pk in items]] = True
    for pk, value in draw.chances.items():
        if int(pk) in items:
            chance[items[int(pk)]] = value
    return Drawn(known, chance, chosen, bool(draw.recipe.get("trusted")))


def _value(row: Choice, place: dict[str, float]) -> float:
    return place[row.code] if place else float(row.ordinal or 0)
