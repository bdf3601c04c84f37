"""Leaderboards over the tasks of one domain: what enters, what cannot and why, and the boards."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Q
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from annotation.models import Membership, Project, System, Task
from annotation.task_types import get_type
from annotation.templatetags.crowdqc import mark, named, plural_noun
from crowdqc.numbers import format_signed, mid_sentence, plural, score
from evaluation.methods.core import domains as method
from evaluation.methods.core.base import Intervals
from evaluation.methods.core.domains import NotEnough, Part
from evaluation.methods.core.units import BOARD, LEAST
from evaluation.models import AnswerScore, Run, WorkerScore
from evaluation.people.messages import MESSAGES
from evaluation.results import boards as board
from evaluation.results.cells import empty_cell, link
from evaluation.results.columns import (
    PLOT,
    RANK,
    Column,
    head_column,
    interval_column,
    name_column,
)
from evaluation.results.findings import Action, Screen, arrange
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.adapters import AGREEMENT, adapter_of
from evaluation.runs.official.selectors import official_runs
from evaluation.runs.results.figures import groups as groups_of
from evaluation.runs.selectors.verdicts import first_place

SEED, LEVEL = 1, 0.95
Z = 1.959963984540054
MOST_ANSWERS = 200_000  # scores a page reads at most, of whole runs, the newest first


@dataclass(frozen=True)
class Measure:
    """One thing that can be pooled: of whom, and in which words."""

    slug: str
    label: str
    noun: str
    unit: str
    says: str


MEASURES = {
    one.slug: one
    for one in (
        Measure(
            "answers",
            gettext_noop("Workers, free text"),
            noun="worker",
            unit=gettext_noop("answer spreads"),
            says=gettext_noop(
                "question-adjusted AQER scores of answers; 1 is the spread of a single answer"
            ),
        ),
        Measure(
            "systems",
            gettext_noop("Language models, free text"),
            noun="system",
            unit=gettext_noop("answer spreads"),
            says=gettext_noop(
                "question-adjusted AQER scores of the models’ answers; 1 is the "
                "spread of a single one"
            ),
        ),
        Measure(
            "competence",
            gettext_noop("Workers, pairwise judgments"),
            noun="worker",
            unit=gettext_noop("of competence"),
            says=gettext_noop("competence over all dimensions: the probability of not guessing"),
        ),
    )
}


# Kept with the boards in the cache, for every language; translated where they are shown.
NOBODY_SCORED = {
    "worker": gettext_noop("no worker was scored there"),
    "system": gettext_noop("no system was scored there"),
}
NOTHING_SHARED = {
    "worker": gettext_noop("shares no worker with another task of the domain"),
    "system": gettext_noop("shares no system with another task of the domain"),
}


@dataclass(frozen=True)
class Entry:
    """A task of the domain: whether it enters, with how much, or why it does not."""

    task: Task
    run: Run | None
    authors: int = 0
    answers: int = 0
    why: str = ""  # empty: it enters
    board: int = 0

    @property
    def entered(self) -> Entry | None:
        """Return this entry if it is part of the board, else None."""
        return None if self.why else self

    @property
    def title(self) -> SafeString:
        title = self.task.current.title if self.task.current else ""
        url = reverse("task", args=[self.task.project_id, self.task.pk])
        return link(url, title or gettext("not published"), "title plain")

    @property
    def run_link(self) -> SafeString:
        if self.run is None:
            return empty_cell()
        url = reverse("run", args=[self.task.project_id, self.run.number])
        return link(url, gettext("run %(run_number)s") % {"run_number": self.run.number}, "")

    def included(self, *, several_boards: bool) -> SafeString:
        """Whether it enters, and on which of several boards."""
        if self.why:
            said = gettext("No: %(why)s") % {"why": self.why}
        elif several_boards:
            said = gettext("Yes, on board %(board)s") % {"board": self.board}
        else:
            said = gettext("Yes")
        return format_html("{} {}", mark("paused" if self.why else "done"), said)


@dataclass
class DomainRow(board.Row):
    """A line of a board over tasks."""

    tasks: int = 0

    @property
    def interval(self) -> str:
        ends = {"low": format_signed(self.low), "high": format_signed(self.high)}
        return gettext("%(low)s to %(high)s") % ends


@dataclass(frozen=True)
class DomainPage:
    """One domain by one measure."""

    name: str
    measure: Measure
    entries: list[Entry]
    boards: list[board.Board]
    facts: list[tuple[str, str]]
    tasks: int
    rows: int
    recipe: list[tuple[str, str]]
    screen: Screen

    @property
    def entering(self) -> list[Entry]:
        """Return the tasks whose scores are part of the board."""
        return [one for one in self.entries if not one.why]

    def tables(self) -> list[ResultTable]:
        """A table a board; only within one of them people compare."""
        title = gettext("Standing over tasks, with 95% CIs")
        note = gettext("Compare nobody here with anybody of another board.")
        standing = Column.signed("estimate", gettext("Standing"), is_main=True)
        columns = (
            RANK,
            name_column(named(self.measure.noun).capitalize()),
            PLOT,
            replace(standing, needs_interval=True),
            interval_column(html=lambda row: row.interval),
            Column.count("tasks", gettext("Tasks")),
            Column.count("n", self._counted),
        )
        return [one.table(columns, title=title, note=note) for one in self.boards]

    def included(self) -> ResultTable:
        """The tasks of the domain: whether each enters, or why not."""
        several_boards, missing = len(self.boards) > 1, gettext("none")
        authors = plural_noun(self.measure.noun).capitalize()
        columns = (
            head_column("title", gettext("Task"), html=lambda one: one.title),
            Column.text(
                "why",
                gettext("Included"),
                html=lambda one: one.included(several_boards=several_boards),
                classes="full",
            ),
            Column.count("entered.authors", authors, missing=missing),
            Column.count("entered.answers", self._counted, missing=missing),
            Column.text("run", gettext("Run"), html=lambda one: one.run_link, classes="nowrap"),
        )
        return plain_table(gettext("Tasks of the domain"), columns, self.entries)

    @property
    def _counted(self) -> str:
        votes = self.measure.slug == "competence"
        return gettext("Votes") if votes else gettext("Answers")

    @property
    def left_out(self) -> list[Entry]:
        """Tasks that do not enter the pooled board."""
        return [one for one in self.entries if one.why]


@dataclass(frozen=True)
class Domain:
    """A domain of a project, with its tasks and how many of them were scored."""

    domain: str
    tasks: int
    scored: int
    project: int

    @property
    def link(self) -> SafeString:
        return link(reverse("domain_board", args=[self.project, self.domain]), self.domain, "title")


DOMAINS = (
    head_column("domain", gettext_lazy("Domain"), html=lambda row: row.link),
    Column.count("tasks", gettext_lazy("Tasks")),
    Column.count("scored", gettext_lazy("Scored"), fades_zero=True),
)


def domain_list(project: Project) -> list[Domain]:
    """List the project's domains, with the numbers of tasks and of scored ones."""
    rows = (
        project.tasks.exclude(domain="")
        .order_by("domain")
        .values("domain")
        .annotate(
            tasks=Count("pk", distinct=True),
            scored=Count("pk", distinct=True, filter=Q(official_runs__isnull=False)),
        )
    )
    return [Domain(**row, project=project.pk) for row in rows]


