"""What is shown of the systems of a pairwise study, and a run's rows as files."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from crowdqc.web.terms import Words
from evaluation.models import CandidateScore, SystemScore, WorkerScore
from evaluation.results.columns import (
    PLOT,
    RANK,
    Column,
    interval_column,
    name_column,
    score_column,
)
from evaluation.results.files import BASE, PLACE, SYSTEM_NAME, WORKER, StoredTable, stored
from evaluation.runs.exports.tables import LABELS, TEXT

RAW, CONTROLLED = "raw", "controlled"  # scores: as voted, and at equal length and style
FIRST = (RANK, name_column(_("System"), exports=SYSTEM_NAME), *PLACE, PLOT)
VOTES = Column.count("n", _("Votes"), exports={"n": "n"})
SYSTEMS = (
    *FIRST,
    score_column(_("Bradley-Terry score"), term="merit"),
    interval_column(),
    Column.score(*("wins", _("Win rate vs average"), _("Wins")), term="win-rate", is_public=False),
    Column.score(
        *("grade", _("Mean grade"), _("Grade")),
        bounds=("grade_low", "grade_high"),
        missing=_("none"),
        is_public=False,
    ),
    VOTES,
    *stored("se", "rank", "compare_low", "compare_high", inside="extra"),
)
UNGRADED = tuple(column for column in SYSTEMS if column.key != "grade")


def _with_other_score(label: Words) -> tuple[Column, ...]:
    """Columns of a board with two scores; ``label`` names the one that does not rank."""
    return (
        *FIRST,
        score_column(term="merit"),
        interval_column(),
        Column.score("uniterated", label, term="controlled", is_public=False),
        Column.count("words", _("Median words"), is_public=False),
        VOTES,
    )


BESIDE = {
    RAW: _with_other_score(_("Controlled")),
    CONTROLLED: _with_other_score(_("Raw")),
}
OF_WORKERS = "spam guess_left guess_neutral guess_right with_others n_others"
TABLES = {
    "workers": StoredTable(
        WorkerScore, (*WORKER, *BASE, *stored(*OF_WORKERS.split(), inside="extra"))
    ),
    "systems": StoredTable(SystemScore, SYSTEMS),
    "texts": StoredTable(
        CandidateScore,
        (
            *TEXT,
            *BASE,
            *stored("rank", "grade", "grade_low", "grade_high", "of", "pairs", inside="extra"),
        ),
    ),
    "labels": LABELS,
}
