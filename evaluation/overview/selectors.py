"""A project at a glance: figures, tasks, what waits for this person, cost by day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.access import Access
from annotation.accounts.roles.selectors import Ties, load_ties
from annotation.authoring.selectors import progress
from annotation.authoring.selectors.cost import count_assignments
from annotation.authoring.selectors.forecast import Forecast, forecasts
from annotation.authoring.selectors.next_step import Standing, button_of
from annotation.authoring.selectors.progress import HourlyPay, TaskProgress
from annotation.authoring.selectors.tasks import Collected, collected_answers
from annotation.hooks import run_states
from annotation.models import PayoutBatch, Project, Role
from annotation.models.tasks import TaskState
from annotation.payouts.selectors.next_steps import may_approve, open_proposals
from annotation.payouts.selectors.proposals import waiting_by_task
from annotation.task_types import TYPES
from annotation.work.selectors import speed
from annotation.work.selectors.speed import Pace
from crowdqc.numbers import count, money, plural, several, short_date
from evaluation.charts import boards as charts
from evaluation.methods.writing.method import NAME as WRITING
from evaluation.models import Run, SystemScore, WorkerScore
from evaluation.pairwise.run import CORE
from evaluation.runs.official.selectors import official_runs

# Methods whose results the overview can put into a figure: who is told apart, what is described.
TELLING = ("aqer", CORE, WRITING)
ZERO = Decimal("0.00")
SHOWS = (
    ("", gettext_noop("All")),
    ("open", gettext_noop("Open")),
    ("waiting", gettext_noop("Waiting for me")),
    ("closed", gettext_noop("Closed")),
)


def items_noun(task: Any) -> str:
    """Return the plural noun of the task's items, such as ``questions``."""
    return several(noun_of(task))


def noun_of(task: Any) -> str:
    """Return the noun of one item of the task."""
    return TYPES[task.type].item_noun if task.type in TYPES else "question"


@dataclass(frozen=True)
class TaskRow:
    """A line of the tasks table."""

    progress: TaskProgress
    collected: Collected
    kind: str
    waiting: int
    next_label: str
    next_url: str
    waits: bool  # for this person, where the next step is more than to wait for answers

    @property
    def task(self) -> Any:
        return self.progress.task

    @property
    def outstanding(self) -> int:
        """Assignments that fill the slots still open."""
        version, collected = self.task.current, self.collected
        if version is None:
            return 0
        documents = self.progress.documents
        return count_assignments(collected.pending, version, collected.questions, documents)

    @property
    def sub(self) -> str:
        """The second line: what it is, in numbers."""
        p = self.progress
        parts = [self.kind, plural(self.collected.questions, noun_of(p.task))]
        if p.is_imported:
            parts.append(_("imported"))
        elif p.task.current_id:
            if p.imported:
                parts.append(_("%(n)s imported") % {"n": plural(p.imported, "assignment")})
            parts.append(p.assignment_words)
        return ", ".join(parts)


