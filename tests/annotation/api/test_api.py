"""The API: everything over JSON, under the permissions of the browser, refusals in one shape."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.accounts.projects import actions as people
from annotation.models import Answer, Assignment, EventBatch, Membership, Project, Role, User
from tests.support import factories as make

pytestmark = [pytest.mark.django_db, pytest.mark.db]


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    caches["shared"].clear()
    yield
    caches["shared"].clear()


def client_of(user: User) -> APIClient:
    """A client that sends the person's token."""
    return APIClient(HTTP_AUTHORIZATION=f"Token {make.api_token(user)}")


def ok(response: Any, status: int = 200) -> Any:
    assert response.status_code == status, response.content
    return response.json() if response.content else None


def refused(response: Any, status: int, code: str = "") -> dict[str, Any]:
    """The body of a refusal, which always has the same shape."""
    assert response.status_code == status, response.content
    body: dict[str, Any] = response.json()
    assert response["Content-Type"] == "application/problem+json"
    assert set(body) <= {"type", "title", "status", "code", "detail", "fields", "rows"}
    assert body["status"] == status and body["title"]
    assert isinstance(body["detail"], str) and body["detail"]
    assert all(isinstance(text, str) for text in body.get("fields", {}).values())
    if code:
        assert body["code"] == code
    return body


def worker_client(project: Project) -> tuple[APIClient, Membership]:
    worker = make.make_worker(project)
    assert worker.user is not None
    return client_of(worker.user), worker


# -- the whole loop ----------------------------------------------------------------------------


def test_a_task_is_authored_worked_on_and_read_back_without_a_browser() -> None:
    requester, ann = client_of(make.make_user()), make.make_user()
    project = ok(requester.post("/api/projects/", {"name": "Birds"}, format="json"), 201)
    assert project["roles"] == ["requester"]
    at = f"/api/projects/{project['id']}/tasks/"
    task = ok(requester.post(at, {"title": "Storks"}, format="json"), 201)
    at = f"/api/tasks/{task['id']}/"
    rules = {"pay": "1.80", "redundancy": 2, "items_per_assignment": 2}
    assert ok(requester.patch(at, rules, format="json"))["draft"]["pay"] == "1.80"
    rows = [{"item_id": f"s-{n}", "question": f"Where is nest {n}?"} for n in (1, 2)]
    assert ok(requester.post(f"{at}items/", {"rows": rows}, format="json"), 201)["new"] == 2
    assert ok(requester.post(f"{at}items/", {"rows": rows}, format="json"), 201)["new"] == 0
    assert ok(requester.post(f"{at}publish/"))["state"] == "open"

    owner = Project.objects.get(pk=project["id"])
    link = people.invitation_token(people.invite(by=owner.owner, project=owner, role=Role.WORKER))
    worker = client_of(ann)
    assert ok(worker.post("/api/work/join/", {"token": link}, format="json"))["role"] == "worker"
    [offer] = ok(worker.get("/api/work/tasks/"))
    assert (offer["pay"], offer["questions"], offer["needs_consent"]) == ("1.80", 2, True)
    claim = f"/api/work/tasks/{task['id']}/claim/"
    refused(worker.post(claim), 403, "no-consent")
    consent = f"/api/work/projects/{project['id']}/consent/"
    number = ok(worker.get(consent))["number"]
    assert ok(worker.post(consent, {"number": number, "agreed": True}, format="json"))["agreed"]
    found = ok(worker.post(claim))
    assert ok(worker.post(claim))["id"] == found["id"]  # the lease in work
    mine = f"/api/work/assignments/{found['id']}/"
    drafts = {str(e["item"]): {"text": f"On {e['item_id']}."} for e in found["entries"]}
    body = {"key": str(uuid.uuid4()), "answers": drafts}
    for _ in range(2):  # the same submit again is the same submit
        assert ok(worker.post(f"{mine}submit/", body, format="json"))["state"] == "submitted"
    refused(worker.post(f"{mine}submit/", {**body, "key": str(uuid.uuid4())}, format="json"), 409)

    systems = [{"item_id": "s-1", "system": "Owl", "answer": "On the church."}]
    at = f"/api/tasks/{task['id']}"
    assert ok(requester.post(f"{at}/system-answers/", {"rows": systems}, format="json"), 201)
    listed = ok(requester.get(f"{at}/answers/?author=worker"))["results"]
    assert {row["answer"] for row in listed} == {"On 1.", "On 2."}
    assert {row["worker"] for row in listed} == {
        Membership.objects.get(user=ann, role=Role.WORKER).pseudonym
    }
    [system] = ok(requester.get(f"{at}/answers/?author=system"))["results"]
    assert (system["system"], system["worker"]) == ("Owl", None)
    uncount = {"counts": False, "reason": "off topic"}
    answer = f"/api/answers/{listed[0]['id']}/"
    assert ok(requester.patch(answer, uncount, format="json"))["counts"] is False
    export = requester.get(f"{at}/export/answers.jsonl")
    assert len(b"".join(export.streaming_content).splitlines()) == 1


