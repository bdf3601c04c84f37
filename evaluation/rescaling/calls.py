"""Scores of explanations by answer: from a model that is asked now, or from imported calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from annotation.models import Task
from crowdqc.errors import Conflict
from evaluation.llm.ask import ModelQuestion
from evaluation.llm.calls import fetch_replies
from evaluation.models import CallState, CallUse, LanguageModel, Run, RunState
from evaluation.models.runs import PUBLISHED
from evaluation.rescaling.dataset import ExplanationsDataset
from evaluation.runs.progress import Recorder

WHAT = "scores of explanations"
BATCH = 2000


class GivenScore(NamedTuple):
    """What a model said of one explanation; without a number the reason stands in its place."""

    answer_id: int
    call_id: int
    key: str  # of the call: a hash over model, prompt and messages
    score: float | None
    reason: str


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
    run: Run, model: LanguageModel, asked: Sequence[ModelQuestion], variant: str, steps: Recorder
) -> ScoredExplanations:
    """Ask a model for the score of every explanation."""
    fetch_replies(run, model, asked, steps)
    told = {
        "source": "endpoint",
        "model": model.name,
        "base_url": model.endpoint.base_url,
        "prompt": asked[0].prompt.ref if asked else "",
        "prompt_digest": asked[0].prompt.digest if asked else "",
        "variant": variant,
    }
    return to_scores(given_scores(run), told)


def by_import(run: Run, frozen: ExplanationsDataset, source_id: int) -> ScoredExplanations:
    """Take the scores that were imported for the task; records that this run used their calls."""
    source = next((one for one in imports(run.task) if one.pk == source_id), None)
    if source is None:
        raise Conflict("The task has no such imported scores.")
    if source.params["scale"] != frozen.scale.name:
        raise Conflict("The imported scores are of another scale.")
    wanted = {row.answer_id for row in frozen.rows if row.explanation}
    uses = source.uses.order_by("pk")
    used = [
        CallUse(run=run, call_id=use.call_id, subject=use.subject)
        for use in uses.iterator(BATCH)
        if answer_of_use(use) in wanted
    ]
    CallUse.objects.bulk_create(used, batch_size=BATCH, ignore_conflicts=True)
    told = {
        "source": "import",
        "model": source.params["model_name"],
        "base_url": "",
        "prompt": source.params["prompt"],
        "variant": source.params.get("variant", ""),
        "import": source.number,
    }
    return to_scores(given_scores(run), told)


def answer_of_use(use: CallUse) -> int:
    """The answer whose explanation a call was asked about."""
    return int(use.subject.partition(":")[2].partition("#")[0])


def given_scores(run: Run) -> list[GivenScore]:
    """Return what the run's calls say of each explanation, in the order asked.

    Of an explanation that was asked about twice, as prompts had changed, the last call stands.
    """
    found: dict[int, GivenScore] = {}
    for use in run.uses.select_related("call").order_by("pk").iterator(BATCH):
        call = use.call
        value = call.value if call.state == CallState.DONE else None
        given = None if value is None else float(value["score"])
        why = "" if given is not None else call.reason or "no number in the answer"
        answer = answer_of_use(use)
        found[answer] = GivenScore(answer, call.pk, call.key, given, why)
    return list(found.values())


def to_scores(given: Sequence[GivenScore], told: Mapping[str, Any]) -> ScoredExplanations:
    """Collect scores by answer with a hash over the calls; ``told`` describes the model."""
    digest = hashlib.sha256()
    for one in given:
        digest.update(json.dumps([one.key, one.score]).encode() + b"\n")
    return ScoredExplanations(
        {one.answer_id: one.score for one in given if one.score is not None},
        {one.answer_id: one.call_id for one in given},
        {one.answer_id: one.reason for one in given if one.score is None},
        {**told, "calls": len(given), "digest": digest.hexdigest()},
    )
