"""Questions of a finished run: how far their answers agree, and all answers to one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Exists, F, FloatField, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.translation import gettext

from annotation.models import EventStream, Item, ItemGroup, Task, TextValue
from annotation.work.snapshots.answers import ANSWER, declined
from crowdqc.errors import Missing
from crowdqc.numbers import percent, plural
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate
from evaluation.free_text.columns import QUESTIONS
from evaluation.free_text.selectors import disagreement
from evaluation.models import AnswerScore, ItemScore, Run
from evaluation.results.columns import Format
from evaluation.results.shared_items import SharedItems
from evaluation.results.tables import ResultTable, plain_table

PER_PAGE = 50
OF_SCORE = "score."  # before the keys of columns that show a row of scores
# Addresses that sort -> the column in the database: the lowest score first, or the highest count.
SORTS = {"order": "item__position"} | {
    one.sort: ("-" if one.format is Format.COUNT else "") + one.key.removeprefix(OF_SCORE)
    for one in QUESTIONS
    if one.key.startswith(OF_SCORE)
}
LEAST = 3  # questions of least agreement that are named


def _best_text() -> Subquery:
    texts = TextValue.objects.filter(answer=OuterRef("best_answer"), field=ANSWER, index=0).values(
        "text"
    )
    return Subquery(texts[:1])


@dataclass(frozen=True)
class ShownQuestion:
    """A question in the list of all, with its row of scores."""

    number: int
    question: str
    group: str
    best: str
    best_author: str
    score: ItemScore
    url: str


def _figures() -> dict[str, Cast]:
    """Return columns for the figures that a row keeps in ``extra``; NULL without them."""
    return {
        column.key.removeprefix(OF_SCORE): Cast(
            KT(path.replace(".", "__")),
            IntegerField() if column.format is Format.COUNT else FloatField(),
        )
        for column in QUESTIONS
        if column.key.startswith(OF_SCORE)
        for path in column.exports.values()
        if path.startswith("extra.")
    }


def scores(run: Run, *, sort: str = "order", group: int | None = None) -> QuerySet[ItemScore]:
    """Return the questions' scores with agreement, "I don't know" and best answer."""
    found = (
        ItemScore.objects.filter(run=run, dimension="")
        .select_related("item__group", "best_answer__worker")
        .defer("item__group__passage")
        .annotate(**_figures(), best_text=_best_text())
    )
    if group is not None:
        found = found.filter(item__group_id=group)
    by = SORTS.get(sort, SORTS["order"])
    column = F(by.removeprefix("-"))
    down = by.startswith("-")
    order = column.desc(nulls_last=True) if down else column.asc(nulls_last=True)
    return found.order_by(order, "item_id")


def numbers_and_least(run: Run) -> tuple[dict[int, int], list[int]]:
    """Return the number of each question, and the questions with the least agreement."""
    rows = list(
        ItemScore.objects.filter(run=run, dimension="")
        .order_by("item__position", "item_id")
        .values_list("item_id", Cast(KT("extra__agreement"), FloatField()))
    )
    known = sorted(
        (agreement, number)
        for number, (_, agreement) in enumerate(rows, start=1)
        if agreement is not None
    )
    least = [number for _, number in known[:LEAST]] if len(known) > 2 * LEAST else []
    return {pk: number for number, (pk, _) in enumerate(rows, start=1)}, least


def page_of(rows: QuerySet[ItemScore], number: Any) -> Page:
    """Return one page of the questions."""
    return Paginator(rows, PER_PAGE).get_page(number)


def table(
    run: Run,
    found: Page,
    numbers: Mapping[int, int],
    *,
    sort: str = "order",
    group: int | None = None,
    keep: str = "",
) -> ResultTable:
    """A page of the questions; ``keep`` is the query that keeps the run shown."""
    return plain_table(
        gettext("Questions with their agreement and best answer"),
        QUESTIONS,
        [_shown(run, row, numbers[row.item_id], keep) for row in found.object_list],
        empty=gettext("No question of this text was answered."),
        sorts=_sorts(sort, group, keep),
    )


def _sorts(sort: str, group: int | None, keep: str) -> dict[str, dict[str, str]]:
    """The links of heads that sort."""
    text = f"&text={group}" if group else ""
    made = {}
    for name, by in SORTS.items():
        order = "descending" if by.startswith("-") else "ascending"
        query = f"?sort={name}{text}{keep.replace('?', '&')}"
        made[name] = {"query": query, "aria": order if name == sort else ""}
    return made


def _shown(run: Run, row: ItemScore, number: int, keep: str) -> ShownQuestion:
    url = reverse("task_results_question", args=[run.project_id, run.task_id, row.item_id])
    author = row.best_answer.worker if row.best_answer else None
    return ShownQuestion(
        number,
        question=row.item.question,
        group=row.item.group.title if row.item.group else "",
        best=row.best_text or "",  # type: ignore[attr-defined]
        best_author=author.pseudonym if author else "",
        score=row,
        url=f"{url}{keep}",
    )