def test_bad_rows_are_all_named_and_nothing_is_written() -> None:
    world = make.make_world()
    at = f"/api/tasks/{world.task.pk}/answers/"
    rows = [
        {"item_id": "q-001", "worker_id": "a", "answer": "On chimneys."},
        {"item_id": "nowhere", "worker_id": "a", "answer": "On poles."},
        {"item_id": "q-002", "worker_id": "", "answer": "On trees."},
    ]
    body = refused(client_of(world.requester).post(at, {"rows": rows}, format="json"), 422)
    assert [(row["line"], row["column"]) for row in body["rows"]] == [
        (2, "item_id"),
        (3, "worker_id"),
    ]
    assert all(row["wrong"] and row["mend"] for row in body["rows"])
    assert not Answer.objects.exists()


# -- who may -------------------------------------------------------------------------------------

STAFF_READS = (
    "/api/projects/{p}/tasks/",
    "/api/tasks/{t}/",
    "/api/tasks/{t}/items/",
    "/api/tasks/{t}/answers/",
    "/api/tasks/{t}/assignments/",
    "/api/answers/{a}/",
    "/api/tasks/{t}/export/items.csv",
    "/api/tasks/{t}/runs/",
)
REQUESTER_WRITES = (
    ("post", "/api/projects/{p}/tasks/", {"title": "x"}),
    ("patch", "/api/tasks/{t}/", {"title": "x"}),
    ("post", "/api/tasks/{t}/publish/", {}),
    ("post", "/api/tasks/{t}/move/", {"to": "pause"}),
    ("post", "/api/tasks/{t}/items/", {"rows": [{"item_id": "z", "question": "Why?"}]}),
    ("post", "/api/tasks/{t}/answers/", {"rows": []}),
    ("post", "/api/tasks/{t}/system-answers/", {"rows": []}),
)


def test_outsiders_find_nothing_workers_read_nothing_of_others_and_managers_write_no_task() -> None:
    world = make.make_world()
    assignment = make.claim_and_submit(world.task, world.worker)
    ids = {
        "p": world.project.pk,
        "t": world.task.pk,
        "a": Answer.objects.filter(assignment=assignment)[0].pk,
    }
    outsider, anybody = client_of(world.outsider), APIClient()
    worker, manager = client_of(world.worker.user), client_of(world.manager)  # type: ignore[arg-type]
    for path in (template.format(**ids) for template in STAFF_READS):
        refused(anybody.get(path), 401, "not-authenticated")
        refused(outsider.get(path), 404, "missing")
        refused(worker.get(path), 403, "not-allowed")
        assert manager.get(path).status_code == 200, path
    for verb, template, body in REQUESTER_WRITES:
        for client, status in ((anybody, 401), (outsider, 404), (worker, 403), (manager, 403)):
            refused(getattr(client, verb)(template.format(**ids), body, format="json"), status)
    assert refused(outsider.get("/api/tasks/999999/"), 404) == refused(
        outsider.get(f"/api/tasks/{world.task.pk}/"), 404
    )  # no telling what exists
    assert ok(worker.get(f"/api/projects/{world.project.pk}/"))["roles"] == ["worker"]
    assert ok(outsider.get("/api/projects/"))["results"] == []


