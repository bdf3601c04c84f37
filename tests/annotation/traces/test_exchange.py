"""Phoenix, Langfuse and LangSmith are read by a cursor, and reviews go back once.

The servers here answer as their documentation has it; a real Phoenix is in ``test_real_clients``.
"""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import OperationalError
from django.utils import timezone

from annotation.authoring.actions import tasks
from annotation.models import AuditEntry, Trace, TraceScore, TraceSource, TraceSpan
from annotation.task_types.labels.rules import PREFIX
from annotation.traces.actions import exchange
from annotation.traces.actions.queue import create_queue
from annotation.traces.actions.sources import create_source
from annotation.work.actions import answers
from tests.annotation.traces.conftest import review_draft
from tests.annotation.traces.test_settling import settle_all
from tests.support import factories
from tests.support.servers.receiver import Got, Receiver, Reply, receiver

pytestmark = pytest.mark.django_db
BEGAN = (dt.datetime.now(dt.UTC) - dt.timedelta(hours=2)).isoformat()
TRACE, ROOT, CALL = "a" * 32, "b" * 16, "c" * 16
Rows = list[dict[str, Any]]


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def connect(server: Receiver, kind: str, **more: Any) -> TraceSource:
    project = factories.make_project()
    source, token = create_source(
        by=project.owner, project=project, name="tool", kind=kind,
        api_url=server.url.partition("/events")[0], key="public:secret",
        settings={"rules": [{"kind": "random", "share": 1.0}], "budget": 0}, **more,
    )  # fmt: skip
    assert token == ""
    return source


def json_reply(body: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(body).encode())


def query_of(got: Got) -> dict[str, list[str]]:
    return parse_qs(urlsplit(got.path).query)


def phoenix_rows() -> Rows:
    return [
        {
            "name": "agent", "context": {"trace_id": TRACE, "span_id": ROOT}, "parent_id": None,
            "span_kind": "AGENT", "start_time": BEGAN, "end_time": BEGAN, "status_code": "OK",
            "status_message": "", "attributes": {}, "events": [],
        },
        {
            "name": "answer", "context": {"trace_id": TRACE, "span_id": CALL}, "parent_id": ROOT,
            "span_kind": "LLM", "start_time": BEGAN, "end_time": BEGAN, "status_code": "ERROR",
            "status_message": "cut", "events": [],
            "attributes": {
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "Hi, I am ana@example.org",
                "llm": {"output_messages.0.message": {"role": "assistant", "content": "Hello"}},
            },
        },
    ]  # fmt: skip


def answer_phoenix(got: Got) -> Reply:
    """Two pages of one span each, with an annotation of a judge and one that came from here."""
    path = urlsplit(got.path).path
    if path.endswith("/spans"):
        first, second = phoenix_rows()
        if query_of(got).get("cursor") == ["next"]:
            return json_reply({"data": [second], "next_cursor": None})
        return json_reply({"data": [first], "next_cursor": "next"})
    if path.endswith("/span_annotations") and got.body == b"":
        rows = [
            {"span_id": CALL, "name": "quality", "annotator_kind": "LLM", "result": {"score": 0.2}},
            {"span_id": CALL, "name": "thumb", "annotator_kind": "HUMAN",
             "result": {"label": "down"}},
            {"span_id": CALL, "name": "crowdqc outcome", "annotator_kind": "HUMAN",
             "identifier": "crowdqc-1", "result": {"score": 1.0}},
        ]  # fmt: skip
        return json_reply({"data": rows if CALL in query_of(got)["span_ids"] else []})
    return json_reply({"data": []})


def answer_langfuse(got: Got) -> Reply:
    path = urlsplit(got.path).path
    if path == "/api/public/v2/observations":
        row = {
            "id": CALL, "traceId": TRACE, "parentObservationId": "zz", "isRootObservation": True,
            "type": "GENERATION", "name": "answer", "startTime": BEGAN, "endTime": BEGAN,
            "level": "DEFAULT", "input": json.dumps([{"role": "user", "content": "Hi"}]),
            "output": json.dumps({"role": "assistant", "content": "Hello"}),
        }  # fmt: skip
        return json_reply({"data": [row], "meta": {}})
    if path == "/api/public/v3/scores":
        return json_reply({"data": [{"id": "1", "traceId": TRACE, "name": "q", "value": 0.9}]})
    return json_reply({})


def answer_langsmith(got: Got) -> Reply:
    path = urlsplit(got.path).path
    if path == "/api/v1/sessions":
        return json_reply([{"id": str(uuid.UUID(int=7))}])
    if path == "/api/v1/runs/query":
        run, trace = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
        row = {
            "id": run, "trace_id": trace, "parent_run_id": None, "run_type": "llm", "name": "chat",
            "start_time": BEGAN, "end_time": BEGAN, "error": None,
            "inputs": {"messages": [[{"role": "user", "content": "Hi"}]]},
            "outputs": {"generations": [[{"message": {"role": "assistant", "content": "Hello"}}]]},
            "feedback_stats": {"helpful": {"n": 2, "avg": 0.5}},
        }  # fmt: skip
        return json_reply({"runs": [row], "cursors": {"next": None}})
    return json_reply({"id": "x"})


def review_all(source: TraceSource, outcome: str = "fail") -> None:
    """Two people review whatever is in the queue, with a note."""
    task = source.task
    assert task is not None
    tasks.publish(by=source.created_by, task=task)
    task.refresh_from_db()
    for _ in range(2):
        worker = factories.make_worker(source.project)
        assignment = factories.claim(task, worker)
        drafts = {
            entry.item_id: {**review_draft(entry.item, outcome), f"{PREFIX}note": "It lies."}
            for entry in assignment.entries.all()
        }
        answers.submit_assignment(
            by=worker.user, assignment=assignment, key=uuid.uuid4(), drafts=drafts
        )


def test_phoenix_is_read_page_by_page_with_what_its_judges_say(server: Receiver) -> None:
    server.answer = answer_phoenix
    source = connect(server, "phoenix", api_project="default")
    assert exchange.read_due() >= 2
    assert TraceSpan.objects.count() == 2
    stored = TraceSpan.objects.get(span_id=CALL)
    assert stored.is_error and stored.parent_id == ROOT and stored.kind == "model"
    assert "[EMAIL]" in str(stored.attributes) and "ana@" not in str(stored.attributes)
    trace = Trace.objects.get()
    assert (trace.scores, trace.feedback) == ({"quality": 0.2}, -1.0)
    settle_all()
    assert Trace.objects.get().turns == 2
    source.refresh_from_db()
    assert source.error == "" and source.next_at > timezone.now()
    pages = [query_of(got).get("cursor") for got in server.got if "/spans?" in got.path]
    assert ["next"] in pages
    assert exchange.read_due() == 0  # not due yet


def test_a_job_that_was_killed_goes_on_with_the_page_it_had_reached(server: Receiver) -> None:
    server.answer = answer_phoenix
    source = connect(server, "phoenix")
    came, more = exchange.read_page(source)
    assert (came, more) == (1, True)
    source = TraceSource.objects.get()
    assert source.cursor["cursor"] == "next"
    exchange.read_page(source)
    assert TraceSpan.objects.count() == 2 and TraceSource.objects.get().cursor["cursor"] == ""


def test_langfuse_is_read_and_a_logical_root_has_no_parent(server: Receiver) -> None:
    server.answer = answer_langfuse
    connect(server, "langfuse")
    exchange.read_due()
    settle_all()
    trace = Trace.objects.get()
    assert (trace.title, trace.turns, trace.scores) == ("Hi", 2, {"q": 0.9})
    assert TraceSpan.objects.get().parent_id == ""
    assert server.got[0].headers["authorization"].startswith("Basic ")


def test_an_older_langfuse_is_read_by_its_first_version(server: Receiver) -> None:
    def answer(got: Got) -> Reply:
        if "/v2/" in got.path or "/v3/" in got.path:
            return json_reply({}, 404)
        page = int(query_of(got)["page"][0])
        rows = [{"id": f"{page:016x}", "traceId": TRACE, "type": "SPAN", "startTime": BEGAN}]
        return json_reply({"data": rows, "meta": {"totalPages": 2}})

    server.answer = answer
    connect(server, "langfuse")
    exchange.read_due()
    assert TraceSpan.objects.count() == 2


