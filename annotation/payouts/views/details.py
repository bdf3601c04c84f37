"""The page on which a worker enters how they are paid. HTTP only."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import current_and_past_work
from annotation.models import Membership, PaymentDetails
from annotation.payouts.details import actions
from crowdqc.errors import Invalid, Missing

BACK = "#payment-details"


def _worker(request: HttpRequest, project_id: int) -> Membership:
    # Pay may still wait for somebody who has left.
    found = current_and_past_work(request.user).filter(project=project_id).first()
    if found is None or found.erase_asked_at:
        raise Missing(_("There is no such project among yours."))
    return found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def payment_details(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show and save a worker's own payment details in one project."""
    worker = _worker(request, project_id)
    there = PaymentDetails.objects.filter(worker=worker).first()
    context = {
        "worker": worker,
        "ways": PaymentDetails.PaymentWay.choices,
        "there": there,
        "sent": actions.open_details(there) if there else actions.Details("", "", ""),
        "errors": {},
    }
    if request.method == "POST":
        way, name, reference = (
            request.POST.get(field, "") for field in ("way", "name", "reference")
        )
        try:
            details = actions.clean_details(way=way, name=name, reference=reference)
        except Invalid as error:
            context |= {
                "sent": actions.Details(way, name, reference),
                "errors": error.fields,
                "error": error.message,
            }
            return render(request, "annotation/payouts/details.html", context, status=422)
        actions.save_details(by=request.user, worker=worker, details=details)  # type: ignore[arg-type]
        messages.success(request, _("Your payment details are saved."))
        return redirect(reverse("work_earnings") + BACK)
    return render(request, "annotation/payouts/details.html", context)


@login_required
@require_POST
def payment_details_remove(request: HttpRequest, project_id: int) -> HttpResponse:
    """Delete a worker's own payment details in one project."""
    worker = _worker(request, project_id)
    if actions.remove_details(by=request.user, worker=worker):  # type: ignore[arg-type]
        messages.success(request, _("Your payment details are removed."))
    return redirect(reverse("work_earnings") + BACK)
