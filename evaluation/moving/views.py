"""Pages by which an owner moves projects between installations. HTTP only."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import get_installation_owner
from annotation.formats.forms import announced
from annotation.installation.actions import MAX_REASON, require_owner
from annotation.models import Project, User
from crowdqc.errors import Conflict, DomainError, Invalid, Missing
from crowdqc.numbers import parse_whole
from evaluation.models import ProjectArchive
from evaluation.moving import files


class ExportForm(forms.Form):
    """Whether the project goes on here, and why it leaves."""

    leave = forms.ChoiceField(
        label=gettext_lazy("Here"),
        choices=(
            ("", gettext_lazy("The project goes on: export a copy")),
            ("yes", gettext_lazy("The project leaves: close it, and pay nothing more from here")),
        ),
        required=False,
        widget=forms.RadioSelect,
        initial="",
    )
    why = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=MAX_REASON,
        required=False,
        help_text=gettext_lazy("Needed where the project leaves. The audit log keeps it."),
    )


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def moves(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """List archives with their progress; export a project, or import one."""
    owner = get_installation_owner(request)
    project = _find_project(request.GET.get("project", ""))
    form, status = ExportForm(), 200
    if request.method == "POST":
        try:
            if coming := announced(request):
                archive = files.begin_import(by=owner, **coming._asdict())
                part = reverse("installation_archive_part", args=[archive.pk])
                return JsonResponse({"url": part, "received": archive.done, "page": request.path})
            if request.POST.get("do") == "export":
                form = ExportForm(request.POST)
                if project is None or not form.is_valid():
                    raise Invalid(_("Choose a project."))
                files.request_export(
                    by=owner,
                    project=project,
                    leave=bool(form.cleaned_data["leave"]),
                    why=form.cleaned_data["why"],
                )
                return redirect("installation_moves")
            return _change(request, owner)
        except (Invalid, Conflict) as error:
            status = 422
            _show_error(request, form, error)
    elif not request.htmx:  # type: ignore[attr-defined]
        # A page that sends a file cannot ask in between.
        require_owner(owner, _("move a project"))
    archives = files.list_archives()
    active = any(one.state in ("queued", "running") for one in archives)
    context = {"archives": archives, "is_active": active, "project_of": project, "form": form}
    return render(request, "evaluation/moving/moves.html", context, status=status)


def _show_error(request: HttpRequest, form: forms.Form, error: DomainError) -> None:
    if form.is_bound:
        known = [name for name in error.fields if name in form.fields]
        for name in known:
            form.add_error(name, error.fields[name])
        if not known:
            form.add_error(None, error.message)
    else:
        messages.error(request, error.message)


def _change(request: HttpRequest, owner: User) -> HttpResponse | StreamingHttpResponse:
    """Download, retry or delete an archive."""
    archive = _find_archive(parse_whole(request.POST.get("archive", ""), 1, 2**53))
    do = request.POST.get("do", "")
    if do == "download":
        response = StreamingHttpResponse(
            files.download_archive(by=owner, archive=archive), content_type="application/zip"
        )
        response["Content-Disposition"] = f'attachment; filename="{archive.name}"'
        response["Content-Length"] = str(archive.size)
        return response
    changes: dict[str, Callable[[], None]] = {
        "retry": lambda: files.retry_archive(by=owner, archive=archive),
        "remove": lambda: files.remove_archive(by=owner, archive=archive),
    }
    if do not in changes:
        raise Missing(_("There is no such action here."))
    changes[do]()
    return redirect("installation_moves")


@login_required
@require_POST
def archive_part(request: HttpRequest, archive_id: int) -> JsonResponse:
    """Take the next bytes of an archive that the page sends in parts; they are the body."""
    owner = get_installation_owner(request)
    archive = _find_archive(archive_id)
    if archive.by_id != owner.pk:
        raise Missing(_("There is no such file."))
    offset = parse_whole(request.GET.get("offset", ""), 0, 2**53)
    if offset is None:
        raise Invalid(_("The place of the part is not known."), fields={"offset": "0"})
    archive = files.add_part(archive=archive, offset=offset, content=request.body)
    arriving = archive.state == ProjectArchive.State.UPLOADING
    return JsonResponse({"received": archive.done if arriving else archive.size})


def _find_archive(pk: int | None) -> ProjectArchive:
    archive = ProjectArchive.objects.filter(pk=pk).first() if pk else None
    if archive is None:
        raise Missing(_("There is no such archive."))
    return archive


def _find_project(text: str) -> Project | None:
    pk = parse_whole(text, 1, 2**53)
    if pk is None:
        return None
    project = Project.objects.filter(pk=pk, deleted_at=None).first()
    if project is None:
        raise Missing(_("There is no such project."))
    return project
