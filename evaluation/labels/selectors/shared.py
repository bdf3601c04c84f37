"""What a link shows of a label study to people without an account: no names, texts or answers."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.labels.selectors import findings, study, tables
from evaluation.labels.selectors import workers as worker_reads
from evaluation.labels.selectors.study import ShownField
from evaluation.models import Run
from evaluation.results.findings import arrange
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads

METHOD = gettext_lazy(
    "People chose one label per item. %(model)s estimates the items’ labels together with how "
    "often each worker is right. The interval shows how sure that is."
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: verdict, agreement, methods, board of numbered workers."""
    rows = worker_reads.ordered(worker_reads.rows_of(run), "competence", ascending=False)
    for place, row in enumerate(rows, 1):
        row.id, row.name = 0, _("Worker %(place)s") % {"place": place}
    names = (*study.FIGURES, *worker_reads.FIGURES, *tables.COMPARE)
    told = reads.figures_of(run, *names)
    found = worker_reads.worker_list(run, rows, ShownField.of(told), page=page)
    return {
        **found,
        "tables": [found["table"]],
        "rows": rows,
        "screen": arrange(
            [
                findings.verdict_of(run, told, worker_reads.count_reliable(run, rows)),
                *findings.public_warnings(told, rows),
            ]
        ),
        "method": METHOD % {"model": "MACE" if found["by_mace"] else "Dawid-Skene"},
        "measure": _("Competence"),
        "units": "label,labels",
        "notes": [],
        "basis": study.basis(run, told),
        "agreement": tables.rail_agreement(told),
        "methods": tables.compare(told, worker_reads.single_labels(rows)),
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }
