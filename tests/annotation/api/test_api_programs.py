"""Programs: tokens for a part of what a person may do, their limits, keys, and versions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.accounts.tokens import actions as tokens
from annotation.models import ApiToken, AuditEntry, KeptReply, Project, Task, User
from annotation.records.actions import replies
from crowdqc.errors import Conflict
from tests.annotation.api.test_api import ok, refused
from tests.support import factories as make

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _fresh_limits() -> Iterator[None]:
    caches["shared"].clear()
    yield


def client_of(user: User | None, *scopes: str, **fields: Any) -> APIClient:
    assert user is not None
    token = make.api_token(user, scopes or tokens.OF_EVERYBODY, **fields)
    return APIClient(HTTP_AUTHORIZATION=f"Token {token}")


# -- tokens --------------------------------------------------------------------------------------


def test_a_token_is_shown_once_kept_as_a_digest_and_ended_by_its_owner(client: Client) -> None:
    world = make.make_world()
    client.force_login(world.requester)
    form = {
        "name": "Nightly import",
        "scopes": ["read", "write"],
        "days": 30,
        "per_minute": 60,
        "project": str(world.project.pk),
    }
    page = client.post(reverse("account"), form)
    assert page.status_code == 201 and page["Cache-Control"].startswith("no-store")
    row = ApiToken.objects.get()
    text = page.context["text"]
    assert page.content.decode().count(text) == 1 and text.startswith(row.prefix)
    assert (row.scopes, row.project, row.digest) == (
        ["read", "write"],
        world.project,
        tokens.digest_token(text),
    )
    again = client.get(reverse("account")).content.decode()
    assert text not in again and f"{row.prefix}…" in again and "Nightly import" in again
    program = APIClient(HTTP_AUTHORIZATION=f"Token {text}")
    ok(program.get("/api/projects/"))
    other = Client()
    other.force_login(world.manager)
    assert other.post(reverse("account_token_revoke", args=[row.pk])).status_code == 404
    assert client.post(reverse("account_token_revoke", args=[row.pk])).status_code == 302
    assert "was ended" in refused(program.get("/api/projects/"), 401)["detail"]
    actions = AuditEntry.objects.filter(object_type="apitoken").values_list("action", flat=True)
    assert list(actions.order_by("pk")) == ["token.make", "token.revoke"]
    wrong = client.post(reverse("account"), {**form, "scopes": [], "days": 400, "project": "7"})
    assert wrong.status_code == 422 and ApiToken.objects.count() == 1
    assert set(wrong.context["form"].errors) == {"scopes", "days", "project"}


def test_a_token_opens_what_its_scopes_name_and_says_which_one_is_missing() -> None:
    world = make.make_world()
    at = f"/api/tasks/{world.task.pk}/"
    for verb, path, scope, rest in (
        ("get", at, "read", ("write", "work", "run", "pay")),
        ("patch", at, "write", ("read",)),
        ("post", f"{at}runs/", "run", ("read", "write")),
        ("get", "/api/work/tasks/", "work", ("read",)),
        ("post", f"/api/work/tasks/{world.task.pk}/claim/", "work", ("write",)),
    ):
        body = refused(getattr(client_of(world.requester, *rest), verb)(path), 403, "missing-scope")
        assert body["fields"] == {"scope": scope} and scope in body["detail"]
        let_in = getattr(client_of(world.requester, scope), verb)(path, {}, format="json")
        assert let_in.status_code != 403 or let_in.json()["code"] != "missing-scope"
    # A scope gives nothing that the person may not do.
    refused(client_of(world.manager, "write").patch(at, {}, format="json"), 403, "not-allowed")


def test_a_token_of_one_project_knows_no_other() -> None:
    world, other = make.make_world(), make.make_project()
    worker = make.make_worker(other, world.worker.user)
    task = make.make_task(other)
    held = make.claim(task, worker)
    client = client_of(world.worker.user, project=world.project)
    assert [row["id"] for row in ok(client.get("/api/projects/"))["results"]] == [world.project.pk]
    refused(client.get(f"/api/projects/{other.pk}/"), 404)
    assert {row["project"] for row in ok(client.get("/api/work/tasks/"))} == {world.project.pk}
    assert ok(client.get("/api/work/assignments/"))["results"] == []
    for path in (f"/api/work/assignments/{held.pk}/", f"/api/work/projects/{other.pk}/consent/"):
        refused(client.get(path), 404)
    refused(client.post(f"/api/work/tasks/{task.pk}/claim/"), 404)
    refused(client.post("/api/projects/", {"name": "x"}, format="json"), 403, "bound-token")
    refused(client.post("/api/work/join/", {"token": "x"}, format="json"), 403, "bound-token")


def test_a_token_ends_with_its_time_its_owner_and_the_twenty_first_sign_in() -> None:
    user = make.make_user(password=make.PASSWORD)
    row, text = tokens.create_token(by=user, name="x", scopes=["read"], days=1)
    client = APIClient(HTTP_AUTHORIZATION=f"Token {text}")
    ok(client.get("/api/projects/"))
    ApiToken.objects.filter(pk=row.pk).update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    assert "expired" in refused(client.get("/api/projects/"), 401)["detail"]
    signed = [
        tokens.sign_in_for_token(username=user.username, password=make.PASSWORD) for _ in range(21)
    ]
    live = ApiToken.objects.filter(tokens.live_tokens(user))
    assert {one.pk for one in live} == {one.pk for one, _ in signed[1:]}
    ApiToken.objects.bulk_create(
        ApiToken(user=user, name="x", prefix="x", digest=f"{n}", expires_at=signed[0][0].expires_at)
        for n in range(tokens.MOST - 20)
    )
    with pytest.raises(Conflict):
        tokens.create_token(by=user, name="one more", scopes=["read"], days=1)
    User.objects.filter(pk=user.pk).update(is_active=False)
    last = APIClient(HTTP_AUTHORIZATION=f"Token {signed[-1][1]}")
    refused(last.get("/api/projects/"), 401)


# -- limits --------------------------------------------------------------------------------------


def test_a_token_over_its_limit_is_told_when_to_come_back(monkeypatch: Any) -> None:
    world = make.make_world()
    monkeypatch.setattr(tokens.time, "time", lambda: 600.0)  # nobody's minute ends meanwhile
    client = client_of(world.requester, per_minute=3)
    left = []
    for _ in range(3):
        answer = client.get("/api/projects/")
        left.append(answer["X-RateLimit-Remaining"])
        assert answer["X-RateLimit-Limit"] == "3"
    assert left == ["2", "1", "0"]
    late = client.get(f"/api/tasks/{world.task.pk}/")
    assert refused(late, 429, "throttled") and late["X-RateLimit-Remaining"] == "0"
    assert late["Retry-After"] == late["X-RateLimit-Reset"] == "60"
    ok(client_of(world.requester).get("/api/projects/"))  # another token of the same person
    monkeypatch.setattr(tokens.time, "time", lambda: 660.0)
    ok(client.get("/api/projects/"))


def test_processes_share_a_limit_and_ask_the_database_a_few_times_a_minute() -> None:
    token, _ = tokens.create_token(
        by=make.make_user(), name="x", scopes=["read"], days=1, per_minute=100
    )

    def process(held: dict[int, Any], times: int) -> int:
        """What another web process with a memory of its own lets through."""
        mine, tokens._held = tokens._held, held
        try:
            return sum(tokens.count_request(token, 60.0).allowed for _ in range(times))
        finally:
            tokens._held = mine

    memories: list[dict[int, Any]] = [{}, {}, {}]
    with CaptureQueriesContext(connection) as seen:
        passed = sum(process(memories[n % 3], 1) for n in range(300))
    assert passed == 100 and len(seen) <= 20 + 3
    token.refresh_from_db()
    assert token.taken == 100 and token.last_used_at
    # A clock that is behind opens no second minute.
    assert not tokens.count_request(token, 59.0).allowed
    assert process(memories[0], 0) == 0 and tokens.count_request(token, 121.0).allowed


# -- keys ----------------------------------------------------------------------------------------


def test_a_request_sent_again_under_its_key_does_nothing_and_is_answered_the_same() -> None:
    user = make.make_user()
    client = client_of(user)
    key = {"HTTP_IDEMPOTENCY_KEY": "begin-1"}
    first = client.post("/api/projects/", {"name": "Birds"}, format="json", **key)
    again = client.post("/api/projects/", {"name": "Birds"}, format="json", **key)
    assert ok(first, 201) == ok(again, 201) and Project.objects.count() == 1
    assert again["Idempotency-Replayed"] == "true" and "Idempotency-Replayed" not in first
    other = client.post("/api/projects/", {"name": "Fish"}, format="json", **key)
    refused(other, 422, "key-reused")
    # Another person's key is another key; what was refused may be mended under its key.
    ok(client_of(make.make_user()).post("/api/projects/", {"name": "B"}, format="json", **key), 201)
    key = {"HTTP_IDEMPOTENCY_KEY": "begin-2"}
    refused(client.post("/api/projects/", {"name": ""}, format="json", **key), 422)
    ok(client.post("/api/projects/", {"name": "Fish"}, format="json", **key), 201)
    refused(client.post("/api/projects/", {}, format="json", HTTP_IDEMPOTENCY_KEY="é"), 422)
    kept = KeptReply.objects.get(user=user, key="begin-1")
    assert b"Birds" not in bytes(kept.sealed)
    KeptReply.objects.update(created_at=timezone.now() - dt.timedelta(days=3))
    assert replies.delete_old_replies() == 3


def test_a_secret_that_was_told_once_is_not_told_again_to_a_token_of_another_project() -> None:
    project = make.make_project()
    other = make.make_project(owner=project.owner)
    path, body = f"/api/projects/{project.pk}/hooks/", {"url": "https://example.org/told"}
    key = {"HTTP_IDEMPOTENCY_KEY": "hook-1"}
    secret = ok(client_of(project.owner).post(path, body, format="json", **key), 201)["secret"]
    again = client_of(project.owner, project=other).post(path, body, format="json", **key)
    refused(again, 422, "key-reused")
    assert secret not in again.content.decode()


def test_a_reply_to_a_worker_is_shown_again_as_it_may_be_read_now() -> None:
    project = make.make_project()
    task = make.make_task(project, 2, look_back=False)
    client = client_of(make.make_worker(project).user)
    claim, key = f"/api/work/tasks/{task.pk}/claim/", {"HTTP_IDEMPOTENCY_KEY": "claim"}
    held = ok(client.post(claim, **key))
    assert all(entry["context"] for entry in held["entries"])
    ok(client.post(f"/api/work/assignments/{held['id']}/questions/0/"))
    again = client.post(claim, **key)
    assert again["Idempotency-Replayed"] == "true" and ok(again)["id"] == held["id"]
    assert not any(entry["context"] for entry in ok(again)["entries"])
    ok(client.delete(f"/api/work/projects/{project.pk}/consent/"))
    refused(client.post(claim, **key), 403, "no-consent")


def test_a_request_that_dies_leaves_neither_effect_nor_reply(monkeypatch: Any) -> None:
    client = client_of(make.make_user())
    client.raise_request_exception = False
    body, key = {"name": "Birds"}, {"HTTP_IDEMPOTENCY_KEY": "k"}
    with monkeypatch.context() as patch:

        def fail(**kwargs: Any) -> None:
            raise OSError("the disk is full")

        patch.setattr(replies, "store_reply", fail)
        dead = client.post("/api/projects/", body, format="json", **key)
    assert refused(dead, 500, "server-error") and not Project.objects.exists()
    ok(client.post("/api/projects/", body, format="json", **key), 201)


@pytest.mark.django_db(transaction=True)
@pytest.mark.db
def test_of_twenty_requests_at_once_under_one_key_one_is_done() -> None:
    user = make.make_user()
    client_of(user)
    text = make.api_token(user)

    def ask(_: int) -> tuple[int, str]:
        client = APIClient(HTTP_AUTHORIZATION=f"Token {text}", HTTP_IDEMPOTENCY_KEY="once")
        try:
            answer = client.post("/api/projects/", {"name": "Birds"}, format="json")
            return answer.status_code, answer.json().get("code", "")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(ask, range(20)))
    assert (201, "") in seen and seen <= {(201, ""), (409, "key-in-work")}
    assert Project.objects.count() == 1 == KeptReply.objects.count()


# -- versions ------------------------------------------------------------------------------------


def test_what_a_client_has_is_not_sent_again_and_what_changed_is_not_overwritten() -> None:
    world = make.make_world()
    client = client_of(world.requester)
    at = f"/api/tasks/{world.task.pk}/"
    first = client.get(at)
    etag = first["ETag"]
    same = client.get(at, HTTP_IF_NONE_MATCH=f"W/{etag}")
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", etag)
    changed = client.patch(at, {"title": "Herons"}, format="json", HTTP_IF_MATCH=etag)
    assert ok(changed)["draft"]["title"] == "Herons" and changed["ETag"] != etag
    stale = client.patch(at, {"title": "Cranes"}, format="json", HTTP_IF_MATCH=etag)
    refused(stale, 412, "changed-meanwhile")
    refused(client.post(f"{at}publish/", HTTP_IF_MATCH=etag), 412)
    now = client.get(at, HTTP_IF_NONE_MATCH=etag)
    assert ok(now)["draft"]["title"] == "Herons" and now["ETag"] == changed["ETag"]
    assert ok(client.post(f"{at}publish/", HTTP_IF_MATCH=now["ETag"]))["draft"] is None
    assert Task.objects.get().current.title == "Herons"  # type: ignore[union-attr]
    refused(client.post("/api/projects/", {"name": "x"}, format="json", HTTP_IF_MATCH='"a"'), 412)
