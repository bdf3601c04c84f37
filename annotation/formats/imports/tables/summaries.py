"""Rows and columns of a table of votes that sum up others: totals, means, majorities."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache

from django.utils.translation import gettext as _

from annotation.files.reading.importer import Problems
from annotation.files.reading.rows import Problem, Row

MOST_TOTALS = 5  # rows below the others
TOTALS = {
    *("total", "totals", "grand total", "overall", "sum", "all"),
    *("mean", "average", "avg", "median"),
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
    *("最终标签", "最终结果", "最终", "最終ラベル", "最終", "최종", "최종라벨", "최종 라벨"),
    *("итог", "итоговая метка", "итоговая", "консенсус"),
}
OF_COLUMNS = TOTALS | CONSENSUS | {"final", "final label", "endgültig", "finale", "definitivo"}


def is_summary(name: str, words: Collection[str] = OF_COLUMNS) -> bool:
    """Whether a name says that a column or row sums up others."""
    return _bare(name) in words


@lru_cache(maxsize=1_000)
def _bare(name: str) -> str:
    return re.sub(r"[\s_:-]+", " ", name).strip().casefold()


def summary_filter(
    rows: Iterable[Row], worker: str, item: str, problems: Problems
) -> Callable[[Row], bool] | None:
    """Tell rows from totals below them, and from those of a consensus in place of a worker.

    What is left out is added to ``problems``; None where nothing is. ``worker`` and ``item`` are
    columns, "" without one.
    """
    last: deque[Row] = deque(maxlen=MOST_TOTALS + 1)
    has_consensus = False
    for row in rows:
        last.append(row)
        if worker and is_summary(row.values.get(worker, ""), CONSENSUS):
            has_consensus = True
            wrong = _("It sums up the workers.")
            said = row.values[worker]
            problems.append(Problem(row.line, worker, said, wrong, _("Left out.")))
    totals: dict[int, str] = {}
    for row in reversed(last):
        if not is_summary(row.values.get(item, "")):
            break
        totals[row.line] = row.values[item]
    if totals and (len(totals) == len(last) or _stands_above(rows, item, totals)):
        totals = {}
    for line, name in sorted(totals.items()):
        problems.append(Problem(line, item, name, _("It sums up the rows above."), _("Left out.")))
    if not (totals or has_consensus):
        return None
    return lambda row: (
        row.line not in totals
        and not (worker and is_summary(row.values.get(worker, ""), CONSENSUS))
    )


def _stands_above(rows: Iterable[Row], item: str, totals: Mapping[int, str]) -> bool:
    """Whether a total is called as an item of other rows."""
    names = set(totals.values())
    return any(row.values.get(item) in names for row in rows if row.line not in totals)
