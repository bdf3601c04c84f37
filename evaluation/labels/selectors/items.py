"""The items of a labels task: votes, label, how sure it is, and which method gives another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import (
    BooleanField,
    Case,
    Count,
    F,
    FloatField,
    Func,
    IntegerField,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotation.models import Membership
from annotation.work.snapshots.labels import labels_of_worker
from crowdqc.numbers import count
from evaluation.charts import labels as charts
from evaluation.labels.columns import LABEL
from evaluation.labels.results import SURE
from evaluation.labels.selectors import decisions
from evaluation.labels.selectors.decisions import Deciding
from evaluation.labels.selectors.models import labels_of_items
from evaluation.labels.selectors.study import NAMES, ShownField
from evaluation.models import ItemLabel, Run
from evaluation.runs.results import votes_used

PER_PAGE = 50
FIGURES = ("certainty", "summary", votes_used.FIGURE)
FILTERS = {
    "all": _("All"),
    "open": pgettext_lazy("state of a label", "Open"),
    "split": _("Split votes"),
    "known": _("Known answers"),
    "decided": _("Decided"),
}
DECIDABLE = ("open", "decided")  # the filters under which labels are decided
COMPARED = ("majority", "dawid_skene", "mace")
Told = Mapping[str, Any]
# Whether an item has votes for more than one label.
IS_SPLIT = Func(
    F("extra"),
    template=(
        "(SELECT count(*) > 1 FROM jsonb_each(%(expressions)s -> 'votes') vote"
        " WHERE vote.value <> '0')"
    ),
    output_field=BooleanField(),
)


def _rows(run: Run) -> QuerySet[ItemLabel]:
    """Labels with ``sure`` (the posterior), ``is_open`` and ``place``: open ones come first.

    Open are those that methods differ on, without a majority or under SURE, and not decided.
    """
    sure = Cast(KeyTextTransform("posterior", "extra"), FloatField())
    uncertain = Q(extra__differ=True) | Q(extra__majority="") | Q(sure__lt=SURE)
    is_open = Case(
        When(Q(is_decided=False) & uncertain, then=Value(True)),
        default=Value(False),
        output_field=BooleanField(),
    )
    place = Case(
        When(is_open=True, extra__differ=True, then=Value(0)),
        When(is_open=True, then=Value(1)),
        When(extra__dawid_skene="", then=Value(4)),
        When(sure__isnull=True, then=Value(3)),
        default=Value(2),
        output_field=IntegerField(),
    )
    rows = ItemLabel.objects.filter(run=run).annotate(sure=sure, is_decided=decisions.IS_DECIDED)
    rows = rows.annotate(is_open=is_open)
    return rows.annotate(place=place, is_split=IS_SPLIT, **LABEL)


CONDITIONS = {
    "all": Q(),
    "open": Q(is_open=True),
    "split": Q(is_split=True),
    "known": ~Q(extra__gold=""),
    "decided": Q(is_decided=True),
}


@dataclass(frozen=True)
class WorkersLabels:
    """The labels of one worker in a run: item -> code."""

    worker: Membership
    labels: Mapping[int, str]

    @classmethod
    def of(cls, run: Run, field: ShownField, worker: Membership) -> WorkersLabels:
        """Make it from the answers that the run saw."""
        ids = run.snapshot.answer_ids if run.snapshot else ()
        return cls(worker, labels_of_worker(run.task, field.collected, worker, ids))


def labelled_rows(run: Run, only: WorkersLabels | None = None) -> QuerySet[ItemLabel]:
    """Return the labels of a run's items; with ``only``, of those that one worker labelled."""
    rows = _rows(run)
    return rows if only is None else rows.filter(item__in=only.labels)


def first_filter(run: Run) -> str:
    """The filter that the page opens on: open items, where there are any."""
    return "open" if _rows(run).filter(CONDITIONS["open"]).exists() else "all"


