"""The sentence on top of a board of systems, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.models.tasks import TaskState
from crowdqc.numbers import count, listed, money, plural, word
from evaluation.models import Run
from evaluation.pairwise.collecting import Offer
from evaluation.pairwise.head import head_words, with_head
from evaluation.pairwise.head import named as named_rows
from evaluation.pairwise.messages import MESSAGES
from evaluation.pairwise.results import POOLED
from evaluation.pairwise.selectors.boards import (
    CONTROLLED,
    FIGURES,
    SystemRow,
    Told,
    ordered,
    rows_of,
    with_control,
)
from evaluation.pairwise.selectors.facts import verdict
from evaluation.pairwise.selectors.resistance.top import MANY_TIMES, Resistance, few_topics
from evaluation.pairwise.selectors.runs import shown_run
from evaluation.results.findings import Action, Finding, Screen, arrange
from evaluation.runs.next_actions import choose_action
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.verdicts import (
    NAMED,
    Place,
    first_place,
    named,
)
from evaluation.runs.study_state import StudyState

COLLECT = "evaluation/pairwise/board/_collect.html"


def place_of(told: Told, rows: Sequence[SystemRow], dimension: str, votes: int) -> Place:
    """Say who can be first on the raw board, and whether it holds at equal length and style.

    It is sure only where both scores put the same one first, by the ranks that each allows. Of two
    systems it says in how many votes the one was preferred.
    """
    place = _place_of(told, rows, dimension, votes)
    said = head_words(told, named_rows(rows), dimension)
    return replace(place, sentence=with_head(place.sentence, said)) if place.first else place


def _place_of(told: Told, rows: Sequence[SystemRow], dimension: str, votes: int) -> Place:
    place = verdict(rows, votes, topics=few_topics(told, dimension))
    equal, controlled = with_control(rows, told, dimension, CONTROLLED)
    if not controlled or not place.first:
        return place
    equal = ordered([row for row in equal if row.controlled is not None])
    held = first_place(equal, noun="system", by="")
    if place.sure and held.first != place.first:
        return replace(place, sentence=_by_votes(place, held), sure=False)
    return replace(place, note=" ".join(said for said in (place.note, _equal(place, held)) if said))


def beside_all(place: Place, told: Told, together: Sequence[SystemRow], dimension: str) -> Place:
    """Add who is first over all dimensions if this dimension leaves it open."""
    if not place.open or dimension == POOLED:
        return place
    whole = place_of(told, together, POOLED, 0)
    if whole.open or not whole.first:
        return place
    said = _("All dimensions together, if all of them matter to you: %(whole)s")
    note = " ".join(filter(None, [place.note, said % {"whole": whole.sentence}]))
    return replace(place, note=note)


def _equal(place: Place, held: Place) -> str:
    """Who can be first at equal length and style, beside who can be by the votes."""
    told = {"names": named(held.first, "system")}
    if not held.first:
        return _("Who would be first at equal length and style is not known.")
    if set(held.first) == set(place.first):
        if place.sure:
            return _("At equal length and style, %(names)s is first as well.") % told
        return _("The same holds at equal length and style.")
    if held.sure:
        return _("At equal length and style, %(names)s is first.") % told
    if len(held.first) == 2:
        return _("At equal length and style, %(names)s may both be the best.") % told
    return _("At equal length and style, %(names)s may all be the best.") % told


def _by_votes(place: Place, held: Place) -> str:
    """Who is first by the votes where the controlled score does not say the same."""
    name = place.first[0]
    told = {"name": name, "other": named(held.first, "system")}
    if held.sure:
        return (
            _("%(name)s is first by the votes. At equal length and style, %(other)s is first.")
            % told
        )
    said = _("%(name)s is first by the votes.") % told
    if name not in held.first:
        return f"{said} {_equal(place, held)}"
    rest = [one for one in held.first if one != name]
    others = listed(rest)
    if len(rest) > NAMED:
        others = _("%(n)s others") % {"n": word(len(rest))}
    unsure = _("At equal length and style its lead is not sure: %(others)s may be as good.")
    return f"{said} {unsure % {'others': others}}"


def board_screen(
    run: Run,
    place: Place,
    found: Resistance | None,
    study: StudyState | None,
    *,
    dimension: str,
    offer: Offer | None,
    warnings: Sequence[Finding],
) -> Screen:
    """The verdict on systems, the votes that would settle it, and what to read first."""
    candidate = _collect(offer) if offer else None
    if place.open and found and found.is_out_of_reach:
        candidate = _out_of_reach(found)
    if place.open and found and found.few_topics:
        candidate = MESSAGES.find("add_pair_topics", n=found.few_topics)
    candidate = candidate or _instead(run, place, found, dimension)
    return arrange(
        [
            place.finding(),
            choose_action(study, candidate, settled=place.sure),
            *warnings,
            *(found.findings if found else []),
        ]
    )


def place_screen(
    run: Run, place: Place, study: StudyState | None, dimension: str, *warnings: Finding | None
) -> Screen:
    """The verdict on systems where nothing is known of more votes."""
    candidate = equal_length(run, place, dimension)
    settled = place.sure or place.open
    action = choose_action(study, candidate, settled=settled)
    return arrange([place.finding(), action, *warnings])


def equal_length(run: Run, place: Place, dimension: str) -> Finding | None:
    """Advise to see the ranking at equal length, where length decides who is first."""
    if not place.first or place.sure or place.open:
        return None
    page = reverse("pair_results", args=[run.project_id, run.task_id])
    query = {"dimension": dimension, "run": str(run.number), "score": CONTROLLED}
    action = Action(_("See the ranking at equal length"), f"{page}?{urlencode(query)}")
    return MESSAGES.find("rank_at_equal_length", action=action)


def before_use(task: Task, dimension: str) -> Finding | None:
    """Return what to check before using the winner; None if its lead does not look like style."""
    run = shown_run(task).core
    if run is None:
        return None
    told = figures_of(run, *FIGURES)
    rows = ordered([row for row in rows_of(run, told) if row.dimension == dimension])
    return equal_length(run, place_of(told, rows, dimension, 0), dimension)


def _collect(offer: Offer) -> Finding:
    """The votes that can be collected from this page."""
    cost = money(offer.price.cost(offer.answers), offer.price.currency)
    label = _("Collect %(votes)s, %(cost)s") % {
        "votes": plural(offer.votes, "judgment"),
        "cost": cost if offer.price.pay else _("unpaid"),
    }
    action = Action(
        label,
        "#collect",
        requester=True,
        template="evaluation/pairwise/board/_collect.html",
    )
    return MESSAGES.find("collect_votes", action=action, votes=count(offer.votes))


def _instead(run: Run, place: Place, found: Resistance | None, dimension: str) -> Finding | None:
    """Say what to do where this page cannot ask for votes."""
    more, task = found.needed - found.used if found and found.needed else 0, run.task
    if place.open and more and task.most_answers is not None and task.state != TaskState.CLOSED:
        page = reverse("live_evaluation", args=[task.project_id, task.pk])
        action = Action(_("See the live evaluation"), page)
        return MESSAGES.find("live_collects", action=action, votes=count(more))
    return equal_length(run, place, dimension)


def _out_of_reach(found: Resistance) -> Finding:
    """Advise to choose by something else: no realistic number of votes separates the first two."""
    return MESSAGES.find("too_many_votes", votes=count(found.used * (MANY_TIMES - 1)))