def test_an_assignment_of_somebody_else_does_not_exist() -> None:
    world = make.make_world()
    assignment = make.claim(world.task, world.worker)
    other, _ = worker_client(world.project)
    at = f"/api/work/assignments/{assignment.pk}/"
    key = str(uuid.uuid4())
    for client in (other, client_of(world.requester), client_of(world.outsider)):
        refused(client.get(at), 404)
        for part, body in (
            ("submit", {"key": key}),
            ("extend", {}),
            ("return", {}),
            ("streams", {"key": key}),
            ("events", {"stream": key, "first_seq": 0, "events": []}),
            ("questions/0", {}),
        ):
            refused(client.post(f"{at}{part}/", body, format="json"), 404)
        draft = {"draft": {"text": "mine"}, "seq": 1}
        refused(client.put(f"{at}drafts/1/", draft, format="json"), 404)
    assert ok(other.get("/api/work/assignments/"))["results"] == []
    assert Assignment.objects.get(pk=assignment.pk).state == "leased"


# -- reading once --------------------------------------------------------------------------------


def test_a_passage_that_may_not_be_looked_back_at_is_gone_once_its_questions_are_seen() -> None:
    project = make.make_project()
    task = make.make_task(project, 2, look_back=False, settings={"skippable": True})
    client, _ = worker_client(project)
    found = ok(client.post(f"/api/work/tasks/{task.pk}/claim/"))
    at = f"/api/work/assignments/{found['id']}/"
    assert {e["passage"] for e in found["entries"]} == {"first"}
    assert all(e["context"] and e["question"] is None for e in found["entries"])
    went_on = ok(client.post(f"{at}questions/0/"))
    for body in (went_on, ok(client.get(at))):
        assert all(e["context"] is None and e["question"] for e in body["entries"])
    # Nor does giving it back and taking it again show it once more.
    ok(client.post(f"{at}return/"))
    again = ok(client.post(f"/api/work/tasks/{task.pk}/claim/"))
    assert {e["passage"] for e in again["entries"]} == {"closed"}
    withdrawn = client.delete(f"/api/work/projects/{project.pk}/consent/")
    assert ok(withdrawn)["agreed"] is False
    refused(client.get(f"/api/work/assignments/{again['id']}/"), 403, "no-consent")


def test_drafts_and_events_are_kept_once_whatever_is_sent_again() -> None:
    world = make.make_world()
    client = client_of(world.worker.user)  # type: ignore[arg-type]
    found = ok(client.post(f"/api/work/tasks/{world.task.pk}/claim/"))
    at = f"/api/work/assignments/{found['id']}/"
    save = f"{at}drafts/{found['entries'][0]['item']}/"
    newer, older = ({"draft": {"text": text}, "seq": seq} for text, seq in (("b", 2), ("a", 1)))
    ok(client.put(save, newer, format="json"))
    kept = ok(client.put(save, older, format="json"))
    assert (kept["draft"]["text"], kept["seq"]) == ("b", 2)

    key = str(uuid.uuid4())
    assert ok(client.post(f"{at}streams/", {"key": key}, format="json"))["next"] == 0
    events = [{"method": "focus", "time": n, "target": "item-1"} for n in range(3)]
    batch = {"stream": key, "first_seq": 0, "events": events}
    for _ in range(2):
        assert ok(client.post(f"{at}events/", batch, format="json"))["next"] == 3
    gap = client.post(f"{at}events/", {**batch, "first_seq": 9}, format="json")
    assert refused(gap, 409)["fields"]["next"] == "3"
    assert sum(len(stored.events) for stored in EventBatch.objects.all()) == 3
    wrong = {"key": str(uuid.uuid4()), "answers": {"999999": {"text": "x"}}}
    assert (
        "answers.999999"
        in refused(client.post(f"{at}submit/", wrong, format="json"), 422)["fields"]
    )


# -- the entry and the shape of refusals ---------------------------------------------------------


def test_a_token_says_what_it_may_do_and_a_session_has_none() -> None:
    project = make.make_project()
    token = make.api_token(project.owner, ["read"], project=project)
    told = ok(APIClient(HTTP_AUTHORIZATION=f"Token {token}").get("/api/token/"))
    assert told["scopes"] == ["read"] and told["project"] == project.pk
    browser = APIClient()
    browser.force_login(make.make_user())
    refused(browser.get("/api/token/"), 409)
    refused(APIClient().get("/api/token/"), 401)


