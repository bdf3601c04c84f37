"""The list of a study's pairs, and one pair with everything known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, Func, JSONField, Q, QuerySet, Value
from django.urls import reverse
from django.utils.html import format_html, format_html_join
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
from crowdqc.numbers import count, interval, listed, score
from evaluation.charts import pairs as chart_pairs
from evaluation.models import ItemLabel, Run, RunFigure, WorkerScore
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors import votes as pair_votes
from evaluation.pairwise.selectors.boards import default_dimension
from evaluation.pairwise.selectors.columns import pair_link
from evaluation.pairwise.selectors.names import is_generated_id
from evaluation.pairwise.selectors.runs import ShownRun, dimensions
from evaluation.pairwise.selectors.votes import Tally, Vote, pair_of
from evaluation.pairwise.selectors.workers import withhold_competence
from evaluation.results.cells import (
    Cell,
    beside,
    bold,
    chip,
    count_of_total,
    dim,
    empty_cell,
    hidden,
    inline,
    link,
)
from evaluation.results.columns import Column, Format, head_column
from evaluation.results.findings import Action, Finding
from evaluation.results.shared_items import NOT_SHOWN, SharedItems, can_show_votes
from evaluation.results.stored_texts import translate_figures
from evaluation.results.tables import ResultTable, plain_table

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
    return list(translate_figures(found or []))


@dataclass(frozen=True)
class MethodLabel:
    """The label of another method; no letter where two are level, or the run is older than this."""

    letter: str = ""
    differs: bool = False


def method_labels(label: ItemLabel | None) -> list[MethodLabel]:
    """The labels of Dawid-Skene and of the majority."""
    codes = [label.extra.get(method, "") if label else "" for method in BESIDE]
    return [
        MethodLabel(LETTERS.get(code, ""), bool(code) and label is not None and code != label.label)
        for code in codes
    ]


def _method_column(at: int, label: str, term: str) -> Column:
    def html(row: PairRow | DimensionRow) -> SafeString | str:
        found = row.beside[at]
        return chipped(found.letter, gettext("differs") if found.differs else "") or empty_cell()

    return Column.text(term, label, label, term=term, html=html, classes="nowrap")


def chipped(text: str, chip_text: str) -> SafeString | str:
    """Put a chip behind the text if there is one."""
    return format_html("{} {}", text, chip(chip_text)) if chip_text else text


def label_columns() -> list[Column]:
    """Return the columns of a list of labels, from the posterior on."""
    hidden_head = hidden(gettext("Posterior of A, neutral, B"))
    split = gettext("A, neutral, B")
    return [
        Column.score("posterior", gettext("Posterior"), "", term="posterior", classes="l1r"),
        Column.text("bar", hidden_head, html=_bar, classes="bar", head_classes="bar-head"),
        Column.score("label.entropy", gettext("Entropy"), term="entropy", sort="entropy"),
        _method_column(0, gettext("Dawid-Skene"), "dawid-skene"),
        _method_column(1, gettext("Majority"), "majority"),
        Column.number("tally", split, html=_parts, classes="nowrap"),
        Column.count("tally.n", gettext("Votes"), sort="votes", missing=NOT_SHOWN),
        Column.share("tally.top_share", gettext("Same label")),
    ]


def _bar(row: PairRow | DimensionRow) -> SafeString | str:
    return row.bar or ""


def _parts(row: PairRow | DimensionRow) -> str:
    return ", ".join(str(n) for n in row.tally.parts) if row.tally else str(NOT_SHOWN)


# The list --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairRow:
    """A pair on the list: its label on a dimension, how sure, and the votes behind it."""

    label: ItemLabel
    url: str
    first: str
    second: str
    tally: Tally | None  # None where it would tell what one worker answered
    bar: SafeString | str
    apart: Told | None  # on how many dimensions it can be told apart

    @property
    def posterior(self) -> float | None:
        """Posterior probability of the label."""
        return self.label.posterior.get(self.label.label)

    @property
    def letter(self) -> str:
        return LETTERS.get(self.label.label, "")

    @property
    def beside(self) -> list[MethodLabel]:
        """Return the labels of the other methods, to show beside this one."""
        return method_labels(self.label)

    @property
    def winner(self) -> str:
        """The preferred text in words: its source, "neither" or "no label"."""
        named = {"first": self.first, "second": self.second, "neutral": gettext("neither")}
        return named.get(self.label.label, gettext("no label"))


@dataclass(frozen=True)
class Filters:
    """What the list is narrowed to, and its order."""

    show: str = ""  # "same": pairs that can hardly be told apart
    topic: str = ""
    sort: str = "uncertain"


def filters(raw: Mapping[str, str]) -> Filters:
    """Read filters from a query string; unknown values filter nothing."""
    sort = raw.get("sort", "")
    return Filters(
        "same" if raw.get("show") == "same" else "",
        raw.get("topic", ""),
        sort if sort in SORTS else "uncertain",
    )


def count_separable(checks: Run | None) -> dict[int, Told]:
    """Return by pair the row that counts the dimensions on which it can be told apart."""
    if checks is None:
        return {}
    data = RunFigure.objects.filter(run=checks, name="pair").values_list("data", flat=True).first()
    return {row["pair"]: row for row in data or []}


def topics(run: Run, dimension: str) -> list[str]:
    """The topics of the run's pairs that somebody gave an id, in their order."""
    rows = (
        ItemLabel.objects.filter(run=run, dimension=dimension)
        .order_by("item__group__position", "item__group__key")
        .values_list("item__group__key", flat=True)
        .distinct()
    )
    return [key for key in dict.fromkeys(rows) if not is_generated_id(key)]


