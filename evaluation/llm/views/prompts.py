"""Prompts: the built-in ones, a project's own with their versions, and one tried on an item."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_access, get_task
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role
from crowdqc.errors import DomainError
from crowdqc.numbers import parse_whole
from evaluation.llm.own import actions, selectors
from evaluation.llm.own.forms import PromptForm
from evaluation.llm.own.purposes import PURPOSES
from evaluation.llm.selectors import models as reads
from evaluation.llm_runs import start as ask_start
from evaluation.llm_runs import trial
from evaluation.llm_runs.selectors import trials
from evaluation.models import OwnPrompt

FORMS = ["GET", "HEAD", "POST"]


@login_required
@require_safe
def prompts(request: HttpRequest, project_id: int) -> HttpResponse:
    """The project's own prompts, and every built-in one as it stands, with all versions."""
    access = get_access(request, project_id)
    titles = selectors.titles()
    context = {
        "view": "prompts",
        "own": selectors.rows(access.project),
        "prompts": [one | {"title": titles.get(one["name"], "")} for one in reads.prompts()],
    }
    return render(request, "evaluation/llm/prompts.html", context)


@login_required
@require_http_methods(FORMS)
def prompt_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """Write a prompt: first what it is for, then its text, begun as a copy of a built-in one."""
    get_access(request, project_id, Role.REQUESTER)
    starts = selectors.starts()
    slug = request.GET.get("for", "")
    if slug not in PURPOSES:
        rows = [{"purpose": one, "starts": starts[one.slug]} for one in PURPOSES.values()]
        context = {"rows": rows, "chosen": None}
        return render(request, "evaluation/llm/prompts/edit.html", context)
    copied = next(
        (one for one in starts[slug] if one.ref == request.GET.get("from")), starts[slug][0]
    )
    return _write(request, project_id, slug, {"system": copied.system, "user": copied.user})


@login_required
@require_http_methods(FORMS)
def prompt_edit(request: HttpRequest, project_id: int, prompt_id: int) -> HttpResponse:
    """Change a prompt: in place until it is used, as the next version from then on."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = selectors.get_prompt(access.project, prompt_id)
    return _write(
        request,
        project_id,
        found.purpose,
        {"title": found.title or found.name, "system": found.system, "user": found.user},
        found,
    )


def _write(
    request: HttpRequest,
    project_id: int,
    slug: str,
    initial: dict[str, str],
    edited: OwnPrompt | None = None,
) -> HttpResponse:
    """The form of a prompt of this purpose, and its saving."""
    access = get_access(request, project_id, Role.REQUESTER)
    name = edited.name if edited is not None else ""
    given = request.POST if request.method == "POST" else None
    form = PromptForm(given, initial=initial, purpose=PURPOSES[slug], name=name)
    if form.is_valid():
        try:
            made = actions.save_prompt(
                by=access.user,
                project=access.project,
                purpose=slug,
                **{"name": name, **form.cleaned_data},
            )
        except DomainError as error:
            add_errors(form, error)
        else:
            messages.success(
                request, gettext("%(made)s is saved. Preview it on an item.") % {"made": made}
            )
            return redirect("models_prompt", project_id, made.pk)
    context = {
        "form": form,
        "chosen": PURPOSES[slug],
        "edited": edited,
        "used": edited is not None and selectors.used(edited),
        "places": selectors.places(PURPOSES[slug]),
    }
    status = 422 if form.errors else 200
    return render(request, "evaluation/llm/prompts/edit.html", context, status=status)


@login_required
@require_safe
def prompt(request: HttpRequest, project_id: int, prompt_id: int) -> HttpResponse:
    """One version: its text, its other versions, and a preview on one item."""
    access = get_access(request, project_id)
    found = selectors.get_prompt(access.project, prompt_id)
    chosen = {name: request.GET.get(name, "") for name in ("task", "model", "subject")}
    context: dict[str, Any] = {
        "view": "prompts",
        "prompt": found,
        "ref": selectors.ref_of(found),
        "digest": selectors.template_of(found).digest,
        "purpose": PURPOSES[found.purpose],
        "versions": selectors.rows(access.project, found.name),
        **trials.preview_on_item(access.project, found, chosen),
    }
    run = parse_whole(request.GET.get("run", ""), low=1)
    if run is not None:
        context["tried"] = trials.tried(access.project, selectors.ref_of(found), run)
    return render(request, "evaluation/llm/prompts/prompt.html", context)


@login_required
@require_POST
def prompt_try(request: HttpRequest, project_id: int, prompt_id: int) -> HttpResponse:
    """Ask the chosen model for one item by this prompt; a run like any other, of one call."""
    access = get_access(request, project_id)
    found = selectors.get_prompt(access.project, prompt_id)
    chosen = {name: request.POST.get(name, "") for name in ("task", "model", "subject")}
    _, task = get_task(request, project_id, parse_whole(chosen["task"], low=1) or 0)
    query = {name: value for name, value in chosen.items() if value}
    try:
        run = ask_start.start(
            by=access.user,
            task=task,
            method=trial.SLUG,
            raw={
                "prompt": selectors.ref_of(found),
                "model": parse_whole(chosen["model"]) or 0,
                "subject": chosen["subject"],
            },
            agreed="agreed" in request.POST,
        )
    except DomainError as error:
        messages.error(request, error.message)
    else:
        query["run"] = str(run.number)
    at = reverse("models_prompt", args=[project_id, prompt_id])
    return redirect(f"{at}?{urlencode(query)}#preview")
