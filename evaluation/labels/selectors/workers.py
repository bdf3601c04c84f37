"""The workers of a labels task: competence against guessing, in groups, and one's confusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from annotation.models import Membership, Task
from crowdqc.errors import Missing
from crowdqc.numbers import count, percent, plural, score
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale
from evaluation.charts.labels import Block, agreement_over_time
from evaluation.labels.columns import WORKERS
from evaluation.labels.results import NOT_SCORED, WORSE
from evaluation.labels.selectors.models import ModelRow
from evaluation.labels.selectors.models import group as group_of
from evaluation.labels.selectors.study import ShownField, known_right
from evaluation.models import Run, WorkerScore
from evaluation.pairwise.selectors.workers import pair_seconds
from evaluation.results.cells import inline
from evaluation.results.tables import Group, ResultTable
from evaluation.runs.results import look_alikes, votes_used

PER_PAGE = 100
FIGURES = ("class", "agreement", "compare", "summary", votes_used.FIGURE, look_alikes.FIGURE)
COLUMNS = (
    *("worker_id", "worker__pseudonym", "component", "estimate", "low", "high", "n", "extra"),
    *("worker__external_id", "worker__user_id"),
)
# Column -> the attribute that it sorts by.
SORTS = {"competence": "estimate", "worker": "name", "labels": "n", "known": "known_share"}
GROUPS = ("reliable", "better", "unknown", "one_label", WORSE, NOT_SCORED)
SCALE = Scale(-0.03, 1.03, 170.0, (0.0, 0.25, 0.5, 0.75, 1.0))
BELOW_THRESHOLD = "below_threshold"  # better than guessing, where a threshold asks for more
HEADINGS = {
    "reliable": gettext_lazy(
        "%(workers)s can be relied on: the interval lies above the threshold of %(limit)s"
    ),
    "better": ngettext_lazy(
        "%(workers)s does better than guessing: the interval lies above chance",
        "%(workers)s do better than guessing: the interval lies above chance",
        "n",
    ),
    BELOW_THRESHOLD: ngettext_lazy(
        "%(workers)s does better than guessing, but is not shown to reach the threshold of "
        "%(limit)s",
        "%(workers)s do better than guessing, but are not shown to reach the threshold of "
        "%(limit)s",
        "n",
    ),
    "unknown": gettext_lazy(
        "%(workers)s cannot be told from guessing, with all workers compared at once"
    ),
    "one_label": ngettext_lazy(
        "%(workers)s always or nearly always gives the same label",
        "%(workers)s always or nearly always give the same label",
        "n",
    ),
    WORSE: ngettext_lazy(
        "%(workers)s does worse than guessing: the interval lies below chance",
        "%(workers)s do worse than guessing: the interval lies below chance",
        "n",
    ),
    NOT_SCORED: ngettext_lazy(
        "%(workers)s is not scored: competence needs 3 workers who share items",
        "%(workers)s are not scored: competence needs 3 workers who share items",
        "n",
    ),
}
CHANGES = {
    "same": gettext_lazy(
        "%(early)s of the first %(early_n)s labels agree with the others’ and %(late)s of the last "
        "%(late_n)s labels; no change can be told."
    ),
    # Which of the two it is due to, the worker or the items, nobody can tell.
    **dict.fromkeys(
        ("rose", "fell"),
        gettext_lazy(
            "Agreement differs between early and late items: %(early)s of the first %(early_n)s "
            "labels agree with the others’, and %(late)s of the last %(late_n)s labels."
        ),
    ),
}

Told = Mapping[str, Any]


@dataclass
class WorkerRow:
    """A worker's line on the list."""

    id: int
    name: str
    component: int
    estimate: float | None
    low: float | None
    high: float | None
    n: int | None  # None where it is not shown
    extra: Told
    external_id: str = ""
    user: int | None = None
    plot: SafeString | None = None
    mistake: str = ""
    label: SafeString | str = ""

    @property
    def in_file(self) -> str:
        """Id in the imported file, for workers without an account; else ""."""
        return self.external_id if self.user is None else ""

    @property
    def group(self) -> str:
        """Group of the worker: reliable, better than guessing, not told from guessing, ..."""
        standing: str = self.extra["standing"]
        return "reliable" if standing == "better" and self.extra["reliable"] else standing

    @property
    def known_right(self) -> SafeString:
        """Known answers right of those seen, with the interval of the share."""
        return known_right(*(self.extra[f"known_{name}"] for name in ("right", "n", "low", "high")))

    @property
    def known_share(self) -> float | None:
        """Known answers right, of those seen."""
        n = self.extra["known_n"]
        return self.extra["known_right"] / n if n else None


