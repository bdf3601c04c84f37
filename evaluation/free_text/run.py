"""Runs on free text: their options, and all that happens before rows are written."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from annotation.models import Task
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.embeddings import embeddings, vectors
from evaluation.methods.aqer.method import METHOD
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.core.params import TEXT, Param
from evaluation.methods.registry import get_method
from evaluation.models import Run, Snapshot
from evaluation.runs.exports.tables import TABLES
from evaluation.runs.freezing import options as freezing
from evaluation.runs.freezing import snapshots
from evaluation.runs.progress import (
    BOOTSTRAP,
    CHECKS,
    EMBEDDINGS,
    ITERATING,
    SNAPSHOT,
    TEXT_STEPS,
    UNITERATED,
    Recorder,
)
from evaluation.runs.results import rows as results
from evaluation.runs.run_types import RunType

AQER = METHOD.slug
DEFAULT_ENCODER = "minilm"
ENCODER = Param(
    "encoder",
    DEFAULT_ENCODER,
    TEXT,
    label="Encoder",
    help="What turns an answer into numbers. Vectors are kept, so a text is encoded once.",
)
# What says of which data a run is; the method knows none of it.
OF_THE_RUN = ("encoder", "panel", "also")
# What a requester may choose; the method's other parameters keep their defaults.
STORED = ("encoder", "leave_one_out", "rank_by", "similarity", "start", "resamples")


def clean_encoder(slug: str) -> str:
    """A known encoder, ``path:<folder>`` within CROWDQC_ENCODER_DIRS, or ``endpoint:<model id>``.

    Raises Invalid for others. Whether a model is of the run's own project shows when it runs.
    """
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


def _encoder(run: Run, steps: Recorder) -> embeddings.Encoder:
    """The encoder; a bundled one stays loaded in the worker, a folder's model may change."""
    slug = run.params["encoder"]
    if slug.startswith("endpoint:"):
        # Not above: the client's libraries take a second, which pages need not wait for.
        from evaluation.llm.encoder import encoder_at

        return encoder_at(slug).bound(run, steps)
    return embeddings.get_encoder(slug) if slug.startswith("path:") else _kept_encoder(slug)


def with_encoder(settings: dict[str, Any]) -> dict[str, Any]:
    """The options with the encoder as it is stored; raises Invalid where there is none."""
    return {**settings, "encoder": clean_encoder(settings["encoder"] or DEFAULT_ENCODER)}


def compute(
    run: Run, steps: Recorder, take: Callable[[Task], Snapshot] = snapshots.freeze_answers
) -> results.Computed:
    """Freeze (by ``take``), embed, fit."""
    steps.begin(SNAPSHOT)
    snapshot = freezing.freeze(run, take)
    frozen = snapshots.load(snapshot)
    counts = snapshot.counts
    of_systems = f", {counts['system_answers']:,} of systems" if counts["system_answers"] else ""
    steps.say(
        sub=snapshot.content_hash[:8], mono=True, count=f"{counts['answers']:,} answers{of_systems}"
    )
    steps.begin(EMBEDDINGS, total=len(frozen.texts), sub="opening the encoder")
    encoding = _encoder(run, steps)
    steps.write()

    def advance(done: int, cached: int) -> None:
        sub = f"{cached:,} from the cache, {len(frozen.texts) - cached:,} new"
        if not encoding.cacheable:
            sub = "fitted to the texts of this run"
        steps.say(sub=sub, count=f"{done:,} of {len(frozen.texts):,}")
        steps.advance(done)

    embedded = vectors.vectors_of(frozen.texts, encoding, advance=advance)
    people = f"{counts['workers']:,} workers"
    if counts["systems"]:
        people += f", {counts['systems']:,} systems"
    steps.begin(UNITERATED)
    steps.say(count=people)
    hooks = Hooks(progress=steps.stage, change=steps.change)
    result = fit(run, frozen, embedded.matrix, hooks)
    if steps.current is not steps.steps[CHECKS]:
        steps.begin(CHECKS)
    _say_counts(steps, result, run.params.get("resamples", 0))
    return results.Computed(snapshot, frozen, encoding.identity, result)


def fit(run: Run, frozen: snapshots.AnswersDataset, matrix: Any, hooks: Hooks) -> Result:
    """The run's method on frozen answers and their vectors. Reads no database."""
    options = {name: value for name, value in run.params.items() if name not in OF_THE_RUN}
    rng = np.random.default_rng(run.seed)
    found: Result = get_method(run.method).fit(
        frozen.with_vectors(matrix), rng=rng, hooks=hooks, **options
    )
    return found


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


def write(run: Run, done: results.Computed) -> results.Outcome:
    """The rows and figures of a run."""
    return results.write(run, done)


def fail(run: Run, done: results.Computed) -> str:
    """Keep what shows why it did not converge; returns the reason in words."""
    results.write_failure(run, done.result)
    return results.why_not_converged(done.result)


RUNS = RunType(
    METHOD,
    ("texts",),
    "free text",
    TEXT_STEPS,
    compute,
    write,
    fail,
    own=(ENCODER,),
    stored=STORED,
    complete=with_encoder,
    export="task_results_export",
    tables=TABLES,
    figures_exported=False,
    iterates=True,
    chooses=True,
)
