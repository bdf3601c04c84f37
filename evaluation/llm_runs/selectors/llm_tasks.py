"""What models can be asked about a task, what they were asked, and what a plan would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, Sum
from django.utils.translation import gettext

from annotation.models import Task
from crowdqc.numbers import NBSP, count, duration, plural
from evaluation.llm.selectors.models import small
from evaluation.llm.wording import messages_of
from evaluation.llm_runs.start import Prepared, ways_of
from evaluation.methods.replacement.annotator import ITEMS as LEAST_ITEMS
from evaluation.methods.replacement.method import METHOD as REPLACEMENT
from evaluation.models import CallState, CallUse, LanguageModel, Run, RunState
from evaluation.runs import run_types
from evaluation.runs.adapters import adapter_of
from evaluation.runs.asking import LLMRunSpec
from evaluation.runs.engine import ACTIVE
from evaluation.runs.selectors.lists import STATES, started_words
from evaluation.runs.selectors.recipes import model_id, model_names
from evaluation.runs.selectors.shell import percent
from evaluation.runs.selectors.words import results_url

SHOWN = 20  # runs of a task, the newest


@dataclass(frozen=True)
class AskingLine:
    """A way of asking as a line of the task's page."""

    slug: str
    asking: LLMRunSpec
    runs: int
    last: Run | None


@dataclass(frozen=True)
class AskedRun:
    """A run that asks, as a line."""

    run: Run
    title: str
    model: str
    mark: str
    word: str
    active: bool
    percent: int
    calls: str
    failed: int
    cost: str
    started: str
    results_url: str


@dataclass(frozen=True)
class Live:
    """The runs of a task that ask; ``active``: one of them is in work."""

    runs: list[AskedRun]
    active: int


def live_runs(task: Task) -> Live:
    """Return the task's latest runs that ask models, with their calls (four queries at most)."""
    slugs = [slug for slug, kind in run_types.run_types().items() if kind.asking]
    rows = list(
        task.runs.filter(method__in=slugs)
        .select_related("started_by", "source")
        .order_by("-number")[:SHOWN]
    )
    names, told = model_names(rows), _calls_by_run(rows)
    made = [
        _run_line(run, task, names.get(model_id(run) or 0, ""), told.get(run.pk, {}))
        for run in rows
    ]
    return Live(made, sum(one.active for one in made))


def _calls_by_run(rows: Sequence[Run]) -> dict[int, dict[str, Any]]:
    """Run -> its calls by state, each once, and what its attempts cost; two queries."""
    same = CallUse.objects.filter(run=OuterRef("run"), call=OuterRef("call"), pk__lt=OuterRef("pk"))
    once = CallUse.objects.filter(~Exists(same), run__in=rows).order_by().values("run")
    counts = once.annotate(
        n=Count("pk"),
        done=Count("pk", filter=Q(call__state=CallState.DONE)),
        bad=Count("pk", filter=Q(call__state=CallState.FAILED)),
    )
    found = {row["run"]: row for row in counts}
    own = Q(call__tries__sent_at__gte=F("run__created_at")) & (
        Q(run__finished_at__isnull=True) | Q(call__tries__sent_at__lte=F("run__finished_at"))
    )
    for row in once.annotate(spent=Sum("call__tries__cost", filter=own)):
        found[row["run"]]["spent"] = row["spent"]
    return found


def _run_line(run: Run, task: Task, model: str, told: Mapping[str, Any]) -> AskedRun:
    run.task = task
    mark, word = STATES[RunState(run.state)]
    return AskedRun(
        run=run,
        title=run_types.title_of(run.method),
        model=model,
        mark=mark,
        word=gettext(word),
        active=run.state in ACTIVE,
        percent=percent(run),
        calls=gettext("%(done)s of %(n)s")
        % {"done": count(told.get("done", 0)), "n": count(told.get("n", 0))},
        failed=told.get("bad", 0),
        cost=small(told.get("spent") or 0, task.project.currency),
        started=started_words(run),
        results_url=results_url(run) if run.state == RunState.DONE else "",
    )


def ways(task: Task) -> list[AskingLine]:
    """List the methods that ask models in this task, with number of uses and last run."""
    found = ways_of(task)
    runs: dict[str, list[Run]] = {slug: [] for slug, _ in found}
    for run in task.runs.filter(method__in=list(runs)).order_by("-number"):
        runs[run.method].append(run)
    return [
        AskingLine(slug, asking, len(runs[slug]), runs[slug][0] if runs[slug] else None)
        for slug, asking in found
    ]


def options_without_model(task: Task) -> str:
    """Say what can be done with the task without a model."""
    return str(adapter_of(task).without_models)