def rows_of(run: Run) -> list[WorkerRow]:
    """Return a row per worker of the run (one query)."""
    return [
        WorkerRow(*values) for values in WorkerScore.objects.filter(run=run).values_list(*COLUMNS)
    ]


def names_of(run: Run) -> dict[int, str]:
    """The pseudonym of every worker of a run."""
    rows = WorkerScore.objects.filter(run=run)
    return dict(rows.values_list("worker_id", "worker__pseudonym"))


def count_reliable(run: Run, rows: Iterable[WorkerRow]) -> int | None:
    """Count the workers who reach the reliability threshold; None if none is set."""
    if run.params.get("reliable") is None:
        return None
    return sum(row.group == "reliable" for row in rows)


def reliable_of(run: Run) -> int | None:
    """Count the workers who reach the reliability threshold, from the database.

    None if none is set.
    """
    if run.params.get("reliable") is None:
        return None
    return WorkerScore.objects.filter(
        run=run, extra__standing="better", extra__reliable=True
    ).count()


def grouped(rows: Iterable[WorkerRow]) -> list[WorkerRow]:
    """Sort workers by group, the most competent first."""
    plain = ordered(rows, "competence", ascending=False)
    return sorted(plain, key=lambda row: GROUPS.index(row.group))


def ordered(rows: Iterable[WorkerRow], by: str, *, ascending: bool) -> list[WorkerRow]:
    """Sort workers by a column over all groups; missing figures come last."""
    attribute = SORTS[by]

    def key(row: WorkerRow) -> tuple[bool, float]:
        value = getattr(row, attribute)
        return value is None, (value or 0) * (1 if ascending else -1)

    plain = sorted(rows, key=lambda row: row.name, reverse=attribute == "name" and not ascending)
    return plain if attribute == "name" else sorted(plain, key=key)


@dataclass(frozen=True)
class Opening:
    """Lines that open and close at their name; ``keep`` keeps the run shown in addresses."""

    keep: str
    opened: int | None
    requester: bool

    def label(self, run: Run, row: WorkerRow) -> SafeString:
        """Render the worker's name as a link that opens or closes the confusion matrix."""
        ids = [run.task.project_id, run.task_id]
        is_open = row.id == self.opened
        url = reverse("label_worker", args=[*ids, row.id])
        name = format_html(
            '<a class="name" id="open-{id}" aria-expanded="{expanded}" href="{href}" '
            'hx-get="{url}?run={run}{closed}" hx-target="#worker-{id}" hx-swap="outerHTML">{name}'
            "</a>",
            id=row.id,
            expanded="true" if is_open else "false",
            href=(reverse("label_results", args=ids) if is_open else url) + self.keep,
            url=url,
            run=run.number,
            closed="&closed=1" if is_open else "",
            name=row.name,
        )
        return inline(name, row.in_file if self.requester else "")

    def group(self, row: WorkerRow) -> Group:
        """Make the worker's row, with the confusion matrix below if it is open."""
        detail = "evaluation/labels/_confusion.html" if row.id == self.opened else ""
        return Group("", [row], "", f"worker-{row.id}", detail, "confusion-row")


