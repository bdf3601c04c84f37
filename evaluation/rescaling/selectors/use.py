"""How people use the scale before and after, and the items that moved, with why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from django.core.paginator import Paginator
from django.db.models import F, FloatField, Func
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from annotation.models import Task
from annotation.task_types.sentences import sentences
from annotation.work.snapshots import explanations
from crowdqc.numbers import general, interval, score
from evaluation.charts import rescaling as charts_rescaling
from evaluation.models import AnswerScore, ItemScore, WorkerScore
from evaluation.rescaling.prompts import PUBLISHED_MODEL, PUBLISHED_PROMPT
from evaluation.rescaling.selectors.boards import NamedFigures, Row
from evaluation.results.cells import bold, chip, link
from evaluation.results.columns import Column, head_column, interval_column
from evaluation.results.rows import typed
from evaluation.results.stored_texts import translate_stored
from evaluation.results.tables import ResultTable, plain_table

WORKERS, ITEMS = 12, 15
ORDERS = {
    "": gettext_noop("Most moved"),
    "up": gettext_noop("Up"),
    "down": gettext_noop("Down"),
    "apart": gettext_noop("Most apart after"),
}


def scale(told: NamedFigures, page: str | None) -> dict[str, Any]:
    """Table 6 for everybody, and each person's labels and scores; four queries."""
    rows = (
        WorkerScore.objects.filter(run=told.run)
        .order_by("worker__pseudonym")
        .values_list("worker_id", "worker__pseudonym", "n", "estimate", "low", "high", "extra")
    )
    shown = Paginator(rows, WORKERS).get_page(page)
    calls = told.figures["recipe"]["calls"]
    columns = _label_columns(told.level)
    of_people = rows.values_list("worker__pseudonym", "extra__labels")
    return {
        "page": shown,
        # Whose mean score of a higher label is below that of a lower one (5.2, footnote 3).
        "turned": [name for name, labels in of_people if has_turned_labels(labels)],
        # Table 6 of the paper is spoken of beside its own scores alone.
        "published": (calls["model"], calls["prompt"]) == (PUBLISHED_MODEL, PUBLISHED_PROMPT),
        "everybody": charts_rescaling.scale_use(told.rows("by_label"), who=gettext("Everybody")),
        "table": plain_table(
            gettext("Ratings and mean rescaled score by label"),
            columns,
            _labels(told.rows("by_label")),
        ),
        "people": [
            PersonUse(
                pk,
                name,
                n,
                before=extra["place"],
                after=after,
                interval=interval(low, high, 1) if low is not None else "",
                fallback=extra["fallback"],
                chart=charts_rescaling.scale_use(extra["labels"], who=name),
                table=plain_table(
                    gettext("Labels and scores of %(name)s") % {"name": name},
                    [one for one in columns if one.key not in ("value", "spread")],
                    _labels(extra["labels"]),
                    classes="data",
                ),
            )
            for pk, name, n, after, low, high, extra in shown.object_list
        ],
    }


