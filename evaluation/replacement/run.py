"""Runs that ask whether a model may do the work of one of the people: figures, and no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from annotation.work.snapshots import choices as collected
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.core.params import TEXT, Param
from evaluation.methods.replacement.data import Drawn
from evaluation.methods.replacement.method import METHOD
from evaluation.models import Run
from evaluation.replacement import dataset
from evaluation.replacement.dataset import ChoicesDataset
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import SNAPSHOT, Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG = METHOD.slug
TESTS = gettext_noop("Tests")
OF_A_CROWD = 0.10  # epsilon
OF_THE_RUN = ("field", "encoder")  # what the method knows nothing of
FIELD = Param(
    "field",
    "",
    TEXT,
    high=40,
    label=gettext_noop("Field"),
    help=gettext_noop("The question whose answers are compared."),
)


@dataclass(frozen=True, eq=False)
class Computed:
    """What a run has found before anything is written."""

    frozen: ChoicesDataset
    result: Result
    encoder: str = ""  # of texts


def compute(run: Run, steps: Recorder) -> Computed:
    """Freeze what people and models chose (or take the snapshot's), and test every model."""
    steps.begin(SNAPSHOT)
    field = collected.field_of(run.task, run.params[FIELD.name])
    snapshot = freeze(run, partial(dataset.freeze_choices, asked=field))
    frozen = dataset.load(snapshot, field)
    steps.set_words(
        sub=snapshot.content_hash[:8],
        mono=True,
        count=f"{plural(snapshot.counts['answers'], 'answer')} of people, "
        f"{snapshot.counts['system_answers']} of models",
    )
    steps.begin(TESTS)
    return fit(run, frozen, Hooks(progress=lambda stage, done, total: steps.advance(done, total)))


def fit(run: Run, frozen: ChoicesDataset, hooks: Hooks) -> Computed:
    """The run's method on frozen choices. Reads no database."""
    options = {name: value for name, value in run.params.items() if name not in OF_THE_RUN}
    rng = np.random.default_rng(run.seed)
    return Computed(frozen, METHOD.fit(frozen.data, rng=rng, hooks=hooks, **options))


def write(run: Run, done: Computed) -> Outcome:
    """Return the run's figures: the method's tables with the names behind their numbers."""
    return Outcome({}, content(run, done))


def content(run: Run, done: Computed) -> dict[str, Any]:
    """The figures of a run by name. Reads no database."""
    frozen, snapshot = done.frozen, run.snapshot
    return {
        **{name: table.rows() for name, table in done.result.estimates.items()},
        "frame": {
            "people": list(frozen.workers),
            "models": [
                [pk, name] for pk, name in zip(frozen.systems, frozen.data.models, strict=True)
            ],
            "field": [frozen.field.name, frozen.field.label],
            "labels": list(frozen.field.codes or frozen.field.lines),
            "lines": len(frozen.field.lines),
            "score": frozen.data.score,
            **draw_facts(frozen.data.drawn),
        },
        "recipe": {
            "method": run.method,
            "version": done.result.version,
            "seed": run.seed,
            "params": dict(run.params),
            "snapshot": snapshot.content_hash if snapshot else "",
            "counts": dict(snapshot.counts) if snapshot else {},
            **({"encoder": done.encoder} if done.encoder else {}),
        },
    }


def draw_facts(drawn: Drawn | None) -> dict[str, Any]:
    """Return for the page how items were drawn for people; {} if they were not."""
    if drawn is None:
        return {}
    return {"drawn": {"items": int(drawn.chosen.sum()), "even": drawn.even}}


def usual_epsilon(task: Task) -> dict[str, Any]:
    """Return the default epsilon for who annotates: .10 for a crowd, the method's for a panel.

    Calderon et al. (2025), section 3.2. Where all answers were imported nothing is known, and the
    default of the method stands.
    """
    if task.panel_id is not None:
        return {}
    crowd = task.recruitments.exists() or task.assignments.exclude(source="import").exists()
    return {"epsilon": OF_A_CROWD} if crowd else {}


def field_choices(task: Task) -> dict[str, list[tuple[str, str]]]:
    """The fields of the task that can be compared, for the form of a run."""
    return {FIELD.name: [(one.name, one.label) for one in collected.fields_of(task)]}


def refuse(task: Task, params: Mapping[str, Any]) -> None:
    """Raise Invalid where the task has no such field."""
    known = [one.name for one in collected.fields_of(task)]
    if params[FIELD.name] and params[FIELD.name] not in known:
        raise Invalid(
            gettext("The task has no field %(field)s that can be compared.")
            % {"field": repr(params[FIELD.name])},
            fields={FIELD.name: ", ".join(known) or gettext("The task has none.")},
        )


RUNS = RunType(
    METHOD,
    ("labels", "pairs", "ratings", "checks"),
    gettext_noop("labels, judgments of pairs, ratings and checklists"),
    (SNAPSHOT, TESTS),
    compute,
    write,
    own=(FIELD,),
    initial=usual_epsilon,
    choices=field_choices,
    refuse=refuse,
    page="replacement",
    export=OWN_ROWS,
    detail=lambda run: str(run.params.get(FIELD.name) or ""),
    reads_texts=False,
)