def competence_table(
    groups: Sequence[Group], *, any_known: bool, opened: int | None = None, **more: Any
) -> ResultTable:
    """Make the table of workers by competence, with models below."""
    columns = [one for one in WORKERS if any_known or one.sort != "known"]
    return ResultTable(
        _("Workers by competence, with 95% CIs"),
        columns,
        groups,
        axis=charts.forest_axis(SCALE),
        classes="data two-line competence",
        row_class=lambda row: "selected" if opened and getattr(row, "id", None) == opened else "",
        **more,
    )


def has_known(rows: Sequence[WorkerRow], models: Sequence[ModelRow]) -> bool:
    """Whether anybody in the table met a known answer, so that it has their column."""
    return any(row.extra["known_n"] for row in rows) or any(row.known.n for row in models)


def worker_list(
    run: Run,
    rows: Sequence[WorkerRow],
    field: ShownField,
    *,
    page: Any,
    opening: Opening | None = None,
    models: Sequence[ModelRow] = (),
    sorts: Mapping[str, Mapping[str, str]] | None = None,
    in_groups: bool = True,
) -> dict[str, Any]:
    """Return a page of workers, in their groups or as sorted, with models below."""
    shown = Paginator(rows, PER_PAGE).get_page(page)
    listed: list[WorkerRow] = list(shown.object_list)
    by_mace = is_by_mace(run)
    for row in listed:
        _dress(run, row, field, opening)
    groups = []
    for group in _groups(run, rows, listed) if in_groups else [Group("", listed)]:
        if opening is None:
            groups.append(group)
        else:
            groups += [replace(group, rows=()), *(opening.group(row) for row in group.rows)]
    return {
        "page": shown,
        "table": competence_table(
            [*groups, *group_of(run.task, models)],
            any_known=has_known(rows, models),
            opened=opening.opened if opening else None,
            foot=charts.forest_axis(SCALE, bottom=True) if opening else "",
            is_long=True,
            sorts=sorts or {},
        ),
        "chance": None if by_mace else _chance(rows),
        "by_mace": by_mace,
    }


def is_by_mace(run: Run) -> bool:
    """Whether competence is MACE's, which begins at 0 instead of at chance."""
    return run.params.get("competence_from") == "mace"


def _dress(run: Run, row: WorkerRow, field: ShownField, opening: Opening | None) -> None:
    estimate = None if row.estimate is None else Estimate(row.estimate, row.low, row.high)
    chance = None if is_by_mace(run) else row.extra["chance"]
    row.plot = charts.forest_cell(SCALE, estimate, reference=chance, name=row.name)
    row.mistake = mistake_words(row, field)
    row.label = opening.label(run, row) if opening else row.name


def mistake_words(row: WorkerRow, field: ShownField) -> str:
    """Describe the worker's most frequent mistake, or that one label is always given."""
    extra = row.extra
    if same := extra["same_label"]:
        return _("%(label)s in %(given)s of %(n)s") % {
            "label": field.word(same),
            "given": count(extra["given"].get(same, 0)),
            "n": count(row.n or 0),
        }
    if not extra["mistake_from"] or row.estimate is None:
        return _("no pattern")
    true, given = field.word(extra["mistake_from"]), field.word(extra["mistake_to"])
    return _("%(true)s as %(given)s, %(share)s") % {
        "true": true,
        "given": given,
        "share": percent(extra["mistake_share"]),
    }


def _groups(run: Run, rows: Sequence[WorkerRow], listed: Sequence[WorkerRow]) -> list[Group]:
    sizes = {slug: sum(row.group == slug for row in rows) for slug in GROUPS}
    return [
        Group(heading(slug, sizes[slug], run.params.get("reliable")), inside)
        for slug in GROUPS
        if (inside := [row for row in listed if row.group == slug])
    ]


def heading(slug: str, n: int, threshold: float | None) -> str:
    """Return the heading of a group of ``n`` workers."""
    if slug == "better" and threshold is not None:
        slug = BELOW_THRESHOLD
    said = {"n": n, "workers": plural(n, "worker"), "limit": score(threshold, 2)}
    return str(HEADINGS.get(slug, HEADINGS[NOT_SCORED]) % said)


