"""Runs that let models think aloud, and that make a stage of a checklist.

Neither computes statistics: the first writes answers of systems, the second a stage's row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.formats.actions.system_answers import Session, add_system_attributes
from annotation.models import Answer, Item, Task
from crowdqc.errors import Conflict, Missing
from crowdqc.numbers import mid_sentence, plural
from evaluation.checklists.making import actions, asks, pipeline, stages
from evaluation.checklists.making.asks import THINK_ALOUD
from evaluation.checklists.making.stages import Entries
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.calls import fetch_replies
from evaluation.llm.own import selectors as own
from evaluation.llm.prompting import load
from evaluation.llm_runs.parts import MODEL, PROMPT, chat_model, temperature
from evaluation.methods.core.params import Params, choice, whole_number
from evaluation.models import Checklist, ChecklistStage, LanguageModel, Run
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import RunType

STAGE = "checklist_stage"
ASKING = gettext_noop("Asking")
MADE_BY_MODELS = stages.ORDER[1:]
MOST_SESSIONS = 10
Given = Mapping[str, Any]


@dataclass(frozen=True)
class Thought:
    """What a model thought aloud, and what it did not."""

    model: LanguageModel
    sessions: list[Session]
    failed: list[str]
    calls: list[int]


@dataclass(frozen=True)
class MadeStage:
    """A stage as a model made it, from which row."""

    checklist: Checklist
    kind: str
    entries: Entries
    made_from: ChecklistStage
    call: int


# Thinking aloud ---------------------------------------------------------------------------------


def strategy_of(params: Given) -> str:
    """Return the prompt strategy under which a model's attributes are stored."""
    ref = params.get("prompt") or load(THINK_ALOUD).ref
    temperature = float(params.get("temperature", 0))
    return f"{ref}, temperature {temperature:g}" if temperature else ref


def dimensions(task: Task) -> list[Item]:
    """Return the items (dimensions) of the published version."""
    if task.current is None:
        raise Conflict(
            gettext("Publish the task first: answers name the version that they answer.")
        )
    items = task.items.in_version(task.current.number).select_related("group")
    found = [item for item in items if item.expected is None]
    if not found:
        raise Conflict(gettext("The task has no dimension to think about."))
    return found


def _thinking(
    task: Task, params: Given, *, whole: bool = False
) -> list[tuple[int, int, ModelQuestion]]:
    """(item, replicate, question) for every session that is not there yet; ``whole``: for all."""
    model = chat_model(task, params.get("model"))
    template = own.template_for(task.project_id, THINK_ALOUD, params.get("prompt", ""))
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
                template=template,
            ),
        )
        for item in dimensions(task)
        for replicate in range(int(params.get("sessions", 1)))
        if whole or (item.pk, replicate) not in there
    ]


def plan_thinking(task: Task, params: Given, *, whole: bool = False) -> Plan:
    """Plan the requests in which a model thinks aloud."""
    wanted = [ask for _, _, ask in _thinking(task, params, whole=whole)]
    many = len(dimensions(task)) * int(params.get("sessions", 1))
    kept = many - len(wanted)
    told = {"times": plural(len(wanted), "time"), "sessions": plural(kept, "session")}
    said = (
        gettext(
            "It thinks aloud %(times)s, once for each dimension and session; %(sessions)s of it "
            "are there already."
        )
        if kept
        else gettext("It thinks aloud %(times)s, once for each dimension and session.")
    )
    return Plan(chat_model(task, params.get("model")), wanted, said % told)


def _compute_thinking(run: Run, steps: Recorder) -> Thought:
    wanted, model = _thinking(run.task, run.params), chat_model(run.task, run.params.get("model"))
    steps.begin(ASKING, total=len(wanted))
    replies = fetch_replies(run, model, [ask for _, _, ask in wanted], steps)
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


def checklist_of(task: Task, params: Given) -> Checklist:
    """Return the checklist that ``params`` name; Missing if the task has no such one."""
    found = (
        Checklist.objects.filter(task=task, pk=params.get("checklist") or 0)
        .select_related("project", "task", "item__group")
        .first()
    )
    if found is None:
        raise Missing(gettext("This task has no such checklist."))
    return found


def _stage_question(
    task: Task, params: Given
) -> tuple[Checklist, ChecklistStage, dict[str, Entries], ModelQuestion]:
    checklist, kind = checklist_of(task, params), params["stage"]
    found = pipeline.stage_states(checklist)
    pipeline.needed(found, kind)
    data = pipeline.data_of(found)
    made_from = found[stages.previous_stage(kind)].row
    if made_from is None:
        raise Conflict(gettext("The stage before this one was not made yet."))
    if kind in (stages.COMPONENTS, stages.CLUSTERS) and not data[stages.ATTRIBUTES]:
        raise Conflict(
            gettext(
                "This checklist is made without attributes: write its components by hand, "
                "from the rubric. A model can write the questions."
            )
        )
    about = pipeline.subject_of(checklist.item)
    ask = asks.stage_ask(
        kind,
        about,
        data,
        subject=f"checklist:{checklist.pk}/{kind}",
        temperature=float(params.get("temperature", 0)),
        template=own.template_for(task.project_id, f"stage_{kind}", params.get("prompt", "")),
    )
    return checklist, made_from, data, ask


