"""Runs: start one, work on it as a job, cancel it, and take up those whose worker died."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from annotation.actions.audit import record
from annotation.models import Project, Task, User
from annotation.task_types import get_type
from crowdqc.errors import Conflict, DomainError, Invalid
from crowdqc.numbers import plural
from evaluation import embeddings, results, snapshots, vectors
from evaluation.methods.base import (
    BadParameter,
    Cancelled,
    DataError,
    Hooks,
    Method,
    Result,
    Texts,
)
from evaluation.methods.registry import METHODS, ON_TASKS, get_method
from evaluation.models import Run, RunState
from evaluation.progress import (
    BOOTSTRAP,
    CHECKS,
    EMBEDDINGS,
    ITERATING,
    SNAPSHOT,
    UNITERATED,
    Recorder,
    Superseded,
    fresh_steps,
)

logger = logging.getLogger(__name__)
DEFAULT_SEED = 20417
DEFAULT_ENCODER = "minilm"
ABANDONED_SECONDS = 60
MAX_ATTEMPTS = 3
ACTIVE = (RunState.QUEUED, RunState.RUNNING)
# What a requester may choose; the method's other parameters keep their defaults.
CHOICES = ("leave_one_out", "similarity", "start", "resamples")


def clean_encoder(slug: str) -> str:
    """A known encoder, or ``path:<folder>`` within CROWDQC_ENCODER_DIRS; else Invalid."""
    if slug.startswith("path:"):
        folder = Path(slug.removeprefix("path:")).resolve()
        allowed = [Path(root).resolve() for root in settings.CROWDQC_ENCODER_DIRS]
        if not any(folder.is_relative_to(root) for root in allowed):
            raise Invalid(
                "Encoders may only be taken from the folders named in CROWDQC_ENCODER_DIRS.",
                fields={"encoder": "This folder is not among those allowed."},
            )
        slug = f"path:{folder}"
    embeddings.get_encoder(slug)  # raises Invalid where there is none; loads nothing
    return slug


@lru_cache(maxsize=1)
def _kept_encoder(slug: str) -> embeddings.Encoder:
    return embeddings.get_encoder(slug)


def _encoder(slug: str) -> embeddings.Encoder:
    """The encoder; a bundled one stays loaded in the worker, a folder's model may change."""
    return embeddings.get_encoder(slug) if slug.startswith("path:") else _kept_encoder(slug)


