"""The sentence on top of a board of systems, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from annotation.models import Task
from annotation.models.tasks import TaskState
from crowdqc.numbers import count, listed, plural, word
from evaluation.models import Run
from evaluation.pairwise.collecting import Offer
from evaluation.pairwise.head import head_words, with_head
from evaluation.pairwise.head import named as named_rows
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
from evaluation.pairwise.selectors.resistance.top import MANY_TIMES, Resistance, rounded
from evaluation.pairwise.selectors.runs import shown_run
from evaluation.runs.planning.price import price_of
from evaluation.runs.selectors import more_work, next_steps
from evaluation.runs.selectors.lists import figures_of
from evaluation.runs.selectors.more_work import StillOut
from evaluation.runs.selectors.verdicts import (
    NAMED,
    NextStep,
    Place,
    Verdict,
    first_place,
    named,
)


def place_of(told: Told, rows: Sequence[SystemRow], dimension: str, votes: int) -> Place:
    """Who can be first of the raw board, and whether that holds at equal length and style.

    It is sure only where both scores put the same one first, by the ranks that each allows. Of two
    systems it says in how many votes the one was preferred.
    """
    place = _place_of(told, rows, dimension, votes)
    said = head_words(told, named_rows(rows), dimension)
    return replace(place, sentence=with_head(place.sentence, said)) if place.first else place


def _place_of(told: Told, rows: Sequence[SystemRow], dimension: str, votes: int) -> Place:
    place = verdict(rows, votes)
    equal, controlled = with_control(rows, told, dimension, CONTROLLED)
    if not controlled or not place.first:
        return place
    equal = ordered([row for row in equal if row.controlled is not None])
    held = first_place(equal, noun="systems", by="")
    if place.sure and held.first != place.first:
        return replace(place, sentence=_by_votes(place, held), sure=False)
    return replace(place, note=" ".join(said for said in (place.note, _equal(place, held)) if said))


def beside_all(place: Place, told: Told, together: Sequence[SystemRow], dimension: str) -> Place:
    """With who is first of all dimensions together, where this dimension alone leaves it open."""
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
    told = {"names": named(held.first, "systems")}
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
    told = {"name": name, "other": named(held.first, "systems")}
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


def after_board(
    place: Place,
    run: Run,
    dimension: str,
    found: Resistance | None,
    *,
    offer: Offer | None,
    out: StillOut | None,
) -> Verdict:
    """The verdict on systems, and what to do: collect the votes offered, or look at the top."""
    task = run.task
    if found is not None:
        note = " ".join(said for said in (place.note, found.note) if said)
        place = replace(place, note=note)
    step = _collect(task, offer) if offer else None
    if not step and not place.sure and not place.open:
        step = after_place(place, run, dimension)
    elif not step and found is not None:
        step = _open(run, found, out) if place.open else next_steps.warned(found.warnings)
    return place.then(step or next_steps.of_place(place, task))


def after_place(place: Place, run: Run, dimension: str) -> NextStep:
    """What follows from who is first, where nothing is known of more votes."""
    if place.sure or not place.first:
        return next_steps.of_place(place, run.task)
    page = reverse("pair_results", args=[run.project_id, run.task_id])
    query = {"dimension": dimension, "run": str(run.number)}
    if place.open:
        return NextStep(
            _("Choose between them by cost or another reason: this result prefers none of them."),
            _("Read on the leaderboard whether more judgments are worth their cost"),
            f"{page}?{urlencode(query)}",
        )
    return NextStep(
        _(
            "Use %(name)s if length and style may count in its favour. If they should not, go by "
            "the ranking at equal length."
        )
        % {"name": place.first[0]},
        _("See the ranking at equal length"),
        f"{page}?{urlencode(query | {'score': CONTROLLED})}",
    )


def before_use(task: Task, dimension: str) -> NextStep | None:
    """What to check before the winner is used; None where nothing says that its lead is style."""
    run = shown_run(task).core
    if run is None:
        return None
    told = figures_of(run, *FIGURES)
    rows = ordered([row for row in rows_of(run, told) if row.dimension == dimension])
    place = place_of(told, rows, dimension, 0)
    contradicted = place.first and not place.sure and not place.open
    return after_place(place, run, dimension) if contradicted else None


def _collect(task: Task, offer: Offer) -> NextStep:
    """The votes that can be collected from this page."""
    cost = _("%(cost)s at most.") % {"cost": offer.cost}
    return NextStep(
        _("Collect %(n)s more judgments to separate the first two.") % {"n": count(offer.votes)},
        _("Collect them"),
        "#collect",
        requester=True,
        cost=f"{cost} {more_work.pace(offer.price, offer.votes)}",
        whom=more_work.whom(task, offer.judges),
    )


def _open(run: Run, found: Resistance, out: StillOut | None) -> NextStep | None:
    """What to do while several may be first, by how many judgments would tell."""
    return _wait(run, found, out) or _too_many(run, found) or _more(run, found)


def _needed(run: Run, found: Resistance) -> int:
    """How many judgments more would separate the first two; 0 where that is not known."""
    if not found.times or run.snapshot is None:
        return 0
    return rounded(run.snapshot.counts["answers"] * (found.times - 1))


def wait_for(out: StillOut | None, run: Run, place: Place, found: Resistance | None) -> str:
    """Whether to wait for the judgments still to come, by what they can change of who is first."""
    if out is None or not out.coming or found is None:
        return more_work.worth_waiting(out)
    told = {"n": plural(out.n, "judgment")}
    if not out.moves:
        return more_work.unmoved(out)
    if place.sure:
        said = _("No: the first place is sure without %(n)s still to come.")
    elif not found.plan:
        return more_work.worth_waiting(out)
    elif 0 < _needed(run, found) <= out.n:
        said = _("Yes: %(n)s still to come may be enough to separate the first two.")
    else:
        said = _("No: %(n)s still to come are too few to separate the first two.")
    return f"{said % told} {more_work.when(out)}"


def _wait(run: Run, found: Resistance, out: StillOut | None) -> NextStep | None:
    """To wait, where what is asked for may be enough to separate the first two."""
    if out is None or not out.coming or not 0 < _needed(run, found) <= out.n:
        return None
    return NextStep(
        _("Wait for the judgments still to come, then run again. Ask for no more before that.")
    )


def _too_many(run: Run, found: Resistance) -> NextStep | None:
    """To choose without more votes, where too many would be needed; and what those would cost."""
    version = run.task.current
    if not found.plan or found.times or version is None or run.snapshot is None:
        return None
    many = run.snapshot.counts["answers"] * (MANY_TIMES - 1)
    told = {"votes": count(many), "cost": price_of(run.task, version).words(many)}
    said = _(
        "Stop here and choose between them by cost or another reason: to separate the first two "
        "would take more than %(votes)s more judgments, for more than %(cost)s."
    )
    return NextStep(said % told)


def _more(run: Run, found: Resistance) -> NextStep | None:
    """How many votes would do where this page cannot ask for them, and what stands against it."""
    task = run.task
    version, more = task.current, _needed(run, found)
    if version is None or not more:
        return None
    told = {"votes": count(more), "cost": price_of(task, version).words(more)}
    if task.most_answers is not None and task.state == TaskState.CLOSED:
        said = _(
            "Stop here and choose between them by cost or another reason: about %(votes)s more "
            "judgments, about %(cost)s, would be needed."
        )
        return NextStep(said % told)
    if task.most_answers is not None:
        said = _(
            "About %(votes)s more judgments, about %(cost)s, would be needed. The live evaluation "
            "asks for them by itself, up to its limits."
        )
        page = reverse("live_evaluation", args=[task.project_id, task.pk])
        return NextStep(said % told, _("See the live evaluation"), page)
    said = _(
        "If the choice is worth more than %(cost)s to you: collect about %(votes)s more judgments, "
        "which probably separate the first two."
    )
    other = NextStep(said % told)
    if task.state == TaskState.CLOSED:
        said = _(
            "If the choice is worth more than %(cost)s to you: reopen the task and collect about "
            "%(votes)s more judgments, which probably separate the first two."
        )
        page = reverse("task", args=[task.project_id, task.pk])
        other = NextStep(said % told, _("Open the task"), page)
    return NextStep(
        _("Stop here and choose between them by cost or another reason."), instead=other
    )
