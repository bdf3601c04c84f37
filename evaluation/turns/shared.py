"""What a link shows of a run on turns to people without an account: shares, no text and no name."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crowdqc.numbers import plural
from evaluation.models import Run
from evaluation.results.estimates import file_row
from evaluation.results.findings import arrange
from evaluation.runs.selectors import lists as reads
from evaluation.turns.run import FIGURES
from evaluation.turns.selectors import result_tables, share_rows, verdict_of, warnings_of

METHOD = gettext_lazy(
    "People labelled turns of conversations. Intervals are over conversations, since turns of one "
    "conversation are alike."
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: shares by turn and tool, survival and agreement."""
    told = reads.figures_of(run, *FIGURES, "recipe")
    counts, summary = run.snapshot.counts if run.snapshot else {}, told["summary"]
    return {
        "tables": result_tables(told),
        "rows": [file_row(row) for row in share_rows(told)],
        "screen": arrange([verdict_of(told), *warnings_of(run.task, told)]),
        "basis": _("%(labels)s of %(conversations)s by %(workers)s.")
        % {
            "labels": plural(counts.get("labels", 0), "label"),
            "conversations": plural(summary["conversations"], "conversation"),
            "workers": plural(summary["workers"], "worker"),
        },
        "method": str(METHOD),
        "measure": _("Share"),
        "units": "label,labels",
        "notes": [],
        "tally": None,
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }
