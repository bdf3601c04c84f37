"""The workers of a pairwise study: competence, and what else is known of how each one votes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from django.core.paginator import Paginator
from django.db.models import Count, Exists, F, Max, OuterRef, Q
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.access import Access
from annotation.models import Answer, Assignment, ChoiceValue, Exclusion, Task
from annotation.models.assignments import AssignmentState
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT, STORED, to_displayed
from annotation.work.selectors.known import (
    KnownCount,
    count_by_worker,
    exclude_quizzes,
    mark_answers,
)
from crowdqc.numbers import count, listed, plural
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.methods.workers.claims import TOO_FEW_SHARED, TOO_WIDE, competence_claim
from evaluation.models import ItemLabel, Run, WorkerScore
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors.facts import apart_finding
from evaluation.results.cells import write_figures
from evaluation.results.findings import Action, Finding
from evaluation.runs.results import look_alikes
from evaluation.runs.selectors.people import names_in_files
from evaluation.runs.selectors.verdicts import NAMED, against_middle

PER_PAGE = 50
FIGURES = ("straight_worker", "repeat_worker", "diagnostics", "recipe", look_alikes.FIGURE)
# Column -> the attribute that it sorts by.
SORTS = {
    "competence": "estimate",
    "worker": "name",
    "votes": "n",
    "others": "with_others",
    "again": "again",
    "straight": "straight",
}
NONE_SEEN = KnownCount()
WHY = {
    "": "",
    TOO_FEW_SHARED: gettext_lazy("too few shared pairs"),
    TOO_WIDE: gettext_lazy("the interval covers nearly the whole scale"),
}
SCALE = charts.Scale(-0.03, 1.03, 136.0, (0.0, 0.5, 1.0))
COLUMNS = ("worker_id", "worker__pseudonym", "component", "estimate", "low", "high", "n", "extra")
Told = Mapping[str, Any]


@dataclass(frozen=True)
class Sides:
    """What somebody chose, as displayed; ``unknown``: a text whose side was not recorded."""

    left: int = 0
    neutral: int = 0
    right: int = 0
    unknown: int = 0

    def __add__(self, other: Sides) -> Sides:
        return Sides(
            self.left + other.left,
            self.neutral + other.neutral,
            self.right + other.right,
            self.unknown + other.unknown,
        )

    @property
    def figures(self) -> str:
        """Votes for the left, neutral and for the right, or that sides were not recorded."""
        if self.unknown:
            return _("not recorded")
        return f"{self.left}, {self.neutral}, {self.right}"

    @property
    def n(self) -> int:
        return self.left + self.neutral + self.right + self.unknown

    @property
    def neutral_share(self) -> float | None:
        return self.neutral / self.n if self.n else None

    @property
    def left_share(self) -> float | None:
        """Share of the left side among decided votes; None without any."""
        decided = self.left + self.right
        return self.left / decided if decided else None


MANY = 10  # votes from which one side every time is a habit


def one_side(chosen: Sides) -> str | None:
    """LEFT or RIGHT where that text was chosen every time; None else, or of fewer than MANY."""
    if chosen.n < MANY:
        return None
    if chosen.left == chosen.n:
        return LEFT
    return RIGHT if chosen.right == chosen.n else None


@dataclass
class WorkerRow:
    """A worker's line on the list."""

    id: int
    name: str
    component: int
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    extra: Told
    again: float | None = None  # share of repeated votes that are the same
    again_n: int = 0
    straight: float | None = None  # share of judgments with one label on every dimension
    judgments: int = 0  # that this share is of
    plot: SafeString | None = None
    sides: Sides = Sides()
    attention: KnownCount = NONE_SEEN
    seconds: float | None = None
    exclusion: int | None = None
    in_file: str = ""  # what a file calls the worker
    why: str = ""  # why no competence is shown

    @property
    def figures(self) -> str:
        """The competence with its interval for files, every digit."""
        return write_figures((self.estimate, self.low, self.high))

    @property
    def with_others(self) -> float | None:
        """Return the worker's agreement with the others; None if it is not known."""
        value: float | None = self.extra.get("with_others")
        return value


class Score(Protocol):
    """A worker's competence with its interval, as stored or on a page."""

    estimate: float | None
    low: float | None
    high: float | None


def withhold_competence(row: Score) -> str:
    """Clear a competence that the votes leave open, and return the reason; "" where it stands."""
    claim = competence_claim(row.estimate, row.low, row.high)
    if claim.reason:
        row.estimate = row.low = row.high = None
    return str(WHY[claim.reason])


def rows_of(run: Run, told: Told, dimension: str) -> list[WorkerRow]:
    """A row a worker on one dimension, or of the mean of all (one query)."""
    again = {row["worker"]: row for row in told.get("repeat_worker", [])}
    straight = {row["worker"]: row for row in told.get("straight_worker", [])}
    found = []
    scores = WorkerScore.objects.filter(run=run, dimension=dimension)
    for values in scores.values_list(*COLUMNS):
        row = WorkerRow(*values)
        row.why = withhold_competence(row)
        row.again = again.get(row.id, {}).get("same")
        row.again_n = again.get(row.id, {}).get("n", 0)
        row.straight = straight.get(row.id, {}).get("share")
        row.judgments = straight.get(row.id, {}).get("n", 0)
        found.append(row)
    return found


