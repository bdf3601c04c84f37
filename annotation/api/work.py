"""Endpoints for workers: what is open, agree, claim, read, draft, log, submit, return.

A worker reaches their own assignments and nothing of anybody else's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_access, get_own_assignment, get_task_by_id, token_project_id
from annotation.accounts.projects import actions as people
from annotation.accounts.projects.consent_words import fill_consent
from annotation.api.frame.auth import require_scope, require_unbound_token
from annotation.api.frame.base import Listing, read, serialize_row
from annotation.api.frame.bodies import ConsentIn, DraftSave, EventsIn, JoinIn, StreamIn, SubmitIn
from annotation.api.frame.endpoint import Endpoint
from annotation.api.frame.serializers import (
    Acknowledged,
    ConsentOut,
    DraftOut,
    EntryOut,
    FeedbackOut,
    JoinedOut,
    OfferOut,
    OwnAssignmentOut,
    OwnRowOut,
    OwnStateOut,
)
from annotation.models import Assignment, AssignmentItem, Membership, Role
from annotation.task_types.base import KNOWN_RULES
from annotation.work.actions import answers, assignments, events, leases
from annotation.work.selectors import api_rows as selectors
from annotation.work.selectors import work
from annotation.work.selectors.known import revealed_feedback
from annotation.work.views.parts import pages_of
from crowdqc.errors import Invalid, Missing, NotAllowed
from crowdqc.numbers import parse_whole

# Settings that say how a study was made, which is nothing for its workers to know. Columns of a
# file that no field reads (meta) may hold what experts or models said of the item.
DESIGN = frozenset({"design", "left_out", "made", "version", "copies", "meta", *KNOWN_RULES})

# Of an item that has none of its own to work from.
NO_MATERIALS: Mapping[str, Any] = {
    "conversation": None,
    "style": None,
    "passages": None,
    "samples": [],
}


class WorkEndpoint(Endpoint):
    reads = writes = "work"


def assignment_payload(assignment: Assignment) -> dict[str, Any]:
    """Return an assignment for its worker; parts that may not be read yet or any more are null."""
    states: dict[int, str] = {}
    entries, pages = [], pages_of(assignment.task)
    for entry in work.entries(assignment):
        item = entry.item
        settings = {**assignment.version.settings, **item.settings}
        if item.group_id not in states:
            states[item.group_id] = work.passage_state(assignment, item.group)
        state = states[item.group_id]
        materials = pages.materials(entry, settings)
        row = {
            # Neither row nor key: both may tell whose texts these are, or that it is a test.
            "item": entry.public_id,
            "item_id": str(entry.public_id),
            "position": entry.position,
            "question": None if state == "first" else item.question,
            "passage": state,
            "context": item.group.passage if state in ("open", "first") else None,
            "texts": texts_shown(entry),
            **NO_MATERIALS,
            **materials,
            "settings": settings_shown(settings),
            "draft": entry.draft,
            "draft_seq": entry.draft_seq,
        }
        # All but materials is JSON as it stands, and passing it on by its shape takes as long as
        # the rest of a claim's reply.
        entries.append(serialize_row(EntryOut, row) if materials else row)
    return {
        **serialize_row(OwnStateOut, state_payload(assignment)),
        "instructions": assignment.version.instructions,
        "entries": entries,
    }


def state_payload(assignment: Assignment) -> dict[str, Any]:
    """Return the state of an assignment for the API, without its items."""
    version = assignment.version
    return {
        "id": assignment.pk,
        "task": assignment.task_id,
        "version": version.number,
        "state": assignment.state,
        "title": version.title,
        "pay": assignment.pay,
        "currency": assignment.task.project.currency,
        "expires_at": assignment.expires_at,
        "seconds_left": work.seconds_left(assignment),
        "seconds_to_wait": work.seconds_to_wait(assignment),
        "quiz": assignment.quiz,
        "quiz_right": assignment.quiz_right,
        "quiz_passed": assignment.quiz_passed,
    }


def settings_shown(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a worker may see: without design and authors of questions."""
    found = {name: value for name, value in settings.items() if name not in DESIGN}
    if "questions" in found:
        asked = ("name", "label", "component")
        found["questions"] = [{name: row[name] for name in asked} for row in found["questions"]]
    return found


