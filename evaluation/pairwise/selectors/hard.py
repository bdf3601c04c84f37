"""Pairs that can and cannot be told apart, the experts' alpha on the latter, and a pilot beside.

As CrowdRAG's Table 4 has them in columns: minimal difference, crowd (C) and experts (E).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Count, F, Q, Sum
from django.urls import reverse
from django.utils.translation import gettext

from annotation.authoring.selectors.tasks import with_titles
from annotation.models import Answer, ChoiceValue, Item, Task
from annotation.task_types.pairwise.sides import NEUTRAL
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Conflict
from crowdqc.numbers import count, plural
from evaluation.methods.agreement.counts import alpha_rows, alpha_statistic
from evaluation.models import Run, RunFigure
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.selectors import votes as pair_votes
from evaluation.pairwise.selectors.columns import pair_columns
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.results.cells import count_of_total
from evaluation.results.columns import Column, head_column
from evaluation.results.findings import Action, Finding
from evaluation.results.stored_texts import translate_figures
from evaluation.results.tables import ResultTable, plain_table
from evaluation.runs.official.selectors import official_runs
from evaluation.runs.selectors.lists import figures_of

SHOWN_PAIRS = 20
PILOT_VALUES = 20_000  # counts above which the pilot's alpha is left to a run of its own
MOST_EXPERT_PAIRS = 400
Row = Mapping[str, Any]
Values = dict[str, float | None]  # dimension ("" is the mean) -> alpha
Found = tuple[Run, list[dict[str, Any]]]  # a run and its agreement


@dataclass(frozen=True)
class Experts:
    """A task made of the hard pairs of another: how far it is, and its alpha beside the crowd's."""

    task: Task
    title: str
    pairs: int
    judgments: int
    slots: int
    run: Run | None
    alpha: Values
    crowd: Values
    neutral: Values  # share of the experts' votes
    crowd_neutral: Values

    @property
    def sentence(self) -> str:
        if self.run is not None:
            return gettext("%(pairs)s, %(judgments)s") % {
                "pairs": plural(self.pairs, "pair"),
                "judgments": plural(self.judgments, "judgment"),
            }
        if not self.judgments:
            return gettext("%(pairs)s; nobody has judged yet") % {
                "pairs": plural(self.pairs, "pair")
            }
        return gettext(
            "%(pairs)s, %(judgments)s of %(slots)s judgments; α (E) stands here after the first run"
        ) % {"pairs": plural(self.pairs, "pair"), "judgments": self.judgments, "slots": self.slots}


@dataclass(frozen=True)
class ApartLine:
    """One dimension: alpha on the easy pairs and on the hard ones, beside what noise gives."""

    label: str
    whole: float | None
    easy: float | None
    easy_null: float | None
    hard: float | None
    hard_null: float | None
    crowd: float | None  # on the experts' pairs
    experts: float | None
    crowd_neutral: float | None
    experts_neutral: float | None
    pilot: float | None


@dataclass(frozen=True)
class HardPair:
    """A pair on which too few dimensions agree."""

    item: Item
    agreeing: int
    n: int


