"""The tables of a test as CSV, under pseudonyms, and its charts as SVG documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from django.utils.translation import gettext, gettext_noop

from annotation.models import Membership
from crowdqc.errors import Missing
from crowdqc.files.cells import csv_text
from evaluation.models import Run
from evaluation.replacement.selectors.naming import label_words
from evaluation.results.images import image
from evaluation.results.tables import Group, ResultTable

Told = Mapping[str, Any]
TABLES = (
    *("model", "person", "curve", "combined", "rates"),
    *("leaning", "calibration", "reliability", "drift", "version", "panel", "weight"),
)
CHARTS = ("model", "person", "combined")
MEASURES = {
    "model": gettext_noop("Advantage"),
    "person": gettext_noop("Difference"),
    "combined": gettext_noop("Estimate"),
}


def table(run: Run, told: Told, name: str) -> str:
    """Write a table as CSV with names in place of indices; Missing if there is none."""
    rows = told.get(name) if name in TABLES else None
    if rows is None:
        raise Missing(gettext("This run has no such table."))
    models = [system for _, system in told["frame"]["models"]]
    words = label_words(run, told)
    people = _people(told) if name == "person" else []

    def cell(column: str, value: Any) -> Any:
        if column in ("model", "other"):
            return models[value]
        if column == "person":
            return people[value]
        if column == "label":
            return words[value] if value >= 0 else "mean"
        return value

    columns = list(rows[0]) if rows else ["model"]
    lines = ([cell(column, row[column]) for column in columns] for row in rows)
    return csv_text([columns, *lines])


def _people(told: Told) -> list[str]:
    """The people of the run by their index, under pseudonyms (1 query)."""
    ids = told["frame"]["people"]
    known = dict(Membership.objects.filter(pk__in=ids).values_list("pk", "pseudonym"))
    return [known.get(pk, gettext("a removed person")) for pk in ids]


def chart(run: Run, page: Mapping[str, Any], name: str, title: str) -> str:
    """Return one chart of the page as a document of its own. Raises Missing where there is none."""
    tables = drawn_tables(page, name)
    if not tables:
        raise Missing(gettext("This run has no such chart."))
    notes = [
        page["verdict"].sentence,
        gettext("Run %(run)s. %(basis)s ε = %(epsilon)s.")
        % {"run": run.number, "basis": page["basis"], "epsilon": page["epsilon_said"]},
    ]
    return image(tables, title=title, notes=notes, measure=gettext(MEASURES[name]))


def drawn_tables(page: Mapping[str, Any], name: str) -> list[ResultTable]:
    """The tables that a chart draws."""
    if name == "model":
        rows = [replace(row, detail=row.said) for row in page["models"]]
        return [replace(page["table"], groups=[Group("", rows)])]
    if name == "person" and page["people"]:
        heading = gettext("%(short)s less each annotator") % {"short": page["chosen"].short}
        return [replace(page["people"], heading=heading)]
    if name == "combined":
        shown = [one for one in page["combined"] if not one["reason"]]
        return [replace(one["table"], heading=one["title"]) for one in shown]
    return []


def shared(told: Told, page: Mapping[str, Any]) -> list[Any]:
    """The rows of a shared page: models by what is shown of them, with the verdict of each."""
    return [
        SimpleNamespace(
            name=row.name,
            detail=row.said,
            estimate=row.estimate,
            low=row.low,
            high=row.high,
            dimension=told["frame"]["field"][1],
            component=1,
            n=row.n,
            group=row.said,
            best=None,
            worst=None,
        )
        for row in page["models"]
    ]


__all__ = ["CHARTS", "TABLES", "chart", "drawn_tables", "shared", "table"]