def without_domain(project: Project) -> int:
    """Tasks that belong to no domain."""
    return project.tasks.filter(domain="").count()


def tasks_of(project: Project, name: str) -> list[Task]:
    """The tasks of a domain, the oldest first."""
    return list(project.tasks.filter(domain=name).select_related("current").order_by("pk"))


def domain_page(project: Project, name: str, measure: Measure) -> DomainPage:
    """The boards of one domain by one measure, in a fixed number of queries."""
    tasks = tasks_of(project, name)
    runs = official_runs([task.pk for task in tasks])
    found = _pooled(measure, [runs[t.pk] for t in tasks if t.pk in runs and _fits(t, measure)])
    entries = [_entry(task, runs.get(task.pk), measure, found) for task in tasks]
    rows = _rows(found["boards"], _names(project, measure))
    if measure.noun == "worker":
        for row in rows:
            row.url = reverse("worker_card", args=[project.pk, row.id])
    groups = _groups(found["boards"])
    made = board.boards(
        rows,
        rows,
        groups=groups,
        references=dict.fromkeys(range(1, len(found["boards"]) + 1), 0.0),
        adjusted={},
        grouped=True,
        noun=measure.noun,
    )
    inside = [one for one in entries if not one.why]
    return DomainPage(
        name=name,
        measure=measure,
        entries=entries,
        boards=made,
        facts=_facts(found["boards"]),
        tasks=len(inside),
        rows=len(rows),
        recipe=_recipe([one.run for one in inside if one.run]),
        screen=domain_screen(project, rows, measure.noun, inside),
    )