def test_langsmith_runs_become_spans_of_their_trace(server: Receiver) -> None:
    server.answer = answer_langsmith
    connect(server, "langsmith", api_project="my app")
    exchange.read_due()
    settle_all()
    trace = Trace.objects.get()
    assert trace.trace_id == uuid.UUID(int=2).hex
    assert (trace.title, trace.turns, trace.scores) == ("Hi", 2, {"helpful": 0.5})


def test_a_source_that_fails_says_why_and_is_tried_later(server: Receiver) -> None:
    server.answer = lambda got: json_reply({}, 500)
    connect(server, "phoenix")
    assert exchange.read_due() == 0
    source = TraceSource.objects.get()
    assert "500" in source.error and source.next_at > timezone.now()
    server.answer = lambda got: Reply(200, b"<html>")
    TraceSource.objects.update(next_at=None)
    assert exchange.read_due() == 0 and "JSON" in TraceSource.objects.get().error


@pytest.mark.parametrize(
    ("kind", "answer", "path"),
    [
        ("phoenix", answer_phoenix, "/v1/trace_annotations"),
        ("langfuse", answer_langfuse, "/api/public/scores"),
        ("langsmith", answer_langsmith, "/api/v1/feedback"),
    ],
)
def test_reviews_go_back_once_under_a_name_per_reviewer(
    server: Receiver, kind: str, answer: Any, path: str
) -> None:
    server.answer = answer
    source = connect(server, kind, sends_scores=True)
    create_queue(by=source.created_by, source=source, reviews=2)
    exchange.read_due()
    settle_all()
    assert exchange.send_due() == 0
    source.refresh_from_db()
    review_all(source)
    before = len(server.got)
    assert exchange.send_due() == TraceScore.objects.count() > 0
    sent = [got for got in server.got[before:] if path in got.path]
    outcomes = [got for got in sent if b"crowdqc outcome" in got.body]
    assert len(outcomes) == 2 and len({got.body for got in outcomes}) == 2
    assert all(b"It lies." in got.body for got in outcomes)
    names = [one.pseudonym.encode() for one in source.project.memberships.all() if one.pseudonym]
    assert not any(name in got.body for name in names for got in sent)
    assert exchange.send_due() == 0
    # As if no answer had come.
    TraceScore.objects.update(state="waiting", next_at=timezone.now())
    TraceScore.objects.filter(name="crowdqc outcome").update(comment="It lies.")
    before = len(server.got)
    exchange.send_due()
    assert {got.body for got in server.got[before:]} == {got.body for got in sent}
    assert AuditEntry.objects.filter(action="traces.send").count() == 1


def test_scores_that_are_refused_are_tried_again_until_it_is_final(server: Receiver) -> None:
    server.answer = answer_langfuse
    source = connect(server, "langfuse", sends_scores=True)
    create_queue(by=source.created_by, source=source, reviews=2)
    exchange.read_due()
    settle_all()
    source.refresh_from_db()
    review_all(source)
    server.answer = lambda got: json_reply({}, 503)
    assert exchange.send_due() == 0
    waiting = TraceScore.objects.filter(attempts=1).get()
    assert waiting.state == "waiting" and "503" in waiting.error
    TraceScore.objects.update(next_at=timezone.now())
    server.answer = lambda got: json_reply({}, 400)
    exchange.send_due()
    assert TraceScore.objects.filter(state="failed").count() == 1


@pytest.mark.parametrize("answer", [[], {"data": [], "meta": "x"}])
def test_a_strange_answer_delays_its_own_source_and_no_other(server: Receiver, answer: Any) -> None:
    server.answer = lambda got: json_reply({"data": []} if "/scores" in got.path else answer)
    strange = connect(server, "langfuse")
    with receiver() as other:
        other.answer = answer_phoenix
        connect(other, "phoenix")
        assert exchange.exchange_due().spans >= 2
    strange.refresh_from_db()
    assert "another form" in strange.error and strange.next_at > timezone.now()


def test_scores_are_sent_where_reading_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[int] = []

    def fail() -> int:
        raise OperationalError

    monkeypatch.setattr(exchange, "read_due", fail)
    monkeypatch.setattr(exchange, "send_due", lambda: sent.append(1) or 0)
    with pytest.raises(OperationalError):
        exchange.exchange_due()
    assert sent == [1]