@dataclass(frozen=True)
class Hard:
    """The section; ``needed`` of ``dimensions`` must agree for a pair to count as told apart."""

    rows: list[ApartLine]
    easy: int
    hard: int
    needed: int
    dimensions: int
    share: float
    pairs: list[HardPair]
    experts: Experts | None
    others: list[Experts]
    pilot_task: Task | None

    @property
    def has_experts(self) -> bool:
        return self.experts is not None and self.experts.run is not None

    def table(self) -> ResultTable:
        """Alpha of each dimension; the last line is the mean."""
        mean = self.rows[-1]
        noise = gettext("Noise there")
        figures = [
            ("whole", gettext("All pairs"), gettext("All")),
            ("easy", gettext("Told apart, %(n)s"), gettext("Told apart")),
            ("easy_null", noise, gettext("Noise")),
            ("hard", gettext("Not told apart, %(n)s"), gettext("Not told apart")),
            ("hard_null", noise, gettext("Noise")),
        ]
        if self.has_experts:
            figures += [
                ("crowd", gettext("Crowd (C), %(n)s"), gettext("Crowd")),
                ("experts", gettext("Experts (E), %(n)s"), gettext("Experts")),
            ]
        pairs = self.experts.pairs if self.experts else 0
        sizes = {"easy": self.easy, "hard": self.hard, "crowd": pairs, "experts": pairs}
        classes = {"easy_null": "zero", "hard_null": "zero", "experts": "strong"}
        columns = [head_column("label", gettext("Dimension"))]
        for key, label, short in figures:
            head = label % {"n": count(sizes[key])} if key in sizes else label
            more = classes.get(key, "")
            column = Column.score(key, head, short, classes=more)
            columns.append(column)
        if self.has_experts:
            columns += [
                Column.share("crowd_neutral", gettext("Neutral votes, crowd")),
                Column.share("experts_neutral", gettext("Neutral votes, experts")),
            ]
        if self.pilot_task:
            label, missing = gettext("Pointwise pilot"), gettext("not asked")
            pilot = Column.score("pilot", label, gettext("Pilot"))
            columns.append(replace(pilot, missing=missing))
        return plain_table(
            gettext("α on pairs that can be told apart and on the others"),
            columns,
            self.rows,
            row_class=lambda row: "mean" if row is mean else "",
        )

    def pair_table(self) -> ResultTable:
        """Table of the hardest pairs."""
        columns = [
            *pair_columns(90),
            Column.number(
                "agreeing",
                gettext("Dimensions that agree"),
                gettext("Agree"),
                html=lambda row: count_of_total(row.agreeing, self.dimensions),
            ),
            Column.count("n", gettext("Votes")),
        ]
        return plain_table(gettext("The hardest pairs"), columns, self.pairs)


def hard_pairs(
    task: Task, core: Run, checks: Mapping[str, Any], asked: Sequence[AskedDimension], raw: Values
) -> Hard | None:
    """The section from the figures of the checks; None before they are there."""
    if "pair" not in checks:
        return None
    told = [row for row in checks["pair"] if row["n"]]
    hard = _hard(told)
    found = experts(task, core)
    shown = next((one for one in found if one.run is not None), found[0] if found else None)
    pilot_task, pilot = pilot_alpha(task)
    split = {(row["differentiable"], row["dimension"]): row for row in checks["split"]}
    labels = [*((one.name, one.label) for one in asked), ("", gettext("Mean"))]
    return Hard(
        rows=[
            _apart(name, label, raw=raw, split=split, shown=shown, pilot=pilot)
            for name, label in labels
        ],
        easy=len(told) - len(hard),
        hard=len(hard),
        needed=checks["diagnostics"]["needed"],
        dimensions=len(asked),
        share=checks["recipe"]["params"]["share"],
        pairs=_listed(hard[:SHOWN_PAIRS]),
        experts=shown,
        others=[one for one in found if one is not shown],
        pilot_task=pilot_task if any(value is not None for value in pilot.values()) else None,
    )


def _apart(
    name: str,
    label: str,
    *,
    raw: Values,
    split: Mapping[tuple[bool, str], Row],
    shown: Experts | None,
    pilot: Values,
) -> ApartLine:
    easy, hard = split.get((True, name), {}), split.get((False, name), {})
    return ApartLine(
        label,
        raw.get(name),
        easy.get("alpha"),
        easy.get("null"),
        hard.get("alpha"),
        hard.get("null"),
        shown.crowd.get(name) if shown else None,
        shown.alpha.get(name) if shown else None,
        shown.crowd_neutral.get(name) if shown else None,
        shown.neutral.get(name) if shown else None,
        pilot.get(name),
    )


def _listed(rows: Sequence[Row]) -> list[HardPair]:
    items = Item.objects.select_related("task", "first__system", "second__system").in_bulk(
        [row["pair"] for row in rows]
    )
    return [
        HardPair(items[row["pair"]], row["agreeing"], row["n"])
        for row in rows
        if row["pair"] in items
    ]


