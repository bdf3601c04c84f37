"""Forms with files: the file of a request, which column is read as what, and rows sent back."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.files.reading.importer import of_all_rows
from annotation.files.reading.media import looks_like_media
from annotation.files.reading.media_files import pack_files
from annotation.files.reading.sources import Source, of_upload
from annotation.formats.uploads import selectors
from annotation.models import ImportFile
from crowdqc.errors import Invalid, Missing
from crowdqc.files.cells import csv_lines
from crowdqc.numbers import parse_whole, plural


def uploaded(request: HttpRequest) -> tuple[str, Source]:
    """Name and content of the file of a form; several, or an image, as one archive.

    Invalid where none was chosen.
    """
    uploads = [(one.name or "", of_upload(one)) for one in request.FILES.getlist("file")]
    if not uploads:
        raise Invalid(_("No file was chosen."), fields={"file": _("Choose a file.")})
    name, source = uploads[0]
    if len(uploads) > 1:
        return plural(len(uploads), "file"), pack_files(uploads)
    return name, pack_files(uploads) if looks_like_media(source.head()) else source


def typed_address(request: HttpRequest) -> str:
    """The address that a form names in place of a file; "" without one, or beside a file."""
    return "" if "file" in request.FILES else str(request.POST.get("address", "")).strip()


class Announced(NamedTuple):
    """A file that a page will send in parts: its name, bytes, and time of change in ms."""

    name: str
    size: int
    modified: int


def announced(request: HttpRequest) -> Announced | None:
    """The file that a page announces before it sends it in parts; None for any other form."""
    if "size" not in request.POST:
        return None
    size, modified = (
        parse_whole(request.POST.get(name, ""), 0, 2**53) for name in ("size", "modified")
    )
    if size is None or modified is None:
        raise Invalid(
            _("The size of the file is not known."), fields={"file": _("Choose it again.")}
        )
    return Announced(request.POST.get("name", ""), size, modified)


def where_to_send(file: ImportFile, page: str) -> JsonResponse:
    """Say where the parts of a file go, from which byte on, and which page shows it then."""
    url = reverse("upload_part", args=[file.pk])
    return JsonResponse({"url": url, "received": file.done, "page": page})


def chosen_columns(request: HttpRequest) -> dict[str, str]:
    """Field -> column from one select a column, named ``column:NAME``.

    ``all:FIELD`` is the value of a field in all rows, where no column is read as it.
    """
    sent = [(name, said) for name, said in request.POST.items() if isinstance(said, str)]
    of_file = {
        name.removeprefix("all:"): of_all_rows(said)
        for name, said in sent
        if name.startswith("all:") and said.strip()
    }
    return of_file | {
        field: name.removeprefix("column:")
        for name, field in sent
        if name.startswith("column:") and field
    }


class ChosenReading(TypedDict):
    """Whether the first line names the columns, and the encoding; None and "" as recognised."""

    header: bool | None
    encoding: str


def chosen_reading(request: HttpRequest) -> ChosenReading:
    """Return how a form says that a file is to be read."""
    header = {"yes": True, "no": False}.get(str(request.POST.get("header", "")))
    return {"header": header, "encoding": str(request.POST.get("encoding", ""))}


def bad_rows_file(file: ImportFile) -> StreamingHttpResponse:
    """The rows of a checked upload that are left out, with line and reason, as CSV."""
    if file.state != ImportFile.State.READY:
        raise Missing(_("The rows of this file are not here: it is not checked, or was imported."))
    lines = csv_lines(selectors.bad_rows(file))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="bad-rows-{file.pk}.csv"'
    return response
