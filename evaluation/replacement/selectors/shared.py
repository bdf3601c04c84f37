"""What a link shows of a test to people without an account: models, no person and no item."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from evaluation.models import Run
from evaluation.replacement.selectors import files, verdicts
from evaluation.results.findings import arrange
from evaluation.runs.results import votes_used
from evaluation.runs.selectors import lists as reads
from evaluation.runs.selectors.verdicts import Verdict

METHOD = gettext_noop(
    "Each annotator is left out in turn and compared with the model on items that others answered "
    "as well (alternative annotator test). A model passes when it is shown to be as good as at "
    "least half of the people, within ε."
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Verdict and a row a model, at the ε that the run was started with."""
    told = reads.figures_of(run, "model", "person", "curve", "frame", "recipe", votes_used.FIGURE)
    found = verdicts.models_page(run, told)
    table = verdicts.model_table(found["models"], run)
    return {
        "screen": arrange(
            [
                Verdict(
                    found["verdict"].sentence,
                    _("ε, how much worse a model may be: %(epsilon)s.")
                    % {"epsilon": found["epsilon_said"]},
                ).finding("replacement")
            ]
        ),
        "basis": found["basis"],
        "method": _(METHOD),
        "measure": _(files.MEASURES["model"]),
        "units": "answer,answers",
        "table": table.public(),
        "tables": files.drawn_tables({**found, "table": table}, "model"),
        "rows": files.shared(told, found),
        "tally": votes_used.tally_of(told),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }
