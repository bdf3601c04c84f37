"""What finished runs say of one worker: score, competence and agreement, each where it compares.

A figure stands with how many answers it rests on and its interval, or the reason there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, QuerySet
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import ChoiceValue, Membership, Task
from annotation.task_types import get_type
from annotation.task_types.ready_made import translate_ready_made
from annotation.work.snapshots.judgments import version_items
from crowdqc.numbers import plural
from evaluation.charts import boards as charts
from evaluation.charts.svg import Scale
from evaluation.methods.core import units
from evaluation.methods.workers.claims import median_claim, rank_side
from evaluation.models import Run, WorkerScore
from evaluation.runs.adapters import AGREEMENT, AQER_SCORE, COMPETENCE, CompetenceWords, adapter_of

LEVEL, Z = 0.95, 1.959963984540054
CHECKED = 60  # texts looked at, the newest, for how a filled checklist agrees with others
UNIT = Scale(-0.03, 1.03, 200.0, (0.0, 0.5, 1.0))
CORRELATION = Scale(-1.05, 1.05, 200.0, (-1.0, 0.0, 1.0))
Runs = Mapping[int, Run]


@dataclass(frozen=True)
class Figure:
    """A figure with its interval and what it rests on; ``why`` says why there is no interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    why: str = ""


@dataclass(frozen=True)
class Competence:
    """Competence in one task, line by line; ``words`` is what the card calls it."""

    task: Task
    run: Run
    parts: int
    lines: list[dict[str, Any]]
    words: CompetenceWords
    votes_url: str

    @property
    def apart(self) -> bool:
        """Whether the worker has figures in more than one unconnected part of the crowd."""
        return len({line["part"] for line in self.lines}) > 1


@dataclass(frozen=True)
class Agreement:
    """How one worker's ratings or ticks go with those of the others on the same texts."""

    task: Task
    label: str
    what: str
    figure: Figure
    plot: SafeString


@dataclass(frozen=True)
class Scores:
    """Everything runs say of a worker."""

    texts: list[dict[str, Any]]
    axis: SafeString | str
    pairs: list[Competence]
    agreements: list[Agreement]

    @property
    def intervals(self) -> int:
        """How many of the scores have an interval."""
        lows = [row["score"].low for row in self.texts]
        lows += [line["score"].low for one in self.pairs for line in one.lines]
        lows += [one.figure.low for one in self.agreements]
        return sum(low is not None for low in lows)

    @property
    def tasks(self) -> set[int]:
        """Ids of the tasks with scores."""
        tasks = [one.task for one in self.pairs] + [one.task for one in self.agreements]
        return {task.pk for task in tasks} | {row["task"].pk for row in self.texts}


def share_of(right: float, n: float, *, per: int = 1, noun: str = "comparison") -> Figure:
    """A share with Wilson's interval; ``per`` of the n hang together and count once."""
    whole = round(n)
    if not whole:
        return Figure(None, None, None, 0, _("none so far"))
    value, effective = right / n, n / max(1, per)
    if why := _few_reason(math.floor(effective), noun, units.SHARE):
        return Figure(value, None, None, whole, why)
    return Figure(value, *units.wilson(value, effective, LEVEL), whole)


def _few_reason(n: int, noun: str, kind: str) -> str:
    """Why so many give no interval of a kind; "" where they do."""
    least = units.LEAST[kind]
    if n >= least:
        return ""
    counted = {
        "pair": plural(n, "pair"),
        "text": plural(n, "text"),
        "known answer": plural(n, "known answer"),
        "attention pair": plural(n, "attention pair"),
        "comparison": plural(n, "comparison"),
    }
    return _("%(counted)s; an interval needs %(least)s") % {
        "counted": counted[noun],
        "least": least,
    }


def correlation_of(value: float | None, n: int) -> Figure:
    """Return a correlation with Fisher's interval, or the reason why there is none."""
    if value is None:
        return Figure(
            None, None, None, n, _("%(texts)s shared, or all alike") % {"texts": plural(n, "text")}
        )
    if why := _few_reason(n, "text", units.CORRELATION):
        return Figure(value, None, None, n, why)
    return Figure(value, *units.fisher(value, n, LEVEL), n)