def ordered(rows: Iterable[WorkerRow], by: str, *, ascending: bool) -> list[WorkerRow]:
    """Sort workers by component, largest first, then by the column; missing figures last."""
    attribute = SORTS[by]

    def key(row: WorkerRow) -> tuple[Any, ...]:
        value = getattr(row, attribute)
        if value is None:
            return row.component or 10**6, True, 0
        return row.component or 10**6, False, value if ascending else -value

    plain = sorted(rows, key=lambda row: row.name)
    if attribute == "name":
        turned = plain if ascending else plain[::-1]
        return sorted(turned, key=lambda row: row.component or 10**6)
    return sorted(plain, key=key)


def worker_list(
    access: Access, run: Run, told: Told, dimension: str, *, by: str, ascending: bool, page: Any
) -> dict[str, Any]:
    """A page of workers with everything on their lines, in a fixed number of queries."""
    task, rows = run.task, rows_of(run, told, dimension)
    shown_page = Paginator(ordered(rows, by, ascending=ascending), PER_PAGE).get_page(page)
    listed: list[WorkerRow] = list(shown_page.object_list)
    ids = [row.id for row in listed]
    out = exclusions(task)
    # One side every time is also one label every time; such workers may be on another page.
    same = [row for row in rows if row.straight == 1 and row.judgments >= MANY]
    chosen = sides(task, {*ids, *(row.id for row in same)}, dimension)
    tested = attention(task, ids)
    names = names_in_files(access, ids)
    times, gone = pair_seconds(task, ids), {one.worker_id: one.pk for one in out}
    for row in listed:
        row.plot = interval_plot(row.estimate, row.low, row.high, row.name)
        row.sides = chosen.get(row.id, Sides())
        row.attention = tested.get(row.id, NONE_SEEN)
        row.seconds = times.get(row.id)
        row.exclusion = gone.get(row.id)
        row.in_file = names.get(row.id, "")
    known = {row.id for row in rows}
    parts_of = told.get("diagnostics", {}).get("components", [])
    habits = [_habit(row.name, chosen.get(row.id, Sides())) for row in same if row.id not in gone]
    return {
        "page": shown_page,
        "findings": [
            few_shared_finding(run, rows, dimension),
            *workers_findings(task, run, rows, parts_of),
            *habits,
        ],
        "parts": parts(rows, listed),
        "axis": charts.forest_axis(SCALE),
        "foot": charts.forest_axis(SCALE, bottom=True),
        "excluded": out,
        "gone": [one for one in out if one.worker_id not in known],
        "scored": sum(row.estimate is not None for row in rows),
        "workers": len(rows),
        "any_attention": any(row.attention.seen for row in listed),
        "any_again": any(row.again_n for row in rows),
        "look_alikes": look_alikes.listed(run, told, {row.id: row.name for row in rows}),
    }


def few_shared_finding(run: Run, rows: Sequence[WorkerRow], dimension: str) -> Finding | None:
    """Say how many pairs have a single vote, where that leaves competence open."""
    withheld = sum(bool(row.why) for row in rows)
    if not withheld:
        return None
    labels = ItemLabel.objects.filter(run=run)
    labels = labels.filter(dimension=dimension) if dimension else labels
    votes = labels.order_by().values("item").annotate(most=Max("n")).values_list("most", flat=True)
    found = list(votes)
    single = sum(n <= 1 for n in found)
    if 2 * single <= len(found):  # the votes that others share leave it open
        return None
    return MESSAGES.find(
        "few_shared_pairs",
        single=count(single),
        pairs=count(len(found)),
        withheld=count(withheld),
        workers=count(len(rows)),
    )


def workers_findings(
    task: Task, run: Run, rows: Sequence[WorkerRow], groups: Sequence[Told]
) -> list[Finding]:
    """Return findings on the workers: against the median, and whose votes to read.

    ``groups`` are the parts of the workers that share no pair.
    """
    # The largest group alone: others share no pair with it.
    verdict, below = against_middle([vars(row) for row in rows if row.component == 1])
    found = list(filter(None, [verdict.finding("median")]))
    if not found and len(groups) > 1:
        found.append(apart_finding(groups))
    if below:
        page = reverse("pair_worker", args=[task.project_id, task.pk, below[0]["id"]])
        label = _("Votes of %(name)s") % {"name": below[0]["name"]}
        names = listed([row["name"] for row in below], NAMED)
        action = Action(label, f"{page}?run={run.number}")
        found.append(MESSAGES.find("read_votes", action=action, names=names))
    return found


