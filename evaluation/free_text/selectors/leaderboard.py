"""The boards of a finished run, from its rows alone: workers, and language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.access import Access
from crowdqc.numbers import NBSP
from evaluation.models import Run, SystemScore, WorkerScore
from evaluation.results.boards import STORED, Board, Row
from evaluation.results.columns import (
    Column,
)
from evaluation.runs.results.figures import DECLINED_SHARE, PASTED_SHARE
from evaluation.runs.selectors.people import names_in_files


def worker_rows(run: Run, log: Mapping[str, Any]) -> list[Row]:
    """A row a worker, with the flags of the log figure."""
    values = WorkerScore.objects.filter(run=run, dimension="").values_list(
        "worker_id", "worker__pseudonym", *STORED
    )
    rows = []
    for pk, name, *stored in values:
        own, n = log.get(str(pk), {}), stored[STORED.index("n")]
        rows.append(Row.of(pk, name, "", stored, pasted=own.get("pasted"), flags=flags(own, n)))
    return rows


def columns_of(board: Board, columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns, with the score renamed if the board ranks by adjusted scores."""
    if not board.adjusted:
        return columns
    return [
        replace(one, label=_("Adjusted"), term="adjusted") if one.is_main else one
        for one in columns
    ]


def link_workers(rows: Sequence[Row], access: Access) -> None:
    """Set each worker's link to their card, and what a file calls them."""
    workers = [row for row in rows if not row.model]
    names = names_in_files(access, (row.id for row in workers))
    for row in workers:
        row.url = reverse("worker_card", args=[access.project.pk, row.id])
        row.beside = names.get(row.id, "")


def names_of(run: Run, told: Mapping[str, Any]) -> dict[int, str]:
    """The pseudonyms of those in camps by id; {} without camps."""
    ids = {
        pk
        for part in told.get("camps", [])
        if part["found"]
        for group in part["groups"]
        for pk in group["workers"]
    }
    if not ids:
        return {}
    rows = WorkerScore.objects.filter(run=run, worker__in=ids, dimension="")
    return dict(rows.values_list("worker_id", "worker__pseudonym"))


def system_rows(run: Run) -> list[Row]:
    """A row a system and component."""
    values = SystemScore.objects.filter(run=run, dimension="").values_list(
        "system_id", "system__name", "system__prompt_strategy", *STORED
    )
    return [
        Row.of(pk, name, strategy, stored, model=True) for pk, name, strategy, *stored in values
    ]


def flags(log: Mapping[str, Any], answered: int) -> list[dict[str, Any]]:
    """Return the flags of a worker: much pasting, many answers "I don't know"."""
    found = []
    if (log.get("pasted") or 0) >= PASTED_SHARE:
        found.append({"text": _("Paste")})
    declined = log.get("declined", 0)
    if declined >= 2 and declined >= DECLINED_SHARE * answered:
        # Evidence from the log beside a score; never a verdict.
        times = f"{declined}{NBSP}×{NBSP}"
        found.append({"text": _("%(times)s“don’t know”") % {"times": times}})
    return found
