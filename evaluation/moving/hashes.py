"""Which frozen answers are still what they were, and their hashes under other ids."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from annotation.models import Project
from annotation.work.snapshots import turns as turn_fields
from crowdqc.errors import DomainError
from evaluation.bundles.kinds.base import snapshot_of
from evaluation.bundles.kinds.registry import KINDS
from evaluation.checklists.making import diversity
from evaluation.live import dataset as live
from evaluation.models import LiveEvaluation, Run, RunState, Snapshot
from evaluation.runs.freezing import snapshots
from evaluation.turns import dataset as turns

logger = logging.getLogger(__name__)


def _read_packed(pk: int) -> None:
    run = _run(pk)
    next(iter(KINDS[run.method].pack(run)))


def _read_texts(pk: int) -> None:
    snapshots.load(snapshot_of(_run(pk)))


def _read_turns(pk: int) -> None:
    run = _run(pk)
    field = turn_fields.turn_field(run.task, run.params["field"])
    turns.load(snapshot_of(run), field, run.params["good"])


def _read_attributes(pk: int) -> None:
    diversity.load(snapshot_of(_run(pk)))


def _read_live(pk: int) -> None:
    evaluation = LiveEvaluation.objects.select_related("task").get(pk=pk)
    live.reload(evaluation, evaluation.task)


READERS: dict[str, Callable[[int], None]] = {
    "packed": _read_packed,
    "texts": _read_texts,
    "turns": _read_turns,
    "attributes": _read_attributes,
    "live": _read_live,
}


def _run(pk: int) -> Run:
    return Run.objects.select_related("task", "snapshot").get(pk=pk)


def read_hashes(reader: str, pk: int) -> dict[int, str]:
    """Return the hash of each snapshot that a reader reads, {} where it cannot read them."""
    with snapshots.rehash_snapshots() as found:
        try:
            READERS[reader](pk)
        except DomainError as error:  # erased, or of a run that cannot be computed again
            logger.info("%s %s cannot be read: %s", reader, pk, error)
    return found


def _readers_of(project: Project) -> Iterator[tuple[str, int]]:
    runs = Run.objects.filter(project=project, state=RunState.DONE, snapshot__isnull=False)
    for pk, method in runs.order_by("pk").values_list("pk", "method"):
        if method == "turn_study":
            yield "turns", pk
        elif method == "attribute_diversity":
            yield "attributes", pk
        else:
            if method in KINDS:
                yield "packed", pk
            yield "texts", pk
    ended = LiveEvaluation.objects.filter(task__project=project, result__isnull=False)
    for pk in ended.order_by("pk").values_list("pk", flat=True):
        yield "live", pk


def find_intact(project: Project) -> dict[int, tuple[str, int]]:
    """Map each snapshot that still has the hash it was taken with to what reads it."""
    told = dict(Snapshot.objects.filter(project=project).values_list("pk", "content_hash"))
    intact: dict[int, tuple[str, int]] = {}
    for reader, subject in _readers_of(project):
        for pk, digest in read_hashes(reader, subject).items():
            if pk not in intact and told.get(pk) == digest:
                intact[pk] = (reader, subject)
    return intact
