"""What the agreement page says of kinds of items, from the figures of a run. Reads no database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from crowdqc.numbers import plural, score, word
from evaluation.charts import boards as charts
from evaluation.charts.boards import Estimate, Scale

SHOWN = 50  # workers listed beside each other
FIGURES = ("kind", "kind_worker", "kind_shift")
Told = Mapping[str, Any]


def kinds(told: Told, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Of each column that splits items, or does not: agreement by kind, and workers beside it."""
    rows = told.get("kind") or ()
    return [_by(told, name, names) for name in dict.fromkeys(row["column"] for row in rows)]


def _by(told: Told, column: str, names: Mapping[int, str]) -> dict[str, Any]:
    own, workers, shifts = (
        [row for row in told.get(name) or () if row["column"] == column] for name in FIGURES
    )
    label = column.replace("_", " ").capitalize()
    if not own[0]["kind"]:
        return {"label": label, "reason": own[0]["reason"], "kinds": []}
    scale = Scale.around([row[end] for row in own for end in ("low", "high", "alpha")])
    boards = [row["kind"] for row in own if row["level"] is not None]
    by_worker: dict[int, dict[str, Told]] = {}
    for row in workers:
        by_worker.setdefault(row["worker"], {})[row["kind"]] = row
    listed = sorted(by_worker, key=lambda pk: names.get(pk, ""))
    return {
        "label": label,
        "reason": "",
        "axis": charts.forest_axis(scale),
        "kinds": [_kind(row, scale) for row in own],
        "boards": boards,
        "workers": [
            {"id": pk, "name": names.get(pk, ""), "cells": [by_worker[pk].get(k) for k in boards]}
            for pk in listed[:SHOWN]
        ],
        "hidden": max(0, len(listed) - SHOWN),
        "shifts": [_shift(row, names) for row in shifts],
        "note": _("Intervals hold for these %(boards)s kinds at once (95%%).")
        % {"boards": word(len(boards))},
    }


def _kind(row: Told, scale: Scale) -> dict[str, Any]:
    known = None if row["alpha"] is None else Estimate(row["alpha"], row["low"], row["high"])
    basis = (
        plural(row[name], noun)
        for name, noun in (("items", "item"), ("votes", "label"), ("workers", "worker"))
    )
    return {
        **row,
        "basis": ", ".join(basis),
        "plot": charts.forest_cell(scale, known, name=row["kind"]),
    }


def _shift(row: Told, names: Mapping[int, str]) -> str:
    better, worse, high, low = row["kind_a"], row["kind_b"], row["a"], row["b"]
    if low > high:
        better, worse, high, low = worse, better, low, high
    return _(
        "%(worker)s agrees with the others more often on %(better)s (%(high)s) than "
        "on %(worse)s (%(low)s)."
    ) % {
        "worker": names.get(row["worker"]) or _("A worker"),
        "better": better,
        "high": score(high, 2),
        "worse": worse,
        "low": score(low, 2),
    }
