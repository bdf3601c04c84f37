"""The API's schema as a file, and as a page to read; both are made once a process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

SECONDS = 3600  # that a browser or a proxy may keep the schema
_lock = threading.Lock()  # requests that come at once have it made once
VERBS = ("get", "post", "put", "patch", "delete")
SECTIONS = {
    "token": "Sign in",
    "projects": "Projects",
    "people": "People and invitations",
    "panels": "Panels and rounds",
    "tasks": "Tasks, questions and answers",
    "answers": "One answer",
    "runs": "Runs and scores",
    "pay": "Pay",
    "files": "Files",
    "hooks": "Notices and webhooks",
    "work": "Working",
}
# What stands under a project or a task, where it has a section of its own.
PARTS = {
    "staff": "people",
    "workers": "people",
    "people": "people",
    "invitations": "people",
    "consent-texts": "people",
    "panels": "panels",
    "rounds": "panels",
    "runs": "runs",
    "schedule": "runs",
    "exclusions": "runs",
    "asking": "runs",
    "models": "runs",
    "payouts": "pay",
    "payments": "pay",
    "ledger": "pay",
    "rejections": "pay",
    "statements": "pay",
    "waiting": "pay",
    "payout-rule": "pay",
    "files": "files",
    "export": "files",
    "hooks": "hooks",
    "tasks": "tasks",
}
TOP = {"notices": "hooks"}


def section_of(path: str) -> str:
    """Return the heading of the API documentation under which a path is listed."""
    parts = path.strip("/").split("/")[1:]
    if parts[0] in ("projects", "tasks") and len(parts) > 2:
        return PARTS.get(parts[2], parts[0])
    return TOP.get(parts[0], parts[0])


WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
}
FORMATS = {"date-time": "time", "uuid": "UUID", "decimal": "amount, as text"}
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Field:
    """A field of a body: its name (``a.b`` within a.), its type in words, a note."""

    name: str
    type: str
    note: str
    required: bool


@dataclass(frozen=True)
class Endpoint:
    """One verb at one address."""

    verb: str
    path: str
    summary: str
    description: str
    query: list[Field]
    body: list[Field]
    status: str
    answer: list[Field]
    listed: bool

    @property
    def anchor(self) -> str:
        """Return the id of this endpoint's section on the page, such as "get-projects-id"."""
        plain = self.path.strip("/").replace("/", "-").replace("{", "").replace("}", "")
        return f"{self.verb.lower()}-{plain}"


class Reader:
    """Walks an OpenAPI schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def resolved(self, node: Schema) -> dict[str, Any]:
        """Return a schema node with its references resolved."""
        node = dict(node)
        for part in (node, *node.pop("allOf", []), *node.pop("oneOf", [])[:1]):
            if "$ref" in part:
                name = part["$ref"].rsplit("/", 1)[1]
                inner = self.resolved(self.schema["components"]["schemas"][name])
                node = {**inner, **{k: v for k, v in node.items() if k != "$ref"}}
        return node

    def type_of(self, node: Schema) -> str:
        node = self.resolved(node)
        if "enum" in node:
            return " | ".join(str(value) for value in node["enum"] if value not in ("", None))
        if node.get("type") == "array":
            return f"list of {self.type_of(node['items'])}"
        word = FORMATS.get(node.get("format", ""), WORDS.get(node.get("type", ""), "anything"))
        return f"{word} or null" if node.get("nullable") else word

    def fields(self, node: Schema, before: str = "") -> Iterator[Field]:
        """Yield the fields of an object, inner objects' fields after their own."""
        node = self.resolved(node)
        required = node.get("required", [])
        for name, inner in node.get("properties", {}).items():
            full = self.resolved(inner)
            note = " ".join(str(full.get("description", "")).split())
            if "enum" in full:  # its values say it
                note = str(inner.get("description", "")).split("\n")[0].strip("* ")
                note = "" if note.startswith("`") else note
            yield Field(f"{before}{name}", self.type_of(inner), note, name in required)
            deeper = self.resolved(full["items"]) if full.get("type") == "array" else full
            if "properties" in deeper:
                mark = "[]." if full.get("type") == "array" else "."
                yield from self.fields(deeper, f"{before}{name}{mark}")

    def endpoint(self, path: str, verb: str, about: Schema) -> Endpoint:
        content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
        status = next((code for code in about["responses"] if code != "default"), "")
        answer = about["responses"].get(status, {}).get("content", {})
        told = self.resolved(answer.get("application/json", {}).get("schema", {}))
        rows = told.get("properties", {}).get("results") if "next" in str(told) else None
        listed = bool(rows) or told.get("type") == "array"
        shown = self.resolved(rows or told)
        return Endpoint(
            verb=verb.upper(),
            path=path,
            summary=about.get("summary", ""),
            description=about.get("description", ""),
            query=[
                Field(
                    p["name"],
                    self.type_of(p["schema"]),
                    p.get("description", ""),
                    p.get("required", False),
                )
                for p in about.get("parameters", [])
                if p["in"] == "query"
            ],
            body=list(self.fields(content.get("schema", {}))),
            status=status,
            answer=list(self.fields(shown["items"] if listed else shown)),
            listed=listed,
        )


@cache
def _schema() -> dict[str, Any]:
    from drf_spectacular.generators import SchemaGenerator

    return dict(SchemaGenerator().get_schema(request=None, public=True))


def sections() -> list[tuple[str, str, list[Endpoint]]]:
    """(slug, title, endpoints) in the order of SECTIONS."""
    schema = _schema()
    reader = Reader(schema)
    found: dict[str, list[Endpoint]] = {slug: [] for slug in SECTIONS}
    for path, verbs in schema["paths"].items():
        slug = section_of(path)
        if slug == "schema":
            continue
        found.setdefault(slug, []).extend(
            reader.endpoint(path, verb, verbs[verb]) for verb in VERBS if verb in verbs
        )
    return [(slug, SECTIONS.get(slug, slug), rows) for slug, rows in found.items() if rows]


@cache
def _sections_html() -> SafeString:
    return render_to_string("annotation/api/_sections.html", {"sections": sections()})


@cache
def _schema_file(form: str) -> tuple[bytes, str]:
    """The schema as "json" or "yaml", and its ETag."""
    from drf_spectacular import renderers

    renderer = renderers.OpenApiJsonRenderer if form == "json" else renderers.OpenApiYamlRenderer
    body = renderer().render(_schema(), renderer_context={})
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'


@require_safe
def schema(request: HttpRequest) -> HttpResponseBase:
    """The OpenAPI schema: JSON where ``format`` or ``Accept`` asks for it, else YAML.

    Nothing else of a request is looked at, so that nobody can have it made anew.
    """
    accepted = request.headers.get("Accept", "")
    form = request.GET.get("format") or ("json" if "json" in accepted else "yaml")
    form = "json" if form == "json" else "yaml"
    with _lock:
        body, etag = _schema_file(form)
    plain = form == "json" and "openapi" not in accepted
    media = "application/vnd.oai.openapi" + ("+json" if form == "json" else "")
    response = HttpResponse(body, content_type="application/json" if plain else media)
    response["Content-Disposition"] = f'inline; filename="crowdqc.{form}"'
    response["Cache-Control"] = f"public, max-age={SECONDS}"
    response["Vary"] = "Accept"
    response["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=response) or response


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Every address with what it takes and what it gives."""
    with _lock:
        told = _sections_html()
    context = {"sections": told, "origin": request.build_absolute_uri("/").rstrip("/")}
    return render(request, "annotation/api/docs.html", context)
