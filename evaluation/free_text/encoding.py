"""The vectors of a run: from the store, encoded here where they are few, else by many workers.

A run with many new texts plans shards and waits without holding a worker. Each job encodes one
shard; the transaction that closes the last one has the run taken up again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from annotation.work.snapshots import answers
from crowdqc import queue
from crowdqc.errors import DomainError
from crowdqc.jobs.queues import RUNS, queue_name
from evaluation.embeddings import shards, vectors
from evaluation.embeddings.embeddings import Encoder, SentenceModel, local_encoder, text_hash
from evaluation.methods.core.base import VectorRows
from evaluation.models import EncodingShard, Run, RunState
from evaluation.runs import engine
from evaluation.runs.freezing.snapshots import AnswersDataset
from evaluation.runs.progress import EMBEDDINGS, Recorder, Superseded, Waiting

JOB = "evaluation.jobs.encode_shard"
JOBS = 32  # of a run in the queue at once, so that other runs need not wait for all its shards


@dataclass(frozen=True, eq=False)
class Encoded:
    """Vectors (u, width) of a run's texts, and the identity of the encoder that made them."""

    rows: VectorRows
    encoder: str


def rows_of(run: Run, steps: Recorder, frozen: AnswersDataset, encoder: Encoder) -> Encoded:
    """Return the vectors of a run's texts, encoding missing ones.

    Raises Waiting where workers encode shards first; the run is taken up again after the last.
    """
    texts = frozen.texts
    if not encoder.cacheable:
        steps.set_words(sub="fitted to the texts of this run")
        fitted = vectors.vectors_of(texts, encoder)
        steps.set_words(count=f"{len(texts):,} of {len(texts):,}")
        steps.advance(len(texts))
        return Encoded(fitted.matrix, encoder.identity)
    begun = shards.tally(run.pk)
    # A run keeps to the encoder that its shards had, whatever machine takes it up.
    identity = run.shards.values_list("encoder", flat=True).first() or encoder.identity
    found = vectors.look_up(texts, identity)
    if not len(found.missing):
        run.shards.filter(shards.OPEN).delete()
    elif (begun and begun.open) or (
        isinstance(encoder, SentenceModel) and len(found.missing) > settings.CROWDQC_SHARD_TEXTS
    ):
        return _wait(run, steps, frozen, encoder, found, planned=bool(begun and begun.open))
    if begun is not None and steps.current is not None:
        steps.current["seconds"] = round(begun.seconds, 2)
    advance = _advance(steps, len(texts), begun)
    rows = vectors.encode_missing(texts, encoder, found, advance=advance)
    return Encoded(rows, rows.identity)


def _advance(
    steps: Recorder, total: int, begun: shards.Tally | None = None
) -> Callable[[int, int], None]:
    def advance(done: int, cached: int) -> None:
        steps.set_words(**_words(done, total, cached - (begun.done if begun else 0), begun))
        steps.advance(done)

    return advance


def _words(done: int, total: int, cached: int, tally: shards.Tally | None) -> dict[str, str]:
    """The words of the step: how far, what was there before, and how fast shards are encoded."""
    sub = f"{cached:,} from the cache, {total - cached:,} new"
    if tally is not None and tally.done:
        sub += f"; {tally.words}"
    return {"sub": sub, "count": f"{done:,} of {total:,}"}


def _wait(
    run: Run,
    steps: Recorder,
    frozen: AnswersDataset,
    encoder: Encoder,
    found: vectors.StoredVectors,
    *,
    planned: bool,
) -> Encoded:
    """Plan shards unless that was done, hand them to workers, and raise Waiting."""
    with transaction.atomic():
        locked = Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if not planned:
            shards.plan(locked, found.identity, _answer_of_each(frozen, found))
        tally = shards.tally(run.pk)
        left = tally.open if tally else 0
        if left:
            total = len(frozen.texts)
            steps.set_words(
                **_words(found.cached, total, total - (tally.texts if tally else 0), tally)
            )
            steps.advance(found.cached, total)
            engine.park(run, steps)
            for _ in range(min(left, JOBS)):
                _enqueue(run.pk)
    if left:
        raise Waiting(f"run {run.pk} waits for {left} shards")
    # The last shard was closed while this looked.
    return rows_of(run, steps, frozen, encoder)


