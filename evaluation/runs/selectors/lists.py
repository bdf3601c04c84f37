"""Runs as pages show them: the latest, a list, and one with its live progress."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, pgettext

from annotation.lists.state import by_number
from annotation.models import Answer, Project, Task
from crowdqc import queue
from crowdqc.errors import Missing
from crowdqc.numbers import NBSP, count, duration, plural, several, word
from evaluation.bundles.kinds.registry import KINDS as BUNDLED
from evaluation.charts import boards as charts
from evaluation.llm_runs.selectors import llm_runs
from evaluation.models import Run, RunFigure, RunState
from evaluation.results import stored_texts
from evaluation.runs import run_types
from evaluation.runs.engine import ACTIVE, main_method
from evaluation.runs.official.selectors import in_force, official_first
from evaluation.runs.official.standing import states
from evaluation.runs.schedules import NewAnswers
from evaluation.runs.selectors import call_outcomes
from evaluation.runs.selectors import words as run_words
from evaluation.runs.selectors.recipes import method_title, model_id, model_names, recipe_pairs

TRIGGERS = {
    "browser": gettext_noop("by hand"),
    "api": gettext_noop("through the API"),
    "schedule": gettext_noop("automatic, on schedule"),
    "answers": gettext_noop("automatic, after new answers"),
    "follows": gettext_noop("automatic, with its run"),
    "live": gettext_noop("automatic, by a live evaluation"),
    "import": "imported",
}
STATES = {
    RunState.QUEUED: ("waiting", gettext_noop("Waiting")),
    RunState.RUNNING: ("running", gettext_noop("Running")),
    RunState.DONE: ("done", gettext_noop("Finished")),
    RunState.FAILED: ("bad", gettext_noop("Failed")),
    RunState.CANCELLED: ("draft", gettext_noop("Cancelled")),
}


def _runs() -> QuerySet[Run]:
    """Runs with all that their pages name; the snapshot without its long list of ids."""
    return Run.objects.select_related("snapshot", "task__current", "started_by", "source").defer(
        "snapshot__answer_ids"
    )


def title_of(task: Task) -> str:
    """The task's title: that of the version in force, else of the draft."""
    if task.current is not None:
        return task.current.title
    draft = task.versions.order_by("-number").first()
    return draft.title if draft else ""


def get_run(project: Project, number: int) -> Run:
    """Return a run of the project by number; Missing if there is none."""
    run = _runs().filter(project=project, number=number).first()
    if run is None:
        raise Missing(_("There is no run %(number)s in this project.") % {"number": number})
    run.project = run.task.project = project
    return run


def shown_run(task: Task, number: int | None = None) -> Run | None:
    """Return the run that a page shows: the official one, or the one asked for by number.

    While none is official it is the latest trial, which the page marks. One on a panel's answers
    alone is shown where it is asked for, and never in place of the others.
    """
    method = main_method(task)
    finished = _runs().filter(task=task, state=RunState.DONE)
    if number is None:
        return official_first(finished.filter(method=method)).first()
    beside = [slug for slug, kind in run_types.run_types().items() if kind.shown_with == method]
    finished = finished.filter(method__in=(method, *beside))
    run = finished.filter(number=number).first()
    if run is None:
        raise Missing(_("This task has no finished run %(number)s.") % {"number": number})
    return run


def finished_runs(task: Task, limit: int = 20) -> list[Run]:
    """The task's finished runs, the newest first, for choosing among them."""
    return list(
        Run.objects.filter(task=task, state=RunState.DONE, method=main_method(task))
        .only("number", "finished_at", "params")
        .annotate(in_force=in_force())
        .order_by("-id")[:limit]
    )


def active_of(task: Task, method: str = "") -> Run | None:
    """The task's run that is queued or in work; of one method, where it is named."""
    found = Run.objects.filter(task=task, state__in=ACTIVE)
    return (found.filter(method=method) if method else found).first()


