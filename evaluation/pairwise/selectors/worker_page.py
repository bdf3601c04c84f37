"""One worker of a pairwise study: evidence by dimension and over time, never a judgment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from django.db.models import Avg, Q
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Item, Membership, Task
from annotation.task_types.pairwise.sides import LEFT, NEUTRAL, RIGHT, STORED
from annotation.work.selectors import speed
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.numbers import count, plural, score
from evaluation.charts import boards as charts
from evaluation.charts import pairs as chart_pairs
from evaluation.methods.workers.claims import LEAST_COMPARED, competence_claim, median_claim
from evaluation.models import ItemLabel, Run, WorkerScore
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors import votes as pair_votes
from evaluation.pairwise.selectors import workers as pair_workers
from evaluation.pairwise.selectors.columns import pair_link
from evaluation.pairwise.selectors.pages import LETTERS
from evaluation.pairwise.selectors.votes import Pair, Vote, pair_of
from evaluation.pairwise.selectors.workers import NONE_SEEN, SCALE, Sides
from evaluation.results.cells import bold, count_of_total
from evaluation.results.columns import PLOT, Column, Format, head_column, interval_column
from evaluation.results.findings import Action, Finding, arrange
from evaluation.results.tables import BOARD, ResultTable, plain_table
from evaluation.runs.selectors.verdicts import Verdict

LEAST_AGAIN = 5  # votes on pairs that came again, from which none being the same is worth a line
MOST = 50  # pairs listed on which the worker differs from the gold label
Gold = Mapping[tuple[Pair, str], ItemLabel]


@dataclass(frozen=True)
class DimensionRow:
    """Competence on one dimension, and what is shown when guessing beside what was chosen."""

    label: str
    score: WorkerScore | None
    plot: SafeString
    guess: SafeString | None
    chosen: SafeString | None
    sides: Sides
    mean: float | None  # of all workers

    @property
    def with_others(self) -> float | None:
        """Share of decided votes that agree with the majority of the others."""
        return self.score.extra.get("with_others") if self.score is not None else None


@dataclass(frozen=True)
class Sitting:
    """One assignment's votes."""

    at: dt.datetime
    pairs: int
    seconds: float | None  # a pair, from the log; None without one
    sides: Sides
    same: int
    compared: int

    @property
    def same_share(self) -> float | None:
        """Return the share of compared votes that are the same; None without any."""
        return self.same / self.compared if self.compared else None


@dataclass(frozen=True)
class OtherLabel:
    """A pair on which the worker's vote is another than the estimated label."""

    item: int
    url: str
    texts: tuple[str, str]
    question: str
    at: dt.datetime
    count: int  # of dimensions
    clearest: str  # the dimension on which the label is surest
    vote: str
    gold: str
    posterior: float


def _dimension_table(rows: Sequence[DimensionRow]) -> ResultTable:
    bar = Column.text("", "", classes="bar")
    columns = [
        head_column("label", _("Dimension"), classes="nowrap"),
        PLOT,
        Column.score("score.estimate", _("Competence"), term="competence", is_main=True),
        interval_column(low="score.low", high="score.high", needs_interval=False),
        Column.number("n", _("Pairs"), html=lambda row: count(row.score.n if row.score else 0)),
        Column.share("with_others", _("With most others")),
        replace(
            bar, label=_("When guessing"), short=_("Guessing"), html=lambda row: row.guess or ""
        ),
        replace(bar, label=_("Chosen"), short=_("Chosen"), html=lambda row: row.chosen or ""),
        Column.number(
            "sides",
            _("Left, neutral, right, repeats included"),
            _("Left, neutral, right"),
            html=lambda row: row.sides.figures,
            classes="nowrap",
        ),
    ]
    return plain_table(
        _("Competence by dimension with 95% CIs"),
        columns,
        rows,
        axis=charts.forest_axis(SCALE),
        foot=charts.forest_axis(SCALE, bottom=True),
        classes=BOARD,
    )


def _sitting_table(rows: Sequence[Sitting]) -> ResultTable:
    columns = [
        head_column("at", _("Began"), format=Format.MOMENT, classes="nowrap"),
        Column.count("pairs", _("Pairs")),
        Column.duration("seconds", _("On screen per pair"), missing=_("no log")),
        Column.share("sides.neutral_share", _("Neutral")),
        Column.share("sides.left_share", _("Left of decided"), _("Left")),
        Column.share("same_share", _("As the estimated label"), _("As gold"), classes="l1r"),
    ]
    return plain_table(_("Votes by assignment"), columns, rows)