def shared_items(run: Run, query: Mapping[str, str]) -> SharedItems:
    """Return the questions for a link: how far their answers agree, and no answer."""
    page = page_of(scores(run), query.get(SharedItems.PAGE))
    return SharedItems(page, table(run, page, numbers_and_least(run)[0]))


def groups_of(task: Task) -> list[tuple[int, str]]:
    """List the task's texts as (id, title), for choosing one."""
    rows = ItemGroup.objects.filter(task=task, items__isnull=False).distinct()
    return [(pk, title or key) for pk, title, key in rows.values_list("pk", "title", "key")]


def question(run: Run, item: Item, told: Mapping[str, Any]) -> dict[str, Any]:
    """All answers to one question; Missing where the run saw none."""
    own = ItemScore.objects.filter(run=run, item=item, dimension="").first()
    if own is None:
        raise Missing(gettext("Run %(run)s has no answer to this question.") % {"run": run.number})
    found = list(
        AnswerScore.objects.filter(run=run, answer__item=item, dimension="")
        .select_related("answer__worker", "answer__system")
        .annotate(
            text=Subquery(
                TextValue.objects.filter(answer=OuterRef("answer"), field=ANSWER, index=0).values(
                    "text"
                )[:1]
            ),
            logged=Exists(
                EventStream.objects.filter(
                    assignment=OuterRef("answer__assignment"), next_seq__gt=0
                )
            ),
        )
    )
    unknown = declined([row.answer_id for row in found])
    scale = charts.Scale.around([row.estimate for row in found], width=180, count=3)
    rows = [_answer(row, scale, own, row.answer_id in unknown) for row in found]
    rows.sort(key=lambda row: (row["score"] is None, -(row["score"] or 0.0), row["id"]))
    camps = disagreement.on_question(run, told, rows)
    before, after = _neighbours(run, item)
    # One question with its score row and its answers, the highest first.
    return {
        "item": item,
        "score": own,
        "rows": rows,
        "axis": charts.forest_axis(scale),
        "foot": charts.forest_axis(scale, bottom=True) if len(rows) > 8 else None,
        "before": before,
        "after": after,
        "cluster": _cluster(item, told),
        "camps": camps
        and plain_table(
            gettext("Both camps with their typical answers"), disagreement.CAMPS_HERE, camps
        ),
    }


def _answer(row: AnswerScore, scale: charts.Scale, own: ItemScore, unknown: bool) -> dict[str, Any]:
    answer = row.answer
    if answer.worker is not None:
        author, detail = answer.worker.pseudonym, ""
    else:
        author = answer.system.name if answer.system else ""
        detail = answer.system.prompt_strategy if answer.system else ""
    # An answer to the question, of a worker or of a system.
    return {
        "id": row.answer_id,
        "rank": row.extra.get("rank"),
        "author": author,
        "detail": detail,
        "worker_id": answer.worker_id,
        "text": row.text,  # type: ignore[attr-defined]
        "score": row.estimate,
        "uniterated": row.extra.get("uniterated"),
        "best": bool(row.extra.get("best")),
        "trusted": bool(row.extra.get("best_trusted")),
        "unknown": unknown,
        # how it was written can be replayed
        "logged": row.logged,  # type: ignore[attr-defined]
        "plot": charts.forest_cell(
            scale,
            Estimate(row.estimate) if row.estimate is not None else None,
            reference=own.estimate,
            name=author,
        ),
    }


def _neighbours(run: Run, item: Item) -> tuple[int | None, int | None]:
    ids = list(
        ItemScore.objects.filter(run=run, dimension="")
        .order_by("item__position", "item_id")
        .values_list("item_id", flat=True)
    )
    at = ids.index(item.pk)
    return (ids[at - 1] if at else None, ids[at + 1] if at + 1 < len(ids) else None)


def _cluster(item: Item, told: Mapping[str, Any]) -> str:
    """Whether many answers say nearly the same, in words."""
    for part in told.get("clusters", []):
        for one in part.get("listed", []):
            if one["question"] == item.pk:
                said = gettext(
                    "%(size)s of %(answers)s are nearly the same and hold %(share)s of the weight."
                ) % {
                    "size": one["size"],
                    "answers": plural(one["of"], "answer"),
                    "share": percent(one["share_of_weight"]),
                }
                if not _is_low(one):
                    return said
                other = gettext("The better workers wrote something else.")
                return f"{said} {other}"
    return ""


def _is_low(one: Mapping[str, Any]) -> bool:
    return bool(one.get("low_weighted"))
