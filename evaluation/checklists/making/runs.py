"""Runs that let models think aloud, and that make a stage of a checklist.

Neither computes statistics: the first writes answers of systems, the second a stage's row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.formats.actions.system_answers import Session, add_system_attributes
from annotation.models import Answer, Item, Task
from crowdqc.errors import Conflict, Missing
from crowdqc.numbers import plural
from evaluation.checklists.making import actions, asks, pipeline, stages
from evaluation.checklists.making.asks import THINK_ALOUD
from evaluation.checklists.making.stages import Entries
from evaluation.llm.ask import Ask, Reply
from evaluation.llm.calls import ask_all
from evaluation.llm.prompting import load
from evaluation.llm_runs.parts import chat_model
from evaluation.methods.core.base import BadParameter
from evaluation.models import Checklist, ChecklistStage, LanguageModel, Run
from evaluation.runs.asking import Asking, Plan
from evaluation.runs.freezing import options as freezing
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome

STAGE = "checklist_stage"
ASKING = "Asking"
STEPS = {THINK_ALOUD: (ASKING,), STAGE: (ASKING,)}
MADE_BY_MODELS = stages.ORDER[1:]
MOST_SESSIONS = 10
clean_params = freezing.clean_params  # what the kind offers
Params = Mapping[str, Any]


@dataclass(frozen=True)
class Thought:
    """What a model thought aloud, and what it did not."""

    model: LanguageModel
    sessions: list[Session]
    failed: list[str]
    calls: list[int]


@dataclass(frozen=True)
class Made:
    """A stage as a model made it, from which row."""

    checklist: Checklist
    kind: str
    entries: Entries
    made_from: ChecklistStage
    call: int


# Thinking aloud ---------------------------------------------------------------------------------


def strategy_of(params: Params) -> str:
    """The prompt strategy of the system under which a model's attributes are stored."""
    ref, temperature = load(THINK_ALOUD).ref, float(params.get("temperature", 0))
    return f"{ref}, temperature {temperature:g}" if temperature else ref


def dimensions(task: Task) -> list[Item]:
    """The dimensions that the published version shows."""
    if task.current is None:
        raise Conflict("Publish the task first: answers name the version that they answer.")
    items = task.items.in_version(task.current.number).select_related("group")
    found = [item for item in items if item.expected is None]
    if not found:
        raise Conflict("The task has no dimension to think about.")
    return found


def _thinking(task: Task, params: Params) -> list[tuple[int, int, Ask]]:
    """(item, replicate, question) for every session that is not there yet."""
    model = chat_model(task, params.get("model"))
    there = set(
        Answer.objects.filter(
            item__task=task, system__name=model.name, system__prompt_strategy=strategy_of(params)
        ).values_list("item_id", "replicate")
    )
    return [
        (
            item.pk,
            replicate,
            asks.thinking(
                pipeline.subject_of(item),
                f"item:{item.pk}/{replicate}",
                temperature=float(params.get("temperature", 0)),
                replicate=replicate,
            ),
        )
        for item in dimensions(task)
        for replicate in range(int(params.get("sessions", 1)))
        if (item.pk, replicate) not in there
    ]


def plan_thinking(task: Task, params: Params) -> Plan:
    """What a model would be asked to think about."""
    wanted = [ask for _, _, ask in _thinking(task, params)]
    many = len(dimensions(task)) * int(params.get("sessions", 1))
    kept = many - len(wanted)
    sentence = f"It thinks aloud {plural(len(wanted), 'time')}, once for each dimension and session"
    there = f"; {plural(kept, 'session')} of it are there already" if kept else ""
    return Plan(chat_model(task, params.get("model")), wanted, f"{sentence}{there}.")


def check_thinking(**params: Any) -> None:
    """Raise BadParameter on a bad option of thinking aloud."""
    _whole(params, "model", 0, 2**31)
    _whole(params, "sessions", 1, MOST_SESSIONS)
    _temperature(params)


def _compute_thinking(run: Run, steps: Recorder) -> Thought:
    wanted, model = _thinking(run.task, run.params), chat_model(run.task, run.params.get("model"))
    steps.begin(ASKING, total=len(wanted))
    replies = ask_all(run, model, [ask for _, _, ask in wanted], steps)
    sessions, failed = [], []
    for (item, replicate, _), reply in zip(wanted, replies, strict=True):
        if reply.value is None:
            failed.append(reply.reason)
        else:
            sessions.append(Session(item, reply.value["considerations"], replicate))
    if failed and not sessions:
        raise Conflict(f"No answer could be used: {failed[0]}")
    return Thought(model, sessions, failed, [reply.call_id for reply in replies])


