"""Rows and columns of a table of votes that sum up others: totals, means, majorities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from django.utils.translation import gettext as _

from annotation.files.reading.importer import Problems
from annotation.files.reading.rows import Problem, Row

MOST_TOTALS = 5  # rows below the others
TOTALS = {
    *(
        "total",
        "totals",
        "grand total",
        "overall",
        "sum",
        "all",
        "mean",
        "average",
        "avg",
        "median",
    ),
    *("std", "sd", "agreement", "percent agreement", "% agreement", "kappa", "alpha"),
    *("gesamt", "gesamtsumme", "summe", "insgesamt", "mittelwert", "durchschnitt"),
    *("übereinstimmung", "einigkeit"),
    *("somme", "ensemble", "total général", "moyenne", "médiane", "accord"),
    *("suma", "total general", "media", "promedio", "mediana", "acuerdo"),
}
CONSENSUS = {
    *("majority", "majority vote", "majority label", "majority class", "consensus", "mode"),
    *("gold", "gold label", "gold standard", "adjudicated", "adjudication", "aggregated"),
    *("aggregate", "agreed", "agreed label"),
    *("mehrheit", "mehrheitsentscheid", "mehrheitsmeinung", "mehrheitslabel", "konsens"),
    *("goldstandard", "modus"),
    *("majorité", "majoritaire", "vote majoritaire", "étiquette majoritaire", "référence"),
    *("mayoría", "mayoritario", "voto mayoritario", "consenso", "moda", "referencia"),
}
OF_COLUMNS = TOTALS | CONSENSUS | {"final", "final label", "endgültig", "finale", "final_label"}


def is_summary(name: str, words: Iterable[str] = frozenset(OF_COLUMNS)) -> bool:
    """Whether a name says that a column or row sums up others."""
    return re.sub(r"[\s_:-]+", " ", name).strip().casefold() in words


def summary_filter(
    rows: Iterable[Row], worker: str, item: str, problems: Problems
) -> Callable[[Row], bool] | None:
    """Tell rows from totals below them, and from those of a consensus in place of a worker.

    What is left out is added to ``problems``; None where nothing is. ``worker`` and ``item`` are
    columns, "" without one.
    """
    totals: dict[int, str] = {}
    above = set[str]()
    has_consensus = False
    for row in rows:
        name = row.values.get(item, "").strip()
        if name and is_summary(name):
            totals[row.line] = name
        elif totals:
            above.update(totals.values())
            totals = {}
        if worker and is_summary(row.values.get(worker, ""), CONSENSUS):
            has_consensus = True
            wrong = _("It sums up the workers.")
            said = row.values[worker]
            problems.append(Problem(row.line, worker, said, wrong, _("Left out.")))
    if len(totals) > MOST_TOTALS or not above.isdisjoint(totals.values()):
        totals = {}
    for line, name in totals.items():
        problems.append(Problem(line, item, name, _("It sums up the rows above."), _("Left out.")))
    if not (totals or has_consensus):
        return None
    return lambda row: (
        row.line not in totals
        and not (worker and is_summary(row.values.get(worker, ""), CONSENSUS))
    )
