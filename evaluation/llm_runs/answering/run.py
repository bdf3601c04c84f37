"""Runs in which a language model answers a task's items; its answers become those of a system.

Free text (AQER, section 6.2 and appendix L: one model under several prompt strategies), writing
with sources, and labels. What a model answered is asked once; a second run adds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.formats.actions.system_answers import SystemAnswer
from annotation.models import Item, Task
from annotation.task_types import get_type
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.own import selectors as own
from evaluation.llm.own.purposes import PURPOSES
from evaluation.llm.prompting import Rendered, Template
from evaluation.llm_runs import examples
from evaluation.llm_runs.answering.questions import ParsedValues, Questions
from evaluation.llm_runs.parts import (
    LISTED,
    MODEL,
    NOTHING_NEW,
    ask_model,
    chat_model,
    failures,
    most_tokens,
    prompts_told,
    reasons,
    refs,
    replicates,
    sampling,
    temperature,
    temperature_label,
    template,
)
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Param, Params, flag
from evaluation.models import Run
from evaluation.runs.adapters import adapter_of
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

SLUG = "answers"
PREPARE, ASK, STORE = (
    gettext_noop("Questions"),
    gettext_noop("Asking the model"),
    gettext_noop("Answers"),
)
PREFIX = "answer_"
LONGEST_REF = 80
FAMILIES = ("writing", "labels")  # strategies for tasks of one shape alone
TITLES = {
    "sentence": gettext_noop("One full sentence"),
    "concise": gettext_noop("As short as possible"),
    "steps": gettext_noop("Step by step, then the answer"),
    "writing": gettext_noop("A response from the passages"),
    "labels": gettext_noop("All fields of an item at once"),
}


def _check_strategy(value: Any) -> None:
    """Raise BadParameter on a prompt (``name@version``) that is not there; "" is by default.

    Whether the project has an own prompt is seen when the questions are put together.
    """
    known = refs(PREFIX)
    if isinstance(value, str) and value.startswith(own.OWN) and len(value) <= LONGEST_REF:
        return
    if value != "" and value not in known:
        raise BadParameter(f"strategy is {value!r}; it must be one of {', '.join(known)}")


OPTIONS = Params(
    SLUG,
    (
        MODEL,
        Param(
            "strategy",
            "",
            rule=_check_strategy,
            label=gettext_noop("Prompt"),
            help=gettext_noop(
                "A model under another prompt is another system, and is scored by itself."
            ),
        ),
        *examples.OPTIONS,
        flag("passage", True, label=gettext_noop("Show the model the text that people are shown")),
        temperature(),
        most_tokens(
            600,
            gettext_noop(
                "An answer that is longer is cut off and counts as failed. Thinking in steps needs "
                "room."
            ),
        ),
        replicates(
            gettext_noop("Times each item is answered"),
            gettext_noop("More than once shows how steady a model is, at a temperature above 0."),
        ),
    ),
)
DEFAULTS = OPTIONS.defaults
Row = dict[str, Any]


def questions_for(task: Task) -> Questions:
    """Return how models are asked in this kind of task."""
    found: Questions = adapter_of(task).answering
    return found


def strategies(task: Task) -> list[tuple[str, str]]:
    """List the prompt strategies for this kind of task, as (``name@version``, title).

    The project's own follow the built-in ones.
    """
    way = questions_for(task)
    found = []
    for ref in refs(PREFIX):
        name, _, number = ref.partition("@")
        if next((one for one in FAMILIES if name.startswith(one)), "") == way.family:
            title = gettext(TITLES.get(name, name.replace("_", " ").capitalize()))
            found.append(
                (
                    ref,
                    gettext("%(title)s (version %(number)s)") % {"title": title, "number": number},
                )
            )
    found.sort(key=lambda one: one[0].partition("@")[0] != way.first)
    return found + own.own_choices(task.project_id, _purposes(way))


def _purposes(way: Questions) -> list[str]:
    """List the purposes of own prompts that suit tasks of this shape."""
    own_ones = [PREFIX + way.family] if way.family else ["answer", "answer_steps"]
    return [slug for slug in own_ones if slug in PURPOSES]


def prompt_of(task: Task, strategy: str) -> tuple[Template, str]:
    """Return the prompt of a strategy, and the name of the answer's form."""
    if not strategy.startswith(own.OWN):
        return template(PREFIX, strategy), strategy.partition("@")[0]
    found = own.by_ref(task.project_id, strategy, "strategy")
    return own.template_of(found), PURPOSES[found.purpose].base.removeprefix(PREFIX)