def _difference_table(rows: Sequence[OtherLabel], dimensions: int) -> ResultTable:
    columns = [
        head_column(
            "item",
            _("Pair"),
            html=lambda row: pair_link(row.url, row.texts, row.question, 80),
            classes="pair-cell",
        ),
        Column.moment("at", _("Judged"), _("Judged")),
        Column.number(
            "count",
            _("Differs on"),
            html=lambda row: count_of_total(row.count, dimensions),
            classes="nowrap",
            head_classes="nowrap",
        ),
        Column.text("clearest", _("Surest"), _("Surest"), classes="nowrap"),
        Column.text("vote", _("Vote"), _("Vote"), html=lambda row: bold(row.vote)),
        Column.text("gold", _("Estimated"), _("Estimated"), html=lambda row: bold(row.gold)),
        Column.score("posterior", _("Posterior"), "", term="posterior", classes="l1r"),
    ]
    return plain_table(_("Pairs on which a vote differs from the estimated label"), columns, rows)


def worker_page(
    task: Task,
    run: Run | None,
    told: Mapping[str, Any],
    worker: Membership,
    asked: Sequence[AskedDimension],
    *,
    keep: str,
) -> dict[str, Any]:
    """A worker's competence, votes in order, and differences from the gold labels.

    ``keep``: the query of links to pairs that keeps the run shown.
    """
    scores = {row.dimension: row for row in WorkerScore.objects.filter(run=run, worker=worker)}
    for row in scores.values():
        pair_workers.withhold_competence(row)
    given = pair_votes.votes(Q(worker=worker, item__task=task, item__expected__isnull=True))
    counted = [vote for vote in given if vote.counts]
    items = _items(counted)
    gold = _gold(run, items)

    def page(item: int) -> str:
        return reverse("pair", args=[task.project_id, task.pk, item]) + keep

    found = _differences(counted, items, gold, asked, page=page)
    listed = found[:MOST]
    again = _own(told, "repeat_worker", worker)
    pairs = len({pair_of(items[vote.item]) for vote in counted})
    exclusion = next(
        (one for one in pair_workers.exclusions(task) if one.worker_id == worker.pk), None
    )
    repeats = len(counted) - pairs
    tested = pair_workers.attention(task, [worker.pk]).get(worker.pk, NONE_SEEN)
    habit = _habit(worker, counted, again, repeats)
    middle = _beside_median(run, worker, scores)
    # Everything on a worker's page.
    return {
        "worker": worker,
        "screen": arrange(_findings(task, worker, habit, middle, left_out=exclusion is not None)),
        "notable": bool(habit) or middle.notable,
        "mean": scores.get(POOLED),
        "table": _dimension_table(_rows(run, scores, counted, asked)),
        "strip": strip(counted, asked),
        "sittings": _sitting_table(_sittings(task, counted, items, gold, asked)),
        "differences": _difference_table(listed, len(asked)) if listed else None,
        "listed": len(listed),
        "different": len(found),
        "judged": len(counted),
        "pairs": pairs,
        "counts": _counts(len(counted), pairs, len(asked), tested.seen),
        "attention": tested,
        "again": again,
        "repeats": repeats,
        # labels that were another when a pair came again
        "changed": _changed(again),
        "straight": _own(told, "straight_worker", worker).get("share"),
        "exclusion": exclusion,
    }


@dataclass(frozen=True)
class BesideMedian:
    """A sentence on a worker against the median competence; ``notable``: surely below it."""

    sentence: str
    notable: bool = False


def _beside_median(
    run: Run | None, worker: Membership, scores: Mapping[str, WorkerScore]
) -> BesideMedian:
    """Compare a worker with the median by an interval for all at once."""
    own, told = scores.get(POOLED), {"name": worker.pseudonym}
    if run is None or own is None or own.estimate is None or own.low is None or own.high is None:
        said = _("How reliable %(name)s is cannot be said: too few votes on shared pairs.")
        return BesideMedian(said % told)
    others = WorkerScore.objects.filter(run=run, dimension=POOLED, component=own.component)
    rows = others.filter(low__isnull=False).values_list("estimate", "low", "high")
    values = [
        value
        for value, low, high in rows
        if value is not None and not competence_claim(value, low, high).reason
    ]
    if len(values) < LEAST_COMPARED:
        said = _("%(name)s cannot be compared: too few workers saw the same pairs.")
        return BesideMedian(said % told)
    middle = median(values)
    told |= {"own": score(own.estimate, 2), "middle": score(middle, 2)}
    claim = median_claim(own.extra, family=len(values))
    below = claim.is_sure and claim.direction < 0
    if below:
        said = _("%(name)s is surely below the median competence of %(middle)s: %(own)s.")
    elif claim.is_sure:
        said = _("%(name)s is surely above the median competence of %(middle)s: %(own)s.")
    else:
        said = _("%(name)s is not shown to be more or less competent than the median worker.")
    return BesideMedian(said % told, below)