def domain_screen(
    project: Project, rows: Sequence[board.Row], noun: str, inside: Sequence[Entry]
) -> Screen:
    """Return the findings on a domain: who can be first, or why nobody can, and the next step."""
    url = reverse("task_new", args=[project.pk])
    action = Action(gettext("New task"), url, requester=True)
    another = MESSAGES.find("another_task", action=action)
    if not rows:
        return arrange([MESSAGES.find("domain_not_joined"), another])
    if any(row.component == 1 and row.best for row in rows):
        place = first_place(rows, noun=noun, by=plural(len(inside), "task"))
        return arrange([place.finding(), None if place.sure else another])
    tasks, least = sum(one.board == 1 for one in inside), LEAST[BOARD]
    if tasks < least:
        return arrange([MESSAGES.find("domain_few_tasks", tasks=tasks, least=least), another])
    return arrange([MESSAGES.find("domain_few_people"), another])


def _fits(task: Task, measure: Measure) -> bool:
    return measure.slug in adapter_of(task).pools


# Reading the parts ------------------------------------------------------------------------------


def _pooled(measure: Measure, runs: Sequence[Run]) -> dict[str, Any]:
    """Boards and, by run, what entered or why not; kept, since finished runs never change."""
    told = f"{method.VERSION}:{measure.slug}:{','.join(str(run.pk) for run in runs)}"
    key = f"domain:{hashlib.sha256(told.encode()).hexdigest()}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = _computed(measure, runs)
        cache.set(key, found, timeout=None)
    return found


def _computed(measure: Measure, runs: Sequence[Run]) -> dict[str, Any]:
    why: dict[int, str] = {}
    if measure.slug == "competence":
        given = _competences(runs)
    else:
        given, why = _scores(runs, systems=measure.slug == "systems")
    authors = np.unique(np.concatenate([rows[0] for rows in given.values()] or [np.array([])]))
    parts: list[Part] = []
    of: list[tuple[int, int]] = []
    for key, rows in sorted(given.items()):
        try:
            parts.append(_part(measure, rows, authors))
            of.append(key)
        except NotEnough as reason:
            why.setdefault(key[0], str(reason))
    rng = np.random.default_rng(SEED)
    boards = method.pool(parts, len(authors), rng=rng, level=LEVEL)
    entered: dict[int, dict[str, int]] = {}
    for number, one in enumerate(boards, 1):
        for at in one.parts:
            told = entered.setdefault(of[at][0], {"authors": 0, "answers": 0, "board": number})
            told["authors"] += len(parts[at].author)
            told["answers"] += int(parts[at].answers.sum())
    for run, _ in of:
        if run not in entered:
            why.setdefault(run, NOTHING_SHARED[measure.noun])
    return {
        "entered": entered,
        "why": why,
        "boards": [(authors[one.author].astype(int).tolist(), one) for one in boards],
    }


