"""Bundles of free text: answers with their texts, and the vectors that the run saw."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.utils.translation import gettext as _

from annotation.work.snapshots import answers
from annotation.work.snapshots.answers import AnswerText
from crowdqc.errors import Conflict
from evaluation.bundles.kinds.base import (
    ANSWERS,
    SOURCES,
    TEXTS,
    TOPICS,
    Broken,
    Recomputed,
    Row,
    as_run,
    json_bytes,
    jsonl,
    read_jsonl,
    read_value,
    snapshot_of,
)
from evaluation.embeddings.embeddings import PAIRS, text_hash
from evaluation.embeddings.vectors import vectors_of_run
from evaluation.free_text import run as text_runs
from evaluation.free_text.joint import run as joint_runs
from evaluation.methods.core.base import Hooks
from evaluation.models import Run
from evaluation.replacement import run as replacement_runs
from evaluation.replacement import texts as writers
from evaluation.runs.freezing import snapshots
from evaluation.runs.results import rows as results

VECTORS = "data/vectors.npy"


class ReadTexts(NamedTuple):
    """What a bundle of texts holds."""

    frozen: snapshots.AnswersDataset
    vectors: Any
    declined: set[int]
    data_hash: str


class OfTexts:
    """AQER: answers with their texts, and the vectors that the run saw."""

    given = "The encoder is not run again: the vectors of the texts are those that the run saw."

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        if run.params.get(text_runs.ENTAILMENT.name):
            raise Conflict(
                _("A run that begins by entailment needs its model, so it has no bundle.")
            )
        if run.params["encoder"].startswith(PAIRS):
            raise Conflict(_("A run on scores of pairs needs its model, so it has no bundle."))
        snapshot = snapshot_of(run)
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

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        read = self.read(files)
        run = as_run(recipe, read.data_hash)
        done = results.Computed(
            snapshot_of(run),
            read.frozen,
            recipe["encoder"],
            text_runs.fit(run, read.frozen, read.vectors, hooks),
        )
        return Recomputed(*results.content(run, done, read.declined), read.data_hash)

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

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        read = self.read(files)
        run = as_run(recipe, read.data_hash)
        found = text_runs.fit(run, read.frozen, read.vectors, hooks)
        done = results.Computed(snapshot_of(run), read.frozen, recipe["encoder"], found)
        written = joint_runs.write(run, done)
        return Recomputed(written.rows, dict(written.figures), read.data_hash)


class OfWriters(OfTexts):
    """People and models who write: the same files, and what the models are called."""

    def pack(self, run: Run) -> Iterator[tuple[str, bytes]]:
        yield from super().pack(run)
        frozen = snapshots.load(snapshot_of(run))
        names, topics = writers.names_of(frozen), writers.topics_of(run.task)
        yield TOPICS, json_bytes({str(pk): topics[pk] for pk in frozen.items})
        yield SOURCES, json_bytes({str(pk): name for pk, name in names.items()})

    def recompute(self, files: Mapping[str, bytes], recipe: Row, hooks: Hooks) -> Recomputed:
        read = self.read(files)
        names = {int(pk): name for pk, name in read_value(files[SOURCES]).items()}
        run = as_run(recipe, read.data_hash)
        topics = {int(pk): told for pk, told in read_value(files.get(TOPICS, b"{}")).items()}
        data = writers.beside(read.frozen, read.vectors, names, topics)
        done = writers.fit(run, data, hooks, encoder=recipe["encoder"])
        return Recomputed({}, replacement_runs.content(run, done), read.data_hash)


def _vectors(run: Run, texts: Sequence[str]) -> Any:
    """The vectors of the run: those that are kept, or made again by what is fitted to its texts."""
    told = run.figures.filter(name="recipe").values_list("data", flat=True).first() or {}
    identity = str(told.get("encoder", ""))
    found = vectors_of_run(run.params["encoder"], identity, texts, load_model=True)
    if found is not None:
        return found
    raise Conflict(
        _("The vectors of run %(number)s are not kept any more, so it cannot be bundled.")
        % {"number": run.number}
    )
