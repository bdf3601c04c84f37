"""Jobs of the evaluation app; each may run twice without harm."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from annotation.models import User
from crowdqc.database.locks import try_lock
from evaluation.bundles import public
from evaluation.deletion import actions as deletion
from evaluation.embeddings import vectors
from evaluation.free_text import encoding
from evaluation.live import actions as live
from evaluation.llm.endpoints import probe as probing
from evaluation.moving import files as archives
from evaluation.operations import actions as operations
from evaluation.operations import recording  # noqa: F401 - connects what workers report
from evaluation.pairwise import adaptive
from evaluation.people import erasure
from evaluation.retention import actions as retention
from evaluation.runs import engine as runs
from evaluation.runs import schedules
from evaluation.runs.planning import plans

HOUR: dict[str, Any] = {"soft_time_limit": 3600, "time_limit": 3660}


# Its limits come with its message: they depend on what the run does (``runs.enqueue``).
@shared_task(ignore_result=True)
def run_job(run_id: int) -> str:
    """Work on a queued run; one that has moved on is left alone."""
    return runs.execute(run_id)


run_job.when_killed = runs.fail_killed


@shared_task(ignore_result=True, **HOUR)
def start_due_runs() -> int:
    """Start the runs that are due by schedule or by new answers."""
    return len(schedules.start_due())


@shared_task(ignore_result=True, **HOUR)
def encode_shard(run_id: int) -> str:
    """Encode one shard of a waiting run's texts."""
    return encoding.encode_next(run_id)


@shared_task(ignore_result=True, **HOUR)
def write_board_bundle(share_id: int) -> str:
    """Write the bundle that a public board offers."""
    return public.write_bundle(share_id)


@shared_task(ignore_result=True, **HOUR)
def write_board_bundles() -> int:
    """Write bundles of public boards whose job never came."""
    return public.write_waiting()


@shared_task(ignore_result=True)
def resume_abandoned() -> int:
    """Queue runs again whose worker died, parts of their texts, and moves of projects."""
    found = runs.resume_abandoned() + encoding.resume_waiting()
    return found + archives.resume_archives()


@shared_task(ignore_result=True, soft_time_limit=120, time_limit=150)
def simulate_plan(task_id: int, run_id: int | None, values: dict[str, Any]) -> str:
    """Simulate the plan that a page waits for."""
    return plans.simulate_plan(task_id, run_id, values)


@shared_task(ignore_result=True, **HOUR)
def adapt_all() -> int:
    """Update the planned votes of all tasks with adaptive collection."""
    return adaptive.adapt_all()


@shared_task(ignore_result=True, **HOUR)
def check_live() -> int:
    """Look at live evaluations, and end those that are precise enough or out of budget."""
    return live.check_all()


@shared_task(ignore_result=True, **HOUR)
def erase_worker(worker_id: int) -> str:
    """Erase a worker whose erasure was decided."""
    return erasure.carry_out(worker_id)


@shared_task(ignore_result=True, **HOUR)
def erase_waiting() -> int:
    """Take up erasures that waited for a run or whose job died."""
    return sum(erasure.carry_out(pk) == "done" for pk in erasure.waiting_erasures())


@shared_task(ignore_result=True, **HOUR)
def erase_due_texts() -> int:
    """Erase the answers' texts and the vectors that were kept for as long as they are to be."""
    return erasure.erase_due() + vectors.delete_unused()


@shared_task(ignore_result=True, **HOUR)
def delete_expired_rows() -> int:
    """Delete rows of logs, runs and deliveries that were kept for their time; return how many."""
    with try_lock("delete_expired_rows") as mine:
        return retention.delete_expired() if mine else 0


@shared_task(ignore_result=True, **HOUR)
def delete_projects() -> int:
    """Carry out the deletions of projects that are due, or go on with them."""
    return deletion.delete_due()


@shared_task(ignore_result=True, **HOUR)
def move_project(archive_id: int) -> str:
    """Export or import a project, as an owner asked for on a page."""
    return archives.work_on(archive_id)


@shared_task(ignore_result=True)
def probe_model(model_id: int, by_id: int) -> str:
    """Find out what a model can do, as somebody asked for."""
    return probing.probe_requested(by=User.objects.get(pk=by_id), model_id=model_id)


@shared_task(ignore_result=True)
def list_models(endpoint_id: int) -> str:
    """Ask an endpoint which models it has."""
    return probing.list_models(endpoint_id=endpoint_id)


@shared_task(ignore_result=True)
def take_samples() -> int:
    """Write the figures of this moment for the operations page and the metrics."""
    return operations.take_samples()


@shared_task(ignore_result=True, **HOUR)
def reset_demo() -> None:
    """Bring back the state with which a public demo begins."""
    from evaluation.demo import public

    with try_lock("reset_demo") as mine:
        if mine:
            public.reset_in_process()


@shared_task(ignore_result=True)
def read_certificate() -> bool:
    """Read when the site's certificate ends, for the operations page and the metrics."""
    return operations.read_certificate()