def _counts(judged: int, pairs: int, dimensions: int, attention: int) -> str:
    """Say what each number of the page counts, and why they differ."""
    told = {
        "judgments": plural(judged, "judgment"),
        "pairs": plural(pairs, "pair"),
        "again": plural(judged - pairs, "pair"),
        "dimensions": plural(dimensions, "dimension"),
    }
    said = [_("%(judgments)s, with a vote on each of %(dimensions)s.") % told]
    if judged > pairs:
        said = [
            _(
                "%(judgments)s, with a vote on each of %(dimensions)s: of %(pairs)s, and of "
                "%(again)s that came again. Competence is from the first judgment of each pair; "
                "sides, times and differences are from all of them."
            )
            % told
        ]
    if attention:
        told["attention"] = plural(attention, "attention pair")
        said.append(_("Not counted: %(attention)s.") % told)
    return " ".join(said)


def _changed(again: Mapping[str, Any]) -> int:
    """Labels that were another when a pair came again."""
    if not again.get("n"):
        return 0
    return round(again["n"] * (1 - again["same"]))


def _habit(
    worker: Membership, given: Sequence[Vote], again: Mapping[str, Any], repeats: int
) -> str:
    """Warn that every vote is for one side, or that no repeated vote is the same; else ""."""
    by_vote = [[side for name in vote.codes if (side := vote.side(name))] for vote in given]
    names = {name for vote in given for name in vote.codes}
    every = pair_workers.one_side(sum((_sides_of(given, name) for name in names), Sides()))
    told = {"name": worker.pseudonym, "n": plural(sum(map(bool, by_vote)), "judgment")}
    said = []
    if every == LEFT:
        said.append(_("%(name)s chose the left text every time, in %(n)s.") % told)
    elif every == RIGHT:
        said.append(_("%(name)s chose the right text every time, in %(n)s.") % told)
    if again.get("n", 0) >= LEAST_AGAIN and again["same"] == 0:
        told |= {"labels": count(again["n"]), "again": plural(repeats, "pair")}
        said.append(_("When %(again)s came again, %(name)s changed all %(labels)s labels.") % told)
    return " ".join(said)


def _findings(
    task: Task, worker: Membership, habit: str, middle: BesideMedian, *, left_out: bool
) -> list[Finding | None]:
    """Return what stands out of a worker's votes, and what to do: look, before anything else."""
    verdict = Verdict(habit, middle.sentence) if habit else Verdict(middle.sentence)
    found = [verdict.finding("worker_votes")]
    if left_out:
        return [*found, MESSAGES.find("votes_left_out")]
    if habit or middle.notable:
        url = reverse("task_exclude", args=[task.project_id, task.pk, worker.pk])
        action = Action(_("Remove from task…"), url, requester=True)
        found.append(MESSAGES.find("compare_without_worker", action=action))
    return found


def _own(told: Mapping[str, Any], figure: str, worker: Membership) -> Mapping[str, Any]:
    return next((row for row in told.get(figure, []) if row["worker"] == worker.pk), {})


def _items(given: Sequence[Vote]) -> dict[int, Item]:
    rows = Item.objects.filter(pk__in={vote.item for vote in given})
    rows = rows.select_related("first__system", "second__system")
    return {item.pk: item for item in rows.defer("first__text", "second__text")}


def _texts(item: Item) -> tuple[str, str]:
    """Say where both texts come from."""
    return (
        str(item.first.system) if item.first else "",
        str(item.second.system) if item.second else "",
    )


def _gold(run: Run | None, items: Mapping[int, Item]) -> dict[tuple[Pair, str], ItemLabel]:
    """Labels of the pairs that these items put to judgment, by pair and dimension."""
    if run is None:
        return {}
    rows = (
        ItemLabel.objects.filter(
            run=run,
            item__first__in={item.first_id for item in items.values()},
            item__second__in={item.second_id for item in items.values()},
        )
        .select_related("item")
        .defer("item__question", "item__settings")
    )
    return {(pair_of(row.item), row.dimension): row for row in rows}


