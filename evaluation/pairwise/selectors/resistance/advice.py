"""The sentence on top of a board of systems, and what to do about it."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext as _

from annotation.models import Task
from crowdqc.numbers import count, money
from evaluation.pairwise.collecting import Offer
from evaluation.pairwise.selectors.resistance.top import Resistance
from evaluation.runs.selectors import next_steps
from evaluation.runs.selectors.verdicts import NextStep, Place, Verdict


def after_board(place: Place, task: Task, found: Resistance | None, offer: Offer | None) -> Verdict:
    """The verdict on systems, and what to do: collect the votes offered, or look at the top."""
    if found is not None:
        note = " ".join(said for said in (place.note, found.note) if said)
        place = replace(place, note=note)
    return place.then(
        NextStep(
            _("Collect %(votes)s more votes, for %(cost)s at most, to separate the first two.")
            % {"votes": count(offer.votes), "cost": money(offer.cost, task.project.currency)},
            _("Collect them here"),
            "#collect",
            requester=True,
        )
        if offer
        else None,
        next_steps.warned(found.warnings) if found and place.sure else None,
        next_steps.of_place(place, task),
    )