def hardest(runs: ShownRun, limit: int) -> list[Item]:
    """The pairs to send to a panel, the fewest agreeing dimensions first.

    Raises Conflict where none is known to be hard.
    """
    checks = figures_of(runs.checks, "pair") if runs.checks else {}
    rows = _hard(row for row in checks.get("pair", []) if row["n"])[:limit]
    if not rows:
        raise Conflict(
            gettext("No pair is known to be hard: the checks find them, and found none yet.")
        )
    items = Item.objects.in_bulk([row["pair"] for row in rows])
    return [items[row["pair"]] for row in rows if row["pair"] in items]


def _hard(rows: Iterable[Row]) -> list[Row]:
    """Return the pairs that cannot be told apart, the hardest first."""
    return sorted(
        (row for row in rows if not row["differentiable"]),
        key=lambda row: (row["agreeing"], -row["n"], row["pair"]),
    )


def read_hard(run: Run, checks: Mapping[str, Any]) -> Finding:
    """Advise reading the pairs on which votes are split before asking for more."""
    hard = len(_hard(row for row in checks.get("pair", []) if row["n"]))
    page = reverse("pair_list", args=[run.project_id, run.task_id])
    url = f"{page}?run={run.number}{'&show=same' if hard else ''}"
    action = Action(gettext("Pairs to read"), url)
    if hard:
        return MESSAGES.find("read_hard_pairs", action=action, n=hard)
    return MESSAGES.find("read_split_pairs", action=action)


# Experts ---------------------------------------------------------------------------------------


def experts(task: Task, core: Run) -> list[Experts]:
    """Tasks made of pairs of this one, the newest first, in a fixed number of queries."""
    derived = list(
        with_titles(task.derived.filter(type=task.type)).select_related("current").order_by("-pk")
    )
    if not derived:
        return []
    live = Q(until__isnull=True, expected__isnull=True)
    sizes = {
        row["task_id"]: row
        for row in Item.objects.filter(live, task__in=derived)
        .order_by()
        .values("task_id")
        .annotate(n=Count("pk"), slots=Sum(F("redundancy")))
    }
    judged = dict(
        Answer.objects.filter(item__task__in=derived, counts=True, worker__isnull=False)
        .order_by()
        .values_list("item__task")
        .annotate(n=Count("pk"))
    )
    runs = official_runs([one.pk for one in derived])
    alphas = dict(
        RunFigure.objects.filter(run__in=runs.values(), name="agreement").values_list(
            "run_id", "data"
        )
    )
    translate_figures(alphas)
    told = {pk: (run, alphas[run.pk]) for pk, run in runs.items() if run.pk in alphas}
    shown = next((one for one in derived if one.pk in told), None)
    crowd = own = PanelVotes([], 0)
    if shown is not None:
        pairs = _judged_pairs(shown)
        crowd = votes_on(task, core, pairs)
        own = votes_on(shown, told[shown.pk][0], pairs)
    none = PanelVotes([], 0)
    return [
        _experts(
            one,
            sizes.get(one.pk, {}),
            judged.get(one.pk, 0),
            told.get(one.pk),
            (crowd, own) if one is shown else (none, none),
        )
        for one in derived
    ]


def _experts(
    task: Task,
    size: Row,
    judged: int,
    found: Found | None,
    votes: tuple[PanelVotes, PanelVotes],
) -> Experts:
    """``votes`` are those of the crowd and of the experts on the experts' pairs."""
    run, told = found or (None, [])
    crowd, own = votes
    if run is not None and run.snapshot is not None:  # what entered its alpha
        judged = run.snapshot.counts["answers"]
    return Experts(
        task=task,
        title=getattr(task, "title", "") or gettext("Expert panel"),
        pairs=size.get("n", 0),
        judgments=judged,
        slots=size.get("slots") or 0,
        run=run,
        alpha={row["dimension"]: row["alpha"] for row in told},
        crowd=crowd.alpha,
        neutral=own.neutral,
        crowd_neutral=crowd.neutral,
    )


