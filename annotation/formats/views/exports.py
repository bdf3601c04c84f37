"""What was collected in a task, as a file to keep. HTTP only."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.access import STAFF, get_task, open_to_viewers, require_trace_reader
from annotation.formats.exports.pairwise import MEDIA, get_export
from annotation.formats.selectors.files import LARGE, size_of
from crowdqc.errors import Invalid, Missing
from crowdqc.numbers import count


@login_required
@require_safe
@open_to_viewers
def task_export(
    request: HttpRequest, project_id: int, task_id: int, what: str, form: str
) -> HttpResponseBase:
    """Stream an export that fits the task's type; large tasks only with ``now``."""
    access, task = get_task(request, project_id, task_id)
    require_trace_reader(access, task)
    try:
        export = get_export(task, what, form)
    except Invalid as error:
        raise Missing(error.message, fields=error.fields) from error
    if export.is_of_work:
        access.require(*STAFF)
    if access.is_staff and "now" not in request.GET and size_of(task) > LARGE:
        messages.info(
            request,
            _(
                "This task has %(size_of)s answers, so its tables are written in the "
                "background; choose one below."
            )
            % {"size_of": count(size_of(task))},
        )
        return redirect(f"{reverse('files_list', args=[project_id])}?task={task.pk}#ask")
    lines = export.lines(task, form, request.GET.get("dimension", ""))
    response = StreamingHttpResponse(lines, content_type=MEDIA[form])
    response["Content-Disposition"] = f'attachment; filename="task-{task.pk}-{what}.{form}"'
    return response
