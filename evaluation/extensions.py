"""What this app registers for packages below: each function imports what it needs when called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from annotation import hooks as annotation_hooks
from evaluation.embeddings import hooks as encoder_hooks
from evaluation.runs import hooks as run_hooks


@annotation_hooks.export_makers.register
def export_makers() -> Mapping[str, Any]:
    """Return the makers of files about runs and live evaluations, and of the joined table."""
    from evaluation.bundles.makers import MAKERS
    from evaluation.items.joined import JOINED, JoinedMaker

    return {**MAKERS, JOINED: JoinedMaker()}


@annotation_hooks.run_recipes.register
def run_recipes(task: Any) -> list[dict[str, Any]]:
    """Return what it takes to compute a task's finished runs again."""
    from evaluation.bundles.makers import recipes

    return recipes(task)


@annotation_hooks.task_verdict.register
def task_verdict(task: Any) -> dict[str, str] | None:
    """Return the verdict of a task's results and the address of its page."""
    from evaluation.overview import verdicts

    return verdicts.task_verdict(task)


@annotation_hooks.task_outlook.register
def task_outlook(access: Any, row: Any) -> Any:
    """Return what waits in a task, its pace, and the address of its plan."""
    from evaluation.overview import task_outlook as outlook

    return outlook.task_outlook(access, row)


@annotation_hooks.plan_url.register
def plan_url(task: Any) -> str:
    """Return the address of the task's plan."""
    from evaluation.runs.planning import plans

    return plans.plan_url(task)


@annotation_hooks.run_states.register
def run_states(tasks: Any) -> dict[int, str]:
    """Return the state of the results of each task."""
    from evaluation.runs.selectors import states

    return states.run_states(tasks)


@annotation_hooks.worker_evidence.register
def worker_evidence(project: Any) -> Any:
    """Return the scores, look-alikes and flags of a project's workers."""
    from evaluation.people.selectors import evidence

    return evidence.WorkerEvidence(project)


@annotation_hooks.public_board.register
def public_board(slug: str) -> dict[str, str] | None:
    """Return the title and the addresses of a public board."""
    from evaluation.runs.sharing import selectors

    return selectors.find_board(slug)


@annotation_hooks.write_table.register
def write_table(**given: Any) -> Any:
    """Make a task of an uploaded table and start its run."""
    from evaluation.score_table.actions import scoring

    return scoring.write_table(**given)


@run_hooks.load_registry.register
def load_registry() -> run_hooks.Registry:
    """Return the registry of run types and adapters."""
    from evaluation import registry

    return cast(run_hooks.Registry, registry)


@encoder_hooks.endpoint_encoder.register
def endpoint_encoder(slug: str) -> Any:
    """Return the encoder that an endpoint of a project offers."""
    from evaluation.llm.encoder import encoder_at

    return encoder_at(slug)