def low_workers_finding(task: Task, run: Run) -> Finding | None:
    """Workers who surely judged worse than half of them and are not left out, for other pages."""
    left_out = task.exclusions.in_force().filter(worker=OuterRef("worker"))
    rows = WorkerScore.objects.filter(run=run, dimension=POOLED, component=1).values(
        "estimate", "low", "extra", name=F("worker__pseudonym"), is_left_out=Exists(left_out)
    )
    below = [row for row in against_middle(list(rows))[1] if not row["is_left_out"]]
    if not below:
        return None
    page = reverse("pair_workers", args=[task.project_id, task.pk])
    names = listed([row["name"] for row in below], NAMED)
    action = Action(_("Show workers"), f"{page}?run={run.number}")
    return MESSAGES.find("low_workers", action=action, names=names)


def _habit(name: str, chosen: Sides) -> Finding | None:
    """Warn that somebody chose one side every time: a reason to read, and no verdict."""
    if (side := one_side(chosen)) is None:
        return None
    code = "always_left" if side == LEFT else "always_right"
    return MESSAGES.find(code, name=name)


def interval_plot(
    value: float | None,
    low: float | None,
    high: float | None,
    name: str,
    reference: float | None = None,
) -> SafeString:
    """Competence on the scale from 0 to 1."""
    estimate = None if value is None else Estimate(value, low, high)
    return charts.forest_cell(SCALE, estimate, reference=reference, name=name)


def parts(rows: Sequence[WorkerRow], listed: Sequence[WorkerRow]) -> list[dict[str, Any]]:
    """The listed workers under the heading of their component."""
    sizes: dict[int, int] = {}
    for row in rows:
        sizes[row.component] = sizes.get(row.component, 0) + 1
    many = sum(number > 0 for number in sizes) > 1
    if many and all(n == 1 for number, n in sizes.items() if number):
        return [{"number": 1, "heading": "", "rows": list(listed)}]
    made = []
    for number in dict.fromkeys(row.component for row in listed):
        inside = [row for row in listed if row.component == number]
        if number and many:
            people = plural(sizes[number], "worker")
            heading = _("Group %(number)s: %(people)s who saw no pair of the others") % {
                "number": number,
                "people": people,
            }
        else:
            heading = "" if number else _("Not scored: too few shared pairs")
        # Workers who share pairs, directly or through others: only they compare.
        made.append({"number": number, "heading": heading, "rows": inside})
    return made


# What is read beside the scores ----------------------------------------------------------------


def _values_filter(task: Task, ids: Collection[int]) -> Q:
    return Q(
        answer__item__task=task,
        answer__stage=Answer.Stage.MAIN,
        answer__worker__in=ids,
    )


def sides(task: Task, ids: Collection[int], dimension: str = "") -> dict[int, Sides]:
    """Counting votes of these workers as displayed, on a dimension or all (one query)."""
    condition = _values_filter(task, ids) & Q(
        answer__counts=True, answer__item__expected__isnull=True
    )
    if dimension:
        condition &= Q(field=dimension)
    rows = (
        ChoiceValue.objects.filter(condition, code__in=STORED)
        .order_by()
        .values_list("answer__worker_id", "answer__flipped", "answer__sides_known", "code")
        .annotate(n=Count("pk"))
    )
    counts: dict[int, dict[str, int]] = {}
    for worker, flipped, known, code, n in rows:
        own = counts.setdefault(worker, {})
        side = to_displayed(code, flipped=flipped) if known or code == NEUTRAL else ""
        own[side] = own.get(side, 0) + n
    return {
        worker: Sides(own.get(LEFT, 0), own.get(NEUTRAL, 0), own.get(RIGHT, 0), own.get("", 0))
        for worker, own in counts.items()
    }


def attention(task: Task, ids: Collection[int]) -> dict[int, KnownCount]:
    """Attention pairs right of seen, in work (three queries); these answers never count."""
    given = Answer.objects.filter(item__task=task, worker__in=ids)
    return count_by_worker(mark_answers(exclude_quizzes(given)))


def pair_seconds(task: Task, ids: Collection[int]) -> dict[int, float]:
    """The middle of the seconds a pair took, from opening to submitting (one query).

    Imported work has no such times.
    """
    rows = (
        Assignment.objects.filter(
            task=task,
            worker__in=ids,
            state=AssignmentState.SUBMITTED,
            opened_at__isnull=False,
            quiz__isnull=True,
        )
        .exclude(source="import")
        .annotate(n=Count("answers"), spent=F("submitted_at") - F("opened_at"))
        .filter(n__gt=0)
        .values_list("worker_id", "spent", "n")
    )
    found: dict[int, list[float]] = {}
    for worker, spent, n in rows:
        found.setdefault(worker, []).append(spent.total_seconds() / n)
    return {worker: median(values) for worker, values in found.items()}


def exclusions(task: Task) -> list[Exclusion]:
    """List the exclusions in force."""
    return list(task.exclusions.in_force().select_related("worker", "by"))


def sort_links(
    by: str, *, ascending: bool, dimension: str, keep: str
) -> dict[str, tuple[str, str]]:
    """Return address and sort state of each column; the current one reverses the order."""
    made = {}
    for name in SORTS:
        first_up = name == "worker"
        up = not ascending if name == by else first_up
        aria = ("ascending" if ascending else "descending") if name == by else ""
        query = f"?sort={name}&dimension={dimension}&dir={'up' if up else 'down'}"
        made[name] = (query + keep, aria)
    return made
