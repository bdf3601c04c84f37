"""Bundles of pairs and ratings: judgments with how each was shown, and whose texts they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from annotation.work.snapshots.judgments import (
    AskedDimension,
    ItemRow,
    Judgment,
    TextRow,
    item_metadata,
)
from evaluation.bundles.kinds.base import (
    ANSWERS,
    ASKED,
    ITEMS,
    SOURCES,
    TEXTS,
    Recomputed,
    Row,
    as_run,
    json_bytes,
    jsonl,
    read_jsonl,
    read_value,
    snapshot_of,
)
from evaluation.methods.core.base import Hooks
from evaluation.models import Run
from evaluation.pairwise import dataset as judged
from evaluation.pairwise import results as pair_results
from evaluation.pairwise import run as pair_runs


class OfJudgments:
    """Pairs and ratings: judgments with how each was shown, items, and whose texts they are."""

    given = ""

    def __init__(self, *, rated: bool = False) -> None:
        self.rated = rated

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        snapshot = snapshot_of(run)
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
                        **({"factor": one.factor} if one.factor > 1 else {}),
                    }
                    for one in read.asked
                ]
            ),
        )

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        read = _read(files)
        stored = read_jsonl(files[TEXTS])
        counts = {row["candidate_id"]: row.pop("counts", None) for row in stored}
        texts = [TextRow(**row) for row in stored]
        names = {int(pk): name for pk, name in read_value(files[SOURCES]).items()}
        run = as_run(recipe, read.hash)
        frozen: judged.PairsDataset | judged.RatingsDataset
        kinds = {row["item_id"]: row.get("metadata", {}) for row in read_jsonl(files[ITEMS])}
        if self.rated:
            frozen = judged.arranged_ratings(read, texts, names, metadata=kinds)
        else:
            known = {pk: found for pk, found in counts.items() if found is not None}
            frozen = judged.to_arrays(read, texts, names, counts=known, metadata=kinds)
        done = pair_runs.fit(run, frozen, hooks)
        return Recomputed(*pair_results.content(run, frozen, done.result, done.more), read.hash)


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
        AskedDimension(
            one["name"],
            one["label"],
            one["neutral"],
            tuple(one["points"]),
            factor=one.get("factor", 1),
        )
        for one in read_value(files[ASKED])
    ]
    keys = {pk: row.print for pk, row in items.items()}
    return judged.SnapshotParts(rows, votes, items, keys, asked)
