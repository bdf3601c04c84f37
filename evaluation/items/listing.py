"""The lists of a task's items and of its answers, with what the official run says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import (
    Avg,
    Count,
    Exists,
    F,
    FloatField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from annotation.access import Access
from annotation.authoring.actions.tasks import set_priorities, set_wanted
from annotation.lists.definition import (
    Bulk,
    Choice,
    Column,
    Filter,
    Listing,
    Reasons,
    apply_to_each,
)
from annotation.models import Answer, Item, ItemGroup, Task, TaskVersion, TextValue
from annotation.work.actions.answers import set_counts
from evaluation.models import AnswerScore, ItemLabel, ItemScore, Run
from evaluation.payouts.selectors.review import ReadAnswer
from evaluation.runs.official.selectors import official_run

MOST_GROUPS = 60
KNOWN = gettext_noop("Its answer is known, so nobody is asked for one that counts.")


# Items -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Apart:
    """How far the answers to an item lie apart, as the official run says it."""

    column: Column
    value: Any
    filter: Filter


def _apart(run: Run | None) -> Apart | None:
    """The mean entropy of labels, or the agreement of texts; None where neither was computed."""
    if run is None:
        return None
    labels = ItemLabel.objects.filter(run=run, item=OuterRef("pk")).order_by().values("item")
    if ItemLabel.objects.filter(run=run).exists():
        return Apart(
            Column("apart", _("Entropy"), sort=("apart",), number=True, down=True, term="entropy"),
            Subquery(labels.annotate(mean=Avg("entropy")).values("mean")),
            Filter("apart", _("Entropy"), (Choice("high", _("Over .50"), Q(apart__gt=0.5)),)),
        )
    scores = ItemScore.objects.filter(run=run, item=OuterRef("pk"), dimension="")
    if not ItemScore.objects.filter(run=run).exists():
        return None
    return Apart(
        Column("apart", _("Agreement"), sort=("apart",), number=True),
        Subquery(scores.values(near=Cast(KT("extra__agreement"), FloatField()))[:1]),
        Filter("apart", _("Agreement"), (Choice("low", _("Under .50"), Q(apart__lt=0.5)),)),
    )


def _items(task: Task, apart: Apart | None) -> QuerySet[Item]:
    own = Answer.objects.filter(item=OuterRef("pk"), counts=True, worker__isnull=False)
    given = own.order_by().values("item").annotate(n=Count("pk")).values("n")
    rows = task.items.select_related("group", "media", "first__system", "second__system").defer(
        "group__passage", "group__passages", "first__text", "second__text"
    )
    return rows.annotate(
        answered=Coalesce(Subquery(given), 0),
        apart=apart.value if apart else Value(None, output_field=FloatField()),
    )


def item_listing(access: Access | None, task: Task) -> Listing:
    """The items of a task, in their order; without ``access`` nothing can be done with them."""
    apart = _apart(official_run(task))
    columns = [
        Column("item", _("Item"), sort=("position",), fixed=True),
        Column("group", _("Text"), sort=("group__position",)),
        Column("answers", _("Answers"), sort=("answered",), number=True, down=True),
        Column("wanted", _("Wanted"), sort=("redundancy",), number=True, down=True, shown=False),
        Column("state", _("State")),
        Column("priority", _("Priority"), sort=("priority",), number=True, down=True, shown=False),
    ]
    filters = [_item_states(task)]
    if apart is not None:
        columns.insert(3, apart.column)
        filters.append(apart.filter)
    groups = ItemGroup.objects.filter(task=task, items__isnull=False).distinct()[: MOST_GROUPS + 1]
    if 1 < len(groups) <= MOST_GROUPS:
        texts = [Choice(str(one.pk), one.title or one.key, Q(group=one.pk)) for one in groups]
        filters.append(Filter("text", _("Text"), texts))
    pairs = task.items.filter(first__isnull=False).exists()
    inside = ("first__text", "second__text", "first__system__name", "second__system__name")
    return Listing(
        slug=f"items-{task.pk}",
        nouns="item,items",
        caption=_("Items of the task"),
        rows=_items(task, apart),
        columns=columns,
        template="evaluation/items/_item.html",
        order="item",
        last=("group__position", "pk"),
        search=("key", "question", "group__title", "group__key", *(inside if pairs else ())),
        search_label=_("Search text or ID"),
        filters=filters,
        bulk=_item_actions(access, task) if access and access.is_requester else (),
        files=("joined.csv", "joined.xlsx", "joined.jsonl", "joined.parquet"),
        name_of=lambda item: item.key,
    )


def _item_states(task: Task) -> Filter:
    """Return the filter by state: open, complete, known answer, or of an earlier version."""
    now = Q(until=None)
    full = Q(held__gte=F("redundancy"))
    states = [
        Choice("open", _("Open"), now & Q(expected__isnull=True) & ~full),
        Choice("complete", _("Complete"), now & Q(expected__isnull=True) & full),
        Choice("known", _("Known answer"), now & Q(expected__isnull=False)),
        Choice("earlier", _("Earlier versions"), ~now),
    ]
    return Filter("state", _("State"), states, tabs=True)


def _item_actions(access: Access, task: Task) -> Sequence[Bulk]:
    def known(rows: Sequence[Item]) -> Reasons:
        return {row.pk: _(KNOWN) for row in rows if row.expected is not None}

    def priority(level: int) -> Any:
        def act(rows: Sequence[Item], values: Mapping[str, Any]) -> Reasons:
            set_priorities(by=access.user, task=task, items={row.pk: level for row in rows})
            return {}

        return act

    def stop(rows: Sequence[Item], values: Mapping[str, Any]) -> Reasons:
        set_wanted(by=access.user, task=task, wanted={row.pk: 0 for row in rows})
        return {}

    return (
        Bulk(
            "first",
            _("Ask first"),
            _("Moved to the front:"),
            priority(1),
            sentence=_("They are handed out before the others."),
            why_not=known,
        ),
        Bulk(
            "in_turn",
            _("Ask in turn"),
            _("Back in turn:"),
            priority(0),
            sentence=_("They are handed out in their usual order."),
            why_not=known,
        ),
        Bulk(
            "stop",
            _("Stop collecting"),
            _("Stopped collecting for"),
            stop,
            sentence=_("Nobody else is given them. Work in hand may be finished and is paid."),
            why_not=known,
            danger=True,
        ),
    )


# Answers ---------------------------------------------------------------------------------------


class ReasonForm(forms.Form):
    """Why answers do not count."""

    reason = forms.CharField(max_length=200, label=gettext_lazy("Reason"))


COUNTING = Filter(
    "counts",
    gettext_lazy("Counts"),
    (
        Choice("yes", gettext_lazy("Count"), Q(counts=True)),
        Choice("no", gettext_lazy("Do not count"), Q(counts=False)),
    ),
    tabs=True,
)
AUTHORS = Filter(
    "by",
    gettext_lazy("By"),
    (
        Choice("people", gettext_lazy("People"), Q(worker__isnull=False)),
        Choice("models", gettext_lazy("Models"), Q(system__isnull=False)),
    ),
)


def _with_words(word: str) -> Q:
    return Q(Exists(TextValue.objects.filter(answer=OuterRef("pk"), text__icontains=word)))


def answer_listing(access: Access, task: Task) -> Listing:
    """The answers of a task, the newest first."""
    run = official_run(task)
    rows = (
        Answer.objects.filter(item__task=task)
        .select_related("item__group", "worker", "system", "assignment")
        .defer("item__group__passage", "item__group__passages")
        .prefetch_related(
            "texts", "choices", "spans", Prefetch("version", TaskVersion.objects.all())
        )
    )
    columns = [
        Column("answer", _("Answer"), fixed=True),
        Column("item", _("Item"), sort=("item__position", "item__key")),
        Column("author", _("By"), sort=("worker__pseudonym", "system__name")),
        Column("given", _("Submitted"), sort=("pk",), down=True),
        Column("counts", _("Counts")),
    ]
    if run is not None and AnswerScore.objects.filter(run=run).exists():
        score = AnswerScore.objects.filter(run=run, answer=OuterRef("pk"), dimension="")
        rows = rows.annotate(score=Subquery(score.values("estimate")[:1]))
        columns.insert(3, Column("score", _("Score"), sort=("score",), number=True, down=True))

    def read(found: list[Answer]) -> list[ReadAnswer]:
        for one in found:
            one.item.task = task
        return [ReadAnswer.of(one, None, logged=False) for one in found]

    return Listing(
        slug=f"answers-{task.pk}",
        nouns="answer,answers",
        caption=_("Answers of the task"),
        rows=rows,
        columns=columns,
        template="evaluation/items/_answer.html",
        order="-given",
        last=("-pk",),
        search=("item__key", "item__question", "worker__pseudonym", "system__name", _with_words),
        search_label=_("Search text, item or author"),
        filters=(COUNTING, AUTHORS),
        bulk=_answer_actions(access),
        read=read,
        name_of=_name,
    )


def _name(answer: Answer) -> str:
    author = answer.worker.pseudonym if answer.worker else str(answer.system)
    return _("%(author)s on %(key)s") % {"author": author, "key": answer.item.key}


def _answer_actions(access: Access) -> Sequence[Bulk]:
    def already(counts: bool) -> Any:
        words = _("It counts already.") if counts else _("It does not count already.")
        return lambda rows: {row.pk: words for row in rows if row.counts is counts}

    def act(counts: bool) -> Any:
        def one(row: Answer, reason: str = "") -> None:
            set_counts(by=access.user, answer=row, counts=counts, reason=reason)

        return apply_to_each(one)

    return (
        Bulk(
            "uncount",
            _("Do not count"),
            _("No longer counted:"),
            act(False),
            sentence=_(
                "They leave the results, and their slots open for others. Pay is decided "
                "separately."
            ),
            why_not=already(False),
            form=ReasonForm,
        ),
        Bulk(
            "count",
            _("Count again"),
            _("Counted again:"),
            act(True),
            sentence=_("They enter the results again, where their slot is still free."),
            why_not=already(True),
        ),
    )