def _answer_of_each(frozen: AnswersDataset, found: vectors.StoredVectors) -> list[int]:
    """Return one answer of each missing text, in the order in which these are encoded."""
    answer = np.empty(len(frozen.texts), dtype=np.int64)
    answer[frozen.system_text] = frozen.system_answer_ids
    answer[frozen.text] = frozen.answer_ids
    ids: list[int] = answer[found.missing].tolist()
    return ids


def encode_next(run_id: int) -> str:
    """Claim one shard of a waiting run, encode it, store its vectors and close it.

    Safe to call often and at the same time. A fault ends the run; a worker that is killed leaves
    its shard to others.
    """
    run = Run.objects.select_related("task__project").filter(pk=run_id, state=RunState.RUNNING)
    found = run.first()
    if found is None or _end_cancelled(found):
        return "not mine"
    error = ""
    try:
        return _encode_one(found)
    except DomainError as problem:
        error = problem.message
    except SoftTimeLimitExceeded:
        error = engine.TOO_LONG
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"[:2000]
        raise
    finally:
        if error:
            engine.end_parked(run_id, RunState.FAILED, error)
    return RunState.FAILED


def _encode_one(run: Run) -> str:
    encoder = local_encoder(run.params["encoder"])
    shard = shards.claim(run.pk, encoder.identity)
    if shard is None:
        return "nothing to claim"
    with shards.renewing(shard):
        rows = answers.texts_of(shard.answer_ids)
        # An answer may be gone; the run itself says so when it goes on.
        texts = [rows[pk].text for pk in shard.answer_ids if pk in rows]
        matrix = encoder.encode(texts)
    hashes = np.array([text_hash(text) for text in texts], dtype="S64")
    try:
        return _close(shard, hashes, matrix)
    except Superseded:
        return "not mine"


@transaction.atomic
def _close(shard: EncodingShard, hashes: vectors.Hashes, matrix: vectors.Matrix) -> str:
    """Store and close a shard, and see to what comes next; raises Superseded where it was lost."""
    vectors.store(shard.encoder, hashes, matrix)
    run = Run.objects.select_for_update(of=("self",)).get(pk=shard.run_id)
    if run.state != RunState.RUNNING or not shards.close(shard):
        raise Superseded(f"shard {shard.pk} was taken over, or its run ended")
    tally = shards.tally(run.pk)
    _show(run, tally)
    if tally is None or not tally.open:
        engine.resume_run(run)
    elif not _end_cancelled(run):
        _enqueue(run.pk)
    return "done"


def _show(run: Run, tally: shards.Tally | None) -> None:
    """Say on the run how far its shards are; the same write is its sign of life."""
    step = next((one for one in run.progress if one["name"] == EMBEDDINGS), None)
    if step is not None and tally is not None:
        cached = step["total"] - tally.texts
        said = _words(cached + tally.done, step["total"], cached, tally)
        step.update(said, done=cached + tally.done, seconds=round(tally.seconds, 2))
    Run.objects.filter(pk=run.pk).update(progress=run.progress, heartbeat_at=timezone.now())


def _end_cancelled(run: Run) -> bool:
    """End a run that somebody cancelled, once nobody works on a shard of it any more."""
    if not run.cancel_requested:
        return False
    tally = shards.tally(run.pk)
    if tally is not None and tally.open and not tally.leased:
        engine.end_parked(run.pk, RunState.CANCELLED, "")
    return True


def resume_waiting() -> int:
    """Hand out shards whose worker died or whose job never came; returns of how many runs."""
    count = 0
    open_shards = EncodingShard.objects.filter(shards.OPEN)
    waiting = Run.objects.filter(state=RunState.RUNNING, pk__in=open_shards.values("run"))
    for run in waiting.order_by("pk"):
        if _end_cancelled(run):
            continue
        free = shards.release_expired(run.pk)
        if engine.is_silent(run):
            Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now())
            free = run.shards.filter(shards.OPEN).count()
        for _ in range(min(free, JOBS)):
            _enqueue(run.pk)
        count += bool(free)
    return count


def _enqueue(run_id: int) -> None:
    queue.enqueue(JOB, run_id, queue=queue_name(RUNS))
