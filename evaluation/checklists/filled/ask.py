"""Runs in which a model answers a task's checklist for every text (InteractEval, 3.5).

One question a call by the probability of Yes where the endpoint tells it, which beats a generated
word on small models; else all questions of a text in one answer held to a form. The source stands
first in every prompt, so that endpoints which keep prefixes read it once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext, gettext_noop, ngettext
from pydantic import create_model

from annotation.formats.actions.system_answers import (
    SystemAnswer,
    answered_items,
    store_system_answers,
)
from annotation.models import Item, Task
from annotation.task_types import Values
from annotation.task_types.checklist.type import NO, ORDINALS, YES
from crowdqc.errors import Conflict
from crowdqc.numbers import count, plural
from evaluation.checklists.filled.texts import rubric_of, source_of, text_of, texts_of
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.calls import fetch_replies
from evaluation.llm.own import selectors as own
from evaluation.llm.prompting import Template
from evaluation.llm.schemas import YES_NO, Schema, Strict
from evaluation.llm_runs.parts import MODEL, PROMPT, chat_model, failures, prompts_told, reasons
from evaluation.methods.core.params import TEXT, Param, Params, choice
from evaluation.models import LanguageModel, Run
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG, VERSION = "checklist_answers", "1.0"
PREPARE, ASK, STORE = (
    gettext_noop("Texts and questions"),
    gettext_noop("Asking the model"),
    gettext_noop("Answers"),
)
AUTO, EACH, ALL = "auto", "each", "all"
LONGEST = 8000  # characters of a definition
DEFINITION = Param(
    "definition",
    "",
    TEXT,
    high=LONGEST,
    label=gettext_noop("What the dimension means"),
    help=gettext_noop("Stands in every prompt."),
)
OPTIONS = Params(
    SLUG,
    (
        MODEL,
        choice(
            "way",
            AUTO,
            (AUTO, EACH, ALL),
            label=gettext_noop("How it is asked"),
            words=(
                gettext_noop("one question a call where probabilities are told, else all in one"),
                gettext_noop("one question a call"),
                gettext_noop("all questions of a text in one call"),
            ),
        ),
        PROMPT,
        DEFINITION,
    ),
)
PURPOSES = {EACH: "check_one", ALL: "check_all"}
DEFAULTS = OPTIONS.defaults
CHANCES = "chances"  # figure: item -> question -> probability of yes
# Of one answer, and of each answer of a list: small models pad their JSON.
EACH_TOKENS, ALL_TOKENS = 100, 30
Row = dict[str, Any]


def definition_on(task: Task, *, needed: bool) -> dict[str, Any]:
    """Return the help text for the definition in a form; ``needed`` if no rubric can replace it."""
    if rubric_of(task):
        otherwise = gettext("Left empty, the rubric behind the checklist.")
    elif needed:
        otherwise = gettext("The evaluation steps are made from it.")
    else:
        otherwise = gettext("It may stay empty.")
    return {
        "required": needed and not rubric_of(task),
        "help": f"{DEFINITION.help} {otherwise}",
    }


def questions_of(task: Task) -> list[Row]:
    """Return the questions of the published checklist; Conflict if there are none."""
    if task.current is None:
        raise Conflict(gettext("Publish the task first: answers name the version they answer."))
    found: list[Row] = list(task.current.settings.get("questions", []))
    if not found:
        raise Conflict(gettext("The checklist has no questions yet."))
    return found


def question_mode(task: Task, model: LanguageModel, params: Mapping[str, Any]) -> str:
    """Choose between one question per call and all at once: one if probabilities are available."""
    if params["way"] == AUTO and params["prompt"]:
        found = own.by_ref(task.project_id, params["prompt"])
        return ALL if found.purpose == PURPOSES[ALL] else EACH
    if params["way"] != AUTO:
        return str(params["way"])
    return EACH if model.can.get("logprobs") else ALL


def system_of(task: Task, params: Mapping[str, Any]) -> tuple[str, str]:
    """Return name and prompt strategy of the system that answers with these options."""
    model = chat_model(task, params["model"])
    strategy = _template(task, question_mode(task, model, params), params).ref
    given = params["definition"].strip()
    if given and given != rubric_of(task):
        strategy += f", own definition {hashlib.sha256(given.encode()).hexdigest()[:6]}"
    return model.name, strategy


def _template(task: Task, way: str, params: Mapping[str, Any]) -> Template:
    return own.template_for(task.project_id, PURPOSES[way], params["prompt"])


def wanted_of(task: Task, params: Mapping[str, Any]) -> tuple[list[Item], int]:
    """Return the texts that the system has not answered yet, and the number it has."""
    there = {item for item, _ in answered_items(task, system_of(task, params))}
    items = texts_of(task)
    new = [item for item in items if item.pk not in there]
    return new, len(items) - len(new)


def all_schema(count: int) -> Schema:
    """Yes or no under q1, q2, ... for every question of a list."""
    fields: dict[str, Any] = {f"q{k}": (Literal["yes", "no"], ...) for k in range(1, count + 1)}
    example = ", ".join(f'"q{k}": "yes"' for k in range(1, count + 1))
    return Schema(
        f"checklist_{count}@1",
        create_model("ChecklistAnswers", __base__=Strict, **fields),
        example=f"{{{example}}}",
    )


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """What a run would ask; raises Invalid and Conflict that say what is missing."""
    return _plan(task, params, *wanted_of(task, params))


def _plan(task: Task, params: Mapping[str, Any], items: Sequence[Item], there: int) -> Plan:
    model = chat_model(task, params["model"])
    questions = questions_of(task)
    way = question_mode(task, model, params)
    template = _template(task, way, params)
    places = {
        "dimension": task.current.settings.get("dimension") or "quality",  # type: ignore[union-attr]
        "definition": params["definition"].strip() or rubric_of(task),
    }
    make = _single_questions if way == EACH else _joint_questions
    asks = [ask for item in items for ask in make(template, task, item, questions, places)]
    if way != EACH:
        said = gettext(
            "%(model)s answers %(questions)s about %(texts)s, all questions in one call."
        )
    elif model.can.get("logprobs"):
        said = gettext(
            "%(model)s answers %(questions)s about %(texts)s, one question a call, by the "
            "probability of yes."
        )
    else:
        said = gettext("%(model)s answers %(questions)s about %(texts)s, one question a call.")
    sentence = said % {
        "model": model.name,
        "questions": plural(len(questions), "question"),
        "texts": plural(len(items), "text"),
    }
    if there:
        more = ngettext(
            "%(there)s text is answered already.", "%(there)s texts are answered already.", there
        )
        sentence += " " + more % {"there": count(there)}
    return Plan(model, asks, sentence)


def _single_questions(
    template: Template,
    task: Task,
    item: Item,
    questions: Sequence[Row],
    places: Mapping[str, str],
) -> list[ModelQuestion]:
    return [
        ModelQuestion(
            f"item:{item.pk}/{row['name']}",
            template.render(
                source=source_of(item, task), text=text_of(item), question=row["label"], **places
            ),
            YES_NO,
            {"temperature": 0.0, "max_tokens": EACH_TOKENS},
            by_chance=True,
        )
        for row in questions
    ]


def _joint_questions(
    template: Template,
    task: Task,
    item: Item,
    questions: Sequence[Row],
    places: Mapping[str, str],
) -> list[ModelQuestion]:
    told = "\n".join(f"q{k}. {row['label']}" for k, row in enumerate(questions, 1))
    prompt = template.render(
        source=source_of(item, task), text=text_of(item), questions=told, **places
    )
    limit = EACH_TOKENS + ALL_TOKENS * len(questions)
    return [
        ModelQuestion(
            f"item:{item.pk}",
            prompt,
            all_schema(len(questions)),
            {"temperature": 0.0, "max_tokens": limit},
        )
    ]


ASKING = LLMRunSpec(
    SLUG,
    VERSION,
    gettext_noop("Checklist answered by a model"),
    plan,
    OPTIONS,
    on_task=lambda task: {
        "definition": definition_on(task, needed=False),
        "prompt": {"choices": own.choices(task.project_id, list(PURPOSES.values()))},
    },
    whole=lambda task, params: _plan(task, params, texts_of(task), 0),
    answers_items=lambda task: True,
)


@dataclass(frozen=True, eq=False)
class Answered:
    """What a run was told, before anything is written."""

    system: tuple[str, str]
    given: list[SystemAnswer]
    told: Row


def compute(run: Run, steps: Recorder) -> Answered:
    """Ask everything that is not answered yet; a text with a missing answer is left out."""
    task, params = run.task, run.params
    steps.begin(PREPARE)
    asked = plan(task, params)
    items, there = wanted_of(task, params)
    steps.set_words(count=asked.sentence)
    steps.begin(ASK, total=len(asked.asks))
    replies = fetch_replies(run, asked.model, asked.asks, steps)
    steps.begin(STORE)
    questions = questions_of(task)
    way = question_mode(task, asked.model, params)
    given, chances, incomplete = read(items, questions, replies, each=way == EACH)
    told = {
        "counts": {
            "texts": len(items),
            "answered": len(given),
            "there": there,
            "incomplete": len(incomplete),
            "calls": len(replies),
            "cached": sum(reply.cached for reply in replies),
        },
        "way": way,
        "incomplete": incomplete[:200],
        "reasons": reasons(replies),
        "failed": failures(replies),
        **prompts_told(asked.asks),
        CHANCES: chances,
    }
    steps.set_words(count=f"{plural(len(given), 'text')}, {len(incomplete):,} incomplete")
    return Answered(system_of(task, params), given, told)


def read(
    items: Sequence[Item], questions: Sequence[Row], replies: Sequence[Reply], *, each: bool
) -> tuple[list[SystemAnswer], Row, list[int]]:
    """Parse the replies: complete answers, probabilities of yes, and texts with missing ones.

    A list with holes would keep them from ever being asked again, so it is not stored; what was
    answered of it is kept as calls.
    """
    by_subject = {reply.subject: reply for reply in replies}
    names = [row["name"] for row in questions]
    given, chances, incomplete = [], {}, []
    for item in items:
        said, probable = _read_item(item, names, by_subject, each=each)
        if len(said) < len(names):
            incomplete.append(item.pk)
            continue
        given.append(
            SystemAnswer(
                item.pk,
                Values(choices=[(name, said[name], ORDINALS[said[name]]) for name in names]),
            )
        )
        if probable:
            chances[str(item.pk)] = probable
    return given, chances, incomplete


def _read_item(
    item: Item, names: Sequence[str], replies: Mapping[str, Reply], *, each: bool
) -> tuple[dict[str, str], dict[str, float]]:
    if not each:
        value = replies[f"item:{item.pk}"].value
        return ({name: value[f"q{k}"] for k, name in enumerate(names, 1)} if value else {}), {}
    said, probable = {}, {}
    for name in names:
        reply = replies[f"item:{item.pk}/{name}"]
        if reply.value is None:
            continue
        said[name] = YES if reply.value["answer"] == YES else NO
        if reply.chances:
            probable[name] = reply.chances["Yes"]
    return said, probable


def write(run: Run, done: Answered) -> Outcome:
    """Store the answers as those of a system; part of the transaction that closes the run."""
    chances = {"system": list(done.system), "items": done.told[CHANCES]}
    told = {
        "asked": {name: value for name, value in done.told.items() if name != CHANCES},
        CHANCES: chances,
        "recipe": {
            "method": SLUG,
            "version": run.version,
            "params": dict(run.params),
            "system": ", ".join(done.system),
        },
    }
    store_system_answers(by=run.started_by, task=run.task, system=done.system, rows=done.given)
    return Outcome({}, told)


RUNS = RunType(
    ASKING, ("checks",), gettext_noop("filled checklists"), (PREPARE, ASK, STORE), compute, write
)
