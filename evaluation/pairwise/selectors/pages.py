"""The list of a study's pairs, and one pair with everything known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, Func, JSONField, Q, QuerySet, Value
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotation.models import Item, System, Task
from annotation.task_types.pairwise.sides import STORED
from annotation.work.selectors import speed
from annotation.work.snapshots.answers import pseudonyms
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Missing
from crowdqc.numbers import count, listed
from evaluation.charts import pairs as chart_pairs
from evaluation.models import ItemLabel, Run, RunFigure, WorkerScore
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors import votes as pair_votes
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.pairwise.selectors.votes import Tally, Vote, pair_of
from evaluation.runs.selectors.verdicts import NextStep, Verdict

PER_PAGE = 50
# Column -> how the database sorts by it, the most wanted first.
SORTS: dict[str, tuple[Any, ...]] = {
    "uncertain": (F("entropy").desc(nulls_last=True),),
    "certain": (F("entropy").asc(nulls_last=True),),
    "topic": ("item__group__position", "item__group__key"),
    "votes": ("n",),
}
BESIDE = ("dawid_skene", "majority")
LAST = ("item__position", "item_id")
LETTERS = dict(zip(STORED, ("A", "N", "B"), strict=True))
ROW = ("item", "item__group", "item__first__system", "item__second__system")
Told = Mapping[str, Any]


def rows_where(run: Run | None, name: str, column: str, value: int) -> list[dict[str, Any]]:
    """Rows of a figure in which a column has this value, picked by the database."""
    if run is None:
        return []
    path = Func(
        F("data"),
        Value("$[*] ? (@.%s == %d)" % (column, value)),  # noqa: UP031
        function="jsonb_path_query_array",
        template="%(function)s(%(expressions)s::jsonpath)",
        output_field=JSONField(),
    )
    found = RunFigure.objects.filter(run=run, name=name).values_list(path, flat=True).first()
    return found or []


def other_label(label: ItemLabel, method: str) -> dict[str, Any]:
    """The label of the majority or of Dawid-Skene."""
    code = label.extra.get(method, "")
    # No letter where it has none: two labels are level, or the run is older than this.
    return {"letter": LETTERS.get(code, ""), "differs": bool(code) and code != label.label}


# The list --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairRow:
    """A pair on the list: its label on a dimension, how sure, and the votes behind it."""

    label: ItemLabel
    first: str
    second: str
    tally: Tally
    bar: SafeString
    apart: Told | None  # on how many dimensions it can be told apart

    @property
    def posterior(self) -> float | None:
        """Of the label itself."""
        return self.label.posterior.get(self.label.label)

    @property
    def letter(self) -> str:
        return LETTERS.get(self.label.label, "")

    @property
    def beside(self) -> list[dict[str, Any]]:
        """Of Dawid-Skene and of the majority."""
        return [other_label(self.label, method) for method in BESIDE]

    @property
    def winner(self) -> str:
        """What the label says in words."""
        named = {"first": self.first, "second": self.second, "neutral": gettext("neither")}
        return named.get(self.label.label, gettext("no label"))


@dataclass(frozen=True)
class Filters:
    """What the list is narrowed to, and its order."""

    show: str = ""  # "same": pairs that can hardly be told apart
    topic: str = ""
    sort: str = "uncertain"


def filters(raw: Mapping[str, str]) -> Filters:
    """From a query string; what is not understood filters nothing."""
    sort = raw.get("sort", "")
    return Filters(
        "same" if raw.get("show") == "same" else "",
        raw.get("topic", ""),
        sort if sort in SORTS else "uncertain",
    )


def count_separable(checks: Run | None) -> dict[int, Told]:
    """By pair: on how many dimensions it can be told apart; empty before the checks are done."""
    if checks is None:
        return {}
    data = RunFigure.objects.filter(run=checks, name="pair").values_list("data", flat=True).first()
    return {row["pair"]: row for row in data or []}


def topics(run: Run, dimension: str) -> list[str]:
    """The topics of the run's pairs, in their order."""
    rows = (
        ItemLabel.objects.filter(run=run, dimension=dimension)
        .order_by("item__group__position", "item__group__key")
        .values_list("item__group__key", flat=True)
        .distinct()
    )
    return list(dict.fromkeys(rows))


def _labels(run: Run, dimension: str, chosen: Filters, told: Mapping[int, Told]) -> QuerySet[Any]:
    found = ItemLabel.objects.filter(run=run, dimension=dimension).select_related(*ROW)
    found = found.defer("item__group__passage", "item__first__text", "item__second__text")
    if chosen.topic:
        found = found.filter(item__group__key=chosen.topic)
    if chosen.show and told:
        found = found.filter(item__in=[pk for pk, row in told.items() if not row["differentiable"]])
    return found.order_by(*SORTS[chosen.sort], *LAST)


