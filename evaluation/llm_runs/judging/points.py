"""Runs in which a language model gives points from 0 to 100 (AQER, appendix H).

Answers to questions are scored as a whole; texts under judgment on each dimension or scale. A
model that names no number is asked once more, and then the middle counts, flagged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from annotation.models import Candidate, Item, Task
from annotation.work.snapshots import answers
from annotation.work.snapshots.answers import AnswerText
from crowdqc.errors import Conflict
from crowdqc.numbers import plural
from evaluation.llm.ask import ModelQuestion, Reply
from evaluation.llm.own import selectors as own
from evaluation.llm.prompting import Template
from evaluation.llm.schemas import SCORE
from evaluation.llm_runs.judging.prompts import text_prompt
from evaluation.llm_runs.judging.scores import Point, answer_boards, candidate_boards
from evaluation.llm_runs.parts import (
    MODEL,
    PROMPT,
    ask_model,
    asked_items,
    chat_model,
    failures,
    most_tokens,
    prompts_told,
    reasons,
    sampling,
    temperature,
)
from evaluation.methods.core.params import Params, choice, flag, resamples
from evaluation.models import LLMAttempt, Run
from evaluation.runs.adapters import adapter_of
from evaluation.runs.asking import LLMRunSpec, Plan
from evaluation.runs.freezing import snapshots
from evaluation.runs.freezing.options import freeze
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome
from evaluation.runs.run_types import OWN_ROWS, RunType

SLUG = "judge_points"
PREPARE, ASK, BOARDS = (
    gettext_noop("What is judged"),
    gettext_noop("Asking the model"),
    gettext_noop("Scores and boards"),
)
TRIES, MIDDLE = 2, 50.0  # App. H: asked again once, then the middle of the scale
OPTIONS = Params(
    SLUG,
    (
        MODEL,
        PROMPT,
        choice(
            "whose",
            "all",
            ("all", "workers", "systems"),
            label=gettext_noop("Answers of"),
            words=(
                gettext_noop("Workers and systems"),
                gettext_noop("Workers"),
                gettext_noop("Systems"),
            ),
        ),
        flag(
            "passage",
            False,
            label=gettext_noop("Show the model the text that the question is about"),
            help=gettext_noop("The paper’s judge sees the question and the answer alone."),
        ),
        temperature(),
        most_tokens(60, gettext_noop("A number needs few.")),
        resamples(2000),
    ),
)
DEFAULTS = OPTIONS.defaults
# The model was heard and named no number, which is something else than not being reached.
NO_NUMBER = (
    LLMAttempt.Outcome.WRONG_FORM,
    LLMAttempt.Outcome.TRUNCATED,
    LLMAttempt.Outcome.REFUSED,
)
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ScoreRequest:
    """One score that is to be asked for: of an answer, or of a text on a dimension."""

    ask: ModelQuestion
    answer: AnswerText | None = None
    text: Candidate | None = None
    dimension: str = ""


def wanted_of(task: Task, params: Mapping[str, Any]) -> list[ScoreRequest]:
    """List everything to be scored, in a fixed order."""
    if adapter_of(task).scores_answers:
        return _answers(task, params)
    return _texts(task, params)


def _answers(task: Task, params: Mapping[str, Any]) -> list[ScoreRequest]:
    """Counting answers, of a worker the first to each question, as AQER takes them."""
    if task.current is None:
        raise Conflict(gettext("Publish the task first: nobody has answered yet."))
    rows = snapshots.counted_once(task)
    if params["whose"] != "all":
        rows = [row for row in rows if (row.worker_id is None) == (params["whose"] == "systems")]
    items = {item.pk: item for item in task.items.select_related("group")}
    template = own.template_for(task.project_id, purpose_of(task), params["prompt"])
    return [
        ScoreRequest(_ask_answer(template, row, items[row.item_id], params), answer=row)
        for row in rows
    ]


def purpose_of(task: Task) -> str:
    """Return the purpose of prompts that score in this task: answers or texts."""
    return "point_answer" if adapter_of(task).scores_answers else "point_text"


def _ask_answer(
    template: Template, row: AnswerText, item: Item, params: Mapping[str, Any]
) -> ModelQuestion:
    prompt = template.render(
        question=item.question,
        answer=row.text,
        passage=item.group.passage if params["passage"] else "",
    )
    return ModelQuestion(f"answer:{row.answer_id}", prompt, SCORE, sampling(params), tries=TRIES)


def _texts(task: Task, params: Mapping[str, Any]) -> list[ScoreRequest]:
    """Every text that the version in force puts to judgment, on each dimension or scale."""
    template = own.template_for(task.project_id, purpose_of(task), params["prompt"])
    items = asked_items(task)
    assert task.current is not None  # noqa: S101 (asked_items has seen to it)
    rows = task.current.settings.get("dimensions") or task.current.settings.get("scales") or []
    shown: dict[int, tuple[Candidate, Item]] = {}
    for item in items:
        for text in (item.first, item.second):
            if text is not None:
                shown.setdefault(text.pk, (text, item))
    return [
        ScoreRequest(
            ModelQuestion(
                f"text:{pk}/{row['name']}",
                text_prompt(template, task, item, text.text, row),
                SCORE,
                sampling(params),
                tries=TRIES,
            ),
            text=text,
            dimension=row["name"],
        )
        for pk, (text, item) in sorted(shown.items())
        for row in rows
    ]


def plan(task: Task, params: Mapping[str, Any]) -> Plan:
    """Plan a run: its questions and cost. Raises Invalid and Conflict if something is missing."""
    return _plan(task, params, wanted_of(task, params))


def _plan(task: Task, params: Mapping[str, Any], wanted: Sequence[ScoreRequest]) -> Plan:
    model = chat_model(task, params["model"])
    if not wanted:
        raise Conflict(gettext("There is nothing to score yet."))
    what = plural(len(wanted), "answer")
    if wanted[0].text is not None:
        texts = len({one.text.pk for one in wanted if one.text is not None})
        what = gettext("%(texts)s on %(dimensions)s") % {
            "texts": plural(texts, "text"),
            "dimensions": plural(len(wanted) // texts, "dimension"),
        }
    return Plan(
        model,
        [one.ask for one in wanted],
        gettext("%(model)s scores %(what)s from 0 to 100.") % {"model": model.name, "what": what},
    )


def _on_task(task: Task) -> dict[str, dict[str, Any] | None]:
    """The prompts; whose answers, and with which text, is asked only where answers are scored."""
    prompts = {"prompt": {"choices": own.choices(task.project_id, [purpose_of(task)])}}
    return {
        **prompts,
        **({} if adapter_of(task).scores_answers else {"whose": None, "passage": None}),
    }


def _next_step(run: Run, new: int) -> tuple[str, str, str]:
    url = reverse("point_judges", args=[run.project_id, run.task_id])
    return (
        gettext("The boards stand on a page of their own."),
        f"{url}?run={run.number}",
        gettext("See the points"),
    )


JUDGE_POINTS = LLMRunSpec(
    SLUG,
    "1.0",
    gettext_noop("Points from a language model"),
    plan,
    OPTIONS,
    on_task=_on_task,
    noun="score",
    next_step=_next_step,
)


def points_of(replies: Sequence[Reply]) -> list[Point | None]:
    """Read the scores from replies; 50, flagged, if the model named no number in two tries.

    None where the model was not reached: that says nothing of the answer.
    """
    lost = [reply.call_id for reply in replies if reply.value is None]
    outcomes: dict[int, str] = {}
    tried = LLMAttempt.objects.filter(call__in=lost).order_by("number")
    for call, outcome in tried.values_list("call_id", "outcome"):
        outcomes[call] = outcome
    found: list[Point | None] = []
    for reply in replies:
        if reply.value is not None:
            found.append(Point(float(reply.value["score"]), reply.call_id))
        elif outcomes.get(reply.call_id) in NO_NUMBER:
            found.append(Point(MIDDLE, reply.call_id, defaulted=True))
        else:
            found.append(None)
    return found


@dataclass(frozen=True, eq=False)
class ScoringResult:
    """What a run has found, before anything is written."""

    rows: dict[Any, list[Row]]
    told: Row


def compute(run: Run, steps: Recorder) -> ScoringResult:
    """Ask, and put the boards together."""
    task, params = run.task, run.params
    steps.begin(PREPARE)
    if adapter_of(task).scores_answers and any(
        row.worker_id is not None for row in answers.counting_texts(task)
    ):
        freeze(run, snapshots.freeze_answers)
    wanted = wanted_of(task, params)
    asked = _plan(task, params, wanted)
    steps.set_words(count=asked.sentence)
    steps.begin(ASK, total=len(wanted))
    replies = ask_model(run, asked.model, [one.ask for one in wanted], steps)
    steps.begin(BOARDS)
    points = points_of(replies)
    made = [(one, point) for one, point in zip(wanted, points, strict=True) if point is not None]
    rng = np.random.default_rng(run.seed)
    if wanted[0].answer is not None:
        given = [(one.answer, point) for one, point in made if one.answer is not None]
        rows, notes = answer_boards(given, resamples=params["resamples"], rng=rng)
    else:
        texts = [(one.text, one.dimension, point) for one, point in made if one.text is not None]
        rows, notes = candidate_boards(texts)
    told = {**_summary(replies, [point for _, point in made]), **prompts_told(asked.asks)}
    steps.set_words(count=f"{plural(len(made), 'score')}, {told['counts']['failed']:,} failed")
    return ScoringResult(rows, {"asked": told, "notes": notes})


def _summary(replies: Sequence[Reply], points: Sequence[Point]) -> Row:
    """The figure of the run: counts, the share that defaulted, and how the scores are spread."""
    own = [point.score for point in points if not point.defaulted]
    bins = np.histogram(own, bins=10, range=(0, 100))[0].tolist() if own else [0] * 10
    return {
        "counts": {
            "asked": len(replies),
            "cached": sum(reply.cached for reply in replies),
            "answered": len(own),
            "defaulted": len(points) - len(own),
            "failed": len(replies) - len(points),
        },
        "distribution": bins,  # of ten points each, the middles that defaulted left out
        "different": len(set(own)),
        "reasons": reasons(replies),
        "failed": failures(replies),
    }


def write(run: Run, done: ScoringResult) -> Outcome:
    """The scores of a run, and how they came about."""
    told = {
        **done.told,
        "recipe": {
            "method": SLUG,
            "version": run.version,
            "params": dict(run.params),
            "seed": run.seed,
            "snapshot": run.snapshot.content_hash if run.snapshot else "",
        },
    }
    return Outcome(done.rows, told)


RUNS = RunType(
    JUDGE_POINTS,
    ("texts", "pairs", "ratings"),
    gettext_noop("answers and texts"),
    (PREPARE, ASK, BOARDS),
    compute,
    write,
    page="point_judges",
    export=OWN_ROWS,
)
