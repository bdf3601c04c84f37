"""Votes on pairs as the pages of a study read them: who, shown how, in a run or since."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models import Q

from annotation.models import Answer, ChoiceValue, Item, Task
from annotation.task_types.pairwise.sides import NEUTRAL, STORED, to_displayed
from evaluation.models import Run, Snapshot

Pair = tuple[int, int]  # ids of the first and the second candidate


def pair_of(item: Item) -> Pair:
    """The pair that an item puts to judgment."""
    return item.first_id or 0, item.second_id or 0


@dataclass
class Vote:
    """One judgment of a pair, by a person or a system, with a code a dimension."""

    id: int
    item: int
    worker: int | None
    system: int | None
    assignment: int | None
    flipped: bool
    position: int | None
    at: dt.datetime
    counts: bool
    why: str
    repeat: bool
    sides_known: bool
    codes: dict[str, str] = field(default_factory=dict)

    def side(self, dimension: str) -> str:
        """Return the side chosen on a dimension as displayed; "" if none was, or it is unknown."""
        code = self.codes.get(dimension)
        if code not in STORED or not self.sides_known:
            return NEUTRAL if code == NEUTRAL else ""
        return to_displayed(code, flipped=self.flipped)

    @property
    def order(self) -> tuple[dt.datetime, int, int]:
        return self.at, self.position or 0, self.id


COLUMNS = (
    "pk",
    "item_id",
    "worker_id",
    "system_id",
    "assignment_id",
    "flipped",
    "order_shown",
    "answered_at",
    "counts",
    "uncounted_reason",
    "item__repeat",
    "sides_known",
)


def votes(condition: Q, dimensions: Collection[str] | None = None) -> list[Vote]:
    """Judgments under a condition on answers, in their order (two queries)."""
    rows = Answer.objects.filter(condition, stage=Answer.Stage.MAIN).values_list(*COLUMNS)
    found = {row[0]: Vote(*row) for row in rows}
    values = ChoiceValue.objects.filter(answer__in=found)
    if dimensions is not None:
        values = values.filter(field__in=dimensions)
    for answer, name, code in values.values_list("answer_id", "field", "code"):
        found[answer].codes[name] = code
    return sorted(found.values(), key=lambda vote: vote.order)


def answer_ids_of_run(run: Run) -> frozenset[int] | None:
    """Ids of the answers that a run saw; None for an imported result, which kept none."""
    if run.snapshot_id is None:
        return None
    ids = Snapshot.objects.values_list("answer_ids", flat=True).get(pk=run.snapshot_id)
    return frozenset(ids)


def sibling_items(task: Task, pairs: Collection[Pair]) -> dict[int, Pair]:
    """Items that put one of these pairs to judgment, repeats too; attention pairs left out."""
    rows = Item.objects.filter(
        task=task,
        expected__isnull=True,
        first__in={a for a, _ in pairs},
        second__in={b for _, b in pairs},
    ).values_list("pk", "first_id", "second_id")
    wanted = set(pairs)
    return {pk: (a, b) for pk, a, b in rows if a is not None and b is not None and (a, b) in wanted}


def first_votes(given: Iterable[Vote], of: Mapping[int, Pair]) -> list[Vote]:
    """Keep only each worker's first judgment of a pair."""
    met: set[tuple[int, Pair]] = set()
    kept = []
    for vote in given:
        if vote.worker is None:
            continue
        key = vote.worker, of[vote.item]
        if key not in met:
            met.add(key)
            kept.append(vote)
    return kept


@dataclass(frozen=True)
class Tally:
    """Votes on one pair and dimension."""

    first: int
    neutral: int
    second: int

    @property
    def n(self) -> int:
        return self.first + self.neutral + self.second

    @property
    def top_share(self) -> float | None:
        """The share of the commonest label."""
        return max(self.first, self.neutral, self.second) / self.n if self.n else None

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.first, self.neutral, self.second


def tally(given: Iterable[Vote], dimension: str) -> Tally:
    """Counts of the codes on a dimension."""
    codes = [vote.codes.get(dimension) for vote in given]
    return Tally(*(codes.count(code) for code in STORED))


def tallies(task: Task, run: Run, pairs: Collection[Pair], dimension: str) -> dict[Pair, Tally]:
    """Count the votes that a run used on these pairs and a dimension (four queries)."""
    of = sibling_items(task, pairs)
    seen = answer_ids_of_run(run)
    given = votes(Q(item__in=of, worker__isnull=False), [dimension])
    if seen is not None:
        given = [vote for vote in given if vote.id in seen]
    by_pair: dict[Pair, list[Vote]] = {}
    for vote in first_votes(given, of):
        by_pair.setdefault(of[vote.item], []).append(vote)
    return {pair: tally(by_pair.get(pair, []), dimension) for pair in pairs}


def excluded(task: Task) -> dict[int, int]:
    """Return excluded workers with their exclusion, by id."""
    return dict(task.exclusions.in_force().values_list("worker_id", "pk"))