def _scores(
    runs: Sequence[Run], *, systems: bool
) -> tuple[dict[tuple[int, int], Any], dict[int, str]]:
    """Scores of answers by run and component (authors, questions, scores), and runs left out."""
    author = "answer__system_id" if systems else "answer__worker_id"
    rows = AnswerScore.objects.filter(
        run__in=[run.pk for run in runs],
        dimension="",
        estimate__isnull=False,
        component__gt=0,
        **{f"{author}__isnull": False},
    ).order_by()
    left, why = MOST_ANSWERS, {}
    for run, n in rows.values_list("run_id").annotate(n=Count("pk")).order_by("-run_id"):
        if n > left:
            why[run] = f"its {n:,} answers are more than are pooled: {MOST_ANSWERS:,} in all"
        else:
            left -= n
    columns = rows.exclude(run__in=why).values_list(
        "run_id", "component", author, "answer__item_id", "estimate"
    )
    table = np.array(list(columns), dtype=np.float64).reshape(-1, 5)
    # In an order that does not hang on how the database gave them.
    table = table[np.lexsort(table.T[::-1])]
    found = {}
    for run, component in np.unique(table[:, :2], axis=0).tolist():
        mine = table[(table[:, 0] == run) & (table[:, 1] == component)]
        found[int(run), int(component)] = (
            mine[:, 2].astype(np.int64),
            mine[:, 3].astype(np.int64),
            mine[:, 4],
        )
    return found, why


def _competences(runs: Sequence[Run]) -> dict[tuple[int, int], Any]:
    """Competence with its interval, by run and component: workers, values, errors, votes."""
    rows = (
        WorkerScore.objects.filter(
            run__in=[run.pk for run in runs],
            dimension="",
            component__gt=0,
            low__isnull=False,
            high__isnull=False,
            estimate__isnull=False,
        )
        .order_by("run_id", "component", "worker_id")
        .values_list("run_id", "component", "worker_id", "estimate", "low", "high", "n")
    )
    found: dict[tuple[int, int], list[Any]] = {}
    for run, component, *rest in rows:
        found.setdefault((run, component), []).append(rest)
    made = {}
    for key, lines in found.items():
        worker, value, low, high, n = np.array(lines, dtype=np.float64).T
        made[key] = (worker.astype(np.int64), value, (high - low) / (2 * Z), n.astype(np.int64))
    return made


def _part(measure: Measure, rows: Any, authors: Any) -> Part:
    if measure.slug != "competence":
        who, question, scores = rows
        return method.adjust_scores(np.searchsorted(authors, who), question, scores)
    who, value, error, n = rows
    if len(who) < 2:
        raise NotEnough(gettext_noop("fewer than two workers have an interval there"))
    # An interval of no width is one that was cut at its bounds, not one of certainty.
    variance = np.maximum(error, 0.01) ** 2
    return Part(np.searchsorted(authors, who), value, np.diag(variance), n)


# What the page shows ----------------------------------------------------------------------------


def _names(project: Project, measure: Measure) -> dict[int, tuple[str, str]]:
    if measure.noun == "system":
        rows = System.objects.filter(project=project).values_list("pk", "name", "prompt_strategy")
        return {pk: (name, strategy) for pk, name, strategy in rows}
    people = Membership.objects.filter(project=project, role="worker")
    return {pk: (name, "") for pk, name in people.values_list("pk", "pseudonym")}