def scores_of(worker: Membership, tasks: Mapping[int, Task], runs: Runs) -> Scores:
    """Collect the worker's scores from the runs of these tasks (four queries at most)."""
    by_run = {run.pk: run for run in runs.values()}
    rows: dict[int, list[WorkerScore]] = {}
    found = WorkerScore.objects.filter(run__in=by_run, worker=worker)
    for row in found.order_by("-run_id", "component", "dimension"):
        rows.setdefault(row.run_id, []).append(row)
    of: dict[str, list[Run]] = {AQER_SCORE: [], COMPETENCE: [], AGREEMENT: []}
    for pk in rows:
        if kind := adapter_of(tasks[by_run[pk].task_id]).worker_score:
            of[kind].append(by_run[pk])
    texts, axis = _texts(worker, tasks, of[AQER_SCORE], rows)
    return Scores(
        texts,
        axis,
        _pairs(worker, tasks, of[COMPETENCE], rows),
        [*_ratings(worker, tasks, of[AGREEMENT], rows), *_checks(worker, tasks)],
    )


def beside_medians(worker: Membership, runs: Runs) -> list[int]:
    """Compare a worker with the median of each board: 1 surely above, -1 below, 0 neither.

    All workers of a board are compared at once: by what the run says of the median, else by
    ranges of ranks. Two queries.
    """
    of_all = _boards(runs)
    own = list(of_all.filter(worker=worker).order_by("run_id"))
    sizes = _board_sizes(of_all.filter(run__in={row.run_id for row in own}))
    return [_beside_median(row, sizes[row.run_id, row.component]) for row in own]


def beside_medians_by_worker(
    runs: Runs, workers: Collection[int] | None = None
) -> dict[int, list[int]]:
    """``beside_medians`` of every worker on these boards, or of these workers. Two queries."""
    of_all = _boards(runs)
    sizes = _board_sizes(of_all)
    shown = of_all if workers is None else of_all.filter(worker__in=workers)
    found: dict[int, list[int]] = {}
    for row in shown.order_by("run_id", "pk").iterator(chunk_size=2000):
        side = _beside_median(row, sizes[row.run_id, row.component])
        found.setdefault(row.worker_id, []).append(side)
    return found


def _boards(runs: Runs) -> QuerySet[WorkerScore]:
    """The rows with an interval of these runs' boards."""
    return WorkerScore.objects.filter(
        run__in=[run.pk for run in runs.values()],
        dimension="",
        component__gt=0,
        low__isnull=False,
    )


def _board_sizes(rows: QuerySet[WorkerScore]) -> dict[tuple[int, int], int]:
    """Workers on each board (run and component)."""
    counted = rows.order_by().values_list("run_id", "component").annotate(n=Count("pk"))
    return {(run, component): n for run, component, n in counted}


def _beside_median(row: WorkerScore, workers: int) -> int:
    claim = median_claim(row.extra, family=workers)
    if claim.has_interval:
        return claim.direction if claim.is_sure else 0
    if row.rank_low is None or row.rank_high is None:
        return 0
    return rank_side(row.rank_low, row.rank_high, workers)


def _texts(
    worker: Membership,
    tasks: Mapping[int, Task],
    runs: Sequence[Run],
    rows: Mapping[int, list[WorkerScore]],
) -> tuple[list[dict[str, Any]], SafeString | str]:
    found = [(run, row) for run in runs for row in rows[run.pk] if not row.dimension]
    values = [v for _, r in found for v in (r.estimate, r.low, r.high) if v is not None]
    values += [r.extra["uniterated"] for _, r in found if r.extra.get("uniterated") is not None]
    if not found or not values:
        return [], ""
    scale = Scale.around(values, width=240)
    made = []
    for run, row in found:
        estimate = None
        if row.estimate is not None:
            estimate = charts.Estimate(row.estimate, row.low, row.high)
        plot = charts.forest_cell(
            scale, estimate, secondary=row.extra.get("uniterated"), name=worker.pseudonym
        )
        # The worker's AQER score in one task's latest run.
        made.append({"task": tasks[run.task_id], "run": run, "score": row, "plot": plot})
    return made, charts.forest_axis(scale)


