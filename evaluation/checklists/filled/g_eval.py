"""Runs in which a model rates texts from 1 to 5 by filling in a form, after G-Eval (a baseline).

Liu et al., "G-Eval" (2023), as InteractEval uses it (4.3.4): the model writes evaluation steps
from the definition of the quality once; with them it rates each text. Where the endpoint tells
probabilities the score is their mean over 1 to 5, renormalised over these five; elsewhere it is
the mean of several samples. The wording is ours, so the numbers are not those of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from annotation.models import Item, Task
from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.checklists.filled.ask import DEFINITION, definition_on
from evaluation.checklists.filled.text_scores import AGAINST, against_people, dimension_name
from evaluation.checklists.filled.texts import (
    rubric_of,
    shown_version,
    source_of,
    text_of,
    texts_of,
)
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.calls import fetch_replies
from evaluation.llm.own import selectors as own
from evaluation.llm.schemas import TEXT, Schema, Strict, WrongForm
from evaluation.llm_runs.parts import (
    MODEL,
    PROMPT,
    chat_model,
    failures,
    prompts_told,
    reasons,
    temperature,
)
from evaluation.methods.core.params import TEXT as OF_TEXT
from evaluation.methods.core.params import Param, Params, choice, whole_number
from evaluation.models import CandidateScore, LanguageModel, Run, RunFigure, RunState
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG, VERSION = "g_eval", "1.0"
STEPS_STEP, ASK, SCORE_STEP = (
    gettext_noop("Evaluation steps"),
    gettext_noop("Rating the texts"),
    gettext_noop("Scores"),
)
AUTO, CHANCE, SAMPLES = "auto", "chance", "samples"
DIMENSION = Param(
    "dimension",
    "",
    OF_TEXT,
    high=80,
    label=gettext_noop("What is rated"),
    help=gettext_noop("Left empty, the dimension of the task."),
)
OPTIONS = Params(
    SLUG,
    (
        MODEL,
        DIMENSION,
        choice(
            "way",
            AUTO,
            (AUTO, SAMPLES),
            label=gettext_noop("How scores are made"),
            words=(
                gettext_noop("the mean over probabilities where they are told, else over samples"),
                gettext_noop("the mean over samples"),
            ),
        ),
        whole_number(
            "samples",
            5,
            1,
            50,
            label=gettext_noop("Samples a text"),
            help=gettext_noop("Asked only where probabilities are not used."),
        ),
        temperature(1.0, gettext_noop("Of the samples. At 0 they are all alike.")),
        replace(PROMPT, name="steps_prompt", label=gettext_noop("Prompt for the steps")),
        replace(PROMPT, label=gettext_noop("Prompt for the rating")),
        DEFINITION,
    ),
)
DEFAULTS = OPTIONS.defaults
POINTS = (1, 2, 3, 4, 5)
STEPS_TOKENS, SCORE_TOKENS = 400, 100
PLACEHOLDER = "1. Read the source and the text.\n2. Compare them.\n3. Give the score."
Row = dict[str, Any]


class Point(Strict):
    """A point of the scale."""

    score: Annotated[int, Field(ge=1, le=5)]


def first_point(text: str) -> dict[str, Any]:
    """Parse the first whole number from 1 to 5 in a text; WrongForm if there is none."""
    found = re.search(r"(?<![\d.,])[1-5](?![\d]|[.,]\d)", text)
    if found is None:
        raise WrongForm("There is no whole number from 1 to 5 in the answer.")
    return {"score": int(found[0])}


POINT = Schema(
    "point_1_5@1",
    Point,
    first_point,
    words={str(k): {"score": k} for k in POINTS},
    example='{"score": 3}',
)


def _on_task(task: Task) -> dict[str, dict[str, Any]]:
    """Must be said what is rated, and what that means? Not where the task says so."""
    return {
        "dimension": {"required": not shown_version(task).settings.get("dimension")},
        "definition": definition_on(task, needed=True),
        "steps_prompt": {"choices": own.choices(task.project_id, ["rate_steps"])},
        "prompt": {"choices": own.choices(task.project_id, ["rate_text"])},
    }


def dimension_of(task: Task, params: Mapping[str, Any]) -> str:
    """Return the dimension to rate: the option, or the task's; Conflict if neither is set."""
    found = str(params["dimension"]).strip() or shown_version(task).settings.get("dimension", "")
    if not found:
        raise Conflict(_("Say what is to be rated: the task names no dimension."))
    return str(found)


