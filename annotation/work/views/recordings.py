"""Recordings of who thinks aloud: taken in from the answering page, and played to who may hear."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_own_assignment, get_recording
from annotation.files.reading.recordings import EXTENSIONS
from annotation.models.assignments import AssignmentState
from annotation.work.actions import recordings, transcripts
from annotation.work.selectors.recordings import read_recording_bytes, recording_address
from annotation.work.selectors.transcripts import is_in_session, own_transcript
from annotation.work.views.page_api import for_scripts, wants_json
from crowdqc.errors import Invalid, Missing
from crowdqc.web.ranges import in_ranges


@for_scripts
def recording(request: HttpRequest, assignment_id: int, position: int) -> HttpResponse:
    """Store a recording of an item (from 1), or delete it with ``remove``.

    Scripts get {url, seconds}; a plain form gets its page again.
    """
    assignment = get_own_assignment(request, assignment_id)
    whose: dict[str, Any] = {"by": request.user, "assignment": assignment, "position": position - 1}
    told: dict[str, Any] = {"url": "", "seconds": 0}
    if "remove" in request.POST:
        recordings.remove_recording(**whose)
    else:
        sent = request.FILES.get("recording")
        if sent is None:
            raise Invalid(
                _("No recording came."), fields={"recording": _("Record or choose a file.")}
            )
        kept = recordings.store_recording(**whose, data=sent.read())
        told = {"url": recording_address(kept, assignment.task.project_id), "seconds": kept.seconds}
    if wants_json(request):
        return JsonResponse(told)
    return redirect("work_item", assignment_id=assignment.pk, position=position)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def transcript(request: HttpRequest, assignment_id: int, position: int) -> HttpResponse:
    """Page on which the speaker corrects and confirms the transcript of an item (from 1)."""
    assignment = get_own_assignment(request, assignment_id)
    found = own_transcript(assignment.pk, position - 1)
    if found is None:
        raise Missing(_("There is no transcript of this recording."))
    context: dict[str, Any] = {
        "assignment": assignment,
        "position": position,
        "transcript": found,
        "text": found.text,
        "most": transcripts.MAX_CHARACTERS,
        "sound": recording_address(found.recording, assignment.task.project_id),
        "in_session": is_in_session(found),
        "in_progress": assignment.state == AssignmentState.LEASED,
    }
    if request.method != "POST":
        return render(request, "annotation/work/think/transcript.html", context)
    text = request.POST.get("text", "")
    try:
        transcripts.confirm_transcript(
            by=request.user,  # type: ignore[arg-type]
            assignment=assignment,
            position=position - 1,
            text=text,
        )
    except Invalid as error:
        context |= {"text": text, "problem": error.message}
        return render(request, "annotation/work/think/transcript.html", context, status=422)
    messages.success(request, _("The transcript is confirmed."))
    if context["in_progress"]:
        return redirect("work_item", assignment_id=assignment.pk, position=position)
    return redirect("work_transcript", assignment_id=assignment.pk, position=position)


@login_required
@require_safe
@never_cache
def recording_file(request: HttpRequest, project_id: int, recording_id: int) -> HttpResponse:
    """A recording's bytes, or a stretch of them."""
    found = get_recording(request, project_id, recording_id)
    response = in_ranges(request, read_recording_bytes(found), found.type)
    name = f"recording-{found.pk}.{EXTENSIONS[found.type]}"
    response["Content-Disposition"] = content_disposition_header(False, name) or "inline"
    return response
