"""What was collected in a task, as a file to keep. HTTP only."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from annotation.access import get_task
from annotation.exports.pairwise import MEDIA, get_export
from crowdqc.errors import Invalid, Missing


@login_required
@require_safe
def task_export(
    request: HttpRequest, project_id: int, task_id: int, what: str, form: str
) -> StreamingHttpResponse:
    """One of the exports that fit the task's type, streamed."""
    _, task = get_task(request, project_id, task_id)
    try:
        export = get_export(task, what, form)
    except Invalid as error:
        raise Missing(error.message, fields=error.fields) from error
    lines = export.lines(task, form, request.GET.get("dimension", ""))
    response = StreamingHttpResponse(lines, content_type=MEDIA[form])
    response["Content-Disposition"] = f'attachment; filename="task-{task.pk}-{what}.{form}"'
    return response
