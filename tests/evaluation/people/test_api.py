"""Programs that recruit, correct the books, and read cards, boards of a domain and the log."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.models import AuditEntry, Invitation, LedgerEntry, Notice, Recruitment, User
from annotation.notifications.actions import notices
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import proposals as payouts
from annotation.recruitment.platforms import prolific
from crowdqc import outbound
from tests.annotation.api.test_api import ok, refused
from tests.evaluation.corpora import pairs as pair_corpus
from tests.evaluation.corpora.pair_study import scored
from tests.support import factories
from tests.support.factories import World

pytestmark = pytest.mark.django_db
TOKEN, SECRET = "sealed-token-of-the-platform", "sealed-secret-of-its-calls"


@pytest.fixture
def world() -> World:
    return factories.make_world(n=2)


def client_of(user: User | None) -> APIClient:
    assert user is not None
    return APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(user)}")


def wrong(response: Any, field: str) -> None:
    """Refused, with the field named."""
    assert field in refused(response, 422)["fields"]


def sent(client: APIClient, path: str, body: Any, **more: Any) -> Any:
    return client.post(path, body, format="json", **more)


def test_a_way_in_is_made_and_changed_and_its_secrets_come_out_nowhere(world: World) -> None:
    client, path = client_of(world.requester), f"/api/tasks/{world.task.pk}/recruitments/"
    body = {
        "kind": "prolific",
        "name": "Autumn",
        "study_id": "s-1",
        "entry": "signed",
        "codes": {"completed": "DONE", "no_consent": "NOT"},
        "token": TOKEN,
        "webhook": SECRET,
    }
    made = ok(sent(client, path, body), 201)
    assert made["has_token"] and made["has_webhook"] and made["codes"]["completed"] == "DONE"
    wrong(sent(client, path, {**body, "name": "Again"}), "study_id")
    wrong(sent(client, path, {**body, "study_id": "s-2", "codes": {"done": "X"}}), "codes.done")

    own = f"{path}{made['id']}/"
    changed = ok(client.patch(own, {"active": False}, format="json"))
    assert not changed["active"] and changed["codes"] == made["codes"] and changed["has_token"]
    row = Recruitment.objects.get()
    assert row.token_sealed and row.parameters["participant"] == "PROLIFIC_PID"
    seen = str(ok(client.get(path))) + str(ok(client.get(own)))
    assert TOKEN not in seen and SECRET not in seen

    links = ok(sent(client, f"{own}links/", {"people": ["ann", "bea"], "count": 1}), 201)
    assert [one["participant"] for one in links[:2]] == ["ann", "bea"] and len(links) == 3
    assert all(one["link"].startswith("http") for one in links)
    wrong(sent(client, f"{own}let-in/", {"participant": "nobody"}), "participant")


def test_a_correction_is_booked_once_by_somebody_else_and_stands_in_accounts_and_log(
    world: World,
) -> None:
    done = factories.claim_and_submit(world.task, world.worker)
    batch = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid4(), lines=[payouts.ProposedLine(done.pk)]
    )
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    path = f"/api/projects/{world.project.pk}/ledger/"
    body = {
        "task": world.task.pk,
        "debit": books.payable_account(world.worker.pk),
        "credit": books.work(world.task.pk),
        "amount": "0.30",
        "memo": "Agreed on the telephone.",
    }
    client = client_of(world.manager)
    refused(sent(client, path, body), 400)  # without a key
    first, again = (ok(sent(client, path, body, HTTP_IDEMPOTENCY_KEY="k"), 201) for _ in range(2))
    assert first == again and LedgerEntry.objects.filter(kind="correction").count() == 1
    nobody = {**body, "credit": "worker:999999"}
    wrong(sent(client, path, nobody, HTTP_IDEMPOTENCY_KEY="l"), "credit")
    refused(sent(client_of(world.requester), path, body, HTTP_IDEMPOTENCY_KEY="m"), 403)

    [trial] = ok(client.get(f"/api/projects/{world.project.pk}/accounts/"))
    assert trial["debit"] == trial["credit"] and Decimal(trial["owed"]) == done.pay - Decimal(
        "0.30"
    )
    log = f"/api/projects/{world.project.pk}/audit/?family=ledger"
    [entry] = ok(client.get(log))["results"]
    assert entry["action"] == "ledger.correct" and "0.30" in entry["said"] + entry["rest"]
    assert (
        len(ok(client.get(log.partition("?")[0]))["results"])
        == AuditEntry.objects.filter(project=world.project).count()
    )


def test_a_card_and_a_domain_s_board_say_the_same_as_their_pages() -> None:
    cache.clear()
    task = pair_corpus.make_judged()
    owner = task.project.owner
    tasks.set_domain(by=owner, task=task, domain="bread and tea")
    run = scored(task)
    [first, *_] = run.workerscore_rows.filter(dimension="").order_by("pk")
    client, project = client_of(owner), f"/api/projects/{task.project_id}"
    card = ok(client.get(f"{project}/workers/{first.worker_id}/card/"))
    [study] = card["scores"]["competence"]
    assert study["lines"][0]["estimate"] == first.estimate and study["run"] == run.pk
    assert card["cannot"] and card["disputes"] == [] and card["money"]["owed"] == "0.00"

    [domain] = ok(client.get(f"{project}/domains/"))
    assert domain == {"name": "bread and tea", "tasks": 1, "scored": 1}
    board = ok(client.get(f"{project}/domains/bread and tea/"))
    assert board["of"] == "competence" and board["rows"] == []
    assert "shares no worker" in board["entries"][0]["why"]
    refused(client.get(f"{project}/domains/tea/"), 404)
    refused(client.get(f"{project}/domains/bread and tea/?of=systems"), 404)

    worker = client_of(first.worker.user)
    assert not ok(worker.get(f"/api/work/projects/{task.project_id}/card/"))["shown"]
    assert worker.get("/api/work/data/")["Content-Type"] == "application/zip"
    handed = client.get(f"{project}/workers/{first.worker_id}/data/")
    assert b"".join(handed.streaming_content).startswith(b"PK")
    assert AuditEntry.objects.filter(action="worker.data").count() == 1


def test_a_token_stays_with_its_address_unless_a_new_one_comes_with_the_new(world: World) -> None:
    client = client_of(world.requester)
    body = {"kind": "prolific", "name": "Autumn", "study_id": "s-1", "token": TOKEN}
    path = f"/api/tasks/{world.task.pk}/recruitments/"
    own = f"{path}{ok(sent(client, path, body), 201)['id']}/"
    elsewhere = {"api_url": "http://127.0.0.1:9/"}
    wrong(client.patch(own, elsewhere, format="json"), "api_url")
    assert Recruitment.objects.get().api_url == prolific.API
    assert ok(client.patch(own, {**elsewhere, "token": "theirs"}, format="json"))["has_token"]


def test_links_that_give_a_role_and_notices_of_other_projects_are_not_read_by_any_token(
    world: World,
) -> None:
    path = f"/api/projects/{world.project.pk}/invitations/"
    wrong(sent(client_of(world.requester), path, {"role": "manager"}), "emails")
    mailed = {"role": "manager", "emails": ["maren@example.org"]}
    [made] = ok(sent(client_of(world.requester), f"{path}mail/", mailed), 201)
    ok(sent(client_of(world.requester), path, {"role": "worker"}), 201)
    listed = {one["role"]: one for one in ok(client_of(world.manager).get(path))}
    assert listed["worker"]["token"]
    for one in (made, listed["manager"]):
        assert (one["token"], one["link"]) == ("", "")
    page = Client()
    page.force_login(world.manager)
    shown = page.get(reverse("people", args=[world.project.pk])).content.decode()
    # A link says when it was signed, so only its beginning stays the same.
    tokens = {one.role: people.invitation_token(one) for one in Invitation.objects.all()}
    begins = {role: f"/join/{token.partition(':')[0]}:" for role, token in tokens.items()}
    assert begins["manager"] not in shown and begins["worker"] in shown

    other = factories.make_project()
    for project in (world.project, other):
        told = {"kind": "run.done", "text": f"In {project.pk}.", "key": f"run:{project.pk}"}
        notices.notify(to=[world.manager], project=project, **told)
    token = factories.api_token(world.manager, project=world.project)
    bound = APIClient(HTTP_AUTHORIZATION=f"Token {token}")
    found = ok(bound.get("/api/notices/"))["results"]
    assert {one["project"] for one in found} == {world.project.pk}
    ok(sent(bound, "/api/notices/read/", {"upto": 10**9}))
    assert Notice.objects.get(project=other).read_at is None


def test_what_no_address_can_hold_is_refused_and_not_an_error(world: World) -> None:
    client, project = client_of(world.requester), f"/api/projects/{world.project.pk}"
    refused(client.get(f"{project}/ledger/?cursor=cD1hYmM="), 404)
    refused(client.get(f"{project}/audit/?person=%00"), 404)
    refused(client.get(f"{project}/domains/%00/"), 404)
    wrong(sent(client, f"{project}/hooks/", {"url": "https://example.org/ü"}), "url")
    for host in ("a..b", f"{'a' * 64}.org"):
        told = outbound.post_webhook(f"https://{host}/", b"{}", {}, seconds=1)
        assert told.error in ("The host is not known.", "It cannot be reached.")


def test_people_are_invited_by_mail_each_with_a_link_of_their_own(world: World) -> None:
    path = f"/api/projects/{world.project.pk}/invitations/mail/"
    body = {"emails": ["ann@example.org", "bea@example.org"], "note": "Second round"}
    made = ok(sent(client_of(world.requester), path, body), 201)
    assert len({one["token"] for one in made}) == 2 == Invitation.objects.exclude(email="").count()
    one_bad = {"emails": ["ann@example.org", "no address"]}
    wrong(sent(client_of(world.requester), path, one_bad), "emails.1")