def definition_of(task: Task, params: Mapping[str, Any]) -> str:
    """Return the dimension's definition: the option, or the rubric; Conflict if neither is set."""
    found = str(params["definition"]).strip() or rubric_of(task)
    if not found:
        raise Conflict(_("Say what the dimension means: the steps are made from its definition."))
    return found


def by_chance(model: LanguageModel, params: Mapping[str, Any]) -> bool:
    """Return whether scores are computed from the probabilities of the points."""
    return params["way"] != SAMPLES and bool(model.can.get("logprobs"))


def steps_ask(task: Task, params: Mapping[str, Any]) -> ModelQuestion:
    """The one question that makes the evaluation steps."""
    template = own.template_for(task.project_id, "rate_steps", params["steps_prompt"])
    prompt = template.render(
        dimension=dimension_of(task, params), definition=definition_of(task, params)
    )
    return ModelQuestion("steps", prompt, TEXT, {"temperature": 0.0, "max_tokens": STEPS_TOKENS})


def score_asks(
    task: Task, items: Sequence[Item], params: Mapping[str, Any], steps: str, *, chance: bool
) -> list[ModelQuestion]:
    """Make the questions that score texts: one per text, or one per sample."""
    template = own.template_for(task.project_id, "rate_text", params["prompt"])
    places = {
        "dimension": dimension_of(task, params),
        "definition": definition_of(task, params),
        "steps": steps,
    }
    how = {"temperature": 0.0 if chance else params["temperature"], "max_tokens": SCORE_TOKENS}
    asks = []
    for item in items:
        prompt = template.render(source=source_of(item, task), text=text_of(item), **places)
        asks += [
            ModelQuestion(
                f"item:{item.pk}/{number}", prompt, POINT, how, replicate=number, by_chance=chance
            )
            for number in range(1 if chance else params["samples"])
        ]
    return asks


def step_inputs(task: Task, params: Mapping[str, Any]) -> list[Any]:
    """Return what the evaluation steps depend on: model, dimension, definition, prompt digest."""
    digest = steps_ask(task, params).prompt.digest
    return [params["model"], dimension_of(task, params), definition_of(task, params), digest]


def known_steps(task: Task, params: Mapping[str, Any]) -> str:
    """The steps that an earlier run made of the same; "" if none."""
    wanted = step_inputs(task, params)
    rows = RunFigure.objects.filter(
        name="steps", run__project=task.project_id, run__method=SLUG, run__state=RunState.DONE
    ).order_by("-run_id")
    return next((row.data["text"] for row in rows if row.data["of"] == wanted), "")


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """Plan a run: its requests and their cost. Raises Invalid and Conflict if something is missing.

    Until the steps are made, the cost is reckoned with steps of a usual length.
    """
    model = chat_model(task, params["model"])
    items, chance = texts_of(task), by_chance(model, params)
    first = steps_ask(task, params)
    told = known_steps(task, params) or PLACEHOLDER
    asks = [first, *score_asks(task, items, params, told, chance=chance)]
    said = (
        _("%(model)s writes steps, then rates %(texts)s on %(dimension)s, by probability.")
        if chance
        else _("%(model)s writes steps, then rates %(texts)s on %(dimension)s, %(samples)s each.")
    )
    sentence = said % {
        "model": model.name,
        "texts": plural(len(items), "text"),
        "dimension": dimension_of(task, params),
        "samples": plural(params["samples"], "sample"),
    }
    return Plan(model, asks, sentence)


