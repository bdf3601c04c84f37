"""The rows of a run on labels as files: workers, labels by method, soft labels, confusion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.models import ItemLabel, WorkerScore
from evaluation.runs.exports.decided import DECIDED
from evaluation.runs.exports.tables import BASE, Sheet

WORKER = (("worker", "worker__pseudonym"),)
ITEM = (("item_id", "item__key"),)


def soft_lines(extra: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """(method, label, probability) of an item."""
    for method, shares in extra["soft"].items():
        for label, probability in shares.items():
            yield method, label, probability


def confusion_lines(extra: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """(true, given, probability, low, high) of a worker; none for one who was not scored."""
    told = extra.get("confusion")
    if not told:
        return
    labels = told["labels"]
    for true, row in enumerate(told["probability"]):
        for given, probability in enumerate(row):
            bounds = (told[end][true][given] for end in ("low", "high"))
            yield labels[true], labels[given], probability, *bounds


LABEL_TABLES: dict[str, Sheet] = {
    "workers": Sheet(
        WorkerScore,
        WORKER,
        BASE,
        (
            "chance",
            "standing",
            "reliable",
            "mace",
            "mace_low",
            "mace_high",
            "glad",
            "known_n",
            "known_right",
            "known_low",
            "known_high",
            "mistake_from",
            "mistake_to",
            "mistake_share",
            "same_label",
            "no_interval",
        ),
    ),
    "labels": Sheet(
        ItemLabel,
        ITEM,
        ("dimension", "component", "label", "n", "entropy"),
        (
            "majority",
            "dawid_skene",
            "posterior",
            "mace",
            "mace_posterior",
            "glad",
            "glad_posterior",
            "difficulty",
            "gold",
            "differ",
        ),
        beside=DECIDED,
    ),
    "soft_labels": Sheet(
        ItemLabel,
        ITEM,
        ("dimension", "n", "entropy"),
        (),
        spread=(("method", "label", "probability"), soft_lines),
    ),
    "confusion": Sheet(
        WorkerScore,
        WORKER,
        ("n",),
        (),
        spread=(("true", "given", "probability", "low", "high"), confusion_lines),
    ),
}
