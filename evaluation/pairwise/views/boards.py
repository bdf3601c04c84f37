"""Boards of systems, the win matrix, grades, printed tables, ratings and exports. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_task, open_to_viewers
from annotation.formats.exports import pairwise
from annotation.models import Role, Task
from annotation.task_types import get_type
from annotation.work.snapshots.judgments import AskedDimension
from crowdqc.errors import Conflict, Missing
from crowdqc.numbers import parse_whole, plural
from evaluation.models import Run
from evaluation.pairwise import collecting
from evaluation.pairwise.columns import CONTROLLED, RAW
from evaluation.pairwise.run import CORE, RATED
from evaluation.pairwise.selectors import agreement as pair_agreement
from evaluation.pairwise.selectors import boards as pair_boards
from evaluation.pairwise.selectors import facts as pair_facts
from evaluation.pairwise.selectors import live as pair_live
from evaluation.pairwise.selectors import runs as pair_runs
from evaluation.pairwise.selectors.resistance import kinds as pair_kinds
from evaluation.pairwise.selectors.resistance import top as pair_resistance
from evaluation.pairwise.selectors.resistance.advice import (
    beside_all,
    board_screen,
    place_of,
    place_screen,
)
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.pairwise.selectors.tables import factors as pair_factors
from evaluation.pairwise.selectors.tables import grades as pair_tables
from evaluation.pairwise.views.frame import frame, number_of, study, study_frame
from evaluation.published.studies import selectors as pair_published
from evaluation.rescaling.selectors import rated_texts, rating_boards
from evaluation.results.findings import Screen
from evaluation.runs import schedules
from evaluation.runs.next_actions import page_screen
from evaluation.runs.pages import export_menu, run_frame, send, send_csv
from evaluation.runs.results import look_alikes, votes_used
from evaluation.runs.run_types import require_fit
from evaluation.runs.selectors import lists as reads
from evaluation.runs.sharing.selectors import menu_of


def with_dimension(request: HttpRequest, context: dict[str, Any], *, pooled: bool = True) -> str:
    """Return the dimension asked for, or the overall one, and store it in the context."""
    asked = context["asked"]
    chosen: str = context["dimension"]
    named, several = "dimension" in request.GET, len(asked) > 1
    if not named or (not chosen and not (pooled and several)):
        chosen = pair_boards.default_dimension(asked)
    context.update(
        dimension=chosen,
        dimension_label=next(
            (one.label for one in asked if one.name == chosen), gettext("All together")
        ),
        dimension_chosen=named,
        picks="" if not several else "all" if pooled else "each",
    )
    return chosen


def page(
    request: HttpRequest, task: Task, view: str, *, pooled: bool = True
) -> tuple[ShownRun, dict[str, Any]]:
    """The frame of a page that shows one dimension of one of several runs."""
    runs, context = frame(request, task, view)
    with_dimension(request, context, pooled=pooled)
    context["run_choices"] = pair_boards.run_choices(task)
    return runs, context


def empty_page(
    request: HttpRequest, task: Task, runs: ShownRun, context: dict[str, Any]
) -> HttpResponse:
    """Show the page of results before the first finished run."""
    first, last = schedules.first_run(task), context["last"]
    sentence, why = pair_live.first_words(first)
    sentence = reads.waiting_words(task, first.missing, "judgment") or sentence
    live = pair_live.live_strip(
        task, runs, context["fresh"], last=last, shown=0, dimension=context["dimension"]
    )
    context.update(first=first, sentence=sentence, why=why, live=live, shown=0)
    return render(request, "evaluation/pairwise/empty.html", context)


@login_required
@require_safe
@open_to_viewers
def board(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Systems by Bradley-Terry on one dimension, one board a connected component."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "board")
    run, dimension = runs.core, context["dimension"]
    if run is None:
        return empty_page(request, task, runs, context)
    told = reads.figures_of(
        run, *pair_boards.FIGURES, *pair_resistance.FIGURES, *pair_kinds.FIGURES
    )
    view = request.GET.get("score", RAW)
    context.update(pair_boards.board(run, told, context["asked"], dimension, view=view))
    found = pair_resistance.resistance(run, told, context["raw"], dimension)
    place = place_of(
        told, context["raw"], dimension, pair_resistance.votes_behind(told, context, dimension)
    )
    place = beside_all(place, told, context["together"], dimension)
    if found and place.open:
        found = found.while_open()
    offer = collecting.offer(task, found.needed) if found else None
    context.update(
        screen=board_screen(
            run,
            place,
            found,
            context["study_state"],
            dimension=dimension,
            offer=offer,
            warnings=[
                *filter(None, [context["low_workers"]]),
                *pair_facts.warnings(runs, told, context["asked"]),
            ],
        ),
        live=pair_live.live_strip(
            task, runs, context["fresh"], last=context["last"], shown=None, dimension=dimension
        ),
        shown=run.pk,
        resistance=found,
        kinds=(kinds := pair_kinds.kinds(told, context["raw"], dimension)),
        kinds_answer=pair_kinds.answer_of(kinds),
        leading=pair_boards.leading_words(context["ranks"]),
        facts=[
            *(found.facts if found else []),
            *pair_facts.facts(run, told, dimension, pair_facts.dimension_key(dimension)),
        ],
        rank_table=pair_boards.rank_table(
            context["ranks"],
            context["columns"],
            query=f"&run={run.number}" if context["keep"] else "",
        ),
        scores=_scores(request),
        offer=offer,
        recipe=reads.recipe_pairs(run, told.get("recipe")),
        **menu_of(run),
    )
    return render(request, "evaluation/pairwise/board.html", context)


@login_required
@require_POST
def collect(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Ask for the votes that the board of a run offers to collect."""
    access, task = get_task(request, project_id, task_id, Role.REQUESTER)
    require_fit(task, CORE, Missing(gettext("Only pairwise studies collect votes so.")))
    number = parse_whole(request.POST.get("run", ""), 1, 10**9)
    dimension = request.POST.get("dimension", "")
    run = pair_runs.shown_run(task, number).core
    if run is None:
        raise Conflict(
            gettext("This task has no finished run yet, so nothing is known to be lacking.")
        )
    told = reads.figures_of(run, *pair_boards.FIGURES, *pair_resistance.FIGURES)
    rows = pair_boards.board(run, told, pair_runs.dimensions(task), dimension)["raw"]
    found = pair_resistance.resistance(run, told, rows, dimension)
    made = collecting.collect(by=access.user, task=task, needed=found.needed if found else 0)
    messages.success(
        request,
        gettext("%(more_votes)s requested: %(judges)s judges per pair.")
        % {"more_votes": plural(made.votes, "more judgment"), "judges": made.judges},
    )
    return redirect("pair_results", project_id, task_id)


