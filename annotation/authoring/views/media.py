"""Files that items show: taken in by the builder, and served to whoever may see them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_media
from annotation.authoring.actions import media
from annotation.authoring.selectors.builder.frame import Build
from annotation.authoring.views.builder.context import field_refused, find, place_of, rows_changed
from annotation.files.reading.media import EXTENSIONS, MAX_BYTES, refused
from annotation.files.stored.selectors import content
from annotation.models import MediaContent
from crowdqc.errors import Invalid
from crowdqc.numbers import plural
from crowdqc.web.ranges import in_ranges


@login_required
@require_POST
def task_build_media(request: HttpRequest, project_id: int, task_id: int) -> HttpResponse:
    """Take in files: as items, to wait for a table of items, or as the file of the open item.

    ``to=delete-unused`` deletes those of the project that no item shows, ``to=fetch`` has those
    fetched again that could not be.
    """
    access, task = find(request, project_id, task_id)
    place, user = place_of(request, task).with_changes(part="text"), access.user
    try:
        if request.POST.get("to") == "delete-unused":
            number = media.delete_unused(by=user, project=task.project)
            messages.success(request, _("%(files)s deleted.") % {"files": plural(number, "file")})
            return rows_changed(request, access, task, place)
        if request.POST.get("to") == "fetch":
            media.fetch_again(by=user, task=task)
            return rows_changed(request, access, task, place)
        sent = request.FILES.getlist("files")
        for one in sent:
            if (one.size or 0) > MAX_BYTES:
                raise refused(
                    one.name or "",
                    _("has more than %(most)s MB") % {"most": MAX_BYTES >> 20},
                    _("Make it smaller."),
                )
        files = [(one.name or "", one.read()) for one in sent]
        item = Build(task).item(place.question) if request.POST.get("to") == "attach" else None
        if item is None:
            kept = media.upload_media(
                by=user, task=task, files=files, make_items="wait" not in request.POST
            )
            messages.success(
                request, _("%(files)s uploaded.") % {"files": plural(len(kept), "file")}
            )
        elif len(files) != 1:
            raise Invalid(_("An item shows one file."), fields={"files": _("Choose one file.")})
        else:
            media.attach_media(by=user, task=task, item=item, name=files[0][0], data=files[0][1])
    except Invalid as error:
        return field_refused(request, access, task, error, into="#media-note")
    return rows_changed(request, access, task, place)


@login_required
@require_safe
def media_file(request: HttpRequest, project_id: int, sha256: str) -> HttpResponse:
    """A file's bytes, or a stretch of them; ``?thumbnail`` a small picture of an image.

    As every answer to somebody who is signed in, it is stored nowhere on the way.
    """
    file = get_media(request, project_id, sha256)
    if "thumbnail" in request.GET and file.is_image:
        small = MediaContent.objects.values_list("thumbnail", flat=True).get(file=file)
        response = HttpResponse(bytes(small), content_type="image/jpeg")
    else:
        data = content(MediaContent.objects.select_related("stored").get(file=file).stored)
        response = in_ranges(request, data, file.type)
    name = f"{sha256[:12]}.{EXTENSIONS[file.type]}"
    response["Content-Disposition"] = content_disposition_header(False, name) or "inline"
    return response
