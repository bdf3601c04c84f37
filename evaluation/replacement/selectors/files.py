"""The tables of a test as CSV, under pseudonyms, and its charts as SVG documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from django.utils.translation import gettext, gettext_noop

from annotation.models import Membership
from crowdqc.errors import Missing
from crowdqc.files.cells import csv_text
from evaluation.charts.shared import board_svg
from evaluation.models import Run
from evaluation.replacement.selectors.naming import label_words

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
    """One table as CSV: names in the place of indices. Raises Missing where there is none."""
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
    """One chart of the page as a document of its own. Raises Missing where there is none."""
    boards = boards_of(page, name)
    if not boards:
        raise Missing(gettext("This run has no such chart."))
    notes = [
        page["verdict"].sentence,
        gettext("Run %(run)s. %(basis)s ε = %(epsilon)s.")
        % {"run": run.number, "basis": page["basis"], "epsilon": page["epsilon_said"]},
    ]
    return board_svg(boards, title=title, notes=notes, measure=gettext(MEASURES[name]))


def boards_of(page: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of a chart as ``charts.shared`` draws them."""
    if name == "model":
        return [_board("", page["advantage_axis"], [_model(row) for row in page["models"]])]
    if name == "person" and page["people"]["rows"]:
        short = page["chosen"]["short"]
        rows = [
            SimpleNamespace(name=row["name"], estimate=row["difference"], **_ends(row))
            for row in page["people"]["rows"]
        ]
        return [
            _board(
                gettext("%(short)s less each annotator") % {"short": short},
                page["people"]["axis"],
                rows,
            )
        ]
    if name == "combined":
        return [
            _board(
                one["title"],
                one["axis"],
                [
                    SimpleNamespace(name=row["title"], estimate=row["value"], **_ends(row))
                    for row in one["lines"]
                ],
            )
            for one in page["combined"]
            if one["lines"]
        ]
    return []


def _model(row: Mapping[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(
        name=row["short"], detail=row["said"], estimate=row["advantage"], **_ends(row)
    )


def _ends(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"plot": row["plot"] or None, "low": row["low"], "high": row["high"]}


def _board(heading: str, axis: Any, rows: Sequence[Any]) -> dict[str, Any]:
    return {"heading": heading, "axis": axis, "groups": [{"heading": "", "rows": list(rows)}]}


def shared(run: Run, told: Told, page: Mapping[str, Any]) -> list[Any]:
    """The rows of a shared page: models by what is shown of them, with the verdict of each."""
    return [
        SimpleNamespace(
            **vars(_model(row)),
            dimension=told["frame"]["field"][1],
            component=1,
            n=row["items"],
            group=row["said"],
            said=row["said"],
            mark=row["mark"],
            wins=row["wins"],
            best=None,
            worst=None,
        )
        for row in page["models"]
    ]


__all__ = ["CHARTS", "TABLES", "boards_of", "chart", "shared", "table"]