def _labels(run: Run, dimension: str, chosen: Filters, told: Mapping[int, Told]) -> QuerySet[Any]:
    found = ItemLabel.objects.filter(run=run, dimension=dimension).select_related(*ROW)
    found = found.defer("item__group__passage", "item__first__text", "item__second__text")
    if chosen.topic:
        found = found.filter(item__group__key=chosen.topic)
    if chosen.show and told:
        found = found.filter(item__in=[pk for pk, row in told.items() if not row["differentiable"]])
    return found.order_by(*SORTS[chosen.sort], *LAST)


def _list_columns(dimensions: int, *, checked: bool) -> list[Column]:
    """``checked``: on how many dimensions pairs can be told apart is known."""
    columns = [
        head_column(
            "label",
            gettext("Pair, A and B"),
            sort="topic",
            html=lambda row: pair_link(
                row.url, (row.first, row.second), row.label.item.question, 90
            ),
            classes="pair-cell",
        ),
        Column.text(
            "letter",
            gettext("Estimated label"),
            gettext("Estimated"),
            term="estimated-label",
            html=_estimated,
            classes="pair-label",
        ),
        *(replace(one, key="label.n") if one.sort == "votes" else one for one in label_columns()),
    ]
    if checked:
        html = partial(_apart, dimensions=dimensions)
        label = gettext("Told apart on")
        columns.append(Column.number("apart", label, html=html, classes="nowrap"))
    return columns


def _estimated(row: PairRow) -> SafeString:
    return beside(bold(row.letter), row.winner) if row.letter else dim(gettext("no label"))


def _apart(row: PairRow, *, dimensions: int) -> SafeString | str:
    if not row.apart:
        return empty_cell()
    hardly = "" if row.apart["differentiable"] else gettext("hardly")
    return chipped(count_of_total(row.apart["agreeing"], dimensions), hardly)


def _sorts(dimension: str, chosen: Filters, keep: str) -> dict[str, dict[str, str]]:
    """The links of heads that sort; ``keep``: the query that keeps the run shown."""
    by_entropy = chosen.sort in ("uncertain", "certain")
    leads = {
        "topic": "topic",
        "entropy": "certain" if chosen.sort == "uncertain" else "uncertain",
        "votes": "votes",
    }
    made = {}
    for name, sort in leads.items():
        query = {"sort": sort, "dimension": dimension}
        query |= {"show": chosen.show} if chosen.show else {}
        query |= {"topic": chosen.topic} if chosen.topic else {}
        is_sorted = by_entropy if name == "entropy" else chosen.sort == name
        order = "descending" if chosen.sort == "uncertain" else "ascending"
        made[name] = {
            "query": f"?{urlencode(query)}{keep.replace('?', '&')}",
            "aria": order if is_sorted else "",
        }
    return made


