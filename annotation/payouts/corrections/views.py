"""Approving and declining corrections of the books. HTTP only."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.access import Access, get_access
from annotation.models import Correction
from annotation.payouts.corrections.actions import decide
from crowdqc.errors import Invalid, Missing


def get_correction(access: Access, correction_id: int) -> Correction:
    """A correction of the project, or Missing."""
    found = access.project.corrections.filter(pk=correction_id).first()
    if found is None:
        raise Missing(_("There is no such correction in this project."))
    return found


def _redirect_to_corrections(project_id: int) -> HttpResponse:
    return redirect(reverse("ledger", args=[project_id]) + "#corrections")


@login_required
@require_POST
def correction_approve(request: HttpRequest, project_id: int, correction_id: int) -> HttpResponse:
    """Book what another manager proposed."""
    access = get_access(request, project_id)
    decide.approve_correction(by=access.user, correction=get_correction(access, correction_id))
    messages.success(request, _("Correction approved and booked."))
    return _redirect_to_corrections(project_id)


@login_required
@require_POST
def correction_decline(request: HttpRequest, project_id: int, correction_id: int) -> HttpResponse:
    """Decline a correction, or withdraw one's own."""
    access = get_access(request, project_id)
    found, note = get_correction(access, correction_id), request.POST.get("note", "")
    try:
        decide.decline_correction(by=access.user, correction=found, note=note)
        messages.success(request, _("Correction declined. Nothing was booked."))
    except Invalid as error:
        messages.error(request, _("Nothing was changed. %(message)s") % {"message": error.message})
    return _redirect_to_corrections(project_id)