def _pairs(
    worker: Membership,
    tasks: Mapping[int, Task],
    runs: Sequence[Run],
    rows: Mapping[int, list[WorkerScore]],
) -> list[Competence]:
    if not runs:
        return []
    parts = dict(
        WorkerScore.objects.filter(run__in=[run.pk for run in runs], component__gt=0)
        .order_by()
        .values_list("run_id")
        .annotate(Max("component"))
    )
    made = []
    for run in runs:
        task, own = tasks[run.task_id], rows[run.pk]
        adapter = adapter_of(task)
        whole = adapter.whole_label(task, run.params)
        labels = (
            {one.name: translate_ready_made(one.label) for one in version_items(task.current)}
            if task.current
            else {}
        )
        place = {name: at for at, name in enumerate(labels)}
        size = max(1, len({row.dimension for row in own} - {""}))
        ordered = sorted(own, key=lambda r: (place.get(r.dimension, -1), r.component))
        lines = []
        for row in ordered:
            withheld, estimate = adapter.withhold_competence(row), None
            if row.estimate is not None:
                estimate = charts.Estimate(row.estimate, row.low, row.high)
            right, n, noun = adapter.beside_competence(row.extra)
            lines.append(
                {
                    "label": labels.get(row.dimension, row.dimension) or whole,
                    # 0 where its run has one part only
                    "part": row.component if parts.get(run.pk, 1) > 1 else 0,
                    "score": row,
                    "withheld": withheld,
                    "plot": charts.forest_cell(UNIT, estimate, name=worker.pseudonym),
                    # Votes on several dimensions of one pair are one look at it.
                    "others": share_of(right, n, per=1 if row.dimension else size, noun=noun),
                }
            )
        made.append(
            Competence(
                task,
                run,
                parts.get(run.pk, 1),
                lines,
                adapter.competence_words,
                adapter.votes_url(task, worker.pk),
            )
        )
    return made


def _ratings(
    worker: Membership,
    tasks: Mapping[int, Task],
    runs: Sequence[Run],
    rows: Mapping[int, list[WorkerScore]],
) -> list[Agreement]:
    made = []
    for run in runs:
        task = tasks[run.task_id]
        labels = (
            {one.name: translate_ready_made(one.label) for one in version_items(task.current)}
            if task.current
            else {}
        )
        for row in rows[run.pk]:
            shared = row.extra.get("shared", row.n)
            figure = correlation_of(row.estimate, shared)
            made.append(
                Agreement(
                    task,
                    labels.get(row.dimension, row.dimension),
                    _("correlation with the mean of the others, run %(run)s") % {"run": run.number},
                    figure,
                    _plot(CORRELATION, figure, worker),
                )
            )
    return made


def _plot(scale: Scale, figure: Figure, worker: Membership) -> SafeString:
    value = figure.value
    estimate = None if value is None else charts.Estimate(value, figure.low, figure.high)
    return charts.forest_cell(scale, estimate, name=worker.pseudonym)


def _checks(worker: Membership, tasks: Mapping[int, Task]) -> list[Agreement]:
    """Of the newest texts the ticks that go with the majority of the others, who leave theirs out.

    Runs on checklists score texts and no person, so this is counted here, in two queries.
    """
    of = {pk: task for pk, task in tasks.items() if get_type(task.type).has_checklist}
    if not of:
        return []
    newest = (
        worker.answers.filter(item__task__in=of, counts=True, stage="main")
        .order_by("-pk")
        .values_list("item_id", flat=True)[:CHECKED]
    )
    rows = list(
        ChoiceValue.objects.filter(
            answer__item__in=list(newest),
            answer__counts=True,
            answer__worker__isnull=False,
            ordinal__isnull=False,
        ).values_list(
            "answer__item__task_id", "answer__item_id", "field", "answer__worker_id", "ordinal"
        )
    )
    lead: Counter[tuple[int, int, str]] = Counter()
    mine: dict[tuple[int, int, str], int] = {}
    for in_task, item, name, who, ordinal in rows:
        step = 1 if ordinal else -1
        if who == worker.pk:
            mine[in_task, item, name] = step
        else:
            lead[in_task, item, name] += step
    made = []
    for pk, task in of.items():
        held = [(lead[key], own, key[1]) for key, own in mine.items() if key[0] == pk and lead[key]]
        right = sum((others > 0) == (own > 0) for others, own, _ in held)
        texts = len({item for *_, item in held})
        per = max(1, round(len(held) / texts)) if texts else 1
        figure = share_of(right, len(held), per=per, noun="text")
        what = _("with the majority of the others, %(texts)s") % {"texts": plural(texts, "text")}
        made.append(Agreement(task, _("Ticks"), what, figure, _plot(UNIT, figure, worker)))
    return made