def _scores(request: HttpRequest) -> list[dict[str, str]]:
    """The two scores as links that keep the rest of the address."""
    made = []
    for slug, label in (
        (RAW, gettext("Raw score")),
        (CONTROLLED, gettext("Controlled for length and style")),
    ):
        query = request.GET.copy()
        query["score"] = slug
        made.append({"slug": slug, "label": label, "url": f"?{query.urlencode()}"})
    return made


@login_required
@require_safe
@open_to_viewers
def live_fragment(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """The strip of counts and runs alone; it asks for itself while something is to come."""
    _, task = study(request, project_id, task_id)
    shown, pinned = number_of(request, "shown"), number_of(request)
    runs = pair_runs.shown_run(task)
    last, dimension = schedules.last_run(task), request.GET.get("dimension", "")
    context = {
        "task": task,
        "live": pair_live.live_strip(
            task,
            runs,
            schedules.count_new_answers(task, last),
            last=last,
            shown=shown,
            dimension=dimension,
        ),
        "shown": shown,
        "pinned": pinned,
        "dimension": dimension,
    }
    return render(request, "evaluation/pairwise/_live.html", context)


@login_required
@require_safe
@open_to_viewers
def wins(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Systems against systems: who wins how much of what was decided."""
    _, task = study(request, project_id, task_id)
    runs, context = page(request, task, "wins")
    run = runs.core
    if run is None:
        return empty_page(request, task, runs, context)
    told = reads.figures_of(run, *pair_boards.FIGURES)
    dimension = context["dimension"]
    context.update(pair_boards.win_matrix(told, run, dimension))
    place = place_of(told, context["rows"], dimension, context["votes"])
    context["screen"] = place_screen(
        run, place, context["study_state"], dimension, context["low_workers"]
    )
    context["recipe"] = reads.recipe_pairs(run, told.get("recipe"))
    return render(request, "evaluation/pairwise/wins.html", context)


@login_required
@require_safe
@open_to_viewers
def export(request: HttpRequest, project_id: int, task_id: int) -> HttpResponseBase:
    """Rows of a finished run, all with a manifest or one table; with ``what``, the judgments."""
    _, task = study(request, project_id, task_id)
    if "what" in request.GET:
        return _judgments(request, task, request.GET["what"])
    run = pair_runs.shown_run(task, number_of(request)).core
    if run is not None and request.GET.get("table") == pair_kinds.TABLE:
        told = reads.figures_of(run, *pair_kinds.FIGURES)
        content = pair_kinds.table(told, pair_boards.rows_of(run, told))
        return send_csv(run, pair_kinds.TABLE, content)
    if run is not None and request.GET.get("table") == pair_factors.TABLE:
        compared = pair_tables.factors_of(run, pair_runs.dimensions(task))
        if compared is None:
            raise Missing(gettext("This run compares no styles or origins."))
        return send_csv(run, pair_factors.TABLE, compared.csv())
    return send(request, run)


def _judgments(request: HttpRequest, task: Task, what: str) -> HttpResponseBase:
    """What was collected, in one of the formats of others; Invalid names what is unknown."""
    form, dimension = request.GET.get("format", "csv"), request.GET.get("dimension", "")
    lines = pairwise.get_export(task, what, form).lines(task, form, dimension)
    response = StreamingHttpResponse(lines, content_type=pairwise.MEDIA[form])
    response["Content-Disposition"] = f'attachment; filename="task-{task.pk}-{what}.{form}"'
    return response


@login_required
@require_safe
@open_to_viewers
def grades(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Mean grades by style and origin with tests of two groups, and the grades of each topic."""
    _, task = study(request, project_id, task_id)
    runs, context = study_frame(request, task, "grades")
    run = runs.core
    if run is None:
        return empty_page(request, task, runs, context)
    found = pair_tables.grades(
        run,
        context["asked"],
        first=request.GET.get("first", ""),
        second=request.GET.get("second", ""),
        page=request.GET.get("page"),
    )
    if found is None:
        return render(request, "evaluation/pairwise/not_here.html", context)
    similar = pair_tables.overlap(runs, context["asked"])
    told = reads.figures_of(run, "recipe").get("recipe")
    context.update(
        found=found,
        screen=page_screen(context["study_state"], [*found["findings"], context["low_workers"]]),
        similar=similar,
        waiting=None if similar or runs.checks else pair_agreement.checks_progress(runs),
        page=found["topic_page"],
        filters="evaluation/pairwise/_groups.html",
        recipe=reads.recipe_pairs(run, told),
    )
    return render(request, "evaluation/pairwise/grades.html", context)


@login_required
@require_safe
def published(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Tables as printed, as measured from the database, and by our own run."""
    _, task = study(request, project_id, task_id)
    runs, context = study_frame(request, task, "agreement")
    found = pair_published.published(task, runs, context["asked"])
    if found is None:
        raise Missing(gettext("Nothing published was imported beside this task."))
    context["found"] = found
    return render(request, "evaluation/pairwise/published.html", context)


@login_required
@require_safe
@open_to_viewers
def ratings(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Agreement, the mean of every source, and how workers use the scale."""
    access, task = get_task(request, project_id, task_id)
    require_fit(task, RATED, Missing(gettext("This task does not ask for ratings.")))
    run, asked = reads.shown_run(task, number_of(request)), pair_runs.dimensions(task)
    noun = get_type(task.type).noun_in(task.current.settings if task.current else {})
    context = {**run_frame(task, run), "nouns": f"{noun},{noun}s"}
    if run is None:
        first = schedules.first_run(task)
        sentence, _ = reads.first_run_words(first.enough, first.others, first.missing, "rating")
        sentence = reads.waiting_words(task, first.missing, "rating") or sentence
        why = gettext(
            "Agreement and means need at least 3 workers with 5 ratings each; the first run "
            "starts automatically then."
        )
        context.update(first=first, sentence=sentence, why=why)
        return render(request, "evaluation/pairwise/ratings.html", context)
    wanted = request.GET.get("dimension", "")
    chosen = next((one for one in asked if one.name == wanted), asked[0] if asked else None)
    names = ("recipe", votes_used.FIGURE, look_alikes.FIGURE, *rating_boards.KINDS)
    told = reads.figures_of(run, *names, rating_boards.TWO_CLASSES)
    workers = rating_boards.workers(run, chosen.name, access) if chosen else []
    found = rating_boards.boards(run, asked)
    own = next((one for one in found if one.asked == chosen), None)
    rated = rating_boards.best_of(own, found) if own else None
    context.update(
        boards=found,
        kinds=rating_boards.kinds(run, told, chosen.name) if chosen else [],
        two_classes=rating_boards.two_classes(told, asked),
        screen=page_screen(
            context["study_state"],
            [rated.finding(), *rating_boards.rater_findings(run, own.asked.name, named=True)],
            settled=not rated.unknown,
        )
        if rated and own
        else Screen(),
        **_texts_of(run, chosen, request),
        workers=rating_boards.worker_table(workers, chosen.label) if chosen and workers else None,
        look_alikes=look_alikes.listed(
            run, told, {row.id: row.name for row in workers}, url=look_alikes.card_url
        ),
        corrected=rating_boards.corrected(run, asked, chosen, workers) if chosen else {},
        chosen=chosen,
        asked=asked,
        **export_menu(run),
        recipe=reads.recipe_pairs(run, told.get("recipe")),
        tally=votes_used.tally_of(told),
    )
    return render(request, "evaluation/pairwise/ratings.html", context)


def _texts_of(run: Run, scale: AskedDimension | None, request: HttpRequest) -> dict[str, Any]:
    """The texts of a run on a scale, a page of them."""
    if scale is None:
        return {}
    page, table = rated_texts.texts(run, scale, request.GET.get("page"))
    return {"page": page, "texts": table}
