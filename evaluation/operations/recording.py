"""What workers report of themselves: jobs that ended, and those that ended with an error."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from celery.signals import task_failure
from django.db import Error as DatabaseError

from crowdqc.jobs import worker
from crowdqc.jobs.queues import DEFAULT, queue_role, route_job
from evaluation.operations import actions

logger = logging.getLogger(__name__)
OURS = ("annotation", "evaluation", "crowdqc")


@worker.listeners.append
def count_finished(roles: Sequence[str], finished: int) -> None:
    """Add the jobs that ended since the last sign of life to the counts of their queue."""
    if finished:
        actions.add_to_samples({f"finished:{roles[0] if roles else DEFAULT}": float(finished)})


@task_failure.connect
def _failed(
    sender: Any = None,
    exception: BaseException | None = None,
    args: Sequence[Any] | None = None,
    traceback: TracebackType | None = None,
    **_: Any,
) -> None:
    """Note a job that ended with an error, wherever it is that this is seen."""
    name = str(getattr(sender, "name", ""))
    info = getattr(getattr(sender, "request", None), "delivery_info", None) or {}
    told = (
        queue_role(str(info.get("routing_key", "")))
        or queue_role(route_job(name)["queue"])
        or DEFAULT
    )
    try:
        actions.note_failure(
            job=name,
            error=error_origin(exception, traceback),
            queue_role=told,
            args=[one for one in args or () if isinstance(one, (int, str, dict, type(None)))],
        )
    except DatabaseError as error:
        logger.warning("the failure of %s is not counted: %s", name, type(error).__name__)


def error_origin(error: BaseException | None, traceback: TracebackType | None) -> str:
    """The class of an error and our line that it came through; its message may quote anything."""
    place, found = traceback, ""
    while place is not None and hasattr(place, "tb_frame"):
        module = str(place.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in OURS:
            found = f" in {module}, line {place.tb_lineno}"
        place = place.tb_next
    return f"{type(error).__name__}{found}"