ASKING = LLMRunSpec(
    SLUG, VERSION, gettext_noop("Rating by a form, after G-Eval"), plan, OPTIONS, on_task=_on_task
)


@dataclass(frozen=True, eq=False)
class ComputedRatings:
    """What a run found, before anything is written."""

    dimension: str
    steps: str
    scores: list[Row]
    told: Row


def compute(run: Run, steps: Recorder) -> ComputedRatings:
    """Make the steps once, then rate every text."""
    task, params = run.task, run.params
    model = chat_model(task, params["model"])
    dimension, first = dimension_of(task, params), steps_ask(task, params)
    steps.begin(STEPS_STEP, total=1)
    made = fetch_replies(run, model, [first], steps)[0]
    if made.value is None:
        raise Conflict(f"The model wrote no evaluation steps: {made.reason or 'no answer'}")
    told = str(made.value["text"])
    items, chance = texts_of(task), by_chance(model, params)
    asks = score_asks(task, items, params, told, chance=chance)
    steps.begin(ASK, total=len(asks))
    replies = fetch_replies(run, model, asks, steps)
    steps.begin(SCORE_STEP)
    scores, missing = scores_of(items, replies)
    counts = {
        "texts": len(items),
        "scored": len(scores),
        "missing": len(missing),
        "calls": len(replies) + 1,
        "cached": sum(one.cached for one in [made, *replies]),
    }
    steps.set_words(count=f"{plural(len(scores), 'text')}, {len(missing):,} without a score")
    return ComputedRatings(
        dimension,
        told,
        scores,
        {
            "counts": counts,
            "way": CHANCE if chance else SAMPLES,
            "missing": missing[:200],
            "reasons": reasons(replies),
            "failed": failures(replies),
            "model": model.name,
            "dimension": dimension,
            **prompts_told([first, *asks]),
        },
    )


def scores_of(items: Sequence[Item], replies: Sequence[Reply]) -> tuple[list[Row], list[int]]:
    """A row a text with its score, and the texts without one.

    The score is the mean over the points' probabilities where they are told, else over the
    samples that were answered; ``n`` counts these.
    """
    by_item: dict[int, list[Reply]] = {}
    for reply in replies:
        by_item.setdefault(int(reply.subject.removeprefix("item:").split("/")[0]), []).append(reply)
    rows, missing = [], []
    for item in items:
        values = [value for one in by_item.get(item.pk, []) if (value := _value(one)) is not None]
        if not values:
            missing.append(item.pk)
            continue
        rows.append(
            {
                "candidate_id": item.first_id,
                "estimate": sum(values) / len(values),
                "n": len(values),
                "extra": {"samples": [round(value, 6) for value in values]},
            }
        )
    return rows, missing


def _value(reply: Reply) -> float | None:
    if reply.value is None:
        return None
    if not reply.chances:
        return float(reply.value["score"])
    total = sum(reply.chances.values())
    return sum(int(word) * chance for word, chance in reply.chances.items()) / total


def write(run: Run, done: ComputedRatings) -> Outcome:
    """Return the scores of a run, and their correlation with human ones."""
    name = dimension_name(done.dimension)
    rows: dict[Any, list[Row]] = {
        CandidateScore: [
            {**row, "dimension": name, "extra": {**row["extra"], "kind": "model"}}
            for row in done.scores
        ]
    }
    given = {row["candidate_id"]: row["estimate"] for row in done.scores}
    told: Row = {
        "asked": done.told,
        "steps": {"text": done.steps, "of": step_inputs(run.task, run.params)},
        AGAINST: against_people(run.project_id, {name: given}) if given else {},
        "recipe": {"method": SLUG, "version": run.version, "params": dict(run.params)},
    }
    return Outcome(rows, told)


RUNS = RunType(
    ASKING,
    ("checks",),
    gettext_noop("filled checklists"),
    (STEPS_STEP, ASK, SCORE_STEP),
    compute,
    write,
    export=OWN_ROWS,
)