def shows_ids_only(task: Task) -> bool:
    """Whether no item of a task has a text of its own: a model would read ids."""
    has_text = ~Q(question=F("key")) | Q(chat__isnull=False) | Q(media__isnull=False)
    return task.items.exists() and not task.items.filter(has_text).exists()


def items_for_test(task: Task, way: LLMRunSpec) -> int:
    """The items from which on a model is tested against people, if the task has fewer; else 0."""
    if not (way.answers_items(task) and run_types.fits(task, REPLACEMENT.slug)):
        return 0
    items = task.items.in_version(task.version_or_draft().number).filter(expected__isnull=True)
    return LEAST_ITEMS if items.count() < LEAST_ITEMS else 0


def initial_options(task: Task, method: str, number: str) -> dict[str, Any]:
    """The options to begin with: those of the run of this number, else of the last one."""
    rows = task.runs.filter(method=method).order_by("-number")
    if number.isdecimal() and len(number) < 10:
        rows = rows.filter(number=int(number))
    run = rows.first()
    return dict(run.params) if run is not None else {}


@dataclass(frozen=True)
class RunPreview:
    """What a run would ask and cost, as the page shows it before the start."""

    sentence: str
    figures: list[dict[str, Any]]
    problems: Sequence[str]
    warnings: Sequence[str]
    over_soft: bool
    nothing_new: bool
    sample: Sequence[dict[str, str]]
    prompts: list[str]
    button: str


def preview_in_words(task: Task, ready: Prepared) -> RunPreview:
    """The preview in words; no query."""
    found, currency = ready.preview, task.project.currency
    new = found.calls - found.cached
    speech = ready.plan.model.use == LanguageModel.Use.SPEECH
    asks = [] if speech else ready.plan.asks  # of recordings there are no words to show
    if not new:
        button = gettext("Take the answers from before")
    else:
        texts = (gettext("Ask %(questions)s, about %(cost)s"), gettext("Ask %(questions)s"))
        if speech:
            texts = (
                gettext("Transcribe %(questions)s, about %(cost)s"),
                gettext("Transcribe %(questions)s"),
            )
        text = texts[0 if found.cost else 1]
        button = text % {
            "questions": plural(new, "recording" if speech else "question"),
            "cost": small(found.cost or Decimal(), currency),
        }

    return RunPreview(
        sentence=ready.plan.sentence,
        figures=_figures(ready, currency),
        problems=found.problems or (() if found.calls else (gettext("There is nothing to ask."),)),
        warnings=found.warnings,
        over_soft=ready.over_soft,
        nothing_new=not new,
        sample=messages_of(ready.plan.model, asks[0]) if asks else [],
        prompts=sorted({ask.prompt.ref for ask in asks}),
        button=button,
    )


def _figures(ready: Prepared, currency: str) -> list[dict[str, Any]]:
    found = ready.preview
    if found.cost is None:
        most = gettext("a price is not known")
    elif found.at_most is None:
        most = gettext("expected")
    else:
        most = gettext("expected; %(at_most)s at most") % {
            "at_most": small(found.at_most, currency)
        }
    pace = (
        gettext("at the limits of the endpoint")
        if found.minutes is not None
        else gettext("no limit is set")
    )
    return [
        {"label": gettext("Calls"), "value": count(found.calls), "of": ""},
        {
            "label": gettext("Reused from earlier runs"),
            "value": count(found.cached),
            "of": gettext("of %(calls)s") % {"calls": count(found.calls)},
            "note": gettext("asked already; cost nothing"),
        },
        _length(ready),
        {"label": gettext("Cost"), "value": small(found.cost, currency), "of": "", "note": most},
        {"label": gettext("Time"), "value": _minutes(found.minutes), "of": "", "note": pace},
    ]


def _length(ready: Prepared) -> dict[str, Any]:
    """Return how much is sent: tokens, or the duration of recordings."""
    found = ready.preview
    if ready.plan.model.use == LanguageModel.Use.SPEECH:
        return {"label": gettext("Sound"), "value": duration(found.tokens_in), "of": ""}
    return {
        "label": gettext("Tokens"),
        "value": count(found.tokens_in + found.tokens_out),
        "of": "",
        "note": gettext("expected; %(tokens_in)s sent, %(tokens_out)s answered")
        % {"tokens_in": count(found.tokens_in), "tokens_out": count(found.tokens_out)},
    }


def _minutes(minutes: float | None) -> str:
    if minutes is None:
        return gettext("not known")
    return (
        gettext("under %(time)s") % {"time": f"1{NBSP}min"}
        if minutes < 1
        else f"{count(round(minutes))}{NBSP}min"
    )