@dataclass(frozen=True)
class DecisionCounts:
    """How many items of a run are open, also though they are certain, and decided by hand."""

    open: int
    certain: int
    decided: int

    @classmethod
    def of(cls, run: Run) -> DecisionCounts:
        """Count them as the filters of the page of items do (1 query)."""
        conditions = {x: CONDITIONS[x] for x in ("open", "decided")}
        conditions["certain"] = CONDITIONS["open"] & Q(sure__gte=SURE)
        return cls(
            **_rows(run).aggregate(**{x: Count("pk", filter=conditions[x]) for x in conditions})
        )


def item_list(
    run: Run,
    told: Told,
    field: ShownField,
    *,
    chosen: str,
    page: Any,
    only: WorkersLabels | None = None,
) -> dict[str, Any]:
    """Return the context of a page of items under a filter; disputed items come first.

    ``only``: the items that one worker labelled, with their label beside the others.
    """
    every = labelled_rows(run, only)
    rows = every.filter(CONDITIONS[chosen]).select_related("item__media")
    ordered = rows.order_by("place", "sure", "item__position", "item_id")
    shown = Paginator(ordered, PER_PAGE).get_page(page)
    listed = [_line(row, field) for row in shown.object_list]
    kept = decisions.standing(field.name, [row["item"].pk for row in listed])
    models, said = labels_of_items(run.task, field, [row["item"].pk for row in listed])
    for row in listed:
        pk, label = row["item"].pk, row["code"]
        row["deciding"] = Deciding(row["item"], field.collected, kept.get(pk))
        row["models"] = [one | {"odd": one["code"] != label} for one in said.get(pk, [])]
        if only is not None:
            code = only.labels[pk]
            row["own"] = {"label": field.word(code), "odd": code != label}
    return {
        "page": shown,
        "rows": listed,
        "deciding": chosen in DECIDABLE or bool(kept),
        "filters_shown": _filters(told, chosen, every, whole=only is None),
        "models": models,
        "only": only,
        "chosen": chosen,
        "classes": [(charts.class_key(at), label) for at, (_, label) in enumerate(field.options)]
        if len(field.options) <= charts.SHAPES
        else [],
        "certainty": told["certainty"],
    }


def _filters(
    told: Told, chosen: str, rows: QuerySet[ItemLabel], *, whole: bool
) -> list[dict[str, Any]]:
    """The filters with their sizes: of the ``whole`` run as it told them, else counted."""
    counted = ("open", "decided", "split") if whole else tuple(CONDITIONS)
    sizes = rows.aggregate(**{slug: Count("pk", filter=CONDITIONS[slug]) for slug in counted})
    if whole:
        sizes |= {
            "all": told["certainty"]["items"],
            "known": told["summary"]["known"],
        }
    return [
        {"slug": slug, "label": label, "n": sizes[slug], "current": slug == chosen}
        for slug, label in FILTERS.items()
    ]


def _line(row: Any, field: ShownField) -> dict[str, Any]:
    extra = row.extra
    counts = [extra["votes"].get(code, 0) for code, _ in field.options]
    return {
        "item": row.item,
        "votes": charts.vote_shapes(counts, [label for _, label in field.options])
        if charts.drawn_votes(counts)
        else "",
        "counts": ", ".join(
            f"{label} {count(n)}" for (_, label), n in zip(field.options, counts, strict=True) if n
        ),
        "code": row.item_label,
        "label": field.word(row.item_label) if row.item_label else "",
        "others": [
            (NAMES[name], field.word(extra[name]))
            for name in COMPARED
            if extra[name] and extra[name] != row.item_label
        ],
        "tie": not extra["majority"],
        "posterior": extra["posterior"],
        "line": charts.posterior_line(extra["posterior"]) if extra["posterior"] is not None else "",
        "open": row.is_open,
        "gold": field.word(extra["gold"]) if extra["gold"] else "",
        "right": extra["gold"] == row.item_label,
    }
