"""Endpoints and models of a project: what there is, adding, changing, probing. HTTP only."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Access, get_access
from annotation.accounts.projects.forms import add_errors
from annotation.models import Role, Task
from annotation.records.actions import locks
from crowdqc.errors import Conflict, DomainError, Invalid
from crowdqc.numbers import parse_whole
from evaluation.llm.endpoints import actions
from evaluation.llm.endpoints import probe as probing
from evaluation.llm.endpoints.forms import EndpointForm, KeyForm, ModelForm, PriceForm
from evaluation.llm.selectors import calls as call_reads
from evaluation.llm.selectors import models as reads
from evaluation.models import Endpoint

FORMS = ["GET", "HEAD", "POST"]


def _task_of(request: HttpRequest, access: Access) -> Task | None:
    """Return the task whose page led here to set up a model (``?task=``); None without one."""
    pk = parse_whole(request.GET.get("task", ""))
    tasks = access.project.tasks.filter(current__isnull=False).select_related("current")
    return tasks.filter(pk=pk).first() if pk else None


def _from_task(request: HttpRequest, access: Access) -> str:
    """Return the query that keeps the task through the pages of endpoints and models."""
    task = _task_of(request, access)
    return f"?task={task.pk}" if task else ""


def _models_url(request: HttpRequest, access: Access, endpoint: Endpoint) -> str:
    page = reverse("models", args=[access.project.pk])
    return f"{page}{_from_task(request, access)}#endpoint-{endpoint.pk}"


@login_required
@require_safe
def models(request: HttpRequest, project_id: int) -> HttpResponse:
    """The project's endpoints with their models, keys, budgets and limits."""
    access = get_access(request, project_id)
    rows = reads.endpoints(access.project)
    context = {
        "view": "models",
        "rows": rows,
        "came_from": _task_of(request, access),
        "from_task": _from_task(request, access),
        "needs": reads.NEEDS,
        "without": reads.WITHOUT,
        "models": sum(len(row["models"]) for row in rows),
        "state": reads.state(rows),
        "sentence": reads.summary(rows, access.project.currency),
    }
    return render(request, "evaluation/llm/models.html", context)


def _refused(some: Sequence[forms.Form], error: DomainError) -> None:
    """Show errors with their fields in each form; others stand above the first form."""
    for form in some:
        mine = {name: text for name, text in error.fields.items() if name in form.fields}
        if mine:
            add_errors(form, Invalid(error.message, fields=mine))
    if not any(name in form.fields for form in some for name in error.fields):
        some[0].add_error(None, error.message)


@login_required
@require_http_methods(FORMS)
def endpoint_new(request: HttpRequest, project_id: int) -> HttpResponse:
    """A new endpoint with its key; then its first model."""
    access = get_access(request, project_id, Role.REQUESTER)
    form, key = EndpointForm(request.POST or None), KeyForm(request.POST or None)
    if request.method == "POST":
        valid = [form.is_valid(), key.is_valid()]
        if all(valid):
            try:
                fields = {**form.cleaned_data, **key.chosen()}
                made = actions.add_endpoint(by=access.user, project=access.project, **fields)
            except (Invalid, Conflict) as error:
                _refused([form, key], error)
            else:
                messages.success(
                    request, _("%(made)s is added. Add a model of it next.") % {"made": made.name}
                )
                page = reverse("models_model_new", args=[project_id, made.pk])
                return redirect(page + _from_task(request, access))
    status = 422 if form.errors or key.errors else 200
    context = {
        "form": form,
        "key": key,
        "endpoint": None,
        "from_task": _from_task(request, access),
    }
    return render(request, "evaluation/llm/endpoint.html", context, status=status)


def _replace_key(access: Access, found: Endpoint, key: KeyForm) -> str:
    """Replace an endpoint's key; return what was done, "" where the form says why not."""
    if key.is_valid():
        try:
            actions.set_key(by=access.user, endpoint=found, **key.chosen())
        except (Invalid, Conflict) as error:
            add_errors(key, error)
        else:
            return _("The key is replaced.")
    return ""


def _change_endpoint(access: Access, found: Endpoint, form: EndpointForm) -> str:
    """Change an endpoint; return what was done, "" where the form says why not."""
    if form.is_valid():
        try:
            actions.change_endpoint(by=access.user, endpoint=found, **form.cleaned_data)
        except (Invalid, Conflict) as error:
            add_errors(form, error)
        else:
            return _("%(found)s is changed.") % {"found": found.name}
    return ""


@login_required
@require_http_methods(FORMS)
def endpoint(request: HttpRequest, project_id: int, endpoint_id: int) -> HttpResponse:
    """Page of one endpoint: change it, or its key by a form of its own."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_endpoint(access.project, endpoint_id)
    form, key, status = EndpointForm.of(found), KeyForm(), 200
    if request.method == "POST":
        if "key_kind" in request.POST:
            key = KeyForm(request.POST)
            done = _replace_key(access, found, key)
        else:
            with locks.lock_row(found):
                form = EndpointForm.of(found, request.POST)
                done = _change_endpoint(access, found, form)
        if done:
            messages.success(request, done)
            return redirect("models", project_id)
        status = 422
    mark, word = reads.key_state(found)
    context = {"form": form, "key": key, "endpoint": found, "key_mark": mark, "key_word": word}
    return render(request, "evaluation/llm/endpoint.html", context, status=status)


@login_required
@require_POST
def endpoint_archive(request: HttpRequest, project_id: int, endpoint_id: int) -> HttpResponse:
    """Take an endpoint out of use."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_endpoint(access.project, endpoint_id)
    actions.archive_endpoint(by=access.user, endpoint=found)
    messages.success(request, _("%(found)s is archived; its calls stay.") % {"found": found.name})
    return redirect("models", project_id)