def _write_thinking(run: Run, done: Thought) -> Outcome:
    new = add_system_attributes(
        by=run.started_by,
        task=run.task,
        name=done.model.name,
        strategy=strategy_of(run.params),
        sessions=done.sessions,
    )
    attributes = sum(len(one.attributes) for one in done.sessions)
    made = {"sessions": new, "failed": done.failed, "calls": done.calls, "attributes": attributes}
    return Outcome({}, {"made": made})


# Stages -----------------------------------------------------------------------------------------


def checklist_of(task: Task, params: Params) -> Checklist:
    """The checklist that ``params`` name; Missing where the task has none like it."""
    found = (
        Checklist.objects.filter(task=task, pk=params.get("checklist") or 0)
        .select_related("project", "task", "item__group")
        .first()
    )
    if found is None:
        raise Missing("This task has no such checklist.")
    return found


def _asked(task: Task, params: Params) -> tuple[Checklist, ChecklistStage, dict[str, Entries], Ask]:
    checklist, kind = checklist_of(task, params), params["stage"]
    found = pipeline.standing(checklist)
    pipeline.needed(found, kind)
    data = pipeline.data_of(found)
    made_from = found[stages.before(kind)].row
    if made_from is None:
        raise Conflict("The stage before this one was not made yet.")
    if kind in (stages.COMPONENTS, stages.CLUSTERS) and not data[stages.ATTRIBUTES]:
        raise Conflict(
            "This checklist is made without attributes: write its components by hand, from the "
            "rubric. A model can write the questions."
        )
    about = pipeline.subject_of(checklist.item)
    ask = asks.stage_ask(
        kind,
        about,
        data,
        subject=f"checklist:{checklist.pk}/{kind}",
        temperature=float(params.get("temperature", 0)),
    )
    return checklist, made_from, data, ask


def plan_stage(task: Task, params: Params) -> Plan:
    """What a model would be asked for a stage."""
    ask = _asked(task, params)[-1]
    label = ChecklistStage.Kind(params["stage"]).label.lower()
    return Plan(
        chat_model(task, params.get("model")),
        [ask],
        f"One question: the {label} of this checklist.",
    )


def check_stage(**params: Any) -> None:
    """Raise BadParameter on a bad option of a stage's run."""
    _whole(params, "model", 0, 2**31)
    _whole(params, "checklist", 0, 2**31)
    if params.get("stage", stages.COMPONENTS) not in MADE_BY_MODELS:
        raise BadParameter(f"stage is {params['stage']!r}; there are {', '.join(MADE_BY_MODELS)}")
    _temperature(params)


def _compute_stage(run: Run, steps: Recorder) -> Made:
    checklist, made_from, data, ask = _asked(run.task, run.params)
    steps.begin(ASKING, total=1)
    reply: Reply = ask_all(run, chat_model(run.task, run.params.get("model")), [ask], steps)[0]
    if reply.value is None:
        raise Conflict(f"The model gave no answer that could be used: {reply.reason}")
    kind = run.params["stage"]
    return Made(checklist, kind, asks.entries_of(kind, reply.value, data), made_from, reply.call_id)


def _write_stage(run: Run, done: Made) -> Outcome:
    row = actions.save_stage(
        by=run.started_by,
        checklist=done.checklist,
        kind=done.kind,
        entries=done.entries,
        run=run,
        made_from=done.made_from,
    )
    made = {
        "checklist": done.checklist.pk,
        "stage": done.kind,
        "number": row.number,
        "entries": len(row.data),
        "calls": [done.call],
    }
    return Outcome({}, {"made": made})


# Both -------------------------------------------------------------------------------------------


def compute(run: Run, steps: Recorder) -> Thought | Made:
    """Ask; nothing is written but the calls."""
    ask = _compute_thinking if run.method == THINK_ALOUD else _compute_stage
    return ask(run, steps)


def write(run: Run, done: Thought | Made) -> Outcome:
    """Store what came of it; part of the transaction that closes the run."""
    return _write_thinking(run, done) if isinstance(done, Thought) else _write_stage(run, done)


def _whole(params: Params, name: str, low: int, high: int) -> None:
    if name not in params:
        return
    value = params[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadParameter(f"{name} is {value!r}; it must be a whole number from {low} to {high}")


def _temperature(params: Params) -> None:
    value = params.get("temperature", 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise BadParameter(f"temperature is {value!r}; it must lie between 0 and 2")


THINKING = Asking(
    THINK_ALOUD,
    "1.0",
    "Thinking aloud by a model",
    plan_thinking,
    {"model": 0, "sessions": 1, "temperature": 0.0},
    check_thinking,
)
MAKING = Asking(
    STAGE,
    "1.0",
    "A stage of a checklist",
    plan_stage,
    {"model": 0, "checklist": 0, "stage": stages.COMPONENTS, "temperature": 0.0},
    check_stage,
)