def _rows(boards: Sequence[Any], names: Mapping[int, tuple[str, str]]) -> list[DomainRow]:
    rows = []
    for number, (ids, one) in enumerate(boards, 1):
        for at, pk in enumerate(ids):
            name, detail = names.get(pk, (str(pk), ""))
            sure = not one.reason
            rows.append(
                DomainRow(
                    id=pk,
                    name=name,
                    detail=detail,
                    component=number,
                    estimate=float(one.estimate[at]),
                    uniterated=None,
                    low=float(one.low[at]) if sure else None,
                    high=float(one.high[at]) if sure else None,
                    n=int(one.answers[at]),
                    best=int(one.rank_low[at]) if sure else None,
                    worst=int(one.rank_high[at]) if sure else None,
                    group=int(one.group[at]) if sure else None,
                    why=one.reason,
                    tasks=int(one.tasks[at]),
                )
            )
    return rows


def _groups(boards: Sequence[Any]) -> list[dict[str, Any]]:
    """Groups that cannot be separated, as the boards of one task have them."""
    made = []
    for number, (ids, one) in enumerate(boards, 1):
        lines = [
            {
                "id": pk,
                "component": number,
                "group": int(one.group[at]) or None,
                "low": float(one.low[at]),
                "high": float(one.high[at]),
            }
            for at, pk in enumerate(ids)
        ]
        made += groups_of(lines, _intervals(one), "id")
    return made


def _intervals(one: method.Board) -> Intervals:
    return Intervals(
        LEVEL,
        one.low,
        one.high,
        one.low,
        one.high,
        one.rank_low,
        one.rank_high,
        one.group,
        one.separable,
        (one.reason,) * len(one.author),
    )


def _facts(boards: Sequence[Any]) -> list[tuple[str, str]]:
    """Say how much standings change from task to task, board by board."""
    many = len(boards) > 1
    found = []
    for number, (_, one) in enumerate(boards, 1):
        where = (
            gettext("Board %(number)s: from task to task") % {"number": number}
            if many
            else gettext("From task to task")
        )

        if one.reason:
            found.append((where, gettext("not known")))
            continue
        found.append(
            (
                where,
                gettext("± %(tau)s, %(tau_low)s to %(tau_high)s")
                % {
                    "tau": score(one.tau, 2),
                    "tau_low": score(one.tau_low, 2),
                    "tau_high": score(one.tau_high, 2),
                },
            )
        )
        freedom = plural(one.freedom, "degree of freedom", "degrees of freedom")
        found.append((gettext("It rests on"), freedom))
    return found


def _entry(task: Task, run: Run | None, measure: Measure, found: Mapping[str, Any]) -> Entry:
    if not _fits(task, measure):
        return Entry(task, run, why=_other_type(task))
    if run is None:
        return Entry(task, None, why=gettext("has no finished run"))
    told = found["entered"].get(run.pk)
    if told is None:
        why = found["why"].get(run.pk, NOBODY_SCORED[measure.noun])
        return Entry(task, run, why=gettext(why))
    return Entry(task, run, told["authors"], told["answers"], board=told["board"])


def _other_type(task: Task) -> str:
    known = adapter_of(task)
    if known.pools:
        return gettext("is measured otherwise, and belongs to another board of this domain")
    if known.worker_score == AGREEMENT:
        return gettext(
            "its agreement of a rater with the others has no interval, so it cannot be weighed"
        )
    return gettext("%(label)s: a run of it scores texts, not people") % {
        "label": mid_sentence(str(get_type(task.type).label))
    }


def _recipe(runs: Sequence[Run]) -> list[tuple[str, str]]:
    if not runs:
        return []
    return [
        ("method", f"{method.NAME} {method.VERSION}"),
        ("τ²", "Paule-Mandel"),
        ("interval", gettext("Hartung-Knapp t, %(level)s") % {"level": f"{LEVEL:.0%}"}),
        ("comparison", gettext("simultaneous, multivariate t")),
        ("seed", str(SEED)),
        ("runs", ", ".join(str(run.number) for run in runs)),
    ]


def measures_of(tasks: Sequence[Task]) -> list[Measure]:
    """List what can be pooled over these tasks; at least one measure."""
    pools = {slug for task in tasks for slug in adapter_of(task).pools}
    return [one for one in MEASURES.values() if one.slug in pools] or [MEASURES["answers"]]