@login_required
@require_http_methods(FORMS)
def model_new(request: HttpRequest, project_id: int, endpoint_id: int) -> HttpResponse:
    """A new model of an endpoint, with its prices."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_endpoint(access.project, endpoint_id)
    only = found.names[0] if len(found.names) == 1 else ""
    form = ModelForm(request.POST or None, initial={"name": only})
    if request.method == "POST" and form.is_valid():
        try:
            made = actions.add_model(
                by=access.user,
                endpoint=found,
                name=form.cleaned_data["name"],
                use=form.cleaned_data["use"],
                **form.prices(),
            )
        except (Invalid, Conflict) as error:
            add_errors(form, error)
        else:
            messages.success(
                request,
                _("%(made)s is added. Probe it, to learn what it can do.") % {"made": made.name},
            )
            return redirect(_models_url(request, access, found))
    status = 422 if form.errors else 200
    asking = probing.is_probe_pending(found.names_asked_at)
    context = {
        "form": form,
        "endpoint": found,
        "model": None,
        "asking": asking,
        "from_task": _from_task(request, access),
    }
    return render(request, "evaluation/llm/model.html", context, status=status)


@login_required
@require_http_methods(FORMS)
def model_names(request: HttpRequest, project_id: int, endpoint_id: int) -> HttpResponse:
    """What the endpoint lists itself, to choose a name from; POST has a job ask for it."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_endpoint(access.project, endpoint_id)
    if request.method == "POST":
        probing.request_names(endpoint=found)
        found.refresh_from_db()
    context = {"endpoint": found, "asking": probing.is_probe_pending(found.names_asked_at)}
    return render(request, "evaluation/llm/_names.html", context)


@login_required
@require_http_methods(FORMS)
def model(request: HttpRequest, project_id: int, model_id: int) -> HttpResponse:
    """Change a model's prices."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_model(access.project, model_id)
    form = PriceForm.of(found)
    if request.method == "POST":
        with locks.lock_row(found):
            form = PriceForm.of(found, request.POST)
            if form.is_valid():
                try:
                    actions.change_model(by=access.user, model=found, **form.prices())
                except (Invalid, Conflict) as error:
                    add_errors(form, error)
        if not form.errors:
            messages.success(
                request, _("The prices of %(found)s are changed.") % {"found": found.name}
            )
            return redirect(f"{reverse('models', args=[project_id])}#endpoint-{found.endpoint_id}")
    status = 422 if form.errors else 200
    context = {"form": form, "endpoint": found.endpoint, "model": found}
    return render(request, "evaluation/llm/model.html", context, status=status)


@login_required
@require_POST
def model_probe(request: HttpRequest, project_id: int, model_id: int) -> HttpResponse:
    """Have a job ask the model a few short questions, to learn what it can do."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_model(access.project, model_id)
    probing.request_probe(by=access.user, model=found)
    return redirect(_models_url(request, access, found.endpoint))


@login_required
@require_safe
def model_found(request: HttpRequest, project_id: int, model_id: int) -> HttpResponse:
    """Show a probe's result as a table cell that reloads itself until the probe is done."""
    access = get_access(request, project_id)
    line = reads.line_of(reads.get_model(access.project, model_id))
    context = {"line": line, "model": line.model, "project": access.project}
    if not line.probing:
        context["state"] = reads.state(reads.endpoints(access.project))
    return render(request, "evaluation/llm/_found.html", context)


@login_required
@require_POST
def model_archive(request: HttpRequest, project_id: int, model_id: int) -> HttpResponse:
    """Take a model out of use."""
    access = get_access(request, project_id, Role.REQUESTER)
    found = reads.get_model(access.project, model_id)
    actions.archive_model(by=access.user, model=found)
    messages.success(request, _("%(found)s is archived; its calls stay.") % {"found": found.name})
    return redirect("models", project_id)


PER_PAGE = 50


@login_required
@require_safe
def calls(request: HttpRequest, project_id: int) -> HttpResponse:
    """Every call of the project, filtered by run, model, prompt and state, with totals."""
    access = get_access(request, project_id)
    filters = call_reads.Filters.of(request.GET)
    found = call_reads.calls(access.project, filters)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    currency = access.project.currency
    context = {
        "view": "calls",
        "page": page,
        "filters": filters,
        "rows": call_reads.rows_of(list(page.object_list), currency),
        "totals": call_reads.totals(access.project, filters, currency),
        "choices": call_reads.choices(access.project),
    }
    return render(request, "evaluation/llm/calls.html", context)


@login_required
@require_safe
def call(request: HttpRequest, project_id: int, call_id: int) -> HttpResponse:
    """One call: what was sent, what came, what it cost and who used it."""
    access = get_access(request, project_id)
    found = call_reads.get_call(access.project, call_id)
    context = {"view": "calls", "found": call_reads.call_page(found, access.project.currency)}
    return render(request, "evaluation/llm/call.html", context)