def strategy_of(task: Task, wanted: str) -> str:
    """Return the wanted strategy, or the first one for "".

    Invalid if the task does not offer it.
    """
    known = [ref for ref, _ in strategies(task)]
    if wanted and wanted not in known:
        raise Invalid(
            gettext("A task of this kind is not asked by %(wanted)s.") % {"wanted": wanted},
            fields={"strategy": gettext("One of %(names)s.") % {"names": ", ".join(known)}},
        )
    return wanted or known[0]


def system_of(task: Task, params: Mapping[str, Any]) -> tuple[str, str]:
    """Name and prompt strategy of the system whose answers a run with these options gives."""
    model = chat_model(task, params["model"])
    without = "" if params["passage"] else " without the passage"
    temperature = temperature_label(params["temperature"])
    shown = examples.label_of(params)
    how = f"{strategy_of(task, params['strategy'])}{without}, {temperature}{shown}"
    return model.name, how


@dataclass(frozen=True, eq=False)
class AnswerRequest:
    """One answer that is to be asked for."""

    item: Item
    replicate: int

    def subject(self, shown: Sequence[int] = ()) -> str:
        """Key of the question: its item and the example items in its prompt."""
        return examples.subject_with(f"item:{self.item.pk}/{self.replicate}", "item", shown)


def answer_requests(task: Task, params: Mapping[str, Any]) -> list[AnswerRequest]:
    """List all answers that a system with these options gives."""
    return [
        AnswerRequest(item, number)
        for item in questions_for(task).items(task)
        for number in range(params["replicates"])
    ]


def wanted_of(task: Task, params: Mapping[str, Any]) -> tuple[list[AnswerRequest], int]:
    """Return the answers that the system has not given yet, and the number it has."""
    there = questions_for(task).answered(task, system_of(task, params))
    every = answer_requests(task, params)
    new = [one for one in every if (one.item.pk, one.replicate) not in there]
    return new, len(every) - len(new)


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """Plan a run: its questions and cost. Raises Invalid and Conflict if something is missing."""
    return _plan(task, params, *wanted_of(task, params))


def _plan(
    task: Task,
    params: Mapping[str, Any],
    wanted: Sequence[AnswerRequest],
    there: int,
    *,
    encode: bool = False,
) -> Plan:
    model = chat_model(task, params["model"])
    strategy = strategy_of(task, params["strategy"])
    prompt, name = prompt_of(task, strategy)
    way = questions_for(task)
    found, pool = _examples(task, params, way, wanted, encode=encode)

    def rendered(one: AnswerRequest) -> Rendered:
        own = found.of.get(one.item.pk, ())
        own_prompt, *others = (
            way.prompt(prompt, item, task, passage=params["passage"])
            for item in (one.item, *(pool[pk] for pk in own))
        )
        answers = (way.example_answer(found.codes[pk]) for pk in own)
        return examples.with_examples(own_prompt, list(zip(others, answers, strict=True)))

    asks = [
        ModelQuestion(
            one.subject(found.of.get(one.item.pk, ())),
            rendered(one),
            way.schema(task, name, one.item),
            sampling(params),
            replicate=one.replicate,
        )
        for one in wanted
    ]
    noun = way.noun or get_type(task.type).item_noun
    if params["replicates"] > 1 and there:
        text = gettext("%(does)s, %(times)s times each; %(there)s there already.")
    elif params["replicates"] > 1:
        text = gettext("%(does)s, %(times)s times each.")
    elif there:
        text = gettext("%(does)s; %(there)s there already.")
    else:
        text = gettext("%(does)s.")
    does = gettext(way.does) % {
        "model": model.name,
        "items": plural(len({one.item.pk for one in wanted}), noun),
    }
    sentence = text % {
        "does": does,
        "times": params["replicates"],
        "there": plural(there, f"{way.given} is", f"{way.given}s are"),
    }
    if found.pool:
        more = gettext("Each prompt shows up to %(n)s of %(pool)s labelled by most people alike.")
        told = {"n": params["examples"], "pool": plural(found.pool, noun)}
        sentence = f"{sentence} {more % told}"
    return Plan(model, asks, sentence)


def _examples(
    task: Task,
    params: Mapping[str, Any],
    way: Questions,
    wanted: Sequence[AnswerRequest],
    *,
    encode: bool,
) -> tuple[examples.Examples, dict[int, Item]]:
    """The examples of each item, and the items that are ones by id."""
    if not params.get("examples"):
        return examples.NONE, {}
    fields = way.example_fields(task)

    def shown(item: Item) -> examples.Shown:
        return examples.Shown(
            item.pk, f"{item.group.passage}\n{item.question or item.key}", item.pk
        )

    pool = {item.pk: item for item in way.items(task) if item.expected is None}
    asked = {one.item.pk: shown(one.item) for one in wanted}
    known = [shown(item) for item in pool.values()]
    found = examples.choose_examples(
        task, params, list(asked.values()), known, fields, encode=encode
    )
    return found, pool


