"""After a confirmation: send the form again that had to wait for it."""

from __future__ import annotations

import time

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.accounts.security.middleware import STASH, STASH_SECONDS


@never_cache
@login_required
@require_safe
def stepup_resume(request: HttpRequest, waiting: str) -> HttpResponse:
    """The form that waited, ready to be sent: a script does it, or the person.

    It is taken out of the session with this, so it is sent once. The action looks at the
    confirmation again, so nothing rests on who opens this page.
    """
    kept = request.session.get(STASH)
    if not kept or kept["key"] != waiting:
        messages.info(request, "Nothing is waiting to be sent. Fill in the form again.")
        return redirect("home")
    del request.session[STASH]
    if time.time() - kept["at"] > STASH_SECONDS:
        messages.info(request, "That took too long. Please check the form and send it again.")
        return redirect(kept["back"])
    form = QueryDict(kept["form"])
    fields = [
        (name, value)
        for name, values in form.lists()
        if name != "csrfmiddlewaretoken"
        for value in values
    ]
    context = {"path": kept["path"], "fields": fields, "back": kept["back"]}
    return render(request, "annotation/accounts/stepup_resume.html", context)
