"""The API's other verbs by role, and that a worker's token reads nothing of anybody else."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client

from annotation.models import Membership, Project, User
from annotation.payouts.actions import proposals as payouts
from tests.support import access_api, factories
from tests.support.everything import address, everything
from tests.test_access import GET, ROLES, fits, met, row_of

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def addresses() -> tuple[dict[str, Any], dict[str, Client]]:
    """Values for every placeholder, and a client a role."""
    return everything()


def test_each_role_changes_what_it_may_and_nothing_else(addresses: Any) -> None:
    values, clients = addresses
    wrong = []
    for (verb, name), row in access_api.CHANGE.items():
        for role, wanted in zip(ROLES, row_of(name, row), strict=True):
            point = transaction.savepoint()
            path = address(name, values)
            response = clients[role].generic(verb.upper(), path, "{}", "application/json")
            transaction.savepoint_rollback(point)
            if not fits(met(response), wanted):
                wrong.append(f"{verb} {name} as {role}: {response.status_code}, not {wanted}")
    assert not wrong, "\n".join(wrong)


def told(response: Any) -> str:
    """What a reply says, that of a streamed file or ZIP as well."""
    body = b"".join(response.streaming_content) if response.streaming else response.content
    if response.headers.get("Content-Type") == "application/zip":
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            body = b"\n".join(packed.read(name) for name in packed.namelist())
    return str(body.decode())


def _busy(project: Project, user: User) -> Membership:
    """A worker with an answer in words of their own, pay and a rejection, in this project."""
    worker = factories.make_worker(project, user)
    task, other = (factories.make_task(project, 2) for _ in range(2))
    paid = factories.claim_and_submit(task, worker, "Grebes carry their young on the back.")
    refused = factories.claim_and_submit(other, worker, "Grebes again.")
    reason = "Grebes were not what the question asked about. " * 4
    for done, line in (
        (paid, payouts.ProposedLine(paid.pk)),
        (
            refused,
            payouts.ProposedLine(refused.pk, decision="reject", reason_code="other", reason=reason),
        ),
    ):
        manager = factories.make_member(project).user
        batch = payouts.propose_payout(by=project.owner, task=done.task, key=uuid4(), lines=[line])
        payouts.approve_payout(
            by=manager,
            batch=batch,
            expected_total=payouts.total(batch),
            rejections=payouts.count_rejections(batch),
        )
    return worker


def test_a_workers_token_reads_nothing_of_anybody_else(addresses: Any) -> None:
    values, _ = addresses
    here = Project.objects.get(pk=values["project_id"])
    other = _busy(here, factories.make_user())  # beside them in the same project
    elsewhere = _busy(factories.make_project(), factories.make_user())
    nosy = factories.make_worker(here)
    client = Client(headers={"Authorization": f"Token {factories.api_token(nosy.user)}"})
    theirs = {other.pseudonym, elsewhere.pseudonym, "Grebes"}
    ids = dict(values)
    held = other.assignments.order_by("pk")[0]
    ids |= {
        "assignment_id": held.pk,
        "task_id": held.task_id,
        "answer_id": held.answers.all()[0].pk,
        "membership_id": other.pk,
        "own_answer_id": held.answers.all()[0].pk,
    }
    seen = []
    for name in access_api.GET:
        if name in ("api_schema", "api_docs", "api_token", "api_unknown"):
            continue
        response = client.get(address(name, ids), headers={"Accept": "application/json"})
        text = told(response)
        if any(word in text for word in theirs) or (
            response.status_code == 200 and name not in OPEN
        ):
            seen.append((name, response.status_code, text[:200]))
        if name in LISTED:
            assert json.loads(text)["results"] == [], name
    assert not seen
    assert set(access_api.GET) <= set(GET)


# What is open to every worker: the project they are in and lists of what is their own.
LISTED = {
    "api_own_assignments",
    "api_own_ledger",
    "api_own_rejections",
    "api_own_rounds",
    "api_own_conversations",
    "api_notices",
}
OPEN = LISTED | {
    "api_projects",
    "api_project",
    "api_open_tasks",
    "api_consent",
    "api_own_consents",
    "api_own_card",
    "api_own_data",
}