def _sides_of(given: Sequence[Vote], dimension: str) -> Sides:
    chosen = [vote.side(dimension) for vote in given if vote.codes.get(dimension) in STORED]
    unknown = chosen.count("")
    return Sides(chosen.count(LEFT), chosen.count(NEUTRAL), chosen.count(RIGHT), unknown)


def _bar(values: Sequence[float], what: str) -> SafeString | None:
    names = (LEFT, NEUTRAL, RIGHT)
    return chart_pairs.shares(values, names, width=110.0, what=what) if any(values) else None


def _rows(
    run: Run | None,
    scores: Mapping[str, WorkerScore],
    given: Sequence[Vote],
    asked: Sequence[AskedDimension],
) -> list[DimensionRow]:
    means = dict(
        WorkerScore.objects.filter(run=run, component__gt=0)
        .order_by()
        .values_list("dimension")
        .annotate(m=Avg("estimate"))
    )
    made = []
    for one in asked:
        own, chosen = scores.get(one.name), _sides_of(given, one.name)
        extra = own.extra if own is not None else {}
        guess = [extra.get(f"guess_{side}") or 0.0 for side in (LEFT, NEUTRAL, RIGHT)]
        plot = pair_workers.interval_plot(
            own.estimate if own else None,
            own.low if own else None,
            own.high if own else None,
            one.label,
            means.get(one.name),
        )
        made.append(
            DimensionRow(
                label=one.label,
                score=own,
                plot=plot,
                guess=None if chosen.unknown else _bar(guess, _("When guessing")),
                chosen=None
                if chosen.unknown
                else _bar((chosen.left, chosen.neutral, chosen.right), _("Chosen")),
                sides=chosen,
                mean=means.get(one.name),
            )
        )
    return made


def strip(given: Sequence[Vote], asked: Sequence[AskedDimension]) -> SafeString | None:
    """Draw all votes of a worker as displayed, in order; None where no side is known."""
    if not any(vote.sides_known for vote in given):
        return None
    breaks = [k for k in range(1, len(given)) if given[k].assignment != given[k - 1].assignment]
    lines = [(one.label, [vote.side(one.name) for vote in given]) for one in asked]
    return chart_pairs.vote_strip(lines, breaks)


def _sittings(
    task: Task,
    given: Sequence[Vote],
    items: Mapping[int, Item],
    gold: Gold,
    asked: Sequence[AskedDimension],
) -> list[Sitting]:
    """A row an assignment, in order, with the share of votes equal to the gold label."""
    by: dict[int, list[Vote]] = {}
    for vote in given:
        by.setdefault(vote.assignment or 0, []).append(vote)
    times = speed.pair_times(task, set(by))
    made = []
    for votes in by.values():
        pairs = [
            (vote.codes[one.name], gold.get((pair_of(items[vote.item]), one.name)))
            for vote in votes
            for one in asked
            if one.name in vote.codes
        ]
        known = [(code, label.label) for code, label in pairs if label is not None]
        chosen = [_sides_of(votes, one.name) for one in asked]
        spent = [times[vote.id].seconds_total for vote in votes if vote.id in times]
        made.append(
            Sitting(
                at=votes[0].at,
                pairs=len(votes),
                seconds=sum(spent) / len(spent) if spent else None,
                sides=sum(chosen, Sides()),
                same=sum(code == label for code, label in known),
                compared=len(known),
            )
        )
    return made


def _differences(
    given: Sequence[Vote],
    items: Mapping[int, Item],
    gold: Gold,
    asked: Sequence[AskedDimension],
    *,
    page: Callable[[int], str],
) -> list[OtherLabel]:
    """Pairs with a vote other than the gold label, the surest labels first; ``page`` of a pair."""
    made = []
    for vote in given:
        item = items[vote.item]
        apart = []
        for one in asked:
            label, code = gold.get((pair_of(item), one.name)), vote.codes.get(one.name)
            if label is not None and code and label.label in LETTERS and label.label != code:
                apart.append((label.posterior.get(label.label) or 0.0, one.label, code, label))
        if not apart:
            continue
        sure, name, code, label = max(apart, key=lambda row: row[0])
        made.append(
            OtherLabel(
                label.item_id,
                page(label.item_id),
                _texts(item),
                item.question,
                vote.at,
                len(apart),
                name,
                LETTERS.get(code, ""),
                LETTERS[label.label],
                sure,
            )
        )
    return sorted(made, key=lambda row: (-row.posterior, row.item))
