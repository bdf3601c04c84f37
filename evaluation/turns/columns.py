"""Columns of the tables of turns."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.results.columns import Column
from evaluation.results.estimates import estimate_columns
from evaluation.results.files import stored

WRONG = _("Share wrong")
SHARES = estimate_columns(
    _("Turns"), WRONG, digits=2, count=Column.count("n", _("Turns and calls"), _("of"))
)
WORKERS = estimate_columns(
    _("Worker"), _("Competence"), term="competence", count=Column.count("n", _("Labels"))
)
AGREEMENT = estimate_columns(
    _("Coefficient"), _("Value"), count=Column.count("n", _("Conversations"))
)
SYSTEMS = estimate_columns(
    _("Model"), _("Agrees with people"), count=Column.count("n", _("Turns and calls"), _("of"))
)
SURVIVAL = estimate_columns(
    _("Until judged turn"),
    _("Still good"),
    count=Column.count("n", _("Conversations at this turn")),
)
UNITS = stored("item_id", "turn", "label", "certainty", "chance_wrong")