@dataclass(frozen=True)
class Facts:
    """Everything the overview is made of; all of it read once."""

    access: Access
    rows: list[TaskRow]
    proposals: Sequence[PayoutBatch]
    chain: Ties
    waiting: dict[int, dict[str, Any]]
    runs: dict[int, Run]
    hourly: list[HourlyPay]
    too_fast: list[Pace]
    people_this_week: int
    forecasts: dict[int, Forecast]  # by task

    @property
    def currency(self) -> str:
        return self.access.project.currency

    @property
    def published(self) -> list[TaskProgress]:
        return [row.progress for row in self.rows if row.task.current_id]

    @property
    def spent(self) -> Decimal:
        """Return what the project's tasks have cost so far."""
        return sum((row.progress.spent for row in self.rows), ZERO)

    @property
    def is_imported(self) -> bool:
        """Whether all work of the project came from files, so that nothing has a cost."""
        return bool(self.published) and all(one.is_imported for one in self.published)

    @property
    def ahead(self) -> Decimal:
        """Return what the assignments still to answer will cost."""
        return sum((p.ahead for p in self.published), ZERO)

    @property
    def cost_limit(self) -> Decimal:
        """Return what the tasks will have cost at most once they are complete."""
        return self.spent + self.ahead

    @property
    def submitted(self) -> int:
        """Count the assignments submitted in published tasks; from files where all are."""
        return sum(p.submitted for p in self.published) - self._imported

    @property
    def needed(self) -> int:
        """Count the assignments that published tasks need in all; at most, while any are open."""
        return sum(p.needed for p in self.published) - self._imported

    @property
    def _imported(self) -> int:
        """Assignments from files, which nobody here works on; none where all work is."""
        return 0 if self.is_imported else sum(p.imported for p in self.published)

    @property
    def unanswered(self) -> int:
        """Count the assignments of published tasks that are still to answer."""
        return sum(max(p.needed - p.submitted, 0) for p in self.published)

    @property
    def budget(self) -> Decimal | None:
        """Budget of the project or of its tasks."""
        return progress.budget_of(self.access.project, [one.task for one in self.published])

    @property
    def open_tasks(self) -> int:
        return sum(row.task.state == TaskState.OPEN for row in self.rows)

    @property
    def waiting_count(self) -> int:
        """Count all that waits for somebody to look at it."""
        return sum(row["n"] for row in self.waiting.values())


def facts(access: Access) -> Facts:
    """Read it all, in a fixed number of queries."""
    project = access.project
    waiting = waiting_by_task(project)
    proposals = list(open_proposals(access))
    chain = load_ties(project)
    tasks = list(project.tasks.select_related("current").order_by("pk"))
    collected = collected_answers(tasks)
    known = {one.pk: collected[one.pk].every for one in tasks if one.current_id}
    found = progress.progress_of(tasks, known)
    states = run_states([one.task for one in found])
    rows = []
    for one in found:
        one.task.project = project
        mine = next(
            (b for b in proposals if b.task_id == one.task.pk and may_approve(access, b, chain)),
            None,
        )
        row = waiting.get(one.task.pk, {})
        at = standing_of_progress(
            one, waiting=row.get("n", 0), mine=mine, results=states.get(one.task.pk, "")
        )
        rows.append(_row(access, one, collected[one.task.pk], at))
    return Facts(
        access=access,
        rows=rows,
        proposals=proposals,
        chain=chain,
        waiting=waiting,
        runs=official_runs([one.task.pk for one in found]),
        hourly=progress.hourly_pay(project),
        too_fast=speed.list_too_fast(project),
        people_this_week=progress.count_people(project),
        forecasts=forecasts({row.task: row.outstanding for row in rows}),
    )


def standing_of_progress(
    one: TaskProgress, *, waiting: int, mine: PayoutBatch | None, results: str
) -> Standing:
    """Collect what decides on a task's next step from its progress."""
    return Standing(
        state=one.task.state,
        items=one.items,
        add_words=_("Add %(items)s") % {"items": items_noun(one.task)},
        begun=bool(one.submitted or one.leased),
        complete=one.task.current_id is not None and one.items > 0 and one.slots == 0,
        waiting=waiting,
        proposal=mine.number if mine else 0,
        results=results,
    )


def _row(access: Access, one: TaskProgress, collected: Collected, at: Standing) -> TaskRow:
    step = button_of(
        at, project_id=access.project.pk, task_id=one.task.pk, is_requester=access.is_requester
    )
    kind = str(TYPES[one.task.type].label) if one.task.type in TYPES else one.task.type
    waits = step is not None and bool(
        at.proposal or at.waiting or one.task.state == TaskState.DRAFT
    )
    return TaskRow(
        progress=one,
        collected=collected,
        kind=kind,
        waiting=at.waiting,
        next_label=step.label if step else "",
        next_url=step.url if step else "",
        waits=waits,
    )


