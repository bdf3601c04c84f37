"""Agreement, the hard pairs' panel, order effects, and models as judges. HTTP only."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation.access import open_to_viewers
from annotation.accounts.projects.forms import add_errors
from annotation.authoring.actions.drafts import as_title
from annotation.models import Role, Task
from annotation.pairs.actions.pair_design import panel_task
from crowdqc.errors import Invalid
from evaluation.pairwise.selectors import agreement as pair_agreement
from evaluation.pairwise.selectors import hard as pair_hard
from evaluation.pairwise.selectors import judges as pair_judges
from evaluation.pairwise.selectors.order import page as pair_order
from evaluation.pairwise.selectors.runs import ShownRun
from evaluation.pairwise.views import boards
from evaluation.pairwise.views.forms import PanelForm
from evaluation.pairwise.views.frame import study, study_frame
from evaluation.runs.next_actions import page_screen

USUAL_PAIRS = 30  # of the published panel


def _fill(
    task: Task, runs: ShownRun, context: dict[str, Any], form: PanelForm | None = None
) -> None:
    """Add all that the page of agreement shows to its context."""
    found = context["found"] = pair_agreement.agreement(
        task, runs, context["asked"], context["study_state"], context["low_workers"]
    )
    if found is None or runs.core is None:
        return
    context["worker_table"] = found.worker_table(task, may_write=context["may_write"])
    raw = {row.name: row.raw for row in found.lines}
    raw[""] = found.mean.raw if found.mean else None
    hard = pair_hard.hard_pairs(task, runs.core, found.checks, context["asked"], raw)
    if hard is not None and form is None:
        form = PanelForm(
            task=task,
            initial={
                "pairs": max(1, min(USUAL_PAIRS, hard.hard)),
                "title": as_title(gettext("Hard pairs: %(title)s") % {"title": context["title"]}),
                "panel_name": gettext("Experts"),
            },
        )
    context.update(hard=hard, form=form, recipe=found.recipe, screen=found.screen)


def _live(request: HttpRequest, runs: ShownRun) -> bool:
    """Whether only the progress of checks that are in work is asked for."""
    asked = request.GET.get("part") == "live" and request.htmx  # type: ignore[attr-defined]
    return bool(asked) and runs.checks is None and runs.checking is not None


@login_required
@require_safe
@open_to_viewers
def agreement(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Alpha raw, corrected, on shuffled votes and cross-fitted; who lowers it; hard pairs.

    While the checks are in work a fragment asks how far they are; when they are done it is
    answered with the whole column, in the place of the page's.
    """
    access, task = study(request, project_id, task_id)
    runs, context = study_frame(request, task, "agreement")
    if runs.core is None:
        return boards.empty_page(request, task, runs, context)
    if _live(request, runs):
        context["waiting"] = pair_agreement.checks_progress(runs)
        return render(request, "evaluation/pairwise/agreement/_checks.html", context)
    context["may_write"] = access.is_requester
    _fill(task, runs, context)
    if context["found"] is None:
        return render(request, "evaluation/pairwise/not_here.html", context)
    whole = request.GET.get("part") != "live" or not request.htmx  # type: ignore[attr-defined]
    name = "agreement.html" if whole else "_oob.html"
    response = render(request, f"evaluation/pairwise/agreement/{name}", context)
    if not whole:
        response.headers["HX-Retarget"] = "#agreement"
        response.headers["HX-Reswap"] = "outerHTML"
    patch_vary_headers(response, ["HX-Request"])
    return response


@login_required
@require_POST
def panel(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Make a task of the hardest pairs for a panel of experts."""
    access, task = study(request, project_id, task_id, Role.REQUESTER)
    runs, context = study_frame(request, task, "agreement")
    pair_hard.hardest(runs, 1)
    form = PanelForm(request.POST, task=task)
    if form.is_valid():
        data = form.cleaned_data
        try:
            made = panel_task(
                by=access.user,
                task=task,
                items=pair_hard.hardest(runs, data["pairs"]),
                title=data["title"],
                panel_name=data["panel_name"],
                workers=data["workers"],
                key=data["key"],
            )
        except Invalid as error:
            add_errors(form, error)
        else:
            messages.success(
                request, gettext("The panel’s task is a draft. Publish it and it opens.")
            )
            return redirect("task", project_id, made.pk)
    context["may_write"] = True
    _fill(task, runs, context, form)
    return render(request, "evaluation/pairwise/agreement/agreement.html", context, status=422)


@login_required
@require_safe
@open_to_viewers
def order(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """What sides and positions do to answers, and how the dimensions hang together."""
    _, task = study(request, project_id, task_id)
    runs, context = study_frame(request, task, "order")
    if runs.core is None:
        return boards.empty_page(request, task, runs, context)
    found = pair_order.order(runs.core, context["asked"])
    if found is None:
        return render(request, "evaluation/pairwise/not_here.html", context)
    screen = page_screen(context["study_state"], [*found["findings"], context["low_workers"]])
    context.update(found=found, recipe=found["recipe"], screen=screen)
    return render(request, "evaluation/pairwise/agreement/order.html", context)


IMPORT_KIND = "judgments"  # what the import page calls votes of models (and people)


@login_required
@require_safe
def judges(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """How far models' labels agree with themselves, with gold, and with people."""
    _, task = study(request, project_id, task_id)
    runs, context = study_frame(request, task, "judges")
    if runs.core is None:
        return boards.empty_page(request, task, runs, context)
    dimension = boards.with_dimension(request, context)
    found = pair_judges.judges(runs.core, runs.published, context["asked"], dimension)
    context["newer"] = pair_judges.newer_votes(task, runs.core)
    context.update(found=found, recipe=found["recipe"] if found else None, import_kind=IMPORT_KIND)
    if found is not None:
        context["screen"] = page_screen(context["study_state"], found["findings"])
    return render(request, "evaluation/pairwise/workers/judges.html", context)
