"""A pairwise study while it runs: judgments, pairs, cost, and what its runs are doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Least
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.authoring.selectors import progress
from annotation.authoring.selectors.progress import TaskProgress
from annotation.models import Item, Task
from annotation.models.tasks import TaskState
from annotation.work.snapshots.judgments import count_leases
from crowdqc.numbers import count, mid_sentence, money, plural, word
from evaluation.models import Run, RunState
from evaluation.pairwise.run import CHECKS, CORE
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.pairwise.selectors.standings import standings_strip
from evaluation.runs import schedules
from evaluation.runs.adapters import FirstRun
from evaluation.runs.engine import ACTIVE
from evaluation.runs.schedules import NewAnswers
from evaluation.runs.selectors.shell import percent

SLOW, FAST = 5, 2  # seconds between two questions, the fast ones while a run is in work


@dataclass(frozen=True)
class CollectedCounts:
    """What has come in for the pairs of the version in force, attention pairs left out.

    ``open`` are all its pairs and their free slots, attention pairs included.
    """

    items: int
    repeats: int
    wanted: int
    wanted_repeats: int
    given: int
    complete: int
    open: tuple[int, int]

    @property
    def full(self) -> bool:
        """Whether every item is complete."""
        return self.complete >= self.items


@dataclass(frozen=True)
class Line:
    """One line on a run: mark, words, and the way to it."""

    mark: str
    text: str
    url: str = ""
    link: str = ""


def collected_counts(task: Task) -> CollectedCounts:
    """Counts of the version in force; nothing before the first is published.

    An item's slots are held by its counting answers and by leases, of which there are few: so no
    answer is read.
    """
    if task.current is None:
        return CollectedCounts(0, 0, 0, 0, 0, 0, (0, 0))
    every = Item.objects.in_version(task.current.number).filter(task=task)
    ask = Q(expected__isnull=True)
    found = every.order_by().aggregate(
        items=Count("pk", filter=ask),
        repeats=Count("pk", filter=ask & Q(repeat=True)),
        wanted=Sum("redundancy", filter=ask, default=0),
        planned=Sum(Least(F("redundancy"), task.current.redundancy), filter=ask, default=0),
        wanted_repeats=Sum("redundancy", filter=ask & Q(repeat=True), default=0),
        taken=Sum("held", filter=ask, default=0),
        full=Count("pk", filter=ask & Q(held__gte=F("redundancy"))),
        all=Count("pk"),
        slots=Sum(F("redundancy") - F("held"), default=0),
    )
    # As planned_answers, but of the whole task: an import brought more, or a plan asks for more.
    if found["planned"] < found["wanted"] and task.assignments.filter(source="import").exists():
        found["wanted"] = found["planned"]
    leased = count_leases(task)
    in_work = open_yet = 0
    slots = (
        every.filter(ask, pk__in=leased).values_list("pk", "held", "redundancy") if leased else []
    )
    for pk, held, redundancy in slots:
        in_work += leased[pk]
        open_yet += held - leased[pk] < redundancy <= held
    return CollectedCounts(
        found["items"],
        found["repeats"],
        found["wanted"],
        found["wanted_repeats"],
        found["taken"] - in_work,
        found["full"] - open_yet,
        (found["all"], found["slots"]),
    )


def cost_of(task: Task, came: CollectedCounts) -> TaskProgress:
    """Work and money of the task."""
    return progress.progress_of([task], {task.pk: came.open})[0]


def live_strip(
    task: Task,
    runs: ShownRun,
    since: NewAnswers,
    *,
    last: Run | None,
    shown: int | None,
    dimension: str,
) -> dict[str, Any]:
    """Return the context of the live strip: counts, standings, new runs, and the next poll.

    ``shown`` is the pk of the run that the page shows; None: the latest.
    """
    came, newest = collected_counts(task), newest_checks(task, runs)
    if runs.core is not None and runs.core != last and runs.core.method == CORE:
        since = schedules.count_new_answers(
            task, runs.core
        )  # the last one has no result to compare with
    working = any(one and one.state in ACTIVE for one in (runs.active, runs.checking, newest))
    newer = None
    if runs.core is not None and shown is not None and runs.core.pk != shown:
        newer = runs.core
    # Everything of the strip, and whether it asks for itself again.
    return {
        "figures": figures(task, came),
        "lines": lines(task, runs, since, last=last, newest=newest),
        # where the board of a run says less than has come in
        "standings": standings_strip(task, dimension) if since.any or not runs.core else {},
        # until it asks again; 0: never
        "seconds": FAST if working else _poll_seconds(task, since, came),
        # a finished run that the page does not show yet
        "newer": newer,
    }


def _poll_seconds(task: Task, since: NewAnswers, came: CollectedCounts) -> int:
    """Seconds until the strip asks again while no run is in work; 0 when nothing is to come."""
    if task.state in (TaskState.OPEN, TaskState.PAUSED) and not came.full:
        return SLOW
    # A run will start automatically for what has come since the last one.
    waits = bool(since.any) and schedules.schedule_of(task).enabled
    return SLOW if waits else 0


def figures(task: Task, came: CollectedCounts) -> list[dict[str, Any]]:
    """Judgments, pairs and, unless imported, cost; each with what it is of."""
    cost, currency = cost_of(task, came), task.project.currency
    beyond = came.given - came.wanted
    judgments: dict[str, Any] = {
        "label": _("Judgments"),
        "value": count(came.given),
        "of": _("of %(wanted)s") % {"wanted": count(came.wanted)},
        "done": came.given,
        "total": came.wanted,
    }
    if beyond < 0 and task.state == TaskState.CLOSED:  # the rest will not come
        judgments |= {"of": "", "total": came.given}
        judgments["note"] = _("closed before all %(n)s were given") % {"n": count(came.wanted)}
    elif beyond > 0:
        judgments["note"] = _("%(n)s more than was wanted") % {"n": count(beyond)}
    elif cost.leased:
        judgments["note"] = _("%(assignments)s in progress") % {
            "assignments": plural(cost.leased, "assignment")
        }
    pairs: dict[str, Any] = {
        "label": _("Pairs complete"),
        "value": count(came.complete),
        "of": _("of %(items)s") % {"items": count(came.items)},
        "done": came.complete,
        "total": came.items,
    }
    if came.repeats:
        pairs["note"] = ngettext(
            "%(repeats)s of the %(items)s is a repeat",
            "%(repeats)s of the %(items)s are repeats",
            came.repeats,
        ) % {"repeats": count(came.repeats), "items": count(came.items)}
    most = cost.cost_limit
    spent: dict[str, Any] = {
        "label": _("Cost so far"),
        "value": money(cost.spent, currency),
        "of": _("of %(most)s") % {"most": money(most, currency)},
        "note": _("at most"),
    }
    if most:
        spent |= {"done": cost.spent, "total": most}
    if cost.waiting:
        spent |= {
            "note": _("at most; %(money)s not yet approved")
            % {"money": money(cost.waiting, currency)},
            "url": reverse("review", args=[task.project_id, task.pk]),
            "link": _("Review work"),
        }
    return [judgments, pairs] if cost.is_imported else [judgments, pairs, spent]


def lines(
    task: Task, runs: ShownRun, since: NewAnswers, *, last: Run | None, newest: Run | None
) -> list[Line]:
    """List the lines on runs: one in progress, new votes, nulls and intervals."""
    found = []
    if runs.active is not None:
        found.append(_working(runs.active))
    elif last is not None and last.state == RunState.FAILED:
        text = _("Run %(last)s failed: %(error)s") % {"last": last.number, "error": last.error}
        found.append(Line("bad", text, _run_url(last), _("See it")))
    if runs.core is not None:
        found += _news(runs.core, since)
        found += _checks(runs, newest)
    elif runs.active is None and last is None:
        found.append(_first(task))
    return found


def _run_url(run: Run) -> str:
    return reverse("run", args=[run.project_id, run.number])


def _working(run: Run) -> Line:
    told = {"run": run.number, "done": percent(run), "step": _step(run)}
    if run.state == RunState.QUEUED:
        said = _("Run %(run)s waits for a free worker")
        return Line("waiting", said % told, _run_url(run), _("See it"))
    said = _("Run %(run)s in progress, %(done)s%%")
    if told["step"]:
        said = _("Run %(run)s in progress, %(done)s%%: %(step)s")
    return Line("running", said % told, _run_url(run), _("See it"))


def _working_checks(run: Run, core: Run) -> Line:
    told = {"run": core.number, "done": percent(run), "step": _step(run)}
    if run.state == RunState.QUEUED:
        said = _("The extra checks of run %(run)s wait for a free worker")
        return Line("waiting", said % told, _run_url(run), _("See it"))
    said = _("The extra checks of run %(run)s in progress, %(done)s%%")
    if told["step"]:
        said = _("The extra checks of run %(run)s in progress, %(done)s%%: %(step)s")
    return Line("running", said % told, _run_url(run), _("See it"))


def _step(run: Run) -> str:
    """Say what the run is doing, to stand within a sentence."""
    step = next((one["name"] for one in run.progress if one["state"] == "running"), "")
    return mid_sentence(step)


def _news(core: Run, since: NewAnswers) -> list[Line]:
    """List what the shown run has not seen; an imported result saw nothing of the task."""
    if core.method != CORE:
        return []
    if since.new:
        return [
            Line(
                "waiting",
                _("%(new_judgments)s since run %(core)s")
                % {"new_judgments": plural(since.new, "new judgment"), "core": core.number},
            )
        ]
    if since.changed:
        changed = plural(since.changed, "judgment")
        return [
            Line(
                "waiting",
                _("%(changed)s changed since run %(core)s")
                % {"changed": changed, "core": core.number},
            )
        ]
    return [Line("done", _("Run %(core)s has every judgment that counts") % {"core": core.number})]


def _checks(runs: ShownRun, newest: Run | None) -> list[Line]:
    """The checks of the core run; ``newest`` is the last run of that kind, of any core."""
    if runs.core is None or runs.core.method != CORE:
        return []
    told = {"run": runs.core.number}
    if runs.checking is not None:
        return [_working_checks(runs.checking, runs.core)]
    if runs.checks is not None:
        said = _("The extra checks of run %(run)s are done")
        return [Line("done", said % told, _run_url(runs.checks), _("See them"))]
    if newest is not None and newest.state in ACTIVE and newest.source is not None:
        told |= {"other": newest.source.number, "done": percent(newest)}
        said = _("The extra checks of run %(run)s follow those of run %(other)s, %(done)s%% done")
        return [Line("waiting", said % told, _run_url(newest), _("See it"))]
    if newest is not None and newest.source_id == runs.core.pk:
        said = _("The extra checks of run %(run)s were cancelled")
        if newest.state == RunState.FAILED:
            said = _("The extra checks of run %(run)s failed")
        return [Line("bad", said % told, _run_url(newest), _("See why"))]
    return [Line("draft", _("The extra checks of run %(run)s are not there") % told)]


def newest_checks(task: Task, runs: ShownRun) -> Run | None:
    """Return the newest run of checks if the shown core run has none of its own."""
    if runs.core is None or runs.checks is not None or runs.checking is not None:
        return None
    return task.runs.filter(method=CHECKS).select_related("source").order_by("-id").first()


def first_words(first: FirstRun) -> tuple[str, str]:
    """Say how many judgments are missing until the first run, and why."""
    if first.ready:
        said = _("The first run starts automatically when no judgment came for half a minute")
    else:
        said = ngettext(
            "%(n)s more judgment and the first run starts automatically",
            "%(n)s more judgments and the first run starts automatically",
            first.missing,
        ) % {"n": word(first.missing).capitalize()}
    why = _(
        "Workers are weighed by what others say of the same pairs, so a run needs at least 3 "
        "workers with 5 judgments each."
    )
    return said, f"{why} {_progress_words(first)}"


def _progress_words(first: FirstRun) -> str:
    """Who has judged how much before the first run."""
    told: dict[str, str | int] = {"workers": plural(first.enough, "worker")}
    if first.others:
        told |= {"others": word(len(first.others)), "most": first.others[0]}
        if len(first.others) == 1:
            return _("You have %(workers)s with 5 or more, and 1 with %(most)s.") % told
        return _("You have %(workers)s with 5 or more, and %(others)s with up to %(most)s.") % told
    if not first.enough:
        return _("Nobody has judged yet.")
    return _("You have %(workers)s with 5 or more.") % told


def _first(task: Task) -> Line:
    """Before any run: when the first one starts."""
    first = schedules.first_run(task)
    if first.ready:
        return Line("waiting", _("The first run starts when no judgment came for half a minute"))
    return Line(
        "draft",
        _("%(more_judgments)s and the first run starts")
        % {"more_judgments": plural(first.missing, "more judgment")},
    )
