"""Agreement with everybody: what it is if workers who were left out by hand count too.

It is computed with the run, beside its result, so that a page that shows agreement without some
workers can show it with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Answer
from annotation.task_types import get_type
from crowdqc.numbers import count, interval, score
from evaluation.models import Run

FIGURE = "everybody"
Row = Mapping[str, Any]


def figure(run: Run, agreement: Callable[[list[int]], Sequence[Row]]) -> dict[str, Any]:
    """Return the figure of a run whose task leaves workers out; {} where it leaves out nobody.

    ``agreement`` gives a row a dimension, with ``alpha``, ``low`` and ``high``, of the answers
    with these ids.
    """
    if run.snapshot is None or run.source_id is not None:
        return {}
    left_out = dict(run.task.exclusions.in_force().values_list("worker_id", "reason"))
    if not left_out:
        return {}
    own = Answer.objects.filter(
        item__task=run.task_id,
        stage=Answer.Stage.MAIN,
        worker__in=left_out,
        assignment__quiz__isnull=True,
    )
    stopped = Q()
    for worker, reason in left_out.items():  # with the exclusion, to be collected again
        stopped |= Q(worker=worker, uncounted_reason=reason[:200])
    if not get_type(run.task.type).judges_texts:  # there labels of known answers enter results
        stopped |= Q(item__expected__isnull=False)
    more = dict(own.filter(Q(counts=True) | stopped).values_list("pk", "worker_id"))
    if not more:
        return {}
    n = len(set(more.values()))
    rows = agreement([*run.snapshot.answer_ids, *more])
    return {
        FIGURE: {
            "left_out": n,
            "workers": run.snapshot.counts["workers"] + n,
            "agreement": [
                {name: row[name] for name in ("dimension", "alpha", "low", "high")} for row in rows
            ],
        }
    }


def generator(run: Run) -> np.random.Generator:
    """A generator of its own, so that no figure of the result depends on it."""
    return np.random.default_rng([run.seed, 2])


def words(told: Mapping[str, Any], dimension: str = "") -> str:
    """Say how many workers were left out by hand and what agreement is with them; "" if nobody."""
    found = told.get(FIGURE)
    if not found:
        return ""
    values = {"n": count(found["left_out"]), "workers": count(found["workers"])}
    row = next((one for one in found["agreement"] if one["dimension"] == dimension), None)
    if row is None or row["alpha"] is None:
        return (
            ngettext(
                "%(n)s of %(workers)s workers is left out by hand.",
                "%(n)s of %(workers)s workers are left out by hand.",
                found["left_out"],
            )
            % values
        )
    values["alpha"] = score(row["alpha"], 2)
    values["span"] = (
        _("no interval") if row["low"] is None else interval(row["low"], row["high"], 2)
    )
    return (
        ngettext(
            "%(n)s of %(workers)s workers is left out by hand; with them: α %(alpha)s (%(span)s).",
            "%(n)s of %(workers)s workers are left out by hand; with them: α %(alpha)s (%(span)s).",
            found["left_out"],
        )
        % values
    )