def test_a_token_is_given_for_name_and_password_ended_and_not_to_be_guessed() -> None:
    user = make.make_user(password=make.PASSWORD)
    anybody = APIClient()
    good = {"username": user.username, "password": make.PASSWORD}
    token = ok(anybody.post("/api/token/", good, format="json"))["token"]
    client = APIClient(HTTP_AUTHORIZATION=f"Token {token}")
    ok(client.get("/api/projects/"))
    ok(client.delete("/api/token/"), 204)
    refused(client.get("/api/projects/"), 401, "authentication-failed")
    bad = {**good, "password": "not it"}
    codes = [anybody.post("/api/token/", bad, format="json").status_code for _ in range(11)]
    assert codes[0] == 403 and codes[-1] == 429
    # From another address claimed in a header, and with the right password: still too many.
    again = anybody.post("/api/token/", good, format="json", HTTP_X_FORWARDED_FOR="10.1.1.1")
    refused(again, 429, "throttled")


def test_every_refusal_has_one_shape() -> None:
    user = make.make_user()
    client = client_of(user)
    refused(client.post("/api/projects/", "{", content_type="application/json"), 400, "parse-error")
    refused(client.post("/api/projects/", "x=1", content_type="text/plain"), 415)
    refused(client.delete("/api/projects/"), 405, "method-not-allowed")
    refused(client.get("/api/projects/?cursor=nonsense"), 404)
    refused(client.get("/api/nothing/here/"), 404, "missing")
    assert "slash" in refused(client.get("/api/projects"), 404)["detail"]
    wrong = client.post("/api/projects/", {"nmae": "x"}, format="json")
    assert set(refused(wrong, 422, "invalid")["fields"]) == {"nmae"}
    wrong = client.post("/api/projects/", {"name": "", "currency": "euro"}, format="json")
    assert set(refused(wrong, 422)["fields"]) == {"name", "currency"}
    refused(client.get(f"/api/tasks/{10**30}/"), 404)
    # A session needs its CSRF token; a token sent along does not.
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(user)
    refused(browser.post("/api/projects/", {"name": "x"}, format="json"), 403)
    ok(browser.get("/api/projects/"))


def test_the_schema_describes_every_address_and_the_page_shows_it(client: Any) -> None:
    schema = client.get("/api/schema/?format=json").json()
    paths = schema["paths"]
    assert {"/api/token/", "/api/projects/", "/api/runs/{run_id}/scores/workers/"} <= set(paths)
    for path, verbs in paths.items():
        for verb, about in verbs.items():
            if verb != "parameters":
                assert about.get("summary"), (verb, path)
                assert "default" in about["responses"], (verb, path)
    page = client.get("/api/")
    assert page.status_code == 200
    for path in paths:
        if path != "/api/schema/":
            assert f"{path}</code>" in page.content.decode()


# -- growth --------------------------------------------------------------------------------------


def _queries(client: APIClient, path: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        ok(client.get(path))
    # Now and then a request takes a block of its token's minute, whatever it asks for.
    return sum("UPDATE annotation_apitoken" not in query["sql"] for query in seen)


def test_lists_take_as_many_queries_for_many_rows_as_for_few() -> None:
    world = make.make_world()
    requester, worker = client_of(world.requester), client_of(world.worker.user)  # type: ignore[arg-type]
    staff = [f"/api/tasks/{world.task.pk}/{part}/" for part in ("items", "answers", "assignments")]
    lists = [
        *((requester, path) for path in (*staff, f"/api/projects/{world.project.pk}/tasks/")),
        (requester, "/api/projects/"),
        (worker, "/api/work/assignments/"),
        (worker, "/api/work/tasks/"),
    ]

    def grow(number: int) -> None:
        for _ in range(number):
            make.claim_and_submit(world.task)
            project = make.make_project(owner=world.requester)
            make.make_task(world.project)
            task = make.make_task(project)
            member = make.make_worker(project, world.worker.user)
            make.claim_and_submit(task, member)
            make.make_task(project)

    grow(1)
    few = [_queries(client, path) for client, path in lists]
    make.tasks.edit_draft(by=world.requester, task=world.task, fields={"redundancy": 20})
    make.tasks.publish(by=world.requester, task=world.task)
    grow(3)
    assert [_queries(client, path) for client, path in lists] == few
    assert max(few) <= 9


def test_long_lists_come_page_by_page() -> None:
    world = make.make_world(n=5)
    client, path = client_of(world.requester), f"/api/tasks/{world.task.pk}/items/?page_size=2"
    seen: list[str] = []
    while path:
        page = ok(client.get(path))
        seen += [row["item_id"] for row in page["results"]]
        path = page["next"]
    assert seen == [f"q-{n:03d}" for n in range(1, 6)]