def startable(task: Task) -> dict[str, str]:
    """The methods that the task's form of a run can start, by slug with their titles.

    Not those that need what only a page of their own gives, nor what follows another run.
    """
    kinds = run_types.run_types()
    following = {kind.follow_up for kind in kinds.values()}
    return {
        slug: _(kind.recipe.title)
        for slug, kind in kinds.items()
        if kind.fits(task)
        and kind.asking is None
        and slug not in following
        and not any(one.required for one in kind.options.options)
    }


def last_of(task: Task, method: str) -> Run | None:
    """Return the task's latest run of a method, in any state; None if there is none."""
    rows = task.runs.filter(method=method).select_related("snapshot")
    return rows.defer("snapshot__answer_ids").order_by("-id").first()


def named(word: str) -> Q:
    """Runs that a word names: by number, by what their method is called, or by their task."""
    kinds = run_types.run_types()
    methods = [slug for slug, kind in kinds.items() if word.lower() in kind.recipe.title.lower()]
    return by_number(word) | Q(method__in=methods) | Q(task__current__title__icontains=word)


def all_runs(project: Project) -> QuerySet[Run]:
    """Return every run of the project, newest first."""
    return _runs().filter(project=project).order_by("-number")


def figures_of(run: Run, *names: str) -> dict[str, Any]:
    """The run's named figures (all without names), in one query; reasons in the language."""
    rows = RunFigure.objects.filter(run=run)
    if names:
        rows = rows.filter(name__in=names)
    return stored_texts.translate_figures(dict(rows.values_list("name", "data")))


def start_words(fresh: NewAnswers, *, first: bool, noun: str = "answer") -> str:
    """Return the label of the button that starts a run."""
    if first:
        return _("Run now")
    if fresh.new:
        new = plural(fresh.new, f"new {noun}")
        return _("Run again with %(new)s") % {"new": new}
    if fresh.changed:
        return _("Run again, %(changed)s changed") % {"changed": plural(fresh.changed, noun)}
    return _("Run again")


def started_words(run: Run) -> str:
    """Say who or what started a run."""
    if run.started_by and run.trigger not in ("follows", "live"):
        by = {"by": run.started_by}
        if run.trigger == "api":
            return _("by %(by)s through the API") % by
        return (_("by %(by)s by command") if run.trigger == "command" else _("by %(by)s")) % by
    return _(TRIGGERS.get(run.trigger, run.trigger))


# One run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One line of the steps' table (see _includes/steps.html)."""

    state: str
    name: str
    sub: str
    mono: bool
    done: int
    total: int
    count: str
    time: float | None


@dataclass(frozen=True)
class Live:
    """A run as its page shows it now."""

    run: Run
    heading: str
    results_url: str
    export_url: str
    bundled: bool  # whether it can leave with all that gives its numbers again
    rounds: bool  # whether it goes round and has a line of changes
    chooses: bool  # whether workers can be chosen for a panel by it
    mark: str
    word: str
    sentence: str
    steps: list[Step]
    active: bool
    charts: list[tuple[str, SafeString]]
    chart_note: str
    recipe: list[tuple[str, str]]
    asks: bool  # of models: its calls are shown, and it is begun anew from its own form
    calls: Any  # llm_runs.Calls, or None
    came: Any  # call_outcomes.CallOutcome, or None


def live_run(run: Run) -> Live:
    """Everything on the run's page, from its row and its figures (one query)."""
    active = run.state in ACTIVE
    told = _so_far(run) if active else figures_of(run, "convergence", "recipe", "asked")
    mark, word_ = STATES[RunState(run.state)]
    kind, calls = run_types.type_of(run.method), llm_runs.calls_of(run)
    asks = kind.asking is not None
    ended = asks and run.state == RunState.DONE
    return Live(
        run=run,
        heading=run_words.heading(run),
        results_url=run_words.results_url(run),
        export_url=run_words.export_url(run),
        bundled=run.method in BUNDLED and not run.spoiled,
        rounds=kind.iterates,
        chooses=kind.chooses,
        mark=mark,
        word=_word(run, _(word_)),
        sentence=llm_runs.sentence(calls) if ended and calls else _sentence(run),
        steps=[_step(step, active=active) for step in run.progress],
        active=active,
        charts=convergence_charts(told.get("convergence")),
        chart_note=_chart_note(run, told.get("convergence")),
        recipe=[*recipe_pairs(run, told.get("recipe")), ("started", started_words(run))],
        asks=asks,
        calls=calls,
        came=call_outcomes.came_of(run, told.get("asked")),
    )


