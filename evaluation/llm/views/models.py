"""Endpoints and models of a project: what there is, adding, changing, probing. HTTP only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import STAFF, Access, get_access
from annotation.accounts.organisations.actions import refuse_others
from annotation.accounts.organisations.selectors import get_organisation
from annotation.accounts.projects.forms import add_errors
from annotation.models import Organisation, Project, Role, Task, User
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


def _task_of(request: HttpRequest, project: Project) -> Task | None:
    """Return the task whose page led here to set up a model (``?task=``); None without one."""
    pk = parse_whole(request.GET.get("task", ""))
    tasks = project.tasks.filter(current__isnull=False).select_related("current")
    return tasks.filter(pk=pk).first() if pk else None


@dataclass(frozen=True)
class Place:
    """Where endpoints are kept: in a project, or in an organisation for all its projects."""

    by: User
    owner: Project | Organisation
    may_change: bool
    task: Task | None = None  # whose page led here

    @property
    def query(self) -> str:
        """What keeps the task through the pages of endpoints and models."""
        return f"?task={self.task.pk}" if self.task else ""

    @property
    def prefix(self) -> str:
        """How the names of its addresses begin."""
        return "models" if isinstance(self.owner, Project) else "organisation_models"

    @property
    def urls(self) -> dict[str, str]:
        """Names of its addresses, as templates take them."""
        names = ("endpoint_new", "endpoint", "endpoint_archive", "model_new", "names", "model")
        more = ("model_probe", "model_found", "model_archive")
        return {name: f"{self.prefix}_{name}" for name in (*names, *more)}

    @property
    def top(self) -> str:
        """The page of the project or organisation."""
        name = "project" if isinstance(self.owner, Project) else "organisation"
        return reverse(name, args=[self.owner.pk])

    @property
    def home(self) -> str:
        """The page that lists its endpoints."""
        name = "models" if isinstance(self.owner, Project) else "organisation"
        return reverse(name, args=[self.owner.pk]) + self.query

    def redirect(self, endpoint_id: int | None = None) -> HttpResponse:
        """Lead to this page, to an endpoint on it."""
        return redirect(f"{self.home}#endpoint-{endpoint_id}" if endpoint_id else self.home)

    def rows(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of its page, each with whether it can be changed there."""
        return [{**row, "editable": self.may_change and not row["shared"]} for row in rows]


def in_place(*roles: str) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Give a view the place that its address names, for people who change it, or of these roles."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def placed(
            request: HttpRequest,
            project_id: int = 0,
            organisation_id: int | None = None,
            **named: int,
        ) -> HttpResponse:
            if organisation_id is None:
                access = get_access(request, project_id, *(roles or (Role.REQUESTER,)))
                return view(request, _place_of(request, access), **named)
            organisation = get_organisation(request.user, organisation_id)
            user = cast(User, request.user)
            refuse_others(organisation, user)
            return view(request, Place(user, organisation, may_change=True), **named)

        return placed

    return decorate


def _place_of(request: HttpRequest, access: Access) -> Place:
    task = _task_of(request, access.project)
    return Place(access.user, access.project, may_change=access.is_requester, task=task)


