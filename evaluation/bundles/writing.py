"""A run as one file that computes its numbers again: data, recipe, versions and results.

``manage.py verify_bundle`` reads it with no database (``checking``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annotation.models import Answer, TaskVersion
from crowdqc.errors import Conflict, Invalid
from evaluation.bundles.kinds.base import json_bytes, jsonl, names_of
from evaluation.bundles.kinds.registry import KINDS
from evaluation.bundles.manifest import (
    ENVIRONMENT,
    FIGURES,
    NAMES,
    README,
    RECIPE,
    environment,
    manifest_of,
    results_file,
    zipped,
)
from evaluation.bundles.study import study_of, version_facts
from evaluation.models import (
    AnswerScore,
    CandidateScore,
    ItemLabel,
    ItemScore,
    Run,
    RunState,
    SystemScore,
    WorkerScore,
)
from evaluation.runs.run_types import title_of

MODELS = (WorkerScore, SystemScore, CandidateScore, AnswerScore, ItemScore, ItemLabel)
OF_LOG = "log"  # a figure that is no part of a result
WORDS = """This is one run of a method with everything that gives its numbers again.

    python manage.py verify_bundle THIS.zip

in a checkout of crowdqc needs no database. It checks the SHA-256 of every file, the hash of the
answers, and runs the method again: on a machine like the one in environment.json byte for byte,
elsewhere to 1e-6. Whoever changes an answer changes the numbers; whoever changes the numbers as
well has another result hash than the run has where it was made ("result_hash" in manifest.json).
What a model gave, or what stays where the run was made, is taken as it was stored ("given" in
manifest.json). People appear under pseudonyms (names.json).
"""


def check(run: Run) -> None:
    """Raise Conflict or Invalid, saying why, where the run cannot be bundled."""
    if run.method not in KINDS:
        raise Invalid(
            f"Runs of “{title_of(run.method)}” cannot be bundled.",
            fields={"method": f"These can: {', '.join(title_of(slug) for slug in KINDS)}."},
        )
    if run.state != RunState.DONE:
        raise Conflict(f"Run {run.number} is not finished.")
    if run.spoiled:
        raise Conflict(f"Run {run.number} cannot be computed again: {run.spoiled}")


def parts(run: Run, told: dict[str, Any] | None = None) -> Iterator[bytes]:
    """The bundle as a ZIP file, piece by piece. Raises as ``check`` does, before the first.

    ``told`` is given the manifest at the end.
    """
    check(run)
    recipe = recipe_of(run)
    return zipped(_files(run, recipe), manifest(run, recipe), told)


def manifest(run: Run, recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of a bundle of writing, without its files."""
    return manifest_of(
        recipe,
        task_type=run.task.type,
        result_hash=run.result_hash,
        project=run.project_id,
        task=run.task_id,
        task_versions=versions_of(run.snapshot.answer_ids if run.snapshot else []),
        run=run.number,
        finished_at=run.finished_at.isoformat() if run.finished_at else None,
        counts=recipe["counts"],
        given=KINDS[run.method].given,
        study=study_of(run),
    )


def _files(run: Run, recipe: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    yield README, WORDS.encode()
    yield from KINDS[run.method].pack(run)
    yield from files_of_result(run, recipe)


def files_of_result(run: Run, recipe: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of a bundle that a report is made of: everything but the answers."""
    yield RECIPE, json_bytes(recipe)
    yield ENVIRONMENT, json_bytes(environment())
    yield NAMES, names_of(run.task)
    for model in MODELS:
        rows = model._default_manager.filter(run=run).order_by("pk").values()
        columns = [{k: v for k, v in row.items() if k not in ("id", "run_id")} for row in rows]
        if columns:
            yield results_file(model), jsonl(columns)
    figures = dict(run.figures.exclude(name=OF_LOG).values_list("name", "data"))
    yield FIGURES, json_bytes(figures)


def recipe_of(run: Run) -> dict[str, Any]:
    """Return the run's recipe with the counts of the time it was computed."""
    told = dict(run.figures.filter(name__in=("recipe", "left_out")).values_list("name", "data"))
    if "recipe" not in told or run.snapshot is None:
        raise Conflict(f"Run {run.number} has no recipe, so it cannot be bundled.")
    counts = dict(told["recipe"].get("counts", run.snapshot.counts))
    if "left_out" in told:  # of free text it is a figure of its own
        names = run.snapshot.counts["left_out"]
        counts["left_out"] = {name: told["left_out"][name] for name in names}
    return {
        **told["recipe"],
        "params": run.params,
        "counts": counts,
        "method": run.method,
        "version": run.version,
    }


def versions_of(answer_ids: list[int]) -> list[dict[str, Any]]:
    """The versions of the task that these answers were given to."""
    seen = Answer.objects.filter(pk__in=answer_ids).order_by().values("version").distinct()
    versions = TaskVersion.objects.filter(pk__in=seen).order_by("number")
    return [version_facts(one) for one in versions]
