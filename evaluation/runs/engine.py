"""Runs: start one, work on it as a job, cancel it, and take up those whose worker died."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.quotas import require_quota
from annotation.models import Task, User
from annotation.notifications.actions.notices import notify, people_of
from annotation.notifications.actions.webhooks import emit
from annotation.privacy.selectors import erasure
from annotation.records.actions.audit import record
from annotation.records.actions.locks import lock_project
from crowdqc import queue
from crowdqc.errors import Conflict, DomainError, Invalid
from crowdqc.jobs.heartbeat import run_heartbeat
from crowdqc.jobs.queues import MODELS, RUNS, queue_name
from evaluation.methods.core.base import BadParameter, Cancelled, DataError
from evaluation.methods.registry import reason_missing
from evaluation.models import EncodingShard, Run, RunState
from evaluation.runs import memory, run_types
from evaluation.runs.adapters import main_methods
from evaluation.runs.numbering import next_number
from evaluation.runs.official import actions as official
from evaluation.runs.progress import ITERATING, Recorder, Superseded, Waiting, fresh_steps
from evaluation.runs.quotas import FOLLOWS, LIVE, PARTS
from evaluation.runs.quotas import RUNS as RUN_QUOTA
from evaluation.runs.recipe import DEFAULT_SEED, main_method
from evaluation.runs.results import rows as results

logger = logging.getLogger(__name__)
ABANDONED_SECONDS = 60
MAX_ATTEMPTS = 3
TOO_LONG = (
    "The run took longer than a run may, and was stopped. Start it again to go on: answers of "
    "models and vectors that came are kept."
)
ACTIVE = (RunState.QUEUED, RunState.RUNNING)
LONG = dt.timedelta(minutes=1)  # of a shorter run nobody is mailed: they may still be looking
AHEAD = 10  # clocks of machines may differ; one that was set back by more shows in the rows


@transaction.atomic
def start(
    *,
    by: User | None,
    task: Task,
    method: str = "",
    params: Mapping[str, Any] | None = None,
    seed: int = DEFAULT_SEED,
    trigger: str = "browser",
    source: Run | None = None,
    lane: str = "",
    limits: Mapping[str, Any] | None = None,
) -> Run:
    """Queue a run of a method (default: that of the task's type) on the answers there will be.

    A run with a ``source`` reads the snapshot and the results of that finished run. Runs of one
    method in different lanes may be in work at the same time. ``limits`` are those of ``Run``.
    Raises Invalid (a field of ``params``, the seed, the task's type) and Conflict where a run of
    this method and lane is queued or in work already.
    """
    method = method or main_method(task) or "aqer"
    if method not in run_types.run_types():
        raise _unknown(method)
    kind = run_types.run_types()[method]
    chosen = kind.recipe
    if not kind.fits(task):
        text = _("%(method)s scores %(what)s, and this task asks for something else.")
        raise Invalid(text % {"method": _(chosen.title), "what": _(kind.what)})
    if not 0 <= seed < 2**62:
        raise Invalid(_("The seed is out of range."), fields={"seed": _("A whole number from 0.")})
    clean = kind.clean_params({**kind.initial(task), **(params or {})})
    kind.refuse(task, clean)
    memory.refuse_task_if_too_large(kind, task, clean)
    # The project's row gives out numbers one after another.
    project = lock_project(task.project_id)
    if project.deleted_at is not None:
        raise Conflict(_("This project is deleted."), code="deleted")
    active = task.runs.filter(method=method, lane=lane, state__in=ACTIVE).first()
    if active:
        text = _("Run %(run)s of this task is not finished; wait or cancel it.")
        raise Conflict(text % {"run": active.number})
    if trigger not in PARTS:
        require_quota(RUN_QUOTA, project)
    run = Run.objects.create(
        project_id=task.project_id,
        task=task,
        number=next_number(task.project_id),
        source=source,
        snapshot=source.snapshot if source is not None else None,
        method=method,
        lane=lane,
        version=chosen.version,
        params=clean,
        limits=dict(limits or {}),
        seed=seed,
        trigger=trigger,
        started_by=by,
        progress=fresh_steps(kind.steps),
    )
    record(
        by=by, project=task.project, action="run.start", on=run, number=run.number, trigger=trigger
    )
    enqueue(run.pk)
    return run


def _unknown(method: str) -> Invalid:
    """Return the error on a method that cannot be run, which names those that can."""
    can = ", ".join(sorted(run_types.run_types()))
    why = reason_missing(method)
    text = (
        f"{method!r} {why}." if why else _("%(method)s is not a method.") % {"method": repr(method)}
    )
    return Invalid(text, fields={"method": _("Choose one of: %(can)s.") % {"can": can}})


def enqueue(run_id: int) -> None:
    """Hand the run to a worker once it is committed; a queue that is down only delays it.

    Runs that ask models wait in a queue of their own, and may take longer.
    """
    found = Run.objects.filter(pk=run_id).values_list("method", "params").first()
    if found is None:
        return
    asks = run_types.asks_models(*found)
    limit = settings.CROWDQC_MODEL_RUN_LIMIT if asks else settings.CROWDQC_RUN_LIMIT
    queue.enqueue(
        "evaluation.jobs.run_job",
        run_id,
        queue=queue_name(MODELS if asks else RUNS),
        soft_time_limit=limit,
        time_limit=limit + 120,
    )


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
    if locked.state == RunState.CANCELLED:
        notify_finished(locked, RunState.CANCELLED)
    return locked


def _fresh(run: Run, now: dt.datetime) -> bool:
    # One that lies ahead was given before the clock was set back, and says nothing.
    limit = dt.timedelta(seconds=ABANDONED_SECONDS)
    return run.heartbeat_at is not None and -AHEAD * limit < now - run.heartbeat_at < limit


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
    lock_project(run.project_id)
    if erasure.has_pending_erasure(run.project_id):  # it would carry on what is being erased
        return None
    if run.cancel_requested:
        Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED, finished_at=now)
        notify_finished(run, RunState.CANCELLED)
        return None
    if run.attempts >= MAX_ATTEMPTS:
        _fail_abandoned(run, now)
        return None
    # Whose ``started_at`` stands owns the run: one that was taken over finds another time there.
    run.state, run.started_at, run.heartbeat_at = RunState.RUNNING, now, now
    run.attempts += 1
    run.save(update_fields=["state", "started_at", "heartbeat_at", "attempts"])
    return run


def _fail_abandoned(run: Run, now: dt.datetime) -> None:
    """Fail a run at which every worker fell silent: a further one would only do the same."""
    seen = (
        f"No heartbeat for {ABANDONED_SECONDS} seconds, in each of {run.attempts} attempts: "
        "the worker was killed, or its machine stood still."
    )
    _close(run, RunState.FAILED, seen, now)


def _close(run: Run, state: str, error: str, now: dt.datetime) -> None:
    """End a run that is locked and that no process works on."""
    run.state, run.finished_at, run.error = state, now, error
    for step in run.progress:
        if step["state"] == "running":
            step["state"] = "bad"
    run.save(update_fields=["state", "finished_at", "error", "progress"])
    notify_finished(run, state)


def park(run: Run, steps: Recorder) -> None:
    """Park a run until its jobs are done; they resume it. Part of a transaction that locks it.

    It stays in work and alive by what these jobs write. Raises Superseded, Cancelled.
    """
    steps.write()
    # This worker did not die at it.
    Run.objects.filter(pk=run.pk).update(attempts=F("attempts") - 1)


def resume_run(run: Run) -> None:
    """Resume a parked run, in the transaction that closed its last job."""
    Run.objects.filter(pk=run.pk).update(heartbeat_at=None)
    enqueue(run.pk)


@transaction.atomic
def end_parked(run_id: int, state: str, error: str) -> None:
    """End a parked run whose jobs cannot go on; one that has ended stays as it is."""
    run = Run.objects.select_for_update(of=("self",)).filter(pk=run_id, state__in=ACTIVE).first()
    if run is not None:
        _close(run, state, error, timezone.now())


def _beat(run: Run) -> None:
    """Say that the process lives which has claimed the run."""
    mine = Run.objects.filter(pk=run.pk, state=RunState.RUNNING, started_at=run.started_at)
    mine.update(heartbeat_at=timezone.now())


@transaction.atomic
def fail_killed(run_id: int) -> None:
    """Fail a run whose process died while its worker lives on: it would die again."""
    run = (
        Run.objects.select_for_update(of=("self",))
        .filter(pk=run_id, state=RunState.RUNNING)
        .first()
    )
    if run is not None:
        _close(run, RunState.FAILED, memory.killed_message(), timezone.now())


def is_silent(run: Run) -> bool:
    """Whether nothing has worked on the run for so long that it counts as abandoned."""
    return not _fresh(run, timezone.now())


def execute(run_id: int) -> str:
    """Work on a run to its end; returns its state. Safe to call twice or at the same time."""
    run = _claim(run_id)
    if run is None or run.started_at is None:
        return "not mine"
    kind = run_types.type_of(run.method)
    steps, where = Recorder(run.pk, run.started_at, kind.steps), ""
    error: str | None
    try:
        with run_heartbeat(partial(_beat, run)):
            done = kind.compute(run, steps)
        result = getattr(done, "result", None)  # a run that only asked has none
        if result is None or result.converged:
            with transaction.atomic():  # killed in between, nothing is done and all is done again
                results.lock_run(run)
                results.store(run, kind.write(run, done), steps.finish())
                notify_finished(run, RunState.DONE)
                official.settle_official(run)
                leads_on = kind.automatic or run.method in main_methods()
                Run.objects.filter(pk=run.pk).update(follow_up_due=leads_on)
            take_up_follow_ups(run.task_id)
            return RunState.DONE
        state, error = RunState.FAILED, kind.fail(run, done)
        where = ITERATING if ITERATING in steps.steps else ""
    except Waiting:
        return "waiting"
    except Superseded:
        logger.info("run %s was taken over or ended elsewhere", run_id)
        return "not mine"
    except Cancelled:
        state, error = RunState.CANCELLED, ""
    except (DataError, BadParameter) as problem:
        state, error = RunState.FAILED, _sentence(str(problem))
    except DomainError as problem:
        state, error = RunState.FAILED, problem.message
    except SoftTimeLimitExceeded:
        state, error = RunState.FAILED, TOO_LONG
    except MemoryError:
        state, error = RunState.FAILED, None  # written below, once what the run held is free
    except Exception as problem:
        # Said on the page in one line; the traceback is the log's.
        _end(run, RunState.FAILED, steps.fail(), f"{type(problem).__name__}: {problem}"[:2000])
        raise
    _end(run, state, steps.fail(where), memory.exceeded_message() if error is None else error)
    return state


def take_up_follow_ups(task_id: int | None = None) -> int:
    """Do what finished runs lead to, of one task or of all; returns of how many runs.

    What is due was noted in the transaction that closed the run, so a worker that dies here, or a
    fault, only delays it: the periodic turn takes it up again.
    """
    due = Run.objects.filter(follow_up_due=True)
    if task_id is not None:
        due = due.filter(task=task_id)
    count = 0
    for run_id in list(due.order_by("-pk").values_list("pk", flat=True)):
        try:
            with transaction.atomic():
                count += _follow(run_id)
        except Exception:
            logger.exception("what follows run %s stays due", run_id)
    return count


def _follow(run_id: int) -> bool:
    """Write notes on panels, and queue the checks of a core run; whether it is done now."""
    run = (
        Run.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("task__project", "started_by")
        .filter(pk=run_id, follow_up_due=True)
        .first()
    )
    if run is None:
        return False
    run_types.notify_packages(run)
    following = run_types.type_of(run.method).follow_up
    if following and not run.followers.exists() and not _overtaken(run):
        try:
            with transaction.atomic():
                start(
                    by=run.started_by,
                    task=run.task,
                    method=following,
                    seed=run.seed,
                    source=run,
                    trigger=FOLLOWS,
                )
        except Conflict as conflict:
            # The one in work belongs to another run; when it ends, this one's are queued.
            logger.info("task %s: %s", run.task_id, conflict.message)
            return False
    Run.objects.filter(pk=run.pk).update(follow_up_due=False)
    return True


def _overtaken(run: Run) -> bool:
    """Whether nobody waits for its checks: it is a trial, and a later run of its kind is done."""
    later = run.task.runs.filter(method=run.method, state=RunState.DONE, pk__gt=run.pk)
    return later.exists() and not run.official.filter(until__isnull=True).exists()


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


@transaction.atomic
def _end(run: Run, state: str, steps: list[dict[str, Any]], error: str) -> None:
    """Close a run that has no result, unless it was taken over meanwhile."""
    mine = Run.objects.filter(pk=run.pk, state=RunState.RUNNING, started_at=run.started_at)
    if mine.update(state=state, progress=steps, error=error, finished_at=timezone.now()):
        notify_finished(run, state)


def resume_abandoned() -> int:
    """Queue runs again whose worker died or whose job was lost; return how many.

    Embeddings that were finished stay; everything else is computed anew, which gives the same
    rows. One whose workers fell silent MAX_ATTEMPTS times is failed. What a finished run leads to
    is taken up as well. Returns how many runs were queued again.
    """
    take_up_follow_ups()
    patience = dt.timedelta(seconds=ABANDONED_SECONDS)
    limit, ahead = timezone.now() - patience, timezone.now() + AHEAD * patience
    # A parked run has no worker of its own; its jobs are handed out again instead.
    parked = Exists(EncodingShard.objects.filter(run=OuterRef("pk"), closed_at__isnull=True))
    silent = Q(heartbeat_at__lt=limit) | Q(heartbeat_at__gt=ahead) | Q(heartbeat_at__isnull=True)
    dead = Q(state=RunState.RUNNING) & silent
    dead &= ~Q(parked)
    # A queued run may wait for others; its job is asked for again once a while, which is harmless.
    waiting = Q(state=RunState.QUEUED, created_at__lt=limit) & silent
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
                _close(run, RunState.CANCELLED, "", timezone.now())
                continue
            if run.attempts >= MAX_ATTEMPTS:
                _fail_abandoned(run, timezone.now())
                continue
            run.state, run.heartbeat_at = RunState.QUEUED, timezone.now()
            run.save(update_fields=["state", "heartbeat_at"])
            enqueue(run.pk)
            count += 1
    return count


def notify_finished(run: Run, state: str) -> None:
    """Notify who started the run; if an automatic run fails for the first time, the staff."""
    data = {"run": run.number, "task": run.task_id, "method": run.method, "state": state}
    emit(project=run.project, event="run.finished", data=data)
    if state == RunState.CANCELLED or (state == RunState.DONE and run.trigger in PARTS):
        return  # by whoever cancelled it; what follows a run, or serves another page, is part of it
    failed = state == RunState.FAILED
    if failed and run.trigger == LIVE and _failed_before(run):
        return  # it is tried again and again
    if run.started_by is not None:
        people = [run.started_by]
    elif failed and not _failed_before(run):
        people = people_of(run.project)
    else:
        return
    title = run_types.title_of(run.method)
    notify(
        to=people,
        kind="run.failed" if failed else "run.finished",
        project=run.project,
        key=f"run.ended:{run.pk}",
        url=reverse("run", args=[run.project_id, run.number]),
        text=lambda: (
            (
                _("Run %(run)s (%(title)s) failed.")
                if failed
                else _("Run %(run)s (%(title)s) is done.")
            )
            % {"run": run.number, "title": title}
        ),
        mail=failed or timezone.now() - run.created_at > LONG,
    )


def _failed_before(run: Run) -> bool:
    """Whether the run of this kind before it, started by the same or by nobody too, failed."""
    before = Run.objects.filter(
        task=run.task_id,
        method=run.method,
        lane=run.lane,
        started_by=run.started_by,
        pk__lt=run.pk,
        state__in=[RunState.DONE, RunState.FAILED],
    )
    last = before.order_by("-pk").values_list("state", flat=True).first()
    return last == RunState.FAILED