def plan_stage(task: Task, params: Given) -> Plan:
    """Plan the question that makes a stage, with its cost."""
    ask = _stage_question(task, params)[-1]
    label = mid_sentence(str(ChecklistStage.Kind(params["stage"]).label))
    return Plan(
        chat_model(task, params.get("model")),
        [ask],
        gettext("One question: the %(label)s of this checklist.") % {"label": label},
    )


def _whole_stage(task: Task, params: Given) -> Plan:
    """The stage of every checklist that is ready for it; Conflict where none is."""
    asked = []
    for pk, _ in _lists_of(task):
        try:
            asked.append(_stage_question(task, {**params, "checklist": pk})[-1])
        except Conflict:
            continue
    if not asked:
        raise Conflict(gettext("No checklist of this task is ready for this stage."))
    return Plan(chat_model(task, params.get("model")), asked, "")


def _compute_stage(run: Run, steps: Recorder) -> MadeStage:
    checklist, made_from, data, ask = _stage_question(run.task, run.params)
    steps.begin(ASKING, total=1)
    reply: Reply = fetch_replies(run, chat_model(run.task, run.params.get("model")), [ask], steps)[
        0
    ]
    if reply.value is None:
        raise Conflict(f"The model gave no answer that could be used: {reply.reason}")
    kind = run.params["stage"]
    return MadeStage(
        checklist, kind, asks.entries_of(kind, reply.value, data), made_from, reply.call_id
    )


def _write_stage(run: Run, done: MadeStage) -> Outcome:
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


# The types ---------------------------------------------------------------------------------------

_TEMPERATURE = temperature(
    help_text=gettext_noop("0: the most probable answer. Above it, sessions of one model differ.")
)
THINKING = LLMRunSpec(
    THINK_ALOUD,
    "1.0",
    gettext_noop("Thinking aloud by a model"),
    plan_thinking,
    Params(
        THINK_ALOUD,
        (
            MODEL,
            whole_number(
                "sessions",
                1,
                1,
                MOST_SESSIONS,
                label=gettext_noop("Sessions a dimension"),
                help=gettext_noop("More than one makes sense above temperature 0 only."),
            ),
            PROMPT,
            _TEMPERATURE,
        ),
    ),
    on_task=lambda task: {"prompt": {"choices": own.choices(task.project_id, [THINK_ALOUD])}},
    whole=partial(plan_thinking, whole=True),
)


def _lists_of(task: Task) -> list[tuple[int, str]]:
    rows = Checklist.objects.filter(task=task, archived_at__isnull=True)
    return list(rows.values_list("pk", "name"))


def prompt_choices(task: Task, kinds: Sequence[str]) -> list[tuple[str, str]]:
    """The prompts that these stages can be made by."""
    return own.choices(task.project_id, [f"stage_{kind}" for kind in kinds])


def _lacking(task: Task) -> dict[str, str]:
    """A checklist, where the task has none yet."""
    if _lists_of(task):
        return {}
    return {
        "sentence": gettext("Make a checklist first"),
        "why": gettext(
            "A model makes the stages of a checklist, and this task has none yet. It takes "
            "a name and the attributes that it is made from."
        ),
        "url": reverse("checklist_new", args=[task.project_id, task.pk]),
        "label": gettext("New checklist"),
    }


MAKING = LLMRunSpec(
    STAGE,
    "1.0",
    gettext_noop("A stage of a checklist"),
    plan_stage,
    Params(
        STAGE,
        (
            MODEL,
            whole_number("checklist", 0, 0, 2**31, label=gettext_noop("Checklist")),
            choice(
                "stage",
                stages.COMPONENTS,
                MADE_BY_MODELS,
                label=gettext_noop("Stage"),
                words=tuple(ChecklistStage.Kind(kind).label for kind in MADE_BY_MODELS),
            ),
            PROMPT,
            _TEMPERATURE,
        ),
    ),
    on_task=lambda task: {
        "checklist": {"choices": _lists_of(task)},
        "prompt": {"choices": prompt_choices(task, MADE_BY_MODELS)},
    },
    lacking=_lacking,
    whole=_whole_stage,
)


def _place(run: Run) -> str:
    """The page of the checklist of which the run made a stage."""
    found = run.params.get("checklist")
    return reverse("checklist", args=[run.project_id, found]) if found else ""


def _detail(run: Run) -> str:
    kind = run.params.get("stage")
    return mid_sentence(str(ChecklistStage.Kind(kind).label)) if kind else ""


THOUGHTS = RunType(
    THINKING, ("attributes",), "think-alouds", (ASKING,), _compute_thinking, _write_thinking
)
STAGES = RunType(
    MAKING,
    ("attributes",),
    "think-alouds",
    (ASKING,),
    _compute_stage,
    _write_stage,
    place=_place,
    detail=_detail,
)
