"""What the answering page's scripts talk to: drafts, the interaction log, submit, extend.

Answers are JSON, refusals in one shape ({code, detail, fields}); a signed-out person gets 401, so
that a script never takes a sign-in page for an acknowledgment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypedDict
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.access import get_own_assignment
from annotation.models import Assignment
from annotation.work.actions import answers, assignments, leases
from annotation.work.actions import events as log
from annotation.work.actions.drafts import DraftChanged, Version, versions_for_page
from annotation.work.selectors import work
from crowdqc.errors import DomainError, Invalid, LimitExceeded
from crowdqc.files import json_input
from crowdqc.numbers import LARGEST, parse_whole
from crowdqc.web.middleware import problem

MAX_BODY = 1024 * 1024
MOST_SEEN = 200  # tabs whose saves a draft names as taken into account
MOST_NAME = 40  # characters of a tab's name
OFTEN = ("worker",)  # all that a batch of the log needs beside the assignment
View = Callable[..., HttpResponse]


def wants_json(request: HttpRequest) -> bool:
    """Return whether a request comes from the page's script, not from a plain form."""
    return "application/json" in request.headers.get("Accept", "")


def for_scripts(view: View) -> View:
    """Wrap a view for scripts: POST only, 401 without sign-in, errors as JSON."""

    @require_POST
    @functools.wraps(view)
    def wrapped(request: HttpRequest, assignment_id: int, **place: int) -> HttpResponse:
        plain = not wants_json(request)
        if not request.user.is_authenticated:
            if plain:
                return redirect(f"{reverse('login')}?next={reverse('work_home')}")
            body = {"code": "signed-out", "detail": _("You are signed out. Sign in again.")}
            return JsonResponse(body, status=401)
        try:
            return view(request, assignment_id, **place)
        except DomainError as error:
            if plain:
                raise
            told = problem(error)
            if isinstance(error, DraftChanged):
                told |= {"item": error.entry.public_id, "draft": error.entry.draft}
                told |= versions_for_page(error.entry)
            return JsonResponse(told, status=error.status)

    return wrapped


def read_json(request: HttpRequest) -> dict[str, Any]:
    """Read the JSON body of a request; beacons send it in a form field."""
    if parse_whole(request.headers.get("Content-Length") or "0", high=MAX_BODY) is None:
        raise LimitExceeded(_("The request is too large; send smaller ones."), code="too-large")
    if request.content_type == "application/json":
        raw: str | bytes = request.body
    else:
        raw = request.POST.get("payload", "")
    return read_object(raw)


def read_object(raw: str | bytes) -> dict[str, Any]:
    """Parse a JSON object; Invalid if the text is something else."""
    try:
        body = json_input.read_json(raw, any_text=True)
    except json_input.Unreadable as error:  # a status that the scripts know as final
        raise Invalid(error.message, fields=error.fields, code=error.code) from error
    if not isinstance(body, dict):
        raise Invalid(_("The body is not an object."), fields={"body": _("Send a JSON object.")})
    return body


def read_uuid(raw: Any, name: str) -> UUID:
    """A UUID, or Invalid naming the field."""
    try:
        return UUID(str(raw))
    except ValueError as error:
        raise Invalid(
            _("%(name)s is not a UUID.") % {"name": name}, fields={name: _("A UUID.")}
        ) from error


def _check_integer(raw: Any, name: str) -> int:
    if not isinstance(raw, int) or parse_whole(raw, low=-LARGEST) is None:
        raise Invalid(
            _("%(name)s is not a whole number.") % {"name": name},
            fields={name: _("A whole number.")},
        )
    return raw