@dataclass(frozen=True)
class PanelVotes:
    """First votes of people on some pairs, each as place of the pair and codes by dimension."""

    votes: Sequence[tuple[int, Mapping[str, str]]]
    pairs: int

    @property
    def dimensions(self) -> list[str]:
        return sorted({name for _, codes in self.votes for name in codes})

    def values(self, dimension: str) -> list[tuple[int, int]]:
        """Pair and place of the code among ``STORED``, a row a vote on the dimension."""
        stored = pair_votes.STORED
        known = [(pair, codes.get(dimension, "")) for pair, codes in self.votes]
        return [(pair, stored.index(code)) for pair, code in known if code in stored]

    @property
    def alpha(self) -> Values:
        """Raw ordinal alpha by dimension, "" for their mean."""
        every = range(len(pair_votes.STORED))
        found = {
            name: alpha_of([(*row, 1) for row in self.values(name)], self.pairs, every)
            for name in self.dimensions
        }
        return {**found, "": mean_of(found.values())}

    @property
    def neutral(self) -> Values:
        """Share of neutral votes by dimension, "" for their mean."""
        neutral = pair_votes.STORED.index(NEUTRAL)
        found: Values = {}
        for name in self.dimensions:
            codes = [code for _, code in self.values(name)]
            found[name] = codes.count(neutral) / len(codes) if codes else None
        return {**found, "": mean_of(found.values())}


def _judged_pairs(task: Task) -> set[pair_votes.Pair]:
    rows = Item.objects.filter(task=task, second__isnull=False)
    ids = rows.values_list("first_id", "second_id")[:MOST_EXPERT_PAIRS]
    return {(a, b) for a, b in ids if a is not None and b is not None}


def votes_on(task: Task, run: Run, pairs: set[pair_votes.Pair]) -> PanelVotes:
    """The first votes of a task's people on these pairs, of those that a run saw."""
    of = pair_votes.sibling_items(task, pairs)
    seen = pair_votes.answer_ids_of_run(run)
    given = pair_votes.votes(Q(item__in=of, worker__isnull=False, counts=True))
    first = pair_votes.first_votes([v for v in given if seen is None or v.id in seen], of)
    place = {pair: k for k, pair in enumerate(sorted(pairs))}
    return PanelVotes([(place[of[vote.item]], vote.codes) for vote in first], len(place))


# The pilot -------------------------------------------------------------------------------------


def pilot_alpha(task: Task) -> tuple[Task | None, Values]:
    """Alpha of point-wise ratings of the same texts, by dimension of the same name.

    Counted in the database; None where there are no such ratings, or too many for a page.
    """
    texts = Item.objects.filter(task=task, first__isnull=False)
    same = Q(first__in=texts.values("first")) | Q(first__in=texts.values("second"))
    pilot = (
        Task.objects.filter(project=task.project_id, type="rating", current__isnull=False)
        .filter(pk__in=Item.objects.filter(same, task__type="rating").values("task"))
        .order_by("-pk")
        .first()
    )
    if pilot is None:
        return None, {}
    rows = list(
        ChoiceValue.objects.filter(
            answer__item__task=pilot,
            answer__counts=True,
            answer__worker__isnull=False,
            answer__stage=Answer.Stage.MAIN,
            ordinal__isnull=False,
        )
        .order_by()
        .values_list("field", "answer__item", "ordinal")
        .annotate(n=Count("pk"))[: PILOT_VALUES + 1]
    )
    if len(rows) > PILOT_VALUES:
        return pilot, {}
    place = {pk: k for k, pk in enumerate(sorted({item for _, item, _, _ in rows}))}
    found: Values = {}
    for name in sorted({row[0] for row in rows}):
        own = [(place[item], ordinal, n) for field, item, ordinal, n in rows if field == name]
        found[name] = alpha_of(own, len(place), sorted({ordinal for _, ordinal, _ in own}))
    return pilot, {**found, "": mean_of(found.values())}


def alpha_of(
    rows: Iterable[tuple[int, int, int]], items: int, values: Iterable[int]
) -> float | None:
    """Ordinal alpha of (item, value, votes); None where it is not defined."""
    known = list(values)
    counts = np.zeros((items, len(known)))
    for item, value, n in rows:
        counts[item, known.index(value)] += n
    statistic = alpha_statistic("ordinal", np.array(known, dtype=np.float64))
    found = float(statistic(alpha_rows(counts).sum(axis=0)))
    return None if np.isnan(found) else found


def mean_of(values: Iterable[float | None]) -> float | None:
    """The mean of what is defined."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