def pair_list(
    task: Task, runs: ShownRun, dimension: str, chosen: Filters, *, page: Any, keep: str
) -> dict[str, Any]:
    """A page of pairs with the votes behind each label, of the core run shown.

    ``keep``: the query of addresses that keeps the run shown.
    """
    if runs.core is None:
        raise Missing(gettext("This task has no finished run."))
    run = runs.core
    told = count_separable(runs.checks)
    shown = Paginator(_labels(run, dimension, chosen, told), PER_PAGE).get_page(page)
    hard = sum(not row["differentiable"] for row in told.values())
    rows = _list_rows(task, run, dimension, shown, told, keep=keep)
    return {
        "page": shown,
        "findings": [pairs_verdict(hard, len(told)), _read_hard(run, dimension, hard)],
        "table": _pair_table(
            rows,
            _list_columns(len(dimensions(task)), checked=bool(told)),
            sorts=_sorts(dimension, chosen, keep),
        )
        if rows
        else None,
        "chosen": chosen,
        "topics": topics(run, dimension),
        "split": (hard, len(told)),
    }


def shared_items(run: Run, query: Mapping[str, str]) -> SharedItems:
    """Return the pairs for a link in the order of the task, on one dimension."""
    asked = [(one.name, one.label) for one in dimensions(run.task)]
    names = [name for name, _label in asked]
    wanted = query.get(SharedItems.DIMENSION)
    chosen = wanted if wanted in names else default_dimension(dimensions(run.task))
    labels = _labels(run, chosen, Filters(sort="topic"), {})
    page = Paginator(labels, PER_PAGE).get_page(query.get(SharedItems.PAGE))
    rows = [_without_votes(row) for row in _list_rows(run.task, run, chosen, page, {}, keep="")]
    table = _pair_table(rows, _list_columns(len(asked), checked=False)) if rows else None
    return SharedItems(page, table, asked, chosen)


def _without_votes(row: PairRow) -> PairRow:
    """The pair with its label alone where its votes would tell what one worker answered."""
    if row.tally is None or can_show_votes(row.tally.parts):
        return row
    row.label.posterior, row.label.entropy = {}, None
    return replace(row, tally=None, bar="")


def _pair_table(
    rows: Sequence[PairRow],
    columns: Sequence[Column],
    sorts: Mapping[str, Mapping[str, str]] | None = None,
) -> ResultTable:
    return plain_table(
        gettext("Pairs with their estimated label, how sure it is, and the votes behind it"),
        columns,
        rows,
        sorts=sorts or {},
        classes="data two-line pair-table",
    )


def pairs_verdict(hard: int, pairs: int) -> Finding:
    """Say in how many of the tested pairs the votes separate the two texts."""
    if not pairs:
        return MESSAGES.find("pairs_untested")
    if not hard:
        return MESSAGES.find("pairs_all_apart")
    return MESSAGES.find("pairs_not_apart", n=hard, hard=count(hard), pairs=count(pairs))


def _read_hard(run: Run, dimension: str, hard: int) -> Finding | None:
    if not hard:
        return None
    page = reverse("pair_list", args=[run.project_id, run.task_id])
    query = urlencode({"dimension": dimension, "show": "same", "run": str(run.number)})
    return MESSAGES.find("uncertain_pairs", action=Action(_("Show these pairs"), f"{page}?{query}"))


def _list_rows(
    task: Task, run: Run, dimension: str, page: Page, told: Mapping[int, Told], *, keep: str
) -> list[PairRow]:
    labels: Sequence[ItemLabel] = list(page.object_list)
    pairs = {pair_of(label.item) for label in labels}
    counted = pair_votes.tallies(task, run, pairs, dimension)
    return [
        PairRow(
            label=label,
            url=reverse("pair", args=[task.project_id, task.pk, label.item_id]) + keep,
            first=str(label.item.first.system if label.item.first else ""),
            second=str(label.item.second.system if label.item.second else ""),
            tally=counted[pair_of(label.item)],
            bar=posterior_bar(label),
            apart=told.get(label.item_id),
        )
        for label in labels
    ]


def posterior_bar(label: ItemLabel, width: float = 120.0) -> SafeString:
    """Draw the probability of each label as a bar."""
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
        """Return the probability of the label; None without one."""
        return self.label.posterior.get(self.label.label) if self.label else None

    @property
    def beside(self) -> list[MethodLabel]:
        """Return the labels of the other methods, to show beside this one."""
        return method_labels(self.label)

    @property
    def published_labels(self) -> str:
        """The published label, or labels where both ways round have one."""
        letters = dict.fromkeys(LETTERS.get(one.label, "none") for one in self.published)
        return listed(list(letters)) or "none"

    @property
    def agrees(self) -> bool:
        """Whether our label is the published one."""
        return bool(self.published) and self.published_labels == self.letter


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


