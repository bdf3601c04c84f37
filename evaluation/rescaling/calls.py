"""Scores of explanations by answer: from a model that is asked now, or from imported calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Task
from crowdqc.errors import Conflict
from evaluation.llm.ask import Ask
from evaluation.llm.calls import ask_all
from evaluation.models import CallState, CallUse, LanguageModel, Run, RunState
from evaluation.models.runs import PUBLISHED
from evaluation.rescaling.dataset import ExplanationsDataset
from evaluation.runs.progress import Recorder

WHAT = "scores of explanations"
BATCH = 2000


@dataclass(frozen=True)
class ScoredExplanations:
    """What a model made of the explanations: f by answer, each one's call, and why some lack it.

    ``digest`` is a hash over every call that was used, in order: an input of the recipe.
    """

    score: dict[int, float]
    call: dict[int, int]
    reason: dict[int, str]
    told: dict[str, Any]  # prompt, model, source, calls, digest


def imports(task: Task, scale: str = "") -> list[Run]:
    """Runs that hold imported scores of the task's explanations, the newest first."""
    rows = task.runs.filter(method=PUBLISHED, state=RunState.DONE, params__what=WHAT)
    return [run for run in rows.order_by("-id") if scale in ("", run.params["scale"])]


def by_model(
    run: Run, model: LanguageModel, asked: Sequence[Ask], variant: str, steps: Recorder
) -> ScoredExplanations:
    """Ask a model for the score of every explanation."""
    found: list[tuple[int, int, Any, str]] = []
    for reply in ask_all(run, model, asked, steps):
        pk = int(reply.subject.partition(":")[2])
        found.append((pk, reply.call_id, reply.value, reply.reason))
    told = {
        "source": "endpoint",
        "model": model.name,
        "base_url": model.endpoint.base_url,
        "prompt": asked[0].prompt.ref if asked else "",
        "prompt_digest": asked[0].prompt.digest if asked else "",
        "variant": variant,
    }
    return _scored(run, found, told)


def by_import(run: Run, frozen: ExplanationsDataset, source_id: int) -> ScoredExplanations:
    """Take the scores that were imported for the task; records that this run used their calls."""
    source = next((one for one in imports(run.task) if one.pk == source_id), None)
    if source is None:
        raise Conflict("The task has no such imported scores.")
    if source.params["scale"] != frozen.scale.name:
        raise Conflict("The imported scores are of another scale.")
    wanted = {row.answer_id for row in frozen.rows if row.explanation}
    uses = source.uses.select_related("call").order_by("pk")
    found, used = [], []
    for use in uses.iterator(BATCH):
        pk = int(use.subject.partition(":")[2])
        if pk in wanted:
            value = use.call.value if use.call.state == CallState.DONE else None
            found.append((pk, use.call_id, value, use.call.reason))
            used.append(CallUse(run=run, call_id=use.call_id, subject=use.subject))
    CallUse.objects.bulk_create(used, batch_size=BATCH, ignore_conflicts=True)
    told = {
        "source": "import",
        "model": source.params["model_name"],
        "base_url": "",
        "prompt": source.params["prompt"],
        "variant": source.params.get("variant", ""),
        "import": source.number,
    }
    return _scored(run, found, told)


def _scored(
    run: Run, found: Sequence[tuple[int, int, Any, str]], told: dict[str, Any]
) -> ScoredExplanations:
    keys = dict(run.uses.values_list("call_id", "call__key"))
    digest = hashlib.sha256()
    score: dict[int, float] = {}
    reason: dict[int, str] = {}
    for pk, call, value, why in found:
        given = None if value is None else float(value["score"])
        digest.update(json.dumps([keys.get(call, ""), given]).encode() + b"\n")
        if given is None:
            reason[pk] = why or "no number in the answer"
        else:
            score[pk] = given
    return ScoredExplanations(
        score,
        {pk: call for pk, call, _, _ in found},
        reason,
        {**told, "calls": len(found), "digest": digest.hexdigest()},
    )
