"""How people use the scale before and after, and the items that moved, with why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator
from django.db.models import F, FloatField, Func
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils.translation import gettext, gettext_noop

from annotation.models import Task
from annotation.task_types.sentences import sentences
from annotation.work.snapshots import explanations
from crowdqc.numbers import interval
from evaluation.charts import rescaling as charts_rescaling
from evaluation.models import AnswerScore, ItemScore, WorkerScore
from evaluation.rescaling.prompts import PUBLISHED_MODEL, PUBLISHED_PROMPT
from evaluation.rescaling.selectors.boards import NamedFigures, Row

WORKERS, ITEMS = 12, 15
ORDERS = {
    "": gettext_noop("Most moved"),
    "up": gettext_noop("Up"),
    "down": gettext_noop("Down"),
    "apart": gettext_noop("Most apart after"),
}


def scale(told: NamedFigures, page: str | None) -> dict[str, Any]:
    """Table 6 for everybody, and each person's labels and scores; three queries."""
    rows = (
        WorkerScore.objects.filter(run=told.run)
        .order_by("worker__pseudonym")
        .values_list("worker_id", "worker__pseudonym", "n", "estimate", "low", "high", "extra")
    )
    shown = Paginator(rows, WORKERS).get_page(page)
    calls = told.figures["recipe"]["calls"]
    # One person's use of the scale.
    return {
        "page": shown,
        # Table 6 of the paper is spoken of beside its own scores alone.
        "published": (calls["model"], calls["prompt"]) == (PUBLISHED_MODEL, PUBLISHED_PROMPT),
        "everybody": charts_rescaling.scale_use(told.rows("by_label"), who=gettext("Everybody")),
        "labels": [_label(row) for row in reversed(told.rows("by_label"))],
        "people": [
            {
                "worker_id": pk,
                "name": name,
                "n": n,
                "before": extra["place"],
                "after": after,
                "interval": interval(low, high, 1) if low is not None else "",
                "fallback": extra["fallback"],
                "chart": charts_rescaling.scale_use(extra["labels"], who=name),
                "labels": [_label(row) for row in reversed(extra["labels"])],
            }
            for pk, name, n, after, low, high, extra in shown.object_list
        ],
    }


def _label(row: Row) -> Row:
    known = row["low"] is not None and row["high"] is not None
    return {**row, "interval": interval(row["low"], row["high"], 1) if known else ""}


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


def _items(told: NamedFigures, task: Task, rows: list[ItemScore]) -> list[dict[str, Any]]:
    about = explanations.rated_documents(task, [row.item_id for row in rows])
    ratings = _ratings(told, task, rows, about)
    made = []
    for row in rows:
        item, extra = about[row.item_id], row.extra
        own = ratings.get(row.item_id, [])
        after = row.estimate if row.estimate is not None else extra["before"]
        # An item with its ratings.
        made.append(
            {
                "key": item.key,
                "question": item.question,
                "answer": item.answer,
                "n": row.n,
                "before": extra["before"],
                "after": after,
                "spread_before": extra["spread_before"],
                "spread": extra["spread"],
                "chart": charts_rescaling.moved_item(
                    extra["before"],
                    after,
                    [one["score"] for one in own if one["score"] is not None],
                ),
                "ratings": own,
            }
        )
    return made


def _ratings(
    told: NamedFigures,
    task: Task,
    rows: list[ItemScore],
    about: Mapping[int, explanations.RatedDocument],
) -> dict[int, list[dict[str, Any]]]:
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
    found: dict[int, list[dict[str, Any]]] = {}
    for pk, item, worker, estimate, extra in scores:
        cited = _cited(spans.get(pk, []), texts.get(about[item].group_id, []))
        # One rating of an item: the label, what it became, and the words for it.
        found.setdefault(item, []).append(
            {
                "worker_id": worker,
                "name": told.names.get(worker, str(worker)),
                "label": extra["label"],
                "score": estimate,
                # why a mean stands in place of a score; "" where none does
                "why": extra["why"],
                "call": extra["call"],
                "explanation": words.get(pk, ""),
                # sentences of the document, by number
                "cited": cited,
            }
        )
    return found


def _cited(spans: list[tuple[int, int]], lines: list[str]) -> list[tuple[int, str]]:
    """The sentences that were pointed at; a number that the document lacks is left out."""
    numbers = sorted({k for start, end in spans for k in range(start, end + 1)})
    return [(k, lines[k - 1]) for k in numbers if 1 <= k <= len(lines)]