def _label_table(rows: Sequence[DimensionRow], runs: ShownRun) -> ResultTable:
    columns = [
        head_column("asked.label", gettext("Dimension")),
        Column.text(
            "letter",
            gettext("Estimated label"),
            gettext("Estimated"),
            term="estimated-label",
            html=lambda row: bold(row.letter),
        ),
        *(replace(one, sort="") for one in label_columns()),
    ]
    if runs.checks:
        columns.append(Column.share("stable", gettext("With another crowd")))
    if runs.published and runs.published != runs.core:
        label = gettext("Published")
        columns.append(Column.text("published_labels", label, label, html=_published))
    return plain_table(
        gettext("Estimated label, posterior and votes by dimension"),
        columns,
        rows,
        classes="data two-line label-table",
    )


def _published(row: DimensionRow) -> SafeString | str:
    differs = bool(row.published) and not row.agrees
    return chipped(row.published_labels, gettext("differs") if differs else "")


@dataclass(frozen=True)
class VoteRow:
    """A judgment as the pair's page shows it."""

    vote: Vote
    name: str
    url: str  # of a worker's page; "" of a model
    letters: Sequence[tuple[str, bool]]  # of each dimension: a letter, and is it the label
    score: WorkerScore | None = None
    seconds: float | None = None
    again: bool = False  # the worker had judged the pair before; a model was asked by a repeat
    excluded: bool = False
    since: bool = False  # came after the run

    @property
    def is_quiet(self) -> bool:
        """Whether results leave this vote out."""
        return (bool(self.url) and not self.vote.counts) or self.excluded


def _vote_table(
    rows: Sequence[VoteRow], asked: Sequence[AskedDimension], run: Run | None, *, people: bool
) -> ResultTable | None:
    """Votes of workers, or of models; None without any."""
    if not rows:
        return None
    left = gettext("Left was")
    shown_left = Column.text("left", left, left, html=_text_on_the_left)
    judged = gettext("Judged")
    columns = [
        head_column(
            "name",
            gettext("Worker") if people else gettext("Model"),
            html=_judge_name,
            classes="nowrap",
        ),
        shown_left,
    ]
    if people:
        competence = gettext("Competence")
        columns[1:] = [
            Column.number(
                "score", competence, "", term="competence", html=_competence, classes="nowrap l1r"
            ),
            shown_left,
            Column.number("position", gettext("Place"), html=_place),
            Column.moment("vote.at", judged, judged),
            Column.duration("seconds", gettext("On screen"), missing=gettext("no log")),
        ]
    for at, one in enumerate(asked):
        head = format_html("<span>{}</span>", one.label)
        cell = partial(_letter_cell, at=at, label=one.label)
        columns.append(Column("letter", head, Format.HEAT, cell=cell, head_classes="vote-head"))
    noted = partial(_noted, number=run.number if run else 0)
    columns.append(Column.text("noted", gettext("Noted"), html=noted, classes="nowrap"))
    return plain_table(
        gettext("Votes of workers, a column a dimension")
        if people
        else gettext("Votes of models, a column a dimension"),
        columns,
        rows,
        classes="data two-line vote-table",
        row_class=lambda row: "quiet" if row.is_quiet else "",
    )


def _text_on_the_left(row: VoteRow) -> SafeString | str:
    return "AB"[row.vote.flipped] if row.vote.sides_known else empty_cell()


def _judge_name(row: VoteRow) -> SafeString:
    if row.url:
        return link(row.url, row.name)
    counts = "" if row.vote.counts else gettext("does not count")
    return format_html("<b>{}</b> {}", row.name, chip(counts) if counts else "")


def _competence(row: VoteRow) -> SafeString:
    if row.score is None or row.score.estimate is None:
        return empty_cell()
    span = "" if row.score.low is None else interval(row.score.low, row.score.high, 2)
    return inline(score(row.score.estimate, 2), span)


def _place(row: VoteRow) -> SafeString | str:
    return empty_cell() if row.vote.position is None else str(row.vote.position + 1)


def _letter_cell(row: VoteRow, *, at: int, label: str) -> Cell:
    letter, is_gold = row.letters[at]
    return Cell(letter, "c vote gold" if is_gold else "c vote", label)


def _noted(row: VoteRow, *, number: int) -> SafeString:
    notes = [chip(gettext("again"))] if row.again else []
    if row.excluded:
        notes.append(chip(gettext("left out"), "warn"))
    if row.url and not row.vote.counts:
        uncounted = gettext("does not count")
        notes.append(
            format_html('<span class="chip plain" title="{}">{}</span>', row.vote.why, uncounted)
        )
    if row.since and row.vote.counts and not row.excluded:
        notes.append(chip(gettext("not in run %(n)s") % {"n": number}))
    return format_html_join(" ", "{}", ((one,) for one in notes))


def pair_page(
    task: Task, runs: ShownRun, item: Item, asked: Sequence[AskedDimension], *, keep: str
) -> dict[str, Any]:
    """A pair with its labels, votes and neighbours, in a fixed number of queries.

    ``keep``: the query of addresses that keeps the run shown.
    """
    pair = pair_of(item)
    items = pair_votes.sibling_items(task, {pair}) if item.expected is None else {item.pk: pair}
    given = pair_votes.votes(Q(item__in=items))
    seen = pair_votes.answer_ids_of_run(runs.core) if runs.core is not None else frozenset()
    labels = _of_items(runs.core, items)
    gold = {label.dimension: label.label for label in labels}
    people = [vote for vote in given if vote.worker is not None]
    counted = [v for v in people if (v.counts if seen is None else v.id in seen)]
    firsts = pair_votes.first_votes(counted, items)
    # Everything on a pair's page.
    found = {
        "item": item,
        "items": len(items),
        "judgments": 0,
        "models": 0,
        "labels": None,
        "votes": None,
        "machines": None,
        "before": None,
        "after": None,
        "apart": None,
    }
    found["labels"] = _label_table(_dimensions(runs, items, labels, firsts, asked), runs)
    rows = _people(task, runs.core, people, gold, asked, seen=seen, keep=keep)
    found["judgments"], found["votes"] = len(rows), _vote_table(rows, asked, runs.core, people=True)
    rows = _machines([v for v in given if v.system is not None], gold, asked)
    found["models"], found["machines"] = len(rows), _vote_table(rows, asked, None, people=False)
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
) -> list[tuple[str, bool]]:
    codes = [(one, vote.codes.get(one.name, "")) for one in asked]
    return [(LETTERS.get(code, ""), gold.get(one.name) == code) for one, code in codes]


def _people(
    task: Task,
    run: Run | None,
    people: Sequence[Vote],
    gold: Mapping[str, str],
    asked: Sequence[AskedDimension],
    *,
    seen: frozenset[int] | None,
    keep: str,
) -> list[VoteRow]:
    ids = {vote.worker for vote in people if vote.worker is not None}
    names = pseudonyms(ids)
    scores = {
        row.worker_id: row
        for row in WorkerScore.objects.filter(run=run, worker__in=ids, dimension=POOLED)
        if not withhold_competence(row)
    }
    out = pair_votes.excluded(task)
    times = speed.pair_times(task, {v.assignment for v in people if v.assignment is not None})
    first = {vote.worker: vote.id for vote in reversed(people)}  # in the order given
    return [
        VoteRow(
            vote,
            names.get(vote.worker or 0, ""),
            reverse("pair_worker", args=[task.project_id, task.pk, vote.worker]) + keep,
            _letters(vote, gold, asked),
            scores.get(vote.worker or 0),
            times[vote.id].seconds_total if vote.id in times else None,
            again=first[vote.worker] != vote.id,
            excluded=vote.worker in out,
            since=seen is not None and vote.id not in seen,
        )
        for vote in people
    ]


def _machines(
    given: Sequence[Vote], gold: Mapping[str, str], asked: Sequence[AskedDimension]
) -> list[VoteRow]:
    names = {
        one.pk: str(one) for one in System.objects.filter(pk__in={vote.system for vote in given})
    }
    rows = [
        VoteRow(
            vote,
            names.get(vote.system or 0, ""),
            "",
            _letters(vote, gold, asked),
            again=vote.repeat,
        )
        for vote in given
    ]
    return sorted(rows, key=lambda row: (row.name, row.vote.flipped, row.vote.id))


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
