"""A language model asked which answers entail which, for AQER's other start (paper, App. B.1).

The model is asked by a run of its own, with preview, cost and budget as any other; a run of AQER
then names that run and reads what it said. So AQER itself asks nobody, and gives the same numbers
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from annotation.work.snapshots.answers import AnswerText
from crowdqc.errors import Conflict
from crowdqc.numbers import parse_whole, plural
from evaluation.embeddings.embeddings import text_hash
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.calls import fetch_replies
from evaluation.llm.prompting import load
from evaluation.llm.schemas import YES_NO
from evaluation.llm_runs.parts import MODEL, chat_model, failures, reasons
from evaluation.methods.core.base import FloatArray
from evaluation.methods.core.params import Params
from evaluation.models import Run, RunFigure, RunState
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.freezing.snapshots import counted_once
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG, VERSION = "entailment", "1.0"
PREPARE, ASK = gettext_noop("Answers"), gettext_noop("Asking the model")
PROMPT = "entailment"
FIGURE = "entailed"  # [hash of the premise, hash of the hypothesis, probability] a pair of texts
ASKED = "run:"  # before the number of the run that asked
TOKENS, HASH = 100, 16
OPTIONS = Params(SLUG, (MODEL,))
Row = dict[str, Any]


def _meetings(task: Task) -> list[tuple[AnswerText, AnswerText]]:
    """Every ordered pair of people's answers to one question, in the order of a snapshot."""
    by_item: dict[int, list[AnswerText]] = {}
    for row in counted_once(task):
        if row.worker_id is not None:
            by_item.setdefault(row.item_id, []).append(row)
    return [
        (premise, hypothesis)
        for rows in by_item.values()
        for premise in rows
        for hypothesis in rows
        if premise is not hypothesis
    ]


def _questions(pairs: Sequence[tuple[AnswerText, AnswerText]]) -> list[ModelQuestion]:
    template = load(PROMPT)
    return [
        ModelQuestion(
            # Both answers stand in the prompt: erasing either one erases the question.
            f"answer:{premise.answer_id}/answer:{hypothesis.answer_id}",
            template.render(premise=premise.text, hypothesis=hypothesis.text),
            YES_NO,
            {"temperature": 0.0, "max_tokens": TOKENS},
            by_chance=True,
        )
        for premise, hypothesis in pairs
    ]


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """Plan what a run would ask; raises Invalid and Conflict that say what is missing."""
    model = chat_model(task, params["model"])
    pairs = _meetings(task)
    if not pairs:
        raise Conflict(
            gettext("No question has answers of two workers, so none can entail another.")
        )
    sentence = (
        gettext(
            "%(model)s judges %(pairs)s of answers to one question, by the probability of yes; "
            "pairs with the same words are asked once."
        )
        if model.can.get("logprobs")
        else gettext(
            "%(model)s judges %(pairs)s of answers to one question, by yes or no; pairs with the "
            "same words are asked once."
        )
    ) % {"model": model.name, "pairs": plural(len(pairs), "ordered pair")}
    return Plan(model, _questions(pairs), sentence)


def _next_step(run: Run, new: int) -> tuple[str, str, str]:
    url = reverse("run_start", args=[run.project_id, run.task_id])
    return gettext("AQER can begin its first round by these votes."), url, gettext("Run AQER")


ASKING = LLMRunSpec(
    SLUG,
    VERSION,
    gettext_noop("Entailment between answers, by a model"),
    plan,
    OPTIONS,
    noun="vote",
    next_step=_next_step,
)


@dataclass(frozen=True, eq=False)
class EntailmentRequest:
    """The result of asking a model about entailment, before it is stored."""

    model: str
    pairs: list[list[Any]]
    told: Row