def has_turned_labels(labels: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the mean score of a higher label is below that of a lower one."""
    means = [row["mean"] for row in sorted(labels, key=lambda row: row["value"])]
    known = [mean for mean in means if mean is not None]
    return any(later < earlier for earlier, later in pairwise(known))


@dataclass(frozen=True)
class PersonUse:
    """One person's use of the scale."""

    worker_id: int
    name: str
    n: int
    before: float
    after: float | None
    interval: str
    fallback: int  # means in place of a score
    chart: SafeString
    table: ResultTable


@dataclass(frozen=True)
class LabelScores:
    """What the ratings with one label became."""

    label: str
    value: float
    n: int
    mean: float | None
    low: float | None
    high: float | None
    spread: float | None


def _label_columns(level: int) -> tuple[Column, ...]:
    return (
        head_column("label", gettext("Label")),
        Column.number("value", gettext("Value"), html=lambda row: general(row.value)),
        Column.count("n", gettext("Ratings")),
        Column.score("mean", gettext("Mean score"), digits=1, is_main=True),
        replace(
            interval_column(1, needs_interval=False),
            label=gettext("%(level)s%% interval") % {"level": level},
            short=gettext("Interval"),
            term="",
            missing=gettext("under 10 items"),
        ),
        Column.score("spread", gettext("Spread"), digits=1, term="spread"),
    )


def _labels(rows: Sequence[Row]) -> list[LabelScores]:
    return [typed(LabelScores, row) for row in reversed(rows)]


def _number(name: str) -> Cast:
    return Cast(KeyTextTransform(name, "extra"), FloatField())


def moved_items(
    told: NamedFigures, task: Task, wanted: Mapping[str, str], page: str | None
) -> dict[str, Any]:
    """Items by how far their mean moved, with every rating, in a constant number of queries."""
    order = wanted.get("order", "")
    order = order if order in ORDERS else ""
    rows = ItemScore.objects.filter(run=told.run).annotate(by=_number("moved"))
    keys: dict[str, Any] = {
        "": Func(F("by"), function="ABS", output_field=FloatField()).desc(),
        "up": F("by").desc(),
        "down": F("by").asc(),
        "apart": _number("spread").desc(),
    }
    shown = Paginator(rows.order_by(keys[order], "item_id"), ITEMS).get_page(page)
    return {
        "order": order,
        "orders": {name: gettext(label) for name, label in ORDERS.items()},
        "page": shown,
        "items": _items(told, task, list(shown.object_list)),
    }


@dataclass(frozen=True)
class MovedItem:
    """An item before and after, with its ratings."""

    key: str
    question: str
    answer: str
    before: float
    after: float
    spread_before: float
    spread: float
    chart: SafeString
    table: ResultTable


@dataclass(frozen=True)
class RescaledRating:
    """One rating of an item: the label, what it became, and the words for it."""

    name: str
    url: str
    label: str
    score: float | None
    why: str  # why a mean stands in place of a score; "" where none does
    call_url: str
    explanation: str
    cited: Sequence[tuple[int, str]]  # sentences of the document, by number


def _explanation(row: RescaledRating) -> SafeString:
    cited = format_html_join(
        "", '<span class="cited"><span class="n">{}</span> {}</span>', row.cited
    )
    html = format_html(
        '<span class="serif">{}</span>{}', row.explanation or gettext("No explanation."), cited
    )
    if not row.call_url:
        return html
    return format_html("{} {}", html, link(row.call_url, gettext("See the call"), "quiet"))


def _score(row: RescaledRating) -> SafeString:
    if not row.why:
        return bold(score(row.score, 0))
    why = gettext("mean, %(why)s") % {"why": row.why}
    return format_html("{} {}", bold(score(row.score, 0)), chip(why, "warn"))


RATINGS = (
    head_column("name", _("Person"), html=lambda row: link(row.url, row.name), classes="nowrap"),
    Column.text("label", _("Label"), _("Label")),
    Column.number("score", _("Score"), html=_score),
    Column.text("explanation", _("Explanation"), html=_explanation, classes="full grow"),
)


def _items(told: NamedFigures, task: Task, rows: list[ItemScore]) -> list[MovedItem]:
    about = explanations.rated_documents(task, [row.item_id for row in rows])
    ratings = _ratings(told, task, rows, about)
    made = []
    for row in rows:
        item, extra = about[row.item_id], row.extra
        own = ratings.get(row.item_id, [])
        after = row.estimate if row.estimate is not None else extra["before"]
        made.append(
            MovedItem(
                item.key,
                item.question,
                item.answer,
                before=extra["before"],
                after=after,
                spread_before=extra["spread_before"],
                spread=extra["spread"],
                chart=charts_rescaling.moved_item(
                    extra["before"], after, [one.score for one in own if one.score is not None]
                ),
                table=plain_table(
                    gettext("Ratings of %(key)s") % {"key": item.key},
                    RATINGS,
                    own,
                    classes="data moved-ratings two-line",
                ),
            )
        )
    return made


def _ratings(
    told: NamedFigures,
    task: Task,
    rows: list[ItemScore],
    about: Mapping[int, explanations.RatedDocument],
) -> dict[int, list[RescaledRating]]:
    scores = list(
        AnswerScore.objects.filter(run=told.run, answer__item__in=[row.item_id for row in rows])
        .order_by("estimate", "answer_id")
        .values_list("answer_id", "answer__item_id", "answer__worker_id", "estimate", "extra")
    )
    ids = [pk for pk, *_ in scores]
    words, spans = explanations.words(ids), explanations.evidence(ids)
    texts = {
        pk: sentences(text)
        for pk, text in explanations.documents(
            task, {item.group_id for item in about.values()}
        ).items()
    }
    found: dict[int, list[RescaledRating]] = {}
    for pk, item, worker, estimate, extra in scores:
        call = extra["call"]
        rating = RescaledRating(
            told.names.get(worker, str(worker)),
            reverse("worker_card", args=[task.project_id, worker]),
            extra["label"],
            estimate,
            why=translate_stored(extra["why"]),
            call_url=reverse("models_call", args=[task.project_id, call]) if call else "",
            explanation=words.get(pk, ""),
            cited=_cited(spans.get(pk, []), texts.get(about[item].group_id, [])),
        )
        found.setdefault(item, []).append(rating)
    return found


def _cited(spans: list[tuple[int, int]], lines: list[str]) -> list[tuple[int, str]]:
    """The sentences that were pointed at; a number that the document lacks is left out."""
    numbers = sorted({k for start, end in spans for k in range(start, end + 1)})
    return [(k, lines[k - 1]) for k in numbers if 1 <= k <= len(lines)]
