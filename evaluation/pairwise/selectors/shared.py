"""What a link shows of a pairwise study to people without an account: systems, never a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from evaluation.models import Run
from evaluation.pairwise.selectors import boards as pair_boards
from evaluation.pairwise.selectors import facts as pair_facts
from evaluation.pairwise.selectors.resistance import top as pair_resistance
from evaluation.pairwise.selectors.resistance.advice import place_of
from evaluation.pairwise.selectors.runs import dimensions
from evaluation.results.findings import arrange
from evaluation.runs.selectors import lists as reads

METHOD = gettext_noop(
    "People saw two texts at a time and said which is better. The Bradley-Terry model turns their "
    "choices into one score per system. The interval shows how sure that is; systems of one group "
    "cannot be separated."
)


def parts(run: Run, page: Any) -> dict[str, Any]:
    """Return what a shared link shows: verdict, main board, ranks, recipe."""
    names = (*pair_boards.FIGURES, *pair_resistance.FIGURES)
    told, asked = reads.figures_of(run, *names), dimensions(run.task)
    dimension = pair_boards.default_dimension(asked)
    found = pair_boards.board(run, told, asked, dimension)
    heads = {head["name"]: head["label"] for head in found["columns"]}
    every = pair_boards.rows_of(run, told)
    basis = pair_boards.basis(run, told)
    votes = pair_resistance.votes_behind(told, found, dimension)
    place = place_of(told, found["raw"], dimension, votes)
    return {
        **found,
        "tables": [table.public() for table in found["tables"]],
        "rank_table": pair_boards.rank_table(found["ranks"], found["columns"], query=None),
        "rows": [
            row for name in heads for row in pair_boards.ordered(every) if row.dimension == name
        ],
        "screen": arrange(
            [
                replace(place, note=" ".join(filter(None, (found["first"], place.note)))).finding(
                    "place"
                ),
                *pair_resistance.public_findings(told, dimension, is_open=place.open),
                *pair_facts.of_run(told, asked),
            ]
        ),
        "basis": basis,
        "shown": heads[dimension],
        "method": _(METHOD),
        "measure": _("Bradley-Terry score"),
        "units": "judgment,judgments",
        "facts": pair_facts.facts(run, told, dimension, pair_facts.dimension_key(dimension)),
        "recipe": reads.recipe_pairs(run, told.get("recipe")),
    }
