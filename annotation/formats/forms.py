"""Forms with files: the file of a request, which column is read as what, and rows sent back."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from django.utils.translation import gettext as _

from annotation.files.reading.sources import Source, of_upload
from annotation.formats.uploads import selectors
from annotation.models import ImportFile
from crowdqc.errors import Invalid, Missing
from crowdqc.files.cells import csv_lines


def uploaded(request: HttpRequest) -> tuple[str, Source]:
    """Name and content of the file of a form. Invalid where none was chosen."""
    upload = request.FILES.get("file")
    if upload is None:
        raise Invalid(_("No file was chosen."), fields={"file": _("Choose a file.")})
    return upload.name or "", of_upload(upload)


def typed_address(request: HttpRequest) -> str:
    """The address that a form names in place of a file; "" without one, or beside a file."""
    return "" if "file" in request.FILES else str(request.POST.get("address", "")).strip()


def chosen_columns(request: HttpRequest) -> dict[str, str]:
    """Field -> column from one select a column, named ``column:NAME``."""
    return {
        field: name.removeprefix("column:")
        for name, field in request.POST.items()
        if name.startswith("column:") and isinstance(field, str) and field
    }


def bad_rows_file(file: ImportFile) -> StreamingHttpResponse:
    """The rows of a checked upload that are left out, with line and reason, as CSV."""
    if file.state != ImportFile.State.READY:
        raise Missing(_("The rows of this file are not here: it is not checked, or was imported."))
    lines = csv_lines(selectors.bad_rows(file))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="bad-rows-{file.pk}.csv"'
    return response
