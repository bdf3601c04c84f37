"""What is shown of the workers of a run on labels, and its rows as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Case, CharField, F, When
from django.db.models.fields.json import KeyTextTransform
from django.utils.translation import gettext_lazy as _

from evaluation.models import ItemLabel, WorkerScore
from evaluation.results.columns import PLOT, Column, head_column, interval_column
from evaluation.results.files import ITEM, PLACE, WORKER, StoredTable, named, stored
from evaluation.results.shared_items import NOT_SHOWN
from evaluation.runs.exports.decided import DECIDED

BY_METHOD = "majority dawid_skene posterior mace mace_posterior glad glad_posterior".split()
# An item's label: the estimate, or the majority vote where no estimate can be made.
LABEL = {
    "item_label": Case(
        When(label="", then=KeyTextTransform("majority", "extra")),
        default=F("label"),
        output_field=CharField(),
    )
}
# On the page and in files.
WORKERS = (
    head_column(
        *("label", _("Worker")),
        sort="worker",
        classes="nowrap",
        exports={"worker": "worker__pseudonym"},
    ),
    PLOT,
    *PLACE,
    Column.score(
        *("estimate", _("Competence")),
        sort="competence",
        is_main=True,
        exports={"estimate": "estimate"},
    ),
    interval_column(needs_interval=False),
    Column.count("n", _("Labels"), sort="labels", exports={"n": "n"}, missing=NOT_SHOWN),
    *stored("chance", "standing", "reliable", "mace", "mace_low", inside="extra"),
    *stored("mace_high", "glad", inside="extra"),
    Column.number(
        *("known_right", _("Known answers"), _("Known")),
        sort="known",
        classes="nowrap",
        is_public=False,
        exports={f"known_{name}": f"extra.known_{name}" for name in ("n", "right", "low", "high")},
    ),
    Column.text(
        *("mistake", _("Most frequent mistake")),
        classes="mistake",
        is_public=False,
        exports={f"mistake_{name}": f"extra.mistake_{name}" for name in ("from", "to", "share")},
    ),
    *stored("same_label", "no_interval", inside="extra"),
)


def soft_lines(extra: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Yield (method, label, probability) from an item's stored scores."""
    for method, shares in extra["soft"].items():
        for label, probability in shares.items():
            yield method, label, probability


def confusion_lines(extra: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield (true, given, probability, low, high) from a worker's stored scores."""
    told = extra.get("confusion")
    if not told:
        return
    labels = told["labels"]
    for true, row in enumerate(told["probability"]):
        for given, probability in enumerate(row):
            bounds = (told[end][true][given] for end in ("low", "high"))
            yield labels[true], labels[given], probability, *bounds


TABLES: dict[str, StoredTable] = {
    "workers": StoredTable(WorkerScore, WORKERS),
    "labels": StoredTable(
        ItemLabel,
        (
            *ITEM,
            *PLACE,
            *named(label="item_label"),
            *stored("n", "entropy"),
            *stored(*BY_METHOD, "difficulty", "gold", "differ", inside="extra"),
        ),
        beside=DECIDED,
        computed=LABEL,
    ),
    "soft_labels": StoredTable(
        ItemLabel,
        (*ITEM, *stored("dimension", "n", "entropy")),
        spread=(("method", "label", "probability"), soft_lines),
    ),
    "confusion": StoredTable(
        WorkerScore,
        (*WORKER, *stored("n")),
        spread=(("true", "given", "probability", "low", "high"), confusion_lines),
    ),
}