def pair_list(
    task: Task, runs: ShownRun, dimension: str, chosen: Filters, *, page: Any
) -> dict[str, Any]:
    """A page of pairs with the votes behind each label, of the core run shown."""
    if runs.core is None:
        raise Missing(gettext("This task has no finished run."))
    run = runs.core
    told = count_separable(runs.checks)
    shown = Paginator(_labels(run, dimension, chosen, told), PER_PAGE).get_page(page)
    hard = sum(not row["differentiable"] for row in told.values())
    return {
        "page": shown,
        "verdict": told_apart(hard, len(told)).then(_read_hard(run, dimension, hard)),
        "rows": _list_rows(task, run, dimension, shown, told),
        "chosen": chosen,
        "topics": topics(run, dimension),
        "split": (hard, len(told)),
    }


def told_apart(hard: int, pairs: int) -> Verdict:
    """In how many of the pairs that were tested the votes separate the two texts."""
    told = {"hard": count(hard), "pairs": count(pairs)}
    if not pairs:
        return Verdict(_("Which pairs can be told apart is not computed for this run."))
    if not hard:
        return Verdict(_("The votes tell the two texts of every pair apart."))
    return Verdict(
        _("The texts of %(hard)s of %(pairs)s pairs cannot be separated by their votes.") % told
    )


def _read_hard(run: Run, dimension: str, hard: int) -> NextStep:
    if not hard:
        return NextStep(_("Nothing to do: begin with the least certain pairs if you check labels."))
    page = reverse("pair_list", args=[run.project_id, run.task_id])
    query = urlencode({"dimension": dimension, "show": "same", "run": str(run.number)})
    return NextStep(
        _("Read these pairs: treat their labels as uncertain, or collect more votes on them."),
        _("Show these pairs"),
        f"{page}?{query}",
    )


def _list_rows(
    task: Task, run: Run, dimension: str, page: Page, told: Mapping[int, Told]
) -> list[PairRow]:
    labels: Sequence[ItemLabel] = list(page.object_list)
    pairs = {pair_of(label.item) for label in labels}
    counted = pair_votes.tallies(task, run, pairs, dimension)
    return [
        PairRow(
            label=label,
            first=str(label.item.first.system if label.item.first else ""),
            second=str(label.item.second.system if label.item.second else ""),
            tally=counted[pair_of(label.item)],
            bar=posterior_bar(label),
            apart=told.get(label.item_id),
        )
        for label in labels
    ]


def posterior_bar(label: ItemLabel, width: float = 120.0) -> SafeString:
    """How probable each label is, as a bar."""
    values = [label.posterior.get(code) or 0.0 for code in STORED]
    return chart_pairs.shares(values, ("A", "neutral", "B"), width=width, what=gettext("Posterior"))


# One pair --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DimensionRow:
    """What is known of a pair on one dimension."""

    asked: AskedDimension
    label: ItemLabel | None
    bar: SafeString | None
    tally: Tally
    stable: float | None  # share of resampled crowds that give the same label
    published: list[ItemLabel]

    @property
    def letter(self) -> str:
        return LETTERS.get(self.label.label, "none") if self.label else "none"

    @property
    def posterior(self) -> float | None:
        return self.label.posterior.get(self.label.label) if self.label else None

    @property
    def beside(self) -> list[dict[str, Any]]:
        """Of Dawid-Skene and of the majority."""
        if self.label is None:
            return [{"letter": "", "differs": False} for _ in BESIDE]
        return [other_label(self.label, method) for method in BESIDE]

    @property
    def others(self) -> str:
        """The published label, or labels where both ways round have one."""
        letters = dict.fromkeys(LETTERS.get(one.label, "none") for one in self.published)
        return listed(list(letters)) or "none"

    @property
    def agrees(self) -> bool:
        return bool(self.published) and self.others == self.letter


def get_pair(task: Task, item_id: int) -> Item:
    """An item of the task that puts a pair to judgment; Missing where it is none."""
    found = (
        Item.objects.filter(task=task, pk=item_id, second__isnull=False)
        .select_related(
            "group",
            "first__system",
            "second__system",
            "first__author",
            "first__source_answer__item",
            "second__source_answer__item",
        )
        .first()
    )
    if found is None:
        raise Missing(gettext("This task has no such pair."))
    return found