def clean_params(method: Method, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a run stores them, the encoder among them; Invalid names a bad field."""
    unknown = sorted(set(raw) - {"encoder", *method.params})
    if unknown:
        raise Invalid(
            f"{method.title} has no option {unknown[0]!r}.", fields={unknown[0]: "Unknown."}
        )
    encoder = clean_encoder(str(raw.get("encoder") or DEFAULT_ENCODER))
    chosen = {name: raw.get(name, method.params[name]) for name in CHOICES}
    chosen.update({name: value for name, value in raw.items() if name not in (*CHOICES, "encoder")})
    for name, value in chosen.items():
        try:
            method.check(**{name: value})
        except BadParameter as error:
            raise Invalid(str(error), fields={name: str(error)}) from error
    return {"encoder": encoder, **chosen}


@transaction.atomic
def start(
    *,
    by: User | None,
    task: Task,
    method: str = "aqer",
    params: Mapping[str, Any] | None = None,
    seed: int = DEFAULT_SEED,
    trigger: str = "browser",
) -> Run:
    """Queue a run of a method on the task's answers as they are when it begins.

    Raises Invalid (a field of ``params``, the seed, the task's type) and Conflict where a run of
    this method is queued or in work already.
    """
    if method not in ON_TASKS:
        known = "cannot score a task yet" if method in METHODS else "is not a method"
        can = ", ".join(sorted(ON_TASKS))
        raise Invalid(f"{method!r} {known}.", fields={"method": f"Choose one of: {can}."})
    chosen = get_method(method)
    if get_type(task.type).shape != "texts" or chosen.data is not Texts:
        raise Invalid(f"{chosen.title} scores free text, and this task asks for something else.")
    if not 0 <= seed < 2**62:
        raise Invalid("The seed is out of range.", fields={"seed": "A whole number from 0."})
    clean = clean_params(chosen, params or {})
    # The project's row gives out numbers one after another.
    Project.objects.select_for_update().get(pk=task.project_id)
    active = task.runs.filter(method=method, state__in=ACTIVE).first()
    if active:
        raise Conflict(f"Run {active.number} of this task is not finished; wait or cancel it.")
    last = Run.objects.filter(project_id=task.project_id).aggregate(n=Max("number"))["n"] or 0
    run = Run.objects.create(
        project_id=task.project_id,
        task=task,
        number=last + 1,
        method=method,
        version=chosen.version,
        params=clean,
        seed=seed,
        trigger=trigger,
        started_by=by,
        progress=fresh_steps(),
    )
    record(
        by=by, project=task.project, action="run.start", on=run, number=run.number, trigger=trigger
    )
    enqueue(run.pk)
    return run


def enqueue(run_id: int) -> None:
    """Hand the run to a worker once it is committed; a queue that is down only delays it."""
    from evaluation.jobs import run_job

    transaction.on_commit(lambda: run_job.delay(run_id), robust=True)


@transaction.atomic
def cancel(*, by: User, run: Run) -> Run:
    """Stop a run: at once while it waits, at its next step while it is worked on."""
    locked = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run.pk)
    if locked.state not in ACTIVE:
        return locked
    if locked.state == RunState.QUEUED:
        locked.state, locked.finished_at = RunState.CANCELLED, timezone.now()
    locked.cancel_requested = True
    locked.save(update_fields=["state", "finished_at", "cancel_requested"])
    record(by=by, project=locked.project, action="run.cancel", on=locked, number=locked.number)
    return locked


def _fresh(run: Run, now: dt.datetime) -> bool:
    limit = dt.timedelta(seconds=ABANDONED_SECONDS)
    return run.heartbeat_at is not None and now - run.heartbeat_at < limit


@transaction.atomic
def _claim(run_id: int) -> Run | None:
    """Take the run for this process; None where it has moved on or somebody works on it."""
    run = (
        Run.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("task__project")
        .filter(pk=run_id, state__in=ACTIVE)
        .first()
    )
    now = timezone.now()
    if run is None or (run.state == RunState.RUNNING and _fresh(run, now)):
        return None
    if run.cancel_requested:
        Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED, finished_at=now)
        return None
    if run.attempts >= MAX_ATTEMPTS:
        _give_up(run, now)
        return None
    # Whose ``started_at`` stands owns the run: one that was taken over finds another time there.
    run.state, run.started_at, run.heartbeat_at = RunState.RUNNING, now, now
    run.attempts += 1
    run.save(update_fields=["state", "started_at", "heartbeat_at", "attempts"])
    return run


def _give_up(run: Run, now: dt.datetime) -> None:
    """Fail a run at which every worker died: a further one would only die too."""
    run.state, run.finished_at = RunState.FAILED, now
    run.error = f"The worker died {run.attempts} times at this run."
    for step in run.progress:
        if step["state"] == "running":
            step["state"] = "bad"
    run.save(update_fields=["state", "finished_at", "error", "progress"])


def execute(run_id: int) -> str:
    """Work on a run to its end; returns its state. Safe to call twice or at the same time."""
    run = _claim(run_id)
    if run is None or run.started_at is None:
        return "not mine"
    steps, where = Recorder(run.pk, run.started_at), ""
    try:
        done = _compute(run, steps)
        if done.result.converged:
            results.write(run, done, steps.finish())
            return RunState.DONE
        results.write_failure(run, done.result)
        state, error = RunState.FAILED, results.why_not_converged(done.result)
        where = ITERATING
    except Superseded:
        logger.info("run %s was taken over or ended elsewhere", run_id)
        return "not mine"
    except Cancelled:
        state, error = RunState.CANCELLED, ""
    except (DataError, BadParameter) as problem:
        state, error = RunState.FAILED, _sentence(str(problem))
    except DomainError as problem:
        state, error = RunState.FAILED, problem.message
    except Exception as problem:
        # Said on the page in one line; the traceback is the log's.
        _end(run, RunState.FAILED, steps.fail(), f"{type(problem).__name__}: {problem}"[:2000])
        raise
    _end(run, state, steps.fail(where), error)
    return state


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _end(run: Run, state: str, steps: list[dict[str, Any]], error: str) -> None:
    """Close a run that has no result, unless it was taken over meanwhile."""
    Run.objects.filter(pk=run.pk, state=RunState.RUNNING, started_at=run.started_at).update(
        state=state, progress=steps, error=error, finished_at=timezone.now()
    )


def _compute(run: Run, steps: Recorder) -> results.Computed:
    """All that happens before rows are written: freeze, embed, fit."""
    steps.begin(SNAPSHOT)
    snapshot = run.snapshot or snapshots.take(run.task)
    if run.snapshot_id is None:
        run.snapshot = snapshot
        Run.objects.filter(pk=run.pk, started_at=run.started_at).update(snapshot=snapshot)
    frozen = snapshots.load(snapshot)
    counts = snapshot.counts
    of_systems = f", {counts['system_answers']:,} of systems" if counts["system_answers"] else ""
    steps.say(
        sub=snapshot.content_hash[:8], mono=True, count=f"{counts['answers']:,} answers{of_systems}"
    )
    steps.begin(EMBEDDINGS, total=len(frozen.texts), sub="opening the encoder")
    encoder = _encoder(run.params["encoder"])
    steps.write()

    def advance(done: int, cached: int) -> None:
        sub = f"{cached:,} from the cache, {len(frozen.texts) - cached:,} new"
        if not encoder.cacheable:
            sub = "fitted to the texts of this run"
        steps.say(sub=sub, count=f"{done:,} of {len(frozen.texts):,}")
        steps.advance(done)

    embedded = vectors.vectors_of(frozen.texts, encoder, advance=advance)
    people = f"{counts['workers']:,} workers"
    if counts["systems"]:
        people += f", {counts['systems']:,} systems"
    steps.begin(UNITERATED)
    steps.say(count=people)
    data = frozen.with_vectors(embedded.matrix)
    options = {name: value for name, value in run.params.items() if name != "encoder"}
    result = get_method(run.method).fit(
        data,
        rng=np.random.default_rng(run.seed),
        hooks=Hooks(progress=steps.stage, change=steps.change),
        **options,
    )
    if steps.current is not steps.steps[CHECKS]:
        steps.begin(CHECKS)
    _say_counts(steps, result, options.get("resamples", 0))
    return results.Computed(snapshot, frozen, encoder.identity, result)


def _say_counts(steps: Recorder, result: Result, resamples: int) -> None:
    """The words beside finished steps."""
    parts = result.diagnostics["components"]
    rounds = max(part["rounds"] for part in parts)
    ended = "converged" if result.converged else "not converged"
    boards = f" on {len(parts)} boards" if len(parts) > 1 else ""
    steps.steps[ITERATING]["count"] = f"{ended}, {rounds} rounds{boards}"
    steps.steps[BOOTSTRAP]["count"] = (
        f"{resamples:,} of {resamples:,}" if resamples else "none asked for"
    )
    tried = steps.steps[CHECKS]["total"]
    steps.steps[CHECKS]["count"] = f"{plural(tried, 'question')} left out in turn" if tried else ""


def resume_abandoned() -> int:
    """Queue runs again whose worker gave no sign of life, or whose job never came.

    Embeddings that were finished stay; everything else is computed anew, which gives the same
    rows. One whose workers died MAX_ATTEMPTS times is failed. Returns how many were queued.
    """
    limit = timezone.now() - dt.timedelta(seconds=ABANDONED_SECONDS)
    dead = Q(state=RunState.RUNNING) & (Q(heartbeat_at__lt=limit) | Q(heartbeat_at__isnull=True))
    # A queued run may wait for others; its job is asked for again once a while, which is harmless.
    waiting = Q(state=RunState.QUEUED, created_at__lt=limit) & (
        Q(heartbeat_at__lt=limit) | Q(heartbeat_at__isnull=True)
    )
    count = 0
    for run_id in list(Run.objects.filter(dead | waiting).values_list("pk", flat=True)):
        with transaction.atomic():
            run = (
                Run.objects.select_for_update(skip_locked=True)
                .filter(dead | waiting, pk=run_id)
                .first()
            )
            if run is None:
                continue
            if run.cancel_requested:
                run.state, run.finished_at = RunState.CANCELLED, timezone.now()
                run.save(update_fields=["state", "finished_at"])
                continue
            if run.attempts >= MAX_ATTEMPTS:
                _give_up(run, timezone.now())
                continue
            run.state, run.heartbeat_at = RunState.QUEUED, timezone.now()
            run.save(update_fields=["state", "heartbeat_at"])
            enqueue(run.pk)
            count += 1
    return count
