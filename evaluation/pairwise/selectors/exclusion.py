"""What leaving a worker out of a study's results would change, before it is done.

Nothing is stored: the counting judgments of now are fitted with and without the worker, alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Answer, Exclusion, Item, Membership, Task
from annotation.task_types.pairwise.sides import NEUTRAL, STORED
from annotation.work.snapshots.judgments import system_names
from crowdqc.errors import Conflict
from crowdqc.numbers import count, interval, plural, score
from evaluation.methods.core.base import BadParameter, DataError
from evaluation.methods.pairwise import exclusion as pairwise_exclusion
from evaluation.models import Run, WorkerScore
from evaluation.pairwise import dataset as judged
from evaluation.pairwise.dataset import PairsDataset
from evaluation.pairwise.selectors.boards import against_average
from evaluation.pairwise.selectors.columns import pair_columns
from evaluation.pairwise.selectors.workers import withhold_competence
from evaluation.results.cells import beside, bold
from evaluation.results.columns import Column, head_column
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.engine import DEFAULT_SEED

LISTED = 40  # labels that change, by pair
WORDS = {
    "first": gettext_noop("first better"),
    NEUTRAL: gettext_noop("neutral"),
    "second": gettext_noop("second better"),
    "": gettext_noop("none"),
}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class LeavingWorker:
    """The worker in question, and what is known without computing anything."""

    worker: Membership
    judgments: int
    counting: int
    everybody: int  # judgments of all people that count
    competence: float | None
    low: float | None
    high: float | None
    standing: Exclusion | None  # the exclusion in force
    before: list[Exclusion]  # those that were undone

    @property
    def sentence(self) -> str:
        told = {"judgments": plural(self.judgments, "judgment"), "counting": self.counting}
        if self.counting < self.judgments and self.standing is None:
            return _("%(judgments)s of theirs, %(counting)s of which count.") % told
        return _("%(judgments)s of theirs.") % told


@dataclass(frozen=True)
class Rank:
    """A source on the board of all dimensions: the share won from an average one, and the rank."""

    name: str
    before: float | None
    low_before: float | None
    high_before: float | None
    after: float | None
    low_after: float | None
    high_after: float | None
    rank_before: int
    rank_after: int

    @property
    def moves(self) -> bool:
        """Whether the rank changes."""
        return self.rank_before != self.rank_after


@dataclass(frozen=True)
class Label:
    """One estimated label that changes."""

    item: Item | None
    dimension: str
    before: str
    after: str


@dataclass(frozen=True)
class Figure:
    """A figure before and after."""

    name: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class LabelsChanged:
    """How many of the estimated labels of a dimension change; ``lost``: to none."""

    label: str
    changed: int
    lost: int
    n: int


@dataclass(frozen=True)
class DimensionEffect:
    """A dimension's alpha beside its estimated labels."""

    alpha: Figure
    labels: LabelsChanged


@dataclass(frozen=True)
class Effect:
    """The preview."""

    alphas: list[Figure]
    mean: Figure | None
    ranks: list[Rank]
    moving: list[str]  # rank changes on single dimensions, in words
    golds: list[LabelsChanged]
    gold: LabelsChanged
    labels: list[Label]
    more: int  # labels that change and are not listed
    judgments: int
    votes: int
    thin: tuple[int, int]
    parts: tuple[int, int]
    sentence: str

    name: str  # of the worker

    def alpha_table(self) -> ResultTable:
        """Raw alpha and estimated labels by dimension, and over all."""
        columns = [
            head_column("alpha.name", _("Dimension")),
            Column.score("alpha.before", _("α now"), digits=3, term="alpha"),
            Column.score("alpha.after", _("Without"), digits=3),
            Column.signed("alpha.change", _("Change"), digits=3),
            Column.number("labels.changed", _("Labels that change"), html=_changed),
        ]
        pairs = zip(self.alphas, self.golds, strict=True)
        mean = replace(self.gold, lost=0)  # said by the dimensions
        return plain_table(
            _("Agreement and estimated labels with and without %(name)s") % {"name": self.name},
            columns,
            [DimensionEffect(*pair) for pair in pairs],
            total=[DimensionEffect(self.mean, mean)] if self.mean else [],
            classes="data",
        )

    def rank_table(self) -> ResultTable:
        """The board with and without the worker."""
        columns = [
            head_column("name", _("Source")),
            Column.number("moves", _("Rank"), term="rank", html=_rank, classes="nowrap"),
            _share_column("before", _("Now")),
            _share_column("after", _("Without")),
        ]
        title = _("The board with and without %(name)s") % {"name": self.name}
        return plain_table(title, columns, self.ranks, classes="data")

    def label_table(self) -> ResultTable | None:
        """Table of the estimated labels that would change."""
        columns = [
            *pair_columns(70),
            Column.text("dimension", _("Dimension")),
            Column.text("before", _("Now")),
            Column.text("after", _("Without")),
        ]
        title = _("Estimated labels that change")
        return plain_table(title, columns, self.labels) if self.labels else None


