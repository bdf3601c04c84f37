"""What a link shows of a run on traces to people without an account: rates, no trace."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import plural
from evaluation.charts.boards import Scale
from evaluation.methods.core.inference import Claim
from evaluation.models import Run
from evaluation.results.columns import Column
from evaluation.results.estimates import EstimateRow, drawn, estimate_columns, file_row
from evaluation.results.findings import arrange
from evaluation.results.tables import plain_table
from evaluation.runs.selectors import lists as reads
from evaluation.traces.run import FIGURES
from evaluation.traces.selectors import (
    findings_of,
    read_rates,
    week_chart,
    week_findings,
    week_label,
)

METHOD = gettext_lazy(
    "People reviewed traces that were drawn with known probabilities, without seeing the judge. "
    "Each review counts for the traces that it stands for."
)
COLUMNS = estimate_columns(
    gettext_lazy("Traces"),
    gettext_lazy("Share"),
    digits=3,
    count=Column.count("n", gettext_lazy("Reviewed traces"), gettext_lazy("of")),
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: the rate, agreement with the judge, and weeks."""
    told = reads.figures_of(run, *FIGURES)
    found = read_rates(told)
    rates = found.rates
    weeks = [
        _row(week_label(monday), week.rate)
        for monday, week in found.weeks.items()
        if week.rate.has_interval
    ]
    rows = [
        _row(_("Fail, from the judge and people"), rates.both),
        _row(_("Fail, from people alone"), rates.people),
        _row(_("Fail, as these reviewers judge"), rates.these),
        _row(_("Judge agrees with people"), rates.agreement),
        *weeks,
    ]
    rows = [row for row in rows if row.estimate is not None]
    counts = run.snapshot.counts if run.snapshot else {}
    title = _("Share of traces")
    table = plain_table(title, COLUMNS, drawn(rows, Scale(0.0, 1.0)), heading=title, axis="")
    return {
        "tables": [table],
        "chart": week_chart(found),
        "weeks": week_findings(found),
        "rate": found.rate.estimate,
        "rows": [file_row(row) for row in rows],
        "screen": arrange([*findings_of(found), *week_findings(found)]),
        "basis": _("%(reviews)s of %(traces)s by %(workers)s.")
        % {
            "reviews": plural(counts.get("answers", 0), "review"),
            "traces": plural(counts.get("questions", 0), "trace"),
            "workers": plural(counts.get("workers", 0), "worker"),
        },
        "method": str(METHOD),
        "measure": _("Share"),
        "units": "review,reviews",
        "notes": [],
        "tally": None,
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }


def _row(name: str, claim: Claim) -> EstimateRow:
    if not claim.has_interval:
        known = None if claim.estimate != claim.estimate else claim.estimate
        return EstimateRow(name, known, n=claim.n, why=_("too few reviews"))
    return EstimateRow(name, claim.estimate, claim.low, claim.high, claim.n)