def texts_shown(entry: AssignmentItem) -> list[str]:
    """The texts under judgment from left to right, as this worker sees them."""
    item = entry.item
    texts = [text.text for text in (item.first, item.second) if text is not None]
    return texts[::-1] if entry.flipped else texts


def respond(assignment: Assignment) -> Response:
    """Return the assignment as the API shows it."""
    return Response(assignment_payload(assignment))


class OwnWork(WorkEndpoint):
    """An address that answers with an assignment of one's own.

    Of such a reply only the assignment's id is kept: sent again, it shows what may be read now.
    """

    def stored_reply(self, response: Response) -> Any:
        return {"id": response.data["id"]}

    def replayed(self, request: Request, kept: Any) -> Any:
        found = get_own_assignment(request, kept["id"])
        _agreed(found)
        return assignment_payload(found)


class OwnState(OwnWork):
    """The same, of which the program has the items already."""

    def replayed(self, request: Request, kept: Any) -> Any:
        return serialize_row(OwnStateOut, state_payload(get_own_assignment(request, kept["id"])))


def _agreed(assignment: Assignment) -> None:
    """Questions are shown under an agreement only, as on the pages."""
    if (
        work.is_open(assignment)
        and people.current_consent(assignment.worker, assignment.task.type) is None
    ):
        raise NotAllowed(
            "Please read and answer the question about recording first.", code="no-consent"
        )


class OpenTasks(WorkEndpoint):
    @extend_schema(responses=OfferOut(many=True), summary="Tasks I can work on")
    def get(self, request: Request) -> Response:
        members = work.memberships_with_consent(request.user, token_project_id(request))
        return Response(OfferOut(work.list_offers(members), many=True).data)


class Join(WorkEndpoint):
    @extend_schema(
        request=JoinIn,
        responses={200: JoinedOut, 202: JoinedOut},
        summary="Join a project by invitation",
    )
    def post(self, request: Request) -> Response:
        require_unbound_token(request)
        token = read(JoinIn, request)["token"]
        invitation = people.open_invitation(token)
        if invitation.role != Role.WORKER:
            require_scope(request, "pay")
        member = people.accept_invitation(by=request.user, token=token)
        if member is None:
            waits = {
                "project_id": invitation.project_id,
                "role": invitation.role,
                "pseudonym": "",
                "waits": True,
            }
            return Response(serialize_row(JoinedOut, waits), status=202)
        return Response(serialize_row(JoinedOut, member))


class WorkConsent(WorkEndpoint):
    """The question about recording, per project."""

    @extend_schema(responses=ConsentOut, summary="The consent text in force")
    def get(self, request: Request, project_id: int) -> Response:
        member = self._member(request, project_id)
        text = people.current_consent_text(member.project)
        agreed = people.current_consent(member) is not None
        return Response(
            {
                "number": text.number,
                "text": fill_consent(text.text),
                "retention_days": text.retention_days,
                "agreed": agreed,
            }
        )

    @extend_schema(request=ConsentIn, responses=ConsentOut, summary="Agree")
    def post(self, request: Request, project_id: int) -> Response:
        member = self._member(request, project_id)
        body = read(ConsentIn, request)
        text = member.project.consent_texts.filter(number=body["number"]).first()
        if text is None:
            raise Missing("There is no such version of the text.")
        people.give_consent(by=request.user, member=member, text=text, agreed=body["agreed"])
        return self.get(request, project_id)

    @extend_schema(responses={200: ConsentOut}, summary="Take the agreement back")
    def delete(self, request: Request, project_id: int) -> Response:
        people.withdraw_consent(by=request.user, member=self._member(request, project_id))
        return self.get(request, project_id)

    def _member(self, request: Request, project_id: int) -> Membership:
        access = get_access(request, project_id, Role.WORKER)
        return selectors.get_worker_membership(access.project, request.user)


class Claim(OwnWork):
    @extend_schema(
        request=None,
        responses=OwnAssignmentOut,
        summary="Take an assignment; one in work is given back as it is",
    )
    def post(self, request: Request, task_id: int) -> Response:
        access, task = get_task_by_id(request, task_id, Role.WORKER)
        member = access.worker or selectors.get_worker_membership(access.project, request.user)
        return respond(
            assignments.claim_assignment(by=access.user, task=task, worker=member, source="api")
        )


