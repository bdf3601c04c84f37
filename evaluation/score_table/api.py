"""Tables over the API: send or fetch one, see how it is read, change that, score it."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Access, get_access
from annotation.api.frame.base import BadRow, Body, Listing, Newest, read
from annotation.api.frame.endpoint import Endpoint
from annotation.files.reading.sources import of_bytes
from annotation.formats.registry import TABLES
from annotation.formats.uploads import actions as uploads
from annotation.models import ImportFile, Role
from crowdqc.errors import Invalid, Missing
from evaluation.score_table import selectors
from evaluation.score_table.kinds import KINDS

State = ImportFile.State


class TableIn(Body):
    """One of: the content at once, an address to fetch it from, or its size to send it in parts."""

    name = serializers.CharField(max_length=200, required=False, help_text="With its ending")
    content = serializers.CharField(
        required=False, trim_whitespace=False, help_text="The file in base64"
    )
    address = serializers.CharField(
        required=False, max_length=2000, help_text="https, or hf://datasets/owner/name/file.parquet"
    )
    size = serializers.IntegerField(
        required=False, min_value=1, max_value=2**40, help_text="Bytes, sent in parts afterwards"
    )


class PartIn(Body):
    offset = serializers.IntegerField(min_value=0, max_value=2**40, help_text="Bytes before it")
    content = serializers.CharField(trim_whitespace=False, help_text="At most 8 MB, in base64")


class ChangeIn(Body):
    """How a table is read; what is left out stays, and all rows are checked again."""

    kind = serializers.ChoiceField(list(TABLES), required=False)
    mapping = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Field -> column"
    )
    header = serializers.BooleanField(
        required=False, allow_null=True, help_text="Whether the first line names columns"
    )
    encoding = serializers.CharField(required=False, allow_blank=True)
    use = serializers.DictField(
        required=False, help_text="{column, value, use}: one of the table's `offers`"
    )


class TableNote(serializers.Serializer[Any]):
    head = serializers.CharField()
    text = serializers.CharField()


class Offer(serializers.Serializer[Any]):
    column = serializers.CharField()
    value = serializers.CharField()
    use = serializers.CharField()
    text = serializers.CharField()


class TableOut(serializers.ModelSerializer[ImportFile]):
    """A table, how it is read, and what is left out of it and why."""

    kind = serializers.CharField(help_text="As what it is read, such as label_table")
    received = serializers.SerializerMethodField(help_text="Bytes that are here, while it comes")
    error = serializers.SerializerMethodField()
    columns = serializers.SerializerMethodField()
    mapping = serializers.SerializerMethodField()
    rows = serializers.SerializerMethodField()
    votes = serializers.SerializerMethodField(help_text="Votes that a score would count")
    notes = serializers.SerializerMethodField(help_text="How values and columns were read")
    warnings = serializers.SerializerMethodField()
    cannot = serializers.SerializerMethodField(help_text="Why it cannot be scored; empty if it can")
    offers = serializers.SerializerMethodField()
    rejected_rows = serializers.SerializerMethodField(
        help_text="At most 200 rows, with their reasons"
    )
    rejected_count = serializers.SerializerMethodField()
    task = serializers.IntegerField(source="task_id", allow_null=True, read_only=True)

    class Meta:
        model = ImportFile
        fields = (
            *("id", "name", "size", "sha256", "address", "state", "received", "error", "kind"),
            *("columns", "mapping", "rows", "votes", "notes", "warnings", "cannot", "offers"),
            *("rejected_rows", "rejected_count", "task", "uploaded_at"),
        )

    @extend_schema_field(serializers.IntegerField())
    def get_received(self, file: ImportFile) -> int:
        return file.done if file.state in (State.UPLOADING, State.FETCHING) else file.size

    @extend_schema_field(serializers.CharField())
    def get_error(self, file: ImportFile) -> str:
        return f"{file.error.get('message', '')} {file.error.get('mend', '')}".strip()

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_columns(self, file: ImportFile) -> list[str]:
        return list(file.sheet.get("columns", ()))

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_mapping(self, file: ImportFile) -> dict[str, str]:
        return dict(file.found.get("mapping") or file.mapping)

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_rows(self, file: ImportFile) -> int | None:
        return file.sheet["rows"] + file.sheet["unreadable_lines"] if file.sheet else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_votes(self, file: ImportFile) -> int | None:
        return selectors.count_votes(file)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_notes(self, file: ImportFile) -> list[str]:
        return list(file.found.get("notes", ()))

    @extend_schema_field(TableNote(many=True))
    def get_warnings(self, file: ImportFile) -> list[dict[str, str]]:
        return [
            {"head": one["head"], "text": one["text"]}
            for one in file.found.get("about", {}).get("warnings", ())
        ]

    @extend_schema_field(serializers.CharField())
    def get_cannot(self, file: ImportFile) -> str:
        return selectors.reason_against(file)

    @extend_schema_field(Offer(many=True))
    def get_offers(self, file: ImportFile) -> list[dict[str, str]]:
        return list(file.found.get("about", {}).get("offers", ()))

    @extend_schema_field(BadRow(many=True))
    def get_rejected_rows(self, file: ImportFile) -> list[dict[str, Any]]:
        return selectors.list_rejected(file)

    @extend_schema_field(serializers.IntegerField())
    def get_rejected_count(self, file: ImportFile) -> int:
        found: int = file.found.get("listed", 0)
        return found


def _own(request: Request, project_id: int, table_id: int) -> ImportFile:
    """Return one's own table of a project. Raises Missing."""
    access = get_access(request, project_id, Role.REQUESTER)
    file = selectors.own_table(access.user, table_id)
    if file is None or file.project_id != project_id:
        raise Missing("There is no such table.")
    return file


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid(
            "The content is not base64.", fields={"content": "Send the bytes in base64."}
        ) from error