def _changed(row: DimensionEffect) -> SafeString:
    lost = _("%(n)s lost") % {"n": row.labels.lost} if row.labels.lost else ""
    return beside(count(row.labels.changed), lost)


def _rank(row: Rank) -> SafeString | str:
    before = str(row.rank_before or _("none"))
    if not row.moves:
        return before
    after = row.rank_after or _("none")
    return bold(_("%(before)s to %(after)s") % {"before": before, "after": after})


def _share_column(name: str, label: str) -> Column:
    """A share with its interval, before or after."""

    def html(row: Rank) -> SafeString:
        low, high = getattr(row, f"low_{name}"), getattr(row, f"high_{name}")
        return beside(score(getattr(row, name), 2), interval(low, high, 2))

    return Column.number(name, label, html=html, classes="nowrap")


def leaving_worker(task: Task, worker: Membership, core: Run | None) -> LeavingWorker:
    """The worker's part in the task. Raises Conflict where they judged nothing in it."""
    main = Answer.objects.filter(item__task=task, stage=Answer.Stage.MAIN, worker__isnull=False)
    own = list(main.filter(worker=worker).values_list("counts", flat=True))
    if not own:
        raise Conflict(
            _("%(pseudonym)s judged nothing in this task.") % {"pseudonym": worker.pseudonym}
        )
    score = (
        WorkerScore.objects.filter(run=core, worker=worker, dimension="").first() if core else None
    )
    if score is not None:
        withhold_competence(score)
    every = list(task.exclusions.filter(worker=worker).select_related("worker", "by", "undone_by"))
    return LeavingWorker(
        worker=worker,
        judgments=len(own),
        counting=sum(own),
        everybody=main.filter(counts=True).count(),
        competence=score.estimate if score else None,
        low=score.low if score else None,
        high=score.high if score else None,
        standing=next((one for one in every if one.undone_at is None), None),
        before=[one for one in every if one.undone_at is not None],
    )


def effect(task: Task, worker: Membership, core: Run | None) -> Effect:
    """The study with and without the worker's judgments, by the recipe of the run shown.

    Raises Conflict where nothing of theirs counts, or nothing would be left.
    """
    frozen = judged.current_judgments(task)
    if worker.pk not in frozen.workers:
        raise Conflict(
            _("No judgment of %(pseudonym)s enters results, so nothing changes.")
            % {"pseudonym": worker.pseudonym}
        )
    params = dict(core.params) if core is not None else {}
    try:
        found = pairwise_exclusion.exclusion_effect(
            frozen.data,
            [frozen.workers.index(worker.pk)],
            seed=core.seed if core is not None else DEFAULT_SEED,
            **params,
        )
    except (DataError, BadParameter) as problem:
        raise Conflict(
            _("This cannot be foreseen: %(problem)s.") % {"problem": problem}
        ) from problem
    alphas = [
        Figure(_label(frozen, row["dimension"]), row["before"], row["after"])
        for row in found.alpha.rows()
    ]
    names = system_names(frozen.sources)
    systems = found.system.rows()
    golds = [
        LabelsChanged(_label(frozen, row["dimension"]), row["changed"], row["lost"], row["n"])
        for row in found.gold.rows()
    ]
    changed = found.labels.rows()
    return Effect(
        alphas=alphas[1:],
        mean=alphas[0] if len(alphas) > 2 else None,
        ranks=_ranks(systems, frozen, names),
        moving=_moving(systems, frozen, names),
        golds=golds[1:],
        gold=golds[0],
        labels=_labels(changed[:LISTED], frozen),
        more=max(0, len(changed) - LISTED),
        judgments=found.judgments,
        votes=found.judgments * len(frozen.dimensions),
        thin=found.thin,
        parts=found.parts,
        name=worker.pseudonym,
        sentence=_sentence(alphas[0] if len(alphas) > 2 else alphas[-1], golds[0], systems),
    )


