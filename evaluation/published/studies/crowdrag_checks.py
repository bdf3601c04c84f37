"""What takes longer of a published study: MACE fitted again, nulls and cross-fit, similarities.

A run whose source is the published one; its rows are those of ``reproduce crowdrag`` that need a
fit or the texts, from the same functions and the rows of the database.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from crowdqc.errors import Conflict
from evaluation.models import Run, RunFigure
from evaluation.published.reproduce.crowdrag.data import DIMENSIONS
from evaluation.published.reproduce.crowdrag.mace import SHUFFLES, corrected_rows, refit_rows
from evaluation.published.reproduce.crowdrag.overlap import similarity_rows
from evaluation.published.reproduce.rows import Row
from evaluation.published.studies.data import as_crowdrag
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import Imported, RunType

METHOD = "published_checks"
TABLES, TEXTS = "tables", "cleaned_texts"  # figures
REFIT, CORRECTED, SIMILAR = "MACE fitted again", "Nulls and cross-fit", "Similarity of texts"
# Two ways of fitting, and for each dimension: all votes, both halves of the pairs, shuffled votes.
FITS = 2 * len(DIMENSIONS) * (1 + 2 + SHUFFLES)


@dataclass(frozen=True, eq=False)
class Computed:
    """Rows of tables; there is nothing in them that could fail to converge."""

    rows: list[dict[str, Any]]
    result: Any


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows of tables as ``reproduce --json`` prints them, in the order of the tables.

    A figure that is not defined on a study (NaN) is None.
    """
    return [
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.as_json().items()
        }
        for row in sorted(rows, key=lambda row: row.table)
    ]


def compute(run: Run, steps: Recorder) -> Computed:
    """The rows, in the order and from the random numbers of ``reproduce crowdrag``."""
    if run.source is None:
        raise Conflict("The published run that these checks belong to is gone.")
    data = as_crowdrag(run.task, run.source)
    rng = np.random.default_rng([run.seed, 1])
    restarts = run.params["restarts"]
    steps.begin(REFIT, total=len(DIMENSIONS))
    rows = refit_rows(data, rng, restarts=restarts, tick=_ticking(steps))
    steps.begin(CORRECTED, total=FITS)
    rows += corrected_rows(data, rng, restarts=restarts, tick=_ticking(steps))
    written = RunFigure.objects.get(run=run.source, name=TEXTS).data
    steps.begin(SIMILAR, total=len(data.graded.responses))
    rows += similarity_rows(
        data,
        [written[key] for key in data.graded.responses],
        say=lambda line: steps.set_words(sub=line),
        progress=steps.advance,
    )
    return Computed(as_json(rows), SimpleNamespace(converged=True))


def _ticking(steps: Recorder) -> Callable[[], None]:
    """A function that counts its calls as the step's progress."""
    done = -1

    def tick() -> None:
        nonlocal done
        done += 1
        steps.advance(done)

    return tick


def write(run: Run, done: Computed) -> Outcome:
    """Return the tables as a figure of the run."""
    recipe = {
        "method": run.method,
        "version": run.version,
        "params": run.params,
        "seed": run.seed,
        "source": run.source.result_hash if run.source else "",
    }
    return Outcome({}, {TABLES: done.rows, "recipe": recipe})


RUNS = RunType(
    Imported(METHOD, "Published checks"),
    ("pairs",),
    "pairwise judgments",
    (REFIT, CORRECTED, SIMILAR),
    compute,
    write,
)
