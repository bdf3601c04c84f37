"""Runs that try a project's own prompt on one item: asked, read and paid for as a run would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.models import Answer, Candidate, Item, Task
from annotation.task_types import get_type
from crowdqc.errors import Conflict
from evaluation.llm.ask import SUBJECT, ModelQuestion, Reply
from evaluation.llm.calls import fetch_replies
from evaluation.llm.own import selectors as own
from evaluation.llm.own.purposes import PURPOSES, Purpose
from evaluation.llm_runs.parts import MODEL, failures, prompts_told, reasons
from evaluation.methods.core.params import TEXT, Param, Params
from evaluation.models import Checklist, OwnPrompt, Run
from evaluation.runs import run_types
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG = "try_prompt"
PREPARE, ASK = gettext_noop("The question"), gettext_noop("Asking the model")
OFFERED = 100  # items to choose from
SHORT = 70  # characters of an item's text in a choice
OPTIONS = Params(
    SLUG,
    (
        MODEL,
        Param(
            "prompt",
            None,
            TEXT,
            high=80,
            required=True,
            label=gettext_noop("Prompt"),
            help=gettext_noop("A version of one of the project’s own prompts, such as own:mine@2."),
        ),
        # The row that is asked about, such as item:7; "" for the first.
        Param("subject", "", TEXT, high=40),
    ),
)


def purposes_of(task: Task) -> list[str]:
    """List the purposes of prompts that fit this task."""
    shape = get_type(task.type).shape
    return [slug for slug, one in PURPOSES.items() if shape in one.shapes]


def full_plan(task: Task, prompt: OwnPrompt, model: int) -> Plan:
    """Plan all questions that a run with this prompt and default options would ask.

    Raises Conflict where such a task is not asked so, and what the way of asking says is lacking.
    """
    purpose: Purpose = PURPOSES[prompt.purpose]
    if prompt.purpose not in purposes_of(task):
        raise Conflict(
            gettext("Models are not asked in this task this way: %(purpose)s.")
            % {"purpose": gettext(purpose.title)}
        )
    kind = run_types.run_types()[purpose.method]
    assert kind.asking is not None  # noqa: S101 (every purpose names a way of asking)
    chosen = {"model": model, purpose.option: own.ref_of(prompt)}
    params = {**kind.options.defaults, **purpose.params, **chosen}
    every = (kind.asking.whole or kind.asking.plan)(task, params)
    # A run can ask by several prompts, as G-Eval does for its steps and its ratings.
    mine = [ask for ask in every.asks if ask.prompt.ref == own.ref_of(prompt)]
    return replace(every, asks=mine)


def row_of(ask: ModelQuestion) -> str:
    """Return the row that a question is about, like "item:7"."""
    found = SUBJECT.match(ask.subject)
    return f"{found[1]}:{found[2]}" if found else ask.subject


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """Plan the single question of a trial; Conflict if the task has no such item."""
    prompt = own.by_ref(task.project_id, params["prompt"] or "")
    every = full_plan(task, prompt, params["model"])
    wanted = params["subject"]
    found = next((ask for ask in every.asks if wanted in ("", row_of(ask))), None)
    if found is None:
        raise Conflict(gettext("There is no such item to ask about in this task."))
    return Plan(
        every.model,
        [found],
        gettext("%(model)s is asked one question by %(prompt)s.")
        % {"model": every.model.name, "prompt": prompt},
    )


def rows(task: Task, asks: Sequence[ModelQuestion]) -> list[tuple[str, str]]:
    """List the first rows that the questions are about, each with a text to choose it by."""
    found = list(dict.fromkeys(row_of(ask) for ask in asks))[:OFFERED]
    ids: dict[str, list[int]] = {}
    for row in found:
        kind, _, pk = row.partition(":")
        ids.setdefault(kind, []).append(int(pk or 0))
    items = ids.get("item", []) + ids.get("pair", [])
    words = {pk: f"{key} {said}" for pk, key, said in _items(items)}
    texts = Candidate.objects.filter(pk__in=ids.get("text", []))
    lists = Checklist.objects.filter(pk__in=ids.get("checklist", []))
    words_of: dict[str, Mapping[int, str]] = {
        "checklist": dict(lists.values_list("pk", "name")),
        "item": words,
        "pair": words,
        "text": dict(texts.values_list("pk", "key")),
        "answer": {
            pk: gettext("%(key)s answer %(pk)s") % {"key": key, "pk": pk}
            for pk, key in Answer.objects.filter(pk__in=ids.get("answer", [])).values_list(
                "pk", "item__key"
            )
        },
    }
    return [(row, _words(row, words_of)) for row in found]


def _items(ids: Sequence[int]) -> list[tuple[int, str, str]]:
    return list(Item.objects.filter(pk__in=ids).values_list("pk", "key", "question"))


def _words(row: str, words_of: Mapping[str, Mapping[int, str]]) -> str:
    kind, _, pk = row.partition(":")
    said = " ".join(words_of.get(kind, {}).get(int(pk or 0), "").split()) or row
    return said if len(said) <= SHORT else f"{said[: SHORT - 1].rstrip()}…"


def _lacking(task: Task) -> dict[str, str]:
    if own.of_purposes(task.project_id, purposes_of(task)):
        return {}
    return {
        "sentence": gettext("No own prompt for this task yet"),
        "why": gettext("Write one first, or start from a copy of a built-in prompt."),
        "url": reverse("models_prompts", args=[task.project_id]),
        "label": gettext("To the prompts"),
    }


TRY_PROMPT = LLMRunSpec(
    SLUG,
    "1.0",
    gettext_noop("Own prompt tried on one item"),
    plan,
    OPTIONS,
    on_task=lambda task: {
        "prompt": {"choices": own.own_choices(task.project_id, purposes_of(task))}
    },
    lacking=_lacking,
)


@dataclass(frozen=True, eq=False)
class Tried:
    """The question and the reply to it."""

    ask: ModelQuestion
    reply: Reply


def compute(run: Run, steps: Recorder) -> Tried:
    """Ask the model one question."""
    steps.begin(PREPARE)
    asked = plan(run.task, run.params)
    steps.begin(ASK, total=1)
    return Tried(asked.asks[0], fetch_replies(run, asked.model, asked.asks, steps)[0])


def write(run: Run, done: Tried) -> Outcome:
    """Return the result of a trial; nothing is stored as an answer."""
    reply, answered = done.reply, done.reply.value is not None
    counts = {
        "asked": 1,
        "cached": int(reply.cached),
        "answered": int(answered),
        "failed": int(not answered),
    }
    told = {
        "counts": counts,
        "reasons": reasons([reply]),
        "failed": failures([reply]),
        **prompts_told([done.ask]),
    }
    recipe = {"method": SLUG, "version": run.version, "params": dict(run.params)}
    return Outcome({}, {"asked": told, "recipe": recipe})


RUNS = RunType(
    TRY_PROMPT,
    tuple(sorted({shape for one in PURPOSES.values() for shape in one.shapes})),
    gettext_noop("what own prompts can be written for"),
    (PREPARE, ASK),
    compute,
    write,
)