def _chance(rows: Iterable[WorkerRow]) -> float | None:
    """The chance that all share; None where parts of the crowd differ."""
    found = {row.extra["chance"] for row in rows if row.extra["chance"] is not None}
    return found.pop() if len(found) == 1 else None


# One worker ------------------------------------------------------------------------------------


def get_row(run: Run, worker: Membership, field: ShownField, opening: Opening) -> WorkerRow:
    """Return a worker's row; Missing if the run has none."""
    values = WorkerScore.objects.filter(run=run, worker=worker).values_list(*COLUMNS).first()
    if values is None:
        raise Missing(_("Run %(run)s has no labels of this worker.") % {"run": run.number})
    row = WorkerRow(*values)
    _dress(run, row, field, opening)
    return row


def detail(task: Task, row: WorkerRow, field: ShownField) -> dict[str, Any]:
    """Return a worker's confusion matrix with the figures beside it (one query)."""
    confusion = row.extra["confusion"]
    told = matrix(confusion["probability"], field, confusion["labels"]) if confusion else []
    return {
        "matrix": told,
        "how": how_to_read(row, field),
        "over_time": over_time(row),
        "seconds": pair_seconds(task, [row.id]).get(row.id),
    }


@dataclass(frozen=True)
class OverTime:
    """How a worker's agreement with the others went: a chart, and what can be said of it."""

    chart: SafeString
    sentence: str


def over_time(row: WorkerRow) -> OverTime | None:
    """Return how a worker's agreement with others changed over time; None if it cannot be told."""
    told = row.extra.get("over_time")
    if not told:
        return None
    blocks, last = [], 0
    for one in told["blocks"]:
        first, last = last + 1, last + one["n"]
        blocks.append(Block(first, last, one["agree"] / one["n"], one["low"], one["high"]))
    said = {
        f"{half}{name}": value
        for half in ("early", "late")
        for name, value in (
            ("", percent(told[f"{half}_agree"] / told[f"{half}_n"])),
            ("_n", count(told[f"{half}_n"])),
        )
    }
    sentence = CHANGES.get(told["change"], CHANGES["fell"]) % said
    return OverTime(agreement_over_time(blocks), str(sentence))


def matrix(
    grid: Sequence[Sequence[float | None]], field: ShownField, codes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a confusion matrix as rows: true label, and the share of each label given."""
    return [
        {"label": field.word(code), "cells": list(line)}
        for code, line in zip(codes, grid, strict=True)
    ]


def how_to_read(row: WorkerRow, field: ShownField) -> str:
    """Explain one cell of a worker's confusion matrix in a sentence."""
    extra = row.extra
    if same := extra["same_label"]:
        return _("“%(label)s” was chosen for %(given)s of %(items)s, whatever the item is.") % {
            "label": field.word(same),
            "given": count(extra["given"].get(same, 0)),
            "items": plural(row.n or 0, "item"),
        }
    if not extra["mistake_from"]:
        return _("No confusion stands out.")
    true, given = field.word(extra["mistake_from"]), field.word(extra["mistake_to"])
    return _(
        "Of 100 items that are “%(true)s”, about %(n)s were labelled “%(given)s”; that is the most "
        "frequent mistake."
    ) % {"true": true, "given": given, "n": round(100 * extra["mistake_share"])}


def sort_links(by: str, *, ascending: bool, keep: str) -> dict[str, dict[str, str]]:
    """Return the sort link of each column; the current one reverses the order."""
    made = {}
    for name in SORTS:
        up = not ascending if name == by else name == "worker"
        aria = ("ascending" if ascending else "descending") if name == by else ""
        made[name] = {"query": f"?sort={name}&dir={'up' if up else 'down'}{keep}", "aria": aria}
    return made


def single_labels(rows: Iterable[WorkerRow]) -> tuple[int, int]:
    """Count the labels on items with known answers: (right, all)."""
    told = [row.extra for row in rows]
    return sum(one["known_right"] for one in told), sum(one["known_n"] for one in told)