def _on_task(task: Task) -> dict[str, dict[str, Any] | None]:
    """The prompts for tasks of this shape, and what it is that people are shown."""
    way = questions_for(task)
    return {
        "strategy": {"choices": strategies(task)},
        "passage": {"label": way.passage_label} if way.passage_label else {},
        **({} if way.shows_examples else examples.NOT_OFFERED),
    }


def _next_step(run: Run, new: int) -> tuple[str, str, str]:
    if not new:
        return NOTHING_NEW
    said, page, label = questions_for(run.task).next_step
    return said, reverse(page, args=[run.project_id, run.task_id]), label


ANSWERS = LLMRunSpec(
    SLUG,
    "1.0",
    gettext_noop("Answers of a language model"),
    plan,
    OPTIONS,
    on_task=_on_task,
    noun="answer",
    next_step=_next_step,
    whole=lambda task, params: _plan(task, params, answer_requests(task, params), 0),
    fits=lambda task: questions_for(task).fits(task),
    answers_items=lambda task: questions_for(task).answers_items,
)


@dataclass(frozen=True, eq=False)
class Answered:
    """What a run has been told, before anything is written."""

    system: tuple[str, str]
    prompt: str
    given: list[SystemAnswer]
    told: Row


def compute(run: Run, steps: Recorder) -> Answered:
    """Ask the model and parse its answers."""
    task, params = run.task, run.params
    steps.begin(PREPARE)
    wanted, there = wanted_of(task, params)
    asked = _plan(task, params, wanted, there, encode=True)
    steps.set_words(count=asked.sentence)
    steps.begin(ASK, total=len(asked.asks))
    replies = ask_model(run, asked.model, asked.asks, steps)
    steps.begin(STORE)
    way = questions_for(task)
    read = [
        (one, reply, way.read(task, one.item, reply.value))
        for one, reply in zip(wanted, replies, strict=True)
        if reply.value is not None
    ]
    given = [SystemAnswer(one.item.pk, found.values, one.replicate) for one, _, found in read]
    told = {**_summary(replies, there, read), **prompts_told(asked.asks)}
    counts = told["counts"]
    steps.set_words(count=f"{plural(counts['answered'], 'answer')}, {counts['failed']:,} failed")
    return Answered(system_of(task, params), strategy_of(task, params["strategy"]), given, told)


def _summary(
    replies: Sequence[Reply], there: int, read: Sequence[tuple[AnswerRequest, Reply, ParsedValues]]
) -> Row:
    """The figure of the run: counts, what failed and why, what is kept and wants a look."""
    flagged = [
        {"subject": one.subject(), "item": one.item.key, "flag": found.flag, "call": reply.call_id}
        for one, reply, found in read
        if found.flag
    ]
    return {
        "counts": {
            "asked": len(replies),
            "cached": sum(reply.cached for reply in replies),
            "answered": len(read),
            "declined": sum(found.declined for *_, found in read),
            "failed": len(replies) - len(read),
            "flagged": len(flagged),
            "there": there,
        },
        "reasons": reasons(replies),
        "failed": failures(replies),
        "flagged": flagged[:LISTED],
    }


def write(run: Run, done: Answered) -> Outcome:
    """Store the answers of the system; part of the transaction that closes the run."""
    name, strategy = done.system
    own_one = done.prompt.startswith(own.OWN)
    told = {
        "asked": done.told,
        "recipe": {
            "method": SLUG,
            "version": run.version,
            "params": dict(run.params),
            "system": f"{name}, {strategy}",
            "prompt": done.prompt if own_one else f"{PREFIX}{done.prompt}",
        },
    }
    way = questions_for(run.task)
    way.store(by=run.started_by, task=run.task, system=done.system, rows=done.given)
    return Outcome({}, told)


def _place(run: Run) -> str:
    """Return where the answers are among the task's results, if they have a page there."""
    page = questions_for(run.task).results
    return reverse(page, args=[run.project_id, run.task_id]) if page else ""


RUNS = RunType(
    ANSWERS,
    ("texts", "responses", "labels", "ratings"),
    gettext_noop("free text, writing with sources, labels and ratings beside documents"),
    (PREPARE, ASK, STORE),
    compute,
    write,
    place=_place,
)