def compute(run: Run, steps: Recorder) -> EntailmentRequest:
    """Ask about every pair that has no answer yet."""
    steps.begin(PREPARE)
    pairs, asked = _meetings(run.task), plan(run.task, run.params)
    steps.set_words(count=asked.sentence)
    steps.begin(ASK, total=len(pairs))
    replies = fetch_replies(run, asked.model, _questions(pairs), steps)
    found: dict[tuple[str, str], float] = {}
    for (premise, hypothesis), reply in zip(pairs, replies, strict=True):
        chance = _chance(reply)
        if chance is not None:
            found[_key(premise.text), _key(hypothesis.text)] = chance
    failed = sum(reply.value is None for reply in replies)
    steps.set_words(count=f"{plural(len(pairs) - failed, 'vote')}, {failed:,} failed")
    told = {
        "counts": {
            "asked": len(pairs),
            "cached": sum(reply.cached for reply in replies),
            "answered": len(pairs) - failed,
            "failed": failed,
        },
        "model": asked.model.name,
        "reasons": reasons(replies),
        "failed": failures(replies),
    }
    return EntailmentRequest(
        asked.model.name, [[*key, value] for key, value in sorted(found.items())], told
    )


def _chance(reply: Reply) -> float | None:
    if reply.value is None:
        return None
    if reply.chances:
        return float(reply.chances["Yes"])
    return 1.0 if reply.value["answer"] == "yes" else 0.0


def _key(text: str) -> str:
    return text_hash(text)[:HASH]


def write(run: Run, done: EntailmentRequest) -> Outcome:
    """Return what the run stores: the model's probabilities for each pair of texts."""
    recipe = {"method": SLUG, "version": run.version, "params": dict(run.params)}
    recipe |= {"prompt": load(PROMPT).ref, "model": done.model}
    return Outcome({}, {"asked": done.told, FIGURE: done.pairs, "recipe": recipe})


RUNS = RunType(ASKING, ("texts",), gettext_noop("free text"), (PREPARE, ASK), compute, write)


# Read by a run of AQER -------------------------------------------------------------------------


def asked_runs(task: Task) -> list[tuple[str, str]]:
    """List the finished runs that asked a model, as (option of AQER, label)."""
    rows = task.runs.filter(method=SLUG, state=RunState.DONE).order_by("-number")
    figures = RunFigure.objects.filter(run__in=rows, name="asked").values_list("run_id", "data")
    names = {pk: data["model"] for pk, data in figures}
    return [
        (
            f"{ASKED}{run.number}",
            gettext("%(model)s, as run %(run)s asked")
            % {"model": names[run.pk], "run": run.number},
        )
        for run in rows
    ]


class AskedEntailment:
    """Probabilities that a run was told by a model; asks nobody.

    ``named`` is ``run:<number>`` of a finished run on the task. Raises Conflict where there is
    none, and, when called, where it lacks pairs of texts.
    """

    def __init__(self, task: Task, named: str) -> None:
        number = parse_whole(named.removeprefix(ASKED), high=10**9)
        run = task.runs.filter(method=SLUG, state=RunState.DONE, number=number or 0).first()
        if run is None:
            raise Conflict(
                gettext("This task has no finished run %(run)s that asked a model.")
                % {"run": named.removeprefix(ASKED)}
            )
        told = dict(run.figures.filter(name__in=("asked", FIGURE)).values_list("name", "data"))
        self.number = run.number
        self.identity = f"{told['asked']['model']} (run {run.number})"
        self.chances = {(premise, other): value for premise, other, value in told[FIGURE]}

    def __call__(self, premises: Sequence[str], hypotheses: Sequence[str], /) -> FloatArray:
        """Probabilities (k,) that each premise entails its hypothesis."""
        keys = [(_key(one), _key(two)) for one, two in zip(premises, hypotheses, strict=True)]
        missing = sum(key not in self.chances for key in keys)
        if missing:
            raise Conflict(
                gettext(
                    "Run %(run)s has no vote on %(pairs)s of answers. Ask the model again, then "
                    "choose that run."
                )
                % {"run": self.number, "pairs": plural(missing, "pair")}
            )
        return np.array([self.chances[key] for key in keys])