def _object(raw: Any, name: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise Invalid(
            _("%(name)s is not an object.") % {"name": name}, fields={name: _("A JSON object.")}
        )
    return raw


@for_scripts
def draft(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Save {item, draft, seq, tab, seen, chosen}; answers what is kept now, and other versions."""
    assignment = get_own_assignment(request, assignment_id, around=(*OFTEN, "task"))
    body = read_json(request)
    version = read_version(body)
    entry = assignments.save_draft(
        by=request.user,  # type: ignore[arg-type]
        assignment=assignment,
        public_id=_check_integer(body.get("item"), "item"),
        draft=_object(body.get("draft"), "draft"),
        version=version,
    )
    found: dict[str, Any] = {
        "left": work.seconds_left(assignment),
        **versions_for_page(entry, beyond=version),
    }
    if (found["tab"], found["seq"]) != (version.tab, version.seq):
        found["draft"] = entry.draft
    return JsonResponse(found)


@for_scripts
def stream(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Open the stream {key}; answers the number of the event that is expected next."""
    assignment = get_own_assignment(request, assignment_id, around=OFTEN)
    body = read_json(request)
    opened = log.open_stream(
        by=request.user,  # type: ignore[arg-type]
        assignment=assignment,
        key=read_uuid(body.get("key"), "key"),
    )
    return JsonResponse({"next": opened.next_seq})


@for_scripts
def events(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Store {stream, first_seq, events}; ``next`` acknowledges every event before it."""
    assignment = get_own_assignment(request, assignment_id, around=OFTEN)
    body = read_json(request)
    user, key = request.user, read_uuid(body.get("stream"), "stream")
    batch: dict[str, Any] = {
        "by": user,
        "assignment": assignment,
        "stream_key": key,
        "first_seq": _check_integer(body.get("first_seq"), "first_seq"),
        "events": body.get("events") or [],
        "public": True,
    }
    try:
        expected = log.append_events(**batch)
    except Invalid as error:
        if error.code != "no-stream":
            raise
        # The page went away before its stream was opened, or this overtook that.
        log.open_stream(by=user, assignment=assignment, key=key)  # type: ignore[arg-type]
        expected = log.append_events(**batch)
    return JsonResponse({"next": expected})


def read_version(body: dict[str, Any], name: str = "") -> Version:
    """Read a draft's version {seq, tab, seen, chosen} from a request body."""
    tab, seen = body.get("tab", ""), _object(body.get("seen", {}), f"{name}seen")
    names = [tab, *seen]
    if len(names) > MOST_SEEN or any(len(str(one)) > MOST_NAME for one in names):
        raise Invalid(
            _("%(name)s is no short list.") % {"name": f"{name}seen"},
            fields={f"{name}seen": _("%(most_after)s at most.") % {"most_after": MOST_SEEN}},
        )
    return Version(
        seq=_check_integer(body.get("seq"), f"{name}seq"),
        tab=str(tab),
        seen={one: _check_integer(number, f"{name}seen") for one, number in seen.items()},
        chosen=body.get("chosen") is True,
    )


class Drafts(TypedDict):
    """What a page holds when it submits, by what it calls the item."""

    drafts: dict[int, dict[str, Any]]
    versions: dict[int, Version]


def _drafts(body: dict[str, Any]) -> Drafts:
    """The drafts sent along, {item: {draft, seq, tab, seen}}, as mappings by item."""
    found: Drafts = {"drafts": {}, "versions": {}}
    for item, raw in _object(body.get("drafts") or {}, "drafts").items():
        pk = parse_whole(item)
        if pk is None:
            raise Invalid(
                _("%(item)s is no question.") % {"item": item[:20]},
                fields={"drafts": _("Keys are numbers of questions.")},
            )
        held = _object(raw, f"drafts.{item}")
        found["drafts"][pk] = _object(held.get("draft"), f"drafts.{item}.draft")
        found["versions"][pk] = read_version(held, f"drafts.{item}.")
    return found


@for_scripts
def submit(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Submit the assignment once under {key}, with the drafts that the page holds."""
    assignment = get_own_assignment(request, assignment_id)
    plain = not wants_json(request)
    body = {"key": request.POST.get("key")} if plain else read_json(request)
    answers.submit_assignment(
        by=request.user,  # type: ignore[arg-type]
        assignment=assignment,
        key=read_uuid(body.get("key"), "key"),
        **_drafts(body),
        on_page=assignment.source == "browser",
        public=True,
    )
    url = reverse("work_done", args=[assignment.pk])
    return redirect(url) if plain else JsonResponse({"next": url})


@for_scripts
def extend(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Extend the lease of an assignment from now."""
    found: Assignment = get_own_assignment(request, assignment_id)
    extended = leases.extend_lease(by=request.user, assignment=found)  # type: ignore[arg-type]
    if not wants_json(request):
        return redirect("work_assignment", assignment_id=found.pk)
    left = leases.MAX_EXTENSIONS - extended.extensions
    return JsonResponse({"left": work.seconds_left(extended), "extensions": left})