def team_size(project: Project) -> int:
    """Count the people who run the project."""
    staff = project.memberships.filter(removed_at=None).exclude(role=Role.WORKER)
    return staff.values("user").distinct().count()


# The page --------------------------------------------------------------------------------------


def filter_rows(found: Facts, show: str) -> list[TaskRow]:
    """The rows under the chosen view."""
    if show == "open":
        return [row for row in found.rows if row.task.state == TaskState.OPEN]
    if show == "waiting":
        return [row for row in found.rows if row.waits]
    if show == "closed":
        return [row for row in found.rows if row.task.state == TaskState.CLOSED]
    return found.rows


def last_day(found: Facts) -> dt.date | None:
    """Return the day on which the last open task is complete; None if one's is unknown."""
    running = [one for one in found.forecasts.values() if one.left]
    ends = [one.end for one in running if one.end]
    return max(ends) if ends and len(ends) == len(running) else None


def state(found: Facts) -> tuple[str, str, str]:
    """Mark, word and sentence of the header."""
    total, opened = len(found.rows), found.open_tasks
    if not total:
        return "draft", _("Empty"), _("No task yet. A task brings the first answers.")
    states = {row.task.state for row in found.rows}
    if opened:
        mark, word = "open", _("Collecting")
    elif TaskState.PAUSED in states:
        mark, word = "paused", _("Paused")
    elif states == {TaskState.CLOSED}:
        mark, word = "closed", _("Closed")
    else:
        mark, word = "draft", _("Not collecting")
    said = [_("%(opened)s of %(tasks)s open.") % {"opened": opened, "tasks": plural(total, "task")}]
    if found.people_this_week:
        people = plural(found.people_this_week, "person", "people")
        said.append(_("%(people)s answered this week.") % {"people": people})
    end = last_day(found)
    if end:
        said.append(
            _("At this pace the last answer arrives on %(date)s.") % {"date": short_date(end)}
        )
    return mark, word, " ".join(said)


def figures(found: Facts) -> list[dict[str, Any]]:
    """The key figures with what each is of or how it was counted; no cost of imported work."""
    currency, budget = found.currency, found.budget
    waiting = sum((row.progress.waiting for row in found.rows), ZERO)
    cost: dict[str, Any] = {"label": _("Cost so far"), "value": money(found.spent, currency)}
    if budget:
        cost.update(
            of=_("of the project’s %(budget)s")
            % {"budget": money(budget, currency, whole=budget == int(budget))},
            done=found.spent,
            total=budget,
        )
        if found.spent > budget:
            over = money(found.spent - budget, currency)
            cost["warning"] = _("%(amount)s over budget") % {"amount": over}
    if waiting:
        cost["note"] = _("%(amount)s not yet approved") % {"amount": money(waiting, currency)}
    assignments = {
        "label": _("Assignments"),
        "value": count(found.submitted),
        "of": progress.of_needed(found.needed, sum(p.open_assignments for p in found.published)),
        "done": found.submitted,
        "total": found.needed,
    }
    if found.is_imported:
        return [assignments, _told_apart(found)]
    return [
        assignments,
        cost,
        {
            "label": _("Cost at most"),
            "value": money(found.cost_limit, currency),
            "note": _against(found.cost_limit, budget, currency),
        },
        _median(found),
        _told_apart(found),
    ]


def _against(cost: Decimal, budget: Decimal | None, currency: str) -> str:
    if budget is None:
        return _("with every open assignment paid")
    gap = budget - cost
    said = (
        _("%(amount)s under budget, with every open assignment paid")
        if gap >= 0
        else _("%(amount)s over budget, with every open assignment paid")
    )
    return said % {"amount": money(abs(gap), currency)}