def pair_page(
    task: Task, runs: ShownRun, item: Item, asked: Sequence[AskedDimension]
) -> dict[str, Any]:
    """A pair with its labels, votes and neighbours, in a fixed number of queries."""
    pair = pair_of(item)
    items = pair_votes.sibling_items(task, {pair}) if item.expected is None else {item.pk: pair}
    given = pair_votes.votes(Q(item__in=items))
    seen = pair_votes.seen_by(runs.core) if runs.core is not None else frozenset()
    labels = _of_items(runs.core, items)
    gold = {label.dimension: label.label for label in labels}
    people = [vote for vote in given if vote.worker is not None]
    counted = [v for v in people if (v.counts if seen is None else v.id in seen)]
    firsts = pair_votes.first_votes(counted, items)
    # Everything on a pair's page.
    found = {
        "item": item,
        "items": len(items),
        "rows": [],
        "votes": [],
        "machines": [],
        "before": None,
        "after": None,
        "apart": None,
    }
    found["rows"] = _dimensions(runs, items, labels, firsts, asked)
    found["votes"] = _people(task, runs.core, people, gold, asked, seen=seen)
    found["machines"] = _machines([v for v in given if v.system is not None], gold, asked)
    stands = next((label.item_id for label in labels), item.pk)
    found["before"], found["after"] = _neighbours(runs.core, stands, labels)
    told = rows_where(runs.checks, "pair", "pair", stands)
    found["apart"] = told[0] if told else None
    return found


def _of_items(run: Run | None, items: Iterable[int]) -> list[ItemLabel]:
    return list(ItemLabel.objects.filter(run=run, item__in=items)) if run is not None else []


def _dimensions(
    runs: ShownRun,
    items: Iterable[int],
    labels: Sequence[ItemLabel],
    firsts: Sequence[Vote],
    asked: Sequence[AskedDimension],
) -> list[DimensionRow]:
    own = {label.dimension: label for label in labels}
    other = runs.published if runs.published != runs.core else None
    published = _of_items(other, items)
    stands = next((label.item_id for label in labels), 0)
    steady = {
        row["dimension"]: row for row in rows_where(runs.checks, "label_stability", "pair", stands)
    }
    found = []
    for one in asked:
        label = own.get(one.name)
        share = steady.get(one.name, {}).get(f"s_{label.label}") if label else None
        found.append(
            DimensionRow(
                asked=one,
                label=label,
                bar=posterior_bar(label, 160.0) if label else None,
                tally=pair_votes.tally(firsts, one.name),
                stable=share,
                published=[row for row in published if row.dimension == one.name],
            )
        )
    return found


def _letters(
    vote: Vote, gold: Mapping[str, str], asked: Sequence[AskedDimension]
) -> list[tuple[str, bool, str]]:
    codes = [(one, vote.codes.get(one.name, "")) for one in asked]
    return [(LETTERS.get(code, ""), gold.get(one.name) == code, one.label) for one, code in codes]


def _people(
    task: Task,
    run: Run | None,
    people: Sequence[Vote],
    gold: Mapping[str, str],
    asked: Sequence[AskedDimension],
    *,
    seen: frozenset[int] | None,
) -> list[dict[str, Any]]:
    ids = {vote.worker for vote in people if vote.worker is not None}
    names = pseudonyms(ids)
    scores = {
        row.worker_id: row
        for row in WorkerScore.objects.filter(run=run, worker__in=ids, dimension=POOLED)
    }
    out = pair_votes.excluded(task)
    times = speed.times_of(task, {v.assignment for v in people if v.assignment is not None})
    first = {vote.worker: vote.id for vote in reversed(people)}  # in the order given
    return [
        {
            "vote": vote,
            "name": names.get(vote.worker or 0, ""),
            "score": scores.get(vote.worker or 0),
            "seconds": times[vote.id].seconds_total if vote.id in times else None,
            "times": times.get(vote.id),
            "letters": _letters(vote, gold, asked),
            "again": first[vote.worker] != vote.id,
            "excluded": vote.worker in out,
            "since": seen is not None and vote.id not in seen,
        }
        for vote in people
    ]


def _machines(
    given: Sequence[Vote], gold: Mapping[str, str], asked: Sequence[AskedDimension]
) -> list[dict[str, Any]]:
    names = {
        one.pk: str(one) for one in System.objects.filter(pk__in={vote.system for vote in given})
    }
    # A judgment as the pair's page shows it.
    rows = [
        {
            "vote": vote,
            "name": names.get(vote.system or 0, ""),
            "score": None,
            "seconds": None,
            "times": None,
            # of each dimension: a letter, is it gold, its name
            "letters": _letters(vote, gold, asked),
            # the worker had judged the pair before; a model was asked by a repeat
            "again": vote.repeat,
            "excluded": False,
            # came after the run
            "since": False,
        }
        for vote in given
    ]
    return sorted(rows, key=lambda row: (row["name"], row["vote"].flipped, row["vote"].id))


def _neighbours(
    run: Run | None, item_id: int, labels: Sequence[ItemLabel]
) -> tuple[int | None, int | None]:
    """The pairs before and after this one, in the order of the task; ``labels`` are its own."""
    if run is None or not labels:
        return None, None
    same = ItemLabel.objects.filter(run=run, dimension=labels[0].dimension)
    ids = list(same.order_by(*SORTS["topic"], *LAST).values_list("item_id", flat=True))
    if item_id not in ids:
        return None, None
    at = ids.index(item_id)
    return (ids[at - 1] if at else None), (ids[at + 1] if at + 1 < len(ids) else None)