@login_required
@require_safe
def models(request: HttpRequest, project_id: int) -> HttpResponse:
    """The project's endpoints and its organisation's, with models, keys, budgets and limits."""
    access = get_access(request, project_id)
    place = _place_of(request, access)
    rows = reads.endpoints(access.project)
    context = {
        "view": "models",
        "place": place,
        "rows": place.rows(rows),
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
@in_place()
def endpoint_new(request: HttpRequest, place: Place) -> HttpResponse:
    """A new endpoint with its key; then its first model."""
    form, key = EndpointForm(request.POST or None), KeyForm(request.POST or None)
    if request.method == "POST":
        valid = [form.is_valid(), key.is_valid()]
        if all(valid):
            try:
                fields = {**form.cleaned_data, **key.chosen()}
                made = actions.add_endpoint(by=place.by, owner=place.owner, **fields)
            except (Invalid, Conflict) as error:
                _refused([form, key], error)
            else:
                messages.success(
                    request, _("%(made)s is added. Add a model of it next.") % {"made": made.name}
                )
                page = reverse(place.urls["model_new"], args=[place.owner.pk, made.pk])
                return redirect(page + place.query)
    status = 422 if form.errors or key.errors else 200
    context = {"place": place, "form": form, "key": key, "endpoint": None}
    return render(request, "evaluation/llm/endpoint.html", context, status=status)


def _replace_key(place: Place, found: Endpoint, key: KeyForm) -> str:
    """Replace an endpoint's key; return what was done, "" where the form says why not."""
    if key.is_valid():
        try:
            actions.set_key(by=place.by, endpoint=found, **key.chosen())
        except (Invalid, Conflict) as error:
            add_errors(key, error)
        else:
            return _("The key is replaced.")
    return ""


def _change_endpoint(place: Place, found: Endpoint, form: EndpointForm) -> str:
    """Change an endpoint; return what was done, "" where the form says why not."""
    if form.is_valid():
        try:
            actions.change_endpoint(by=place.by, endpoint=found, **form.cleaned_data)
        except (Invalid, Conflict) as error:
            add_errors(form, error)
        else:
            return _("%(found)s is changed.") % {"found": found.name}
    return ""


@login_required
@require_http_methods(FORMS)
@in_place()
def endpoint(request: HttpRequest, place: Place, endpoint_id: int) -> HttpResponse:
    """Page of one endpoint: change it, or its key by a form of its own."""
    found = reads.get_endpoint(place.owner, endpoint_id)
    form, key, status = EndpointForm.of(found), KeyForm(), 200
    if request.method == "POST":
        if "key_kind" in request.POST:
            key = KeyForm(request.POST)
            done = _replace_key(place, found, key)
        else:
            with locks.lock_row(found):
                form = EndpointForm.of(found, request.POST)
                done = _change_endpoint(place, found, form)
        if done:
            messages.success(request, done)
            return place.redirect()
        status = 422
    mark, word = reads.key_state(found)
    context = {
        "place": place,
        "form": form,
        "key": key,
        "endpoint": found,
        "key_mark": mark,
        "key_word": word,
    }
    return render(request, "evaluation/llm/endpoint.html", context, status=status)


@login_required
@require_POST
@in_place()
def endpoint_archive(request: HttpRequest, place: Place, endpoint_id: int) -> HttpResponse:
    """Take an endpoint out of use."""
    found = reads.get_endpoint(place.owner, endpoint_id)
    actions.archive_endpoint(by=place.by, endpoint=found)
    messages.success(request, _("%(found)s is archived; its calls stay.") % {"found": found.name})
    return place.redirect()


@login_required
@require_http_methods(FORMS)
@in_place()
def model_new(request: HttpRequest, place: Place, endpoint_id: int) -> HttpResponse:
    """A new model of an endpoint, with its prices."""
    found = reads.get_endpoint(place.owner, endpoint_id)
    only = found.names[0] if len(found.names) == 1 else ""
    form = ModelForm(request.POST or None, initial={"name": only})
    if request.method == "POST" and form.is_valid():
        try:
            made = actions.add_model(
                by=place.by,
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
            return place.redirect(found.pk)
    status = 422 if form.errors else 200
    asking = probing.is_probe_pending(found.names_asked_at)
    context = {"place": place, "form": form, "endpoint": found, "model": None, "asking": asking}
    return render(request, "evaluation/llm/model.html", context, status=status)


@login_required
@require_http_methods(FORMS)
@in_place()
def model_names(request: HttpRequest, place: Place, endpoint_id: int) -> HttpResponse:
    """What the endpoint lists itself, to choose a name from; POST has a job ask for it."""
    found = reads.get_endpoint(place.owner, endpoint_id)
    if request.method == "POST":
        probing.request_names(endpoint=found)
        found.refresh_from_db()
    context = {
        "place": place,
        "endpoint": found,
        "asking": probing.is_probe_pending(found.names_asked_at),
    }
    return render(request, "evaluation/llm/_names.html", context)


@login_required
@require_http_methods(FORMS)
@in_place()
def model(request: HttpRequest, place: Place, model_id: int) -> HttpResponse:
    """Change a model's prices."""
    found = reads.get_model(place.owner, model_id)
    form = PriceForm.of(found)
    if request.method == "POST":
        with locks.lock_row(found):
            form = PriceForm.of(found, request.POST)
            if form.is_valid():
                try:
                    actions.change_model(by=place.by, model=found, **form.prices())
                except (Invalid, Conflict) as error:
                    add_errors(form, error)
        if not form.errors:
            messages.success(
                request, _("The prices of %(found)s are changed.") % {"found": found.name}
            )
            return place.redirect(found.endpoint_id)
    status = 422 if form.errors else 200
    context = {"place": place, "form": form, "endpoint": found.endpoint, "model": found}
    return render(request, "evaluation/llm/model.html", context, status=status)


@login_required
@require_POST
@in_place()
def model_probe(request: HttpRequest, place: Place, model_id: int) -> HttpResponse:
    """Have a job ask the model a few short questions, to learn what it can do."""
    found = reads.get_model(place.owner, model_id)
    probing.request_probe(by=place.by, model=found)
    return place.redirect(found.endpoint_id)


@login_required
@require_safe
@in_place(*STAFF)
def model_found(request: HttpRequest, place: Place, model_id: int) -> HttpResponse:
    """Show a probe's result as a table cell that reloads itself until the probe is done."""
    line = reads.line_of(reads.get_model(place.owner, model_id))
    context = {"place": place, "line": line, "model": line.model, "editable": True}
    if not line.probing:
        context["state"] = reads.state(reads.endpoints(place.owner))
    return render(request, "evaluation/llm/_found.html", context)


@login_required
@require_POST
@in_place()
def model_archive(request: HttpRequest, place: Place, model_id: int) -> HttpResponse:
    """Take a model out of use."""
    found = reads.get_model(place.owner, model_id)
    actions.archive_model(by=place.by, model=found)
    messages.success(request, _("%(found)s is archived; its calls stay.") % {"found": found.name})
    return place.redirect()


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