def below_floor(found: Facts) -> list[HourlyPay]:
    """People and tasks whose pay by the hour is under the project's floor."""
    floor = found.access.project.hourly_floor
    return [row for row in found.hourly if floor is not None and row.rate < floor]


def _median(found: Facts) -> dict[str, Any]:
    project = found.access.project
    value = progress.median_hourly(project)
    if value is None:
        return {
            "label": _("Median hourly pay"),
            "value": _("none yet"),
            "note": _("no timed work yet"),
        }
    note = _("base pay without rejected work; no floor is set")
    if project.hourly_floor is not None:
        below = len({row.worker_id for row in below_floor(found)})
        said = (
            _("base pay without rejected work; floor %(floor)s, %(people)s below")
            if below
            else _("base pay without rejected work; floor %(floor)s, nobody below")
        )
        note = said % {
            "floor": money(project.hourly_floor, project.currency),
            "people": plural(below, "person", "people"),
        }
    if found.too_fast:
        people = plural(len({one.worker_id for one in found.too_fast}), "person", "people")
        note = _("%(note)s; %(people)s faster than reading time") % {"note": note, "people": people}
    return {"label": _("Median hourly pay"), "value": money(value, project.currency), "note": note}


def _told_apart(found: Facts) -> dict[str, Any]:
    label = _("Distinguishable workers")
    telling = [run for run in found.runs.values() if run.method in TELLING]
    if not found.runs:
        return {"label": label, "value": _("no run yet"), "note": _("a run scores workers")}
    run = max(telling or found.runs.values(), key=lambda one: one.pk)
    title = next((r.progress.title for r in found.rows if r.task.pk == run.task_id), "")
    if not telling:
        return {
            "label": _("Newest result"),
            "value": _("run %(number)s") % {"number": run.number},
            "note": title,
        }
    if run.method == WRITING:  # describes texts and ranks nobody
        seen = run.snapshot.counts if run.snapshot else {}
        return {
            "label": _("Responses described"),
            "value": count(seen.get("answers", 0) + seen.get("system_answers", 0)),
            "of": _("on %(topics)s") % {"topics": plural(seen.get("questions", 0), "topic")},
            "note": _("run %(number)s, %(title)s") % {"number": run.number, "title": title},
        }
    scores: type[SystemScore | WorkerScore] = WorkerScore
    nouns = ("person", "people")
    if run.method == CORE:  # a pairwise study ranks systems
        label, scores, nouns = _("Distinguishable systems"), SystemScore, ("system", "systems")
    told = scores._default_manager.filter(run=run, dimension="").aggregate(
        people=Count("pk"),
        groups=Count("group", distinct=True),
        parts=Count("component", distinct=True, filter=Q(group__isnull=False)),
    )
    said = (
        _("all dimensions together, run %(number)s, %(title)s")
        if run.method == CORE
        else _("run %(number)s, %(title)s")
    )
    note = said % {"number": run.number, "title": title}
    if told["parts"] > 1:
        note = _("%(note)s; %(parts)s boards that cannot be compared") % {
            "note": note,
            "parts": told["parts"],
        }
    of = ngettext("group of %(all)s", "groups of %(all)s", told["groups"])
    return {
        "label": label,
        "value": count(told["groups"]),
        "of": of % {"all": plural(told["people"], *nouns)},
        "note": note,
    }


def cost_chart(found: Facts) -> SafeString | str:
    """Cost by day; "" before the first submitted work."""
    days = progress.cost_by_day(found.access.project)
    if not days or not days[-1][1]:
        return ""
    today = timezone.localdate()
    if days[-1][0] < today:
        days.append((today, days[-1][1]))
    # One day before the first, so that the line starts at nothing.
    days.insert(0, (days[0][0] - dt.timedelta(days=1), ZERO))
    end = last_day(found)
    return charts.cost_by_day(
        days,
        until=end,
        cost_limit=found.cost_limit if end else None,
        budget=found.budget,
        currency=found.currency,
    )