class Tables(Listing):
    pagination_class = Newest

    @extend_schema(responses=TableOut(many=True), summary="Your tables")
    def get(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        return self.page(selectors.tables_in(access.user, access.project), TableOut)

    @extend_schema(
        request=TableIn,
        responses={202: TableOut},
        summary="Send a table, or have it fetched",
        description="With `name` and `content`; with `address`; or with `name` and `size`, and "
        "then in parts. A job reads it: ask again until `state` is `ready`. The page, the command "
        "and this read the same file alike.",
    )
    def post(self, request: Request, project_id: int) -> Response:
        access = get_access(request, project_id, Role.REQUESTER)
        file = _store(access, read(TableIn, request))
        return Response(TableOut(file).data, status=status.HTTP_202_ACCEPTED)


def _store(access: Access, body: dict[str, Any]) -> ImportFile:
    given = [name for name in ("content", "address", "size") if name in body]
    if len(given) != 1 or ("name" not in body) == ("address" not in body):
        raise Invalid(
            "Send name and content, name and size, or an address.",
            fields={"content": "One of content, size and address."},
        )
    by, project = access.user, access.project
    if "address" in body:
        return uploads.keep_address(by=by, project=project, address=body["address"])
    if "size" in body:
        return uploads.begin_upload(by=by, project=project, name=body["name"], size=body["size"])
    content = of_bytes(_bytes(body["content"]))
    return uploads.keep_table(by=by, project=project, name=body["name"], content=content)


def _change(request: Request, file: ImportFile, body: dict[str, Any]) -> None:
    """Change how a table is read: kind or header first, as both forget its mapping."""
    by = request.user
    if "kind" in body:
        uploads.set_kind(by=by, file=file, kind=body["kind"])
        file.kind = body["kind"]
    if "header" in body or "encoding" in body:
        header, encoding = body.get("header"), body.get("encoding", "")
        uploads.set_reading(by=by, file=file, header=header, encoding=encoding)
    if "mapping" in body:
        uploads.map_columns(by=by, file=file, mapping=body["mapping"])
    if "use" in body:
        offer = {name: str(body["use"].get(name, "")) for name in ("column", "value", "use")}
        uploads.fix_value(by=by, file=file, **offer)


class TableDetail(Endpoint):
    @extend_schema(responses=TableOut, summary="One table, and how it is read")
    def get(self, request: Request, project_id: int, table_id: int) -> Response:
        return Response(TableOut(_own(request, project_id, table_id)).data)

    @extend_schema(
        request=ChangeIn,
        responses={202: TableOut},
        summary="Change how a table is read",
        description="Change `header` or `encoding` first and alone: the columns are read anew.",
    )
    def patch(self, request: Request, project_id: int, table_id: int) -> Response:
        file, body = _own(request, project_id, table_id), read(ChangeIn, request)
        with transaction.atomic():
            _change(request, file, body)
        told = TableOut(_own(request, project_id, table_id)).data
        return Response(told, status=status.HTTP_202_ACCEPTED)

    @extend_schema(responses={204: None}, summary="Delete a table that was not scored")
    def delete(self, request: Request, project_id: int, table_id: int) -> Response:
        uploads.remove_upload(by=request.user, file=_own(request, project_id, table_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TableParts(Endpoint):
    @extend_schema(
        request=PartIn,
        responses=TableOut,
        summary="Send the next part of a table",
        description="`received` says how many bytes are here; go on from there after a break.",
    )
    def post(self, request: Request, project_id: int, table_id: int) -> Response:
        file, body = _own(request, project_id, table_id), read(PartIn, request)
        file = uploads.add_part(file=file, offset=body["offset"], content=_bytes(body["content"]))
        return Response(TableOut(file).data)


class TableScore(Endpoint):
    @extend_schema(
        request=None,
        responses={202: TableOut},
        summary="Score a table",
        description="It becomes a closed task with a run; `task` names it once it is there. Rows "
        "in `rejected_rows` are left out.",
    )
    def post(self, request: Request, project_id: int, table_id: int) -> Response:
        file = _own(request, project_id, table_id)
        if reason := selectors.reason_against(file):
            raise Invalid(reason, fields={"mapping": KINDS[file.kind].needs})
        uploads.request_import(by=request.user, file=file, leave_out_bad=True)
        told = TableOut(_own(request, project_id, table_id)).data
        return Response(told, status=status.HTTP_202_ACCEPTED)