def _label(frozen: PairsDataset, dimension: int) -> str:
    return frozen.asked[dimension].label if dimension >= 0 else _("Mean")


def _ranks(rows: Sequence[Row], frozen: PairsDataset, names: Mapping[int, str]) -> list[Rank]:
    """The board of all dimensions together, in its order before."""
    found = []
    for row in (row for row in rows if row["dimension"] < 0):
        figures = {
            key: against_average(row[key])
            for key in ("before", "low_before", "high_before", "after", "low_after", "high_after")
        }
        found.append(
            Rank(
                name=names[frozen.sources[row["system"]]],
                rank_before=row["rank_before"],
                rank_after=row["rank_after"],
                **figures,
            )
        )
    return sorted(found, key=lambda rank: (rank.rank_before or 10**6, rank.name))


def _moving(rows: Sequence[Row], frozen: PairsDataset, names: Mapping[int, str]) -> list[str]:
    """Who changes rank on a single dimension."""
    return [
        _("%(dimension)s: %(name)s from %(before)s to %(after)s")
        % {
            "dimension": _label(frozen, row["dimension"]),
            "name": names[frozen.sources[row["system"]]],
            "before": row["rank_before"] or _("none"),
            "after": row["rank_after"] or _("none"),
        }
        for row in rows
        if row["dimension"] >= 0 and row["rank_before"] != row["rank_after"]
    ]


def _labels(rows: Sequence[Row], frozen: PairsDataset) -> list[Label]:
    items = Item.objects.select_related("task", "first__system", "second__system").in_bulk(
        [frozen.pair_items[row["pair"]] for row in rows]
    )
    return [
        Label(
            items.get(frozen.pair_items[row["pair"]]),
            _label(frozen, row["dimension"]),
            *(
                _(WORDS[STORED[row[side]] if row[side] >= 0 else ""])
                for side in ("before", "after")
            ),
        )
        for row in rows
    ]


def _sentence(alpha: Figure, gold: LabelsChanged, systems: Sequence[Row]) -> str:
    """Say in one line what leaving out a worker would change in labels, ranks and alpha."""
    moved = sum(row["dimension"] < 0 and row["rank_before"] != row["rank_after"] for row in systems)
    told = {
        "changed": count(gold.changed),
        "labels": plural(gold.n, "estimated label"),
        "ranks": plural(moved, "rank") if moved else _("no rank"),
    }
    if alpha.before is None or alpha.after is None:
        return _("%(changed)s of %(labels)s would change, %(ranks)s on the board.") % told
    before, after = score(alpha.before, 3), score(alpha.after, 3)
    told |= {"before": before, "after": after}
    if before == after:
        said = _(
            "%(changed)s of %(labels)s would change, %(ranks)s on the board; raw α would stay "
            "%(before)s."
        )
    elif alpha.after > alpha.before:
        said = _(
            "%(changed)s of %(labels)s would change, %(ranks)s on the board; raw α would rise from "
            "%(before)s to %(after)s."
        )
    else:
        said = _(
            "%(changed)s of %(labels)s would change, %(ranks)s on the board; raw α would fall from "
            "%(before)s to %(after)s."
        )
    return said % told
