"""A worker's own data as a ZIP: what was collected, and their scores where they may see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from annotation.formats.exports import person
from annotation.models import Membership, User
from annotation.records.actions.audit import record
from crowdqc.files import cells
from evaluation.models import WorkerScore

SCORES = gettext_noop(
    "Your scores, run by run, in projects that show workers theirs; low and high bound them."
)


def own_data(user: User) -> Iterator[bytes]:
    """Yield a ZIP of all data about the person, for themself."""
    told = [("scores", SCORES, _scores)]
    return cells.stream_zip(person.files(person.members_of(user), user=user, extra=told))


@transaction.atomic
def of_worker(*, by: User, worker: Membership) -> Iterator[bytes]:
    """Yield a ZIP of a worker's data in one project, for its staff; it is logged."""
    record(by=by, project=worker.project, action="worker.data", on=worker)
    return cells.stream_zip(person.files([worker], extra=[("scores", SCORES, _scores)]))


def _scores(members: Sequence[Membership]) -> Iterator[dict[str, Any]]:
    shown = [one.pk for one in members if one.project.show_scores]
    rows = WorkerScore.objects.filter(worker__in=shown).select_related("run").order_by("pk")
    for one in rows.iterator(chunk_size=500):
        yield {
            "run": one.run.number,
            "method": one.run.method,
            "at": one.run.finished_at,
            "about": one.dimension,
            "score": one.estimate,
            "low": one.low,
            "high": one.high,
            "from_answers": one.n,
            "rank_from": one.rank_low,
            "rank_to": one.rank_high,
        }