def _so_far(run: Run) -> dict[str, Any]:
    """The convergence line of a run in work, as its steps tell it."""
    trace: list[float] = next((step["trace"] for step in run.progress if step.get("trace")), [])
    if not trace:
        return {}
    params = {**run_types.type_of(run.method).options.defaults, **run.params}
    return {
        "convergence": {
            "stop": params["tolerance"],
            "most": params["max_rounds"],
            "components": [{"number": 1, "trace": trace, "resamples": []}],
        }
    }


def seconds_of(run: Run) -> float | None:
    """Return the seconds that the run has taken so far or took in all; None before its start."""
    if run.started_at is None:
        return None
    return ((run.finished_at or timezone.now()) - run.started_at).total_seconds()


def _word(run: Run, plain: str) -> str:
    took = seconds_of(run)
    if run.state == RunState.RUNNING and took is not None:
        return _("Running for %(took)s") % {"took": duration(round(took))}
    if run.state == RunState.DONE and took is not None:
        return _("Finished in %(took)s") % {"took": duration(took)}
    return plain


def _sentence(run: Run) -> str:
    words = {
        RunState.QUEUED: _waiting,
        RunState.RUNNING: _working,
        RunState.DONE: run_words.describe_input,
        RunState.FAILED: lambda run: stored_texts.translate_stored(run.error),
        RunState.CANCELLED: run_words.cancelled,
    }
    return words[RunState(run.state)](run)


def _waiting(run: Run) -> str:
    waited = timezone.now() - run.created_at
    if queue.is_late() or waited > dt.timedelta(seconds=120):
        return _(
            "It is queued, and no worker has taken it yet. It starts automatically as soon as the "
            "queue is running again. You can close this page."
        )
    if waited > dt.timedelta(seconds=20):
        return _("It waits for a free worker. You can close this page; the run goes on.")
    return _("Starting. You can close this page; the run goes on.")


def _working(run: Run) -> str:
    if run.cancel_requested:
        return _("It stops at its next step.")
    left = _seconds_left(run)
    if left is None:
        return _("You can close this page; the run goes on.")
    text = _("About %(left)s left. You can close this page; the run goes on.")
    return text % {"left": duration(left)}


def _seconds_left(run: Run) -> float | None:
    """Estimate the seconds left by the pace of the current step; None before there is one."""
    now = next((step for step in run.progress if step["state"] == "running"), None)
    if not now or not now.get("total") or not now.get("seconds"):
        return None
    done, total = now["done"], now["total"]
    if now["seconds"] < 1 or done < total * 0.02:
        return None
    left = now["seconds"] * (total - done) / done
    return max(1, round(left)) if left < 100 else 60 * round(left / 60)


def _step(step: Mapping[str, Any], *, active: bool) -> Step:
    state, done, total = step["state"], step.get("done", 0), step.get("total", 0)
    words, took = stored_texts.translate_stored(step.get("count", "")), step.get("seconds")
    if not words and total and state != "draft":
        words = _("%(done)s of %(total)s") % {"done": count(done), "total": count(total)}
    if state == "draft":
        words = _("not begun")
    return Step(
        state="draft" if state == "running" and not active else state,
        name=_(step["name"]),
        sub=stored_texts.translate_stored(step.get("sub", "")),
        mono=bool(step.get("mono")),
        done=done,
        total=total if state != "draft" else 0,
        count=words,
        time=max(0.1, round(took, 1)) if took is not None else None,
    )