class OwnAssignments(Listing):
    reads = "work"

    @extend_schema(responses=OwnRowOut(many=True), summary="My assignments")
    def get(self, request: Request) -> Response:
        return self.page(
            selectors.list_own_assignments(request.user, token_project_id(request)), OwnRowOut
        )


class OwnAssignment(WorkEndpoint):
    @extend_schema(responses=OwnAssignmentOut, summary="One of my assignments")
    def get(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        _agreed(found)
        return respond(found)


class ShowQuestion(OwnWork):
    @extend_schema(
        request=None,
        responses=OwnAssignmentOut,
        summary="Go on to a question",
        description="With “no look back” its passage ends here, and its questions appear.",
    )
    def post(self, request: Request, assignment_id: int, position: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        _agreed(found)
        assignments.show_item(by=request.user, assignment=found, position=position)
        return respond(found)


class Draft(WorkEndpoint):
    @extend_schema(
        request=DraftSave,
        responses=DraftOut,
        summary="Keep a draft",
        description="The answer holds what is kept, which may be newer than what was sent.",
    )
    def put(self, request: Request, assignment_id: int, item_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        body = read(DraftSave, request)
        entry = assignments.save_draft(by=request.user, assignment=found, public_id=item_id, **body)
        return Response({"draft": entry.draft, "seq": entry.draft_seq})


class Feedback(WorkEndpoint):
    @extend_schema(
        request=None,
        responses=FeedbackOut,
        summary="Let an answer stand and read whether it is right",
        description="Where the task gives feedback and the answer to this question is known. "
        "Otherwise told is false, and nothing is changed.",
    )
    def post(self, request: Request, assignment_id: int, position: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        _agreed(found)
        if not assignments.reveal_known_answer(
            by=request.user, assignment=found, position=position
        ):
            return Response({"told": False, "right": None, "said": "", "why": ""})
        told = revealed_feedback(found, position)
        return Response({"told": True, "right": told.right, "said": told.said, "why": told.why})


class Submit(OwnState):
    @extend_schema(
        request=SubmitIn,
        responses=OwnStateOut,
        summary="Submit, once",
        description="Under the same key again it changes nothing and gives the same answer. "
        "The entries are not sent back; read the assignment for them.",
    )
    def post(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        body = read(SubmitIn, request)
        given: dict[str, dict[str, Any]] = body.get("answers", {})
        done = answers.submit_assignment(
            by=request.user,
            assignment=found,
            key=body["key"],
            drafts={_item_of(key): value for key, value in given.items()},
            on_page=found.source == "browser",
            strict=True,
            public=True,
        )
        return Response(serialize_row(OwnStateOut, state_payload(done)))


def _item_of(key: str) -> int:
    item = parse_whole(key)
    if item is None or str(item) != key:
        raise Invalid(
            f"{key} is not a question of this assignment.",
            fields={f"answers.{key}": "Not in this assignment."},
        )
    return item


class Extend(OwnState):
    @extend_schema(request=None, responses=OwnStateOut, summary="More time")
    def post(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        extended = leases.extend_lease(by=request.user, assignment=found)
        return Response(serialize_row(OwnStateOut, state_payload(extended)))


class ReturnAssignment(WorkEndpoint):
    @extend_schema(request=None, responses=OwnRowOut, summary="Return an assignment")
    def post(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        return Response(
            serialize_row(OwnRowOut, leases.return_assignment(by=request.user, assignment=found))
        )


class Streams(WorkEndpoint):
    @extend_schema(request=StreamIn, responses={200: Acknowledged}, summary="Open an event stream")
    def post(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        stream = events.open_stream(by=request.user, assignment=found, **read(StreamIn, request))
        return Response({"next": stream.next_seq}, status=status.HTTP_200_OK)


class Events(WorkEndpoint):
    @extend_schema(
        request=EventsIn,
        responses={200: Acknowledged},
        summary="Send a batch of events",
        description="Events that are stored already are passed over; a gap is refused (409).",
    )
    def post(self, request: Request, assignment_id: int) -> Response:
        found = get_own_assignment(request, assignment_id)
        body = read(EventsIn, request)
        expected = events.append_events(
            by=request.user,
            assignment=found,
            stream_key=body["stream"],
            first_seq=body["first_seq"],
            events=body["events"],
            public=True,
        )
        return Response({"next": expected})
