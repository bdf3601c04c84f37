"""A run as one file that computes its numbers again: data, recipe, versions and results.

``manage.py verify_bundle`` reads it with no database (``bundle_check``).
"""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator
from typing import Any

from annotation.files.writing.zips import zip_with_manifest
from annotation.models import Answer, TaskVersion
from crowdqc.deployment.installation import version
from crowdqc.errors import Conflict, Invalid
from evaluation.bundles.kinds import KINDS, json_bytes, jsonl, names_of
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

KIND, FORMAT = "crowdqc bundle", 1
RECIPE, ENVIRONMENT, FIGURES = "recipe.json", "environment.json", "results/figures.json"
NAMES = "names.json"
MODELS = (WorkerScore, SystemScore, CandidateScore, AnswerScore, ItemScore, ItemLabel)
OF_LOG = "log"  # a figure that is no part of a result
LIBRARIES = ("numpy", "scipy", "Django")
README = """This is one run of a method with everything that gives its numbers again.

    python manage.py verify_bundle THIS.zip

in a checkout of crowdqc needs no database. It checks the SHA-256 of every file, the hash of the
answers, and runs the method again: on a machine like the one in environment.json byte for byte,
elsewhere to 1e-6. Whoever changes an answer changes the numbers; whoever changes the numbers as
well has another result hash than the run has where it was made ("result_hash" in manifest.json).
People appear under pseudonyms (names.json).
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

    def ended(hashes: dict[str, str]) -> dict[str, Any]:
        found = manifest(run, recipe, hashes)
        if told is not None:
            told.update(found)
        return found

    return zip_with_manifest(_files(run, recipe), ended)


def manifest(run: Run, recipe: dict[str, Any], hashes: dict[str, str]) -> dict[str, Any]:
    """What the bundle is of, and the SHA-256 of every file."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "project": run.project_id,
        "task": run.task_id,
        "task_type": run.task.type,
        "task_versions": versions_of(run.snapshot.answer_ids if run.snapshot else []),
        "run": run.number,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "method": run.method,
        "method_version": run.version,
        "params": run.params,
        "seed": run.seed,
        "snapshot": recipe["snapshot"],
        "counts": recipe["counts"],
        "result_hash": run.result_hash,
        "app_version": version(),
        "names": "pseudonyms",
        "files": hashes,
    }


def environment() -> dict[str, Any]:
    """What computes here: versions of everything that can change a last digit."""
    return {
        "app": version(),
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "system": platform.system(),
        "machine": platform.machine(),
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
    }


def _files(run: Run, recipe: dict[str, Any]) -> Iterator[tuple[str, list[bytes]]]:
    yield "README.txt", [README.encode()]
    for name, content in KINDS[run.method].pack(run):
        yield name, [content]
    yield from files_of_result(run, recipe)


def files_of_result(run: Run, recipe: dict[str, Any]) -> Iterator[tuple[str, list[bytes]]]:
    """The files of a bundle that a report is made of: everything but the answers."""
    yield RECIPE, [json_bytes(recipe)]
    yield ENVIRONMENT, [json_bytes(environment())]
    yield NAMES, [names_of(run.task)]
    for model in MODELS:
        rows = model._default_manager.filter(run=run).order_by("pk").values()
        columns = [{k: v for k, v in row.items() if k not in ("id", "run_id")} for row in rows]
        if columns:
            yield results_file(model), [jsonl(columns)]
    figures = dict(run.figures.exclude(name=OF_LOG).values_list("name", "data"))
    yield FIGURES, [json_bytes(figures)]


def results_file(model: type) -> str:
    """Where the rows of a model stand."""
    return f"results/{model.__name__}.jsonl"


def recipe_of(run: Run) -> dict[str, Any]:
    """The run's recipe as it was computed; counts as they were then, whatever was taken since."""
    told = dict(run.figures.filter(name__in=("recipe", "left_out")).values_list("name", "data"))
    if "recipe" not in told or run.snapshot is None:
        raise Conflict(f"Run {run.number} has no recipe, so it cannot be bundled.")
    counts = dict(told["recipe"]["counts"])
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
    return [
        {
            "number": one.number,
            "title": one.title,
            "settings": one.settings,
            "instructions": one.instructions,
            "published_at": one.published_at.isoformat() if one.published_at else None,
        }
        for one in versions
    ]