def convergence_charts(told: Mapping[str, Any] | None) -> list[tuple[str, SafeString]]:
    """Draw a convergence chart per component, with its name if there are several."""
    if not told:
        return []
    parts = told["components"]
    return [
        (
            _("Board %(number)s") % {"number": part["number"]} if len(parts) > 1 else "",
            charts.convergence(part["trace"], part["resamples"], stop=told["stop"]),
        )
        for part in parts
        if part["trace"]
    ]


def _chart_note(run: Run, told: Mapping[str, Any] | None) -> str:
    if not told:
        return ""
    thin = max((len(part["resamples"]) for part in told["components"]), default=0)
    lines = _("Thick: all of the data. Thin: %(thin)s of the resamples.") % {"thin": thin}
    rule = _("A run that is not under the line after %(most)s rounds fails and says so.") % {
        "most": told["most"]
    }
    if run.state == RunState.FAILED:
        rule = _(
            "The line is not under %(stop)s after %(most)s rounds, so no score was written."
        ) % {"stop": charts.power_of_ten(told["stop"]), "most": told["most"]}
    return f"{lines} {rule}" if thin else rule


def waiting_words(task: Task, missing: int, noun: str = "answer") -> str:
    """Say that answers of models wait for people's; "" where models gave none (one query)."""
    given = Answer.objects.filter(item__task=task, system__isnull=False).count()
    if not given or not missing:
        return ""
    told = {"given": plural(given, noun), "missing": plural(missing, noun)}
    return _("%(given)s of models are here; %(missing)s of people are needed") % told


def first_run_words(
    enough: int, others: Iterable[int], missing: int, noun: str = "answer"
) -> tuple[str, str]:
    """Say how many answers are missing until the first run, and why."""
    others = list(others)
    more = ngettext(
        "%(n)s more %(noun)s and the first run starts automatically",
        "%(n)s more %(nouns)s and the first run starts automatically",
        missing,
    ) % {"n": word(missing).capitalize(), "noun": pgettext("noun", noun), "nouns": several(noun)}
    if not missing:
        more = _("The first run starts automatically when no %(noun)s came for half a minute") % {
            "noun": pgettext("noun", noun)
        }
    have = _("You have %(workers)s with 5 or more")
    if len(others) == 1:
        have = _("You have %(workers)s with 5 or more, and 1 with %(most)s")
    elif others:
        have = _("You have %(workers)s with 5 or more, and %(others)s with up to %(most)s")
    have %= {
        "workers": plural(enough, "worker"),
        "others": word(len(others)),
        "most": others[0] if others else 0,
    }
    if not enough and not others:
        have = _("Nobody has answered yet")
    return (
        more,
        (
            _(
                "AQER compares what workers wrote about the same question, so it needs at "
                "least 3 workers with 5 answers each. %(have)s."
            )
            % {"have": have}
        ).replace(" 5 a", f"{NBSP}5 a"),
    )


@dataclass(frozen=True)
class Line:
    """One line of the run history."""

    run: Run
    title: str
    method: str
    detail: str
    results_url: str
    export_url: str
    mark: str
    word: str
    started: str
    took: float | None
    snapshot: str
    answers: int | None
    recipe: list[tuple[str, str]]
    standing: str  # official, earlier, trial; empty for one that can be neither


def lines(runs: Sequence[Run]) -> list[Line]:
    """Runs as the history shows them; one query, and one more where some ask models."""
    models, stands = model_names(runs), states(runs)
    return [_line(run, models, stands.get(run.pk, "")) for run in runs]


def _line(run: Run, models: Mapping[int, str], standing: str) -> Line:
    mark, word_ = STATES[RunState(run.state)]
    return Line(
        run=run,
        title=title_of(run.task),
        method=method_title(run),
        detail=run_words.run_detail(run, models.get(model_id(run) or 0, "")),
        results_url=run_words.results_url(run),
        export_url=run_words.export_url(run),
        mark=mark,
        word=_(word_),
        started=started_words(run),
        took=seconds_of(run),
        snapshot=run.snapshot.content_hash[:8] if run.snapshot else "",
        answers=run.snapshot.counts.get("answers") if run.snapshot else None,
        recipe=recipe_pairs(run, models=models),
        standing=standing,
    )
