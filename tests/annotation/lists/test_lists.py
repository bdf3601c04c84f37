"""Lists: what is found, in which order, what is saved, and what is done with many at once."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.authoring.actions.tasks import create_task
from annotation.models import (
    AuditEntry,
    LedgerEntry,
    Membership,
    PanelMember,
    PayoutBatch,
    Role,
    SavedView,
    Task,
    User,
)
from annotation.payouts.actions import proposals as payouts
from annotation.payouts.actions.proposals import ProposedLine
from annotation.privacy.actions import erasure
from tests.support import factories
from tests.support.factories import World
from tests.support.kept import kept

pytestmark = pytest.mark.django_db


@pytest.fixture
@kept
def world() -> World:
    """Six workers, named; zqren-1 to zqren-3 have submitted work."""
    world = factories.make_world(2, redundancy=30)
    for number in range(1, 4):
        worker = factories.make_worker(world.project, pseudonym=f"zqren-{number}")
        factories.claim_and_submit(world.task, worker)
        factories.make_worker(world.project, pseudonym=f"zqark-{number}")
    return world


def signed_in(user: User | None) -> Client:
    assert user is not None
    client = Client()
    client.force_login(user)
    return client


def names(html: str) -> list[str]:
    """The pseudonyms of a page's rows, in their order."""
    return re.findall(r'class="name" href="[^"]+">([^<]+)</a>', html)


def people(world: World, query: str = "") -> str:
    return reverse("people", args=[world.project.pk]) + query


def propose(world: World, *pseudonyms: str, by: User | None = None) -> PayoutBatch:
    """A proposal to pay what these workers submitted."""
    lines = [
        ProposedLine(one.pk)
        for one in world.task.assignments.filter(worker__pseudonym__in=pseudonyms).order_by("pk")
    ]
    return payouts.propose_payout(
        by=by or world.requester, task=world.task, key=uuid.uuid4(), lines=lines
    )


def bulk(client: Client, url: str, do: str, **sent: Any) -> str:
    """Presses a button under the list, confirms what is asked, and returns where it ends."""
    asked = client.post(url, {"do": do, **sent})
    assert asked.status_code == 200, asked.content
    fields = dict(
        re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', asked.content.decode())
    )
    fields.pop("csrfmiddlewaretoken", None)
    done = client.post(url, {**fields, **sent}, follow=True)
    assert done.status_code == 200, done.content
    return done.content.decode()


def test_people_are_found_filtered_sorted_and_shown_by_chosen_columns(world: World) -> None:
    client = signed_in(world.manager)
    found = client.get(people(world, "?q=zqren&sort=-worker&col=submitted")).content.decode()
    assert names(found) == ["zqren-3", "zqren-2", "zqren-1"]
    assert "Submitted" in found and "Joined</a>" not in found
    assert "3 workers found" in found
    none = client.get(people(world, "?work=none&q=ZQARK")).content.decode()
    assert names(none) == ["zqark-1", "zqark-2", "zqark-3"]
    typed = client.get(people(world, "?q=qark-2&consent=&sort="), headers={"HX-Request": "true"})
    assert names(typed.content.decode()) == ["zqark-2"] and b"<html" not in typed.content
    assert typed["HX-Push-Url"] == people(world, "?q=qark-2")
    wrong = client.get(people(world, "?sort=secret&work=x&q=zqren-1&page=99")).content.decode()
    assert names(wrong) == ["zqren-1"]


def test_people_show_pace_rejections_and_what_was_approved(world: World) -> None:
    for number, minutes in ((1, 4), (2, 2), (3, 8)):
        factories.took(world.task.assignments.get(worker__pseudonym=f"zqren-{number}"), minutes)
    for _ in range(2):  # a median needs five
        factories.took(factories.claim_and_submit(world.task), 4)
    refused = world.task.assignments.get(worker__pseudonym="zqren-3").pk
    batch = payouts.propose_payout(
        by=world.requester,
        task=world.task,
        key=uuid.uuid4(),
        lines=[
            ProposedLine(world.task.assignments.get(worker__pseudonym="zqren-1").pk),
            ProposedLine(
                refused,
                decision="reject",
                reason_code="not_followed",
                reason=factories.REJECTION,
            ),
        ],
    )
    payouts.approve_payout(
        by=world.manager,
        batch=batch,
        expected_total=Decimal("1.80"),
        rejections=payouts.count_rejections(batch),
    )
    client = signed_in(world.manager)
    found = client.get(people(world, "?q=zqren&sort=pace")).content.decode()
    assert names(found) == ["zqren-2", "zqren-1", "zqren-3"]
    assert names(client.get(people(world, "?work=rejected")).content.decode()) == ["zqren-3"]
    rich = client.get(people(world, "?q=zqren&sort=-approved")).content.decode()
    assert names(rich)[0] == "zqren-1" and "€1.80" in rich


def test_ids_from_files_are_found_by_requesters_alone(world: World) -> None:
    Membership.objects.filter(pseudonym="zqark-1").update(user=None, external_id="A7XQ")
    shown = signed_in(world.requester).get(people(world, "?q=a7xq")).content.decode()
    assert names(shown) == ["zqark-1"] and "A7XQ" in shown
    assert names(signed_in(world.manager).get(people(world, "?q=a7xq")).content.decode()) == []


def test_a_view_is_saved_for_oneself_opened_and_deleted(world: World) -> None:
    client = signed_in(world.manager)
    saved = client.post(people(world, "?q=zqren&work=some"), {"do": "save_view", "name": "Wrens"})
    assert saved["Location"] == people(world, "?q=zqren&work=some")
    view = SavedView.objects.get()
    assert (view.user, view.list, view.query) == (world.manager, "people", "q=zqren&work=some")
    assert 'href="?q=zqren&amp;work=some">Wrens</a>' in client.get(people(world)).content.decode()
    other = signed_in(world.requester)
    assert "Wrens" not in other.get(people(world)).content.decode()
    sent = {"do": "delete_view", "view": view.pk}
    assert other.post(people(world), sent).status_code == 404
    assert client.post(people(world), sent).status_code == 302
    assert not SavedView.objects.exists()
    assert AuditEntry.objects.filter(action__in=["view.save", "view.delete"]).count() == 2


def test_a_view_that_looks_for_the_id_of_somebody_goes_when_they_are_erased(world: World) -> None:
    zqark = Membership.objects.get(pseudonym="zqark-1")
    Membership.objects.filter(pk=zqark.pk).update(user=None, external_id="A7 XQ")
    client = signed_in(world.requester)
    for query in ("?q=A7+XQ&work=none", "?q=A7+XQ", "?q=A7+XQR"):
        client.post(people(world, query), {"do": "save_view", "name": query})
    erasure.request_erasure(by=world.manager, worker=Membership.objects.get(pk=zqark.pk))
    erasure.finish(worker=zqark.pk)
    assert [view.query for view in SavedView.objects.all()] == ["q=A7+XQR"]


def test_pay_of_those_found_is_approved_and_what_is_left_out_says_why(world: World) -> None:
    factories.make_member(world.project, Role.REQUESTER, world.manager)
    first, own = propose(world, "zqren-1", "zqren-2"), propose(world, "zqren-3", by=world.manager)
    client = signed_in(world.manager)
    asked = client.post(people(world, "?q=zqren"), {"do": "approve", "every": "1"}).content.decode()
    assert "Proposal 1: 2 people, €3.60." in asked
    assert "You proposed it; somebody else must approve it." in asked and "zqren-3" in asked
    told = bulk(client, people(world, "?q=zqren"), "approve", every="1")
    assert "Approved the pay of 2 workers. 1 skipped: You proposed it" in told
    assert LedgerEntry.objects.count() == 2
    states = dict(PayoutBatch.objects.values_list("pk", "state"))
    assert states == {first.pk: "approved", own.pk: "proposed"}


def test_pay_of_some_leaves_the_others_of_a_proposal_to_be_proposed_again(world: World) -> None:
    propose(world, "zqren-1", "zqren-2", "zqren-3")
    pk = Membership.objects.get(pseudonym="zqren-2").pk
    client = signed_in(world.manager)
    asked = client.post(people(world), {"do": "approve", "pick": pk}).content.decode()
    assert "€1.80. 2 other assignments in it can be proposed again." in asked
    assert "Approved the pay of 1 worker." in bulk(client, people(world), "approve", pick=pk)
    assert LedgerEntry.objects.get().worker_id == pk
    propose(world, "zqren-1", "zqren-3")


def test_an_amount_that_changed_since_it_was_seen_is_not_approved(world: World) -> None:
    batch = propose(world, "zqren-1")
    pk = Membership.objects.get(pseudonym="zqren-1").pk
    sent = {"do": "approve", "pick": pk, "confirmed": "1", f"seen_{batch.pk}": "1.70"}
    told = signed_in(world.manager).post(people(world), sent, follow=True).content.decode()
    assert "1 skipped: The total is 1.80, not 1.70" in told
    assert not LedgerEntry.objects.exists()


def test_selected_workers_join_a_panel_or_leave_the_project(world: World) -> None:
    pks = [row.pk for row in Membership.objects.filter(pseudonym__startswith="zqark")]
    requester = signed_in(world.requester)
    told = bulk(requester, people(world), "panel", pick=",".join(map(str, pks)), panel="Larks")
    assert "Added 3 workers." in told
    assert PanelMember.objects.filter(panel__name="Larks", until=None).count() == 3
    assert "Removed 3 workers." in bulk(requester, people(world, "?q=zqark"), "remove", every="1")
    assert Membership.objects.filter(pk__in=pks, removed_at=None).count() == 0
    nothing = requester.post(people(world), {"do": "remove"}, follow=True)
    assert b"Nothing is selected. Select at least one row." in nothing.content
    refused = signed_in(world.manager).post(people(world), {"do": "panel", "pick": pks[0]})
    assert refused.status_code == 422  # only requesters choose panels


def test_proposals_are_found_by_worker_and_approved_together(world: World) -> None:
    factories.make_member(world.project, Role.REQUESTER, world.manager)
    first, own = propose(world, "zqren-1"), propose(world, "zqren-3", by=world.manager)
    reject = ProposedLine(
        world.task.assignments.get(worker__pseudonym="zqren-2").pk,
        "reject",
        reason_code="not_followed",
        reason=factories.REJECTION,
    )
    rejecting = payouts.propose_payout(
        by=world.requester, task=world.task, key=uuid.uuid4(), lines=[reject]
    )
    client, url = signed_in(world.manager), reverse("payout_list", args=[world.project.pk])
    found = client.get(f"{url}?q=zqren-3&state=proposed").content.decode()
    assert f"payouts/{own.number}/" in found and f"payouts/{first.number}/" not in found
    told = bulk(client, url, "approve", pick=f"{first.pk},{own.pk},{rejecting.pk}")
    assert "Approved 1 proposal. " in told
    assert "1 skipped: You proposed it" in told and "1 skipped: It rejects work" in told
    states = PayoutBatch.objects.order_by("number").values_list("state", flat=True)
    assert list(states) == ["approved", "proposed", "proposed"]


def test_tasks_are_paused_together_by_requesters(world: World) -> None:
    other = factories.make_task(world.project, 2, title="Where storks winter")
    draft = create_task(by=world.requester, project=world.project, type="free_text", title="Herons")
    client, url = signed_in(world.requester), reverse("task_list", args=[world.project.pk])
    assert "Herons" not in client.get(f"{url}?q=winter&view=open").content.decode()
    told = bulk(client, url, "pause", every="1", pick=f"{world.task.pk},{other.pk},{draft.pk}")
    assert "Paused 2 tasks. 1 skipped: It is draft." in told
    assert Task.objects.filter(state="paused").count() == 2
    refused = signed_in(world.manager).post(url, {"do": "resume", "pick": other.pk})
    assert refused.status_code == 422


def count_queries(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(url).status_code == 200
    return len(asked)


def test_a_list_asks_as_many_queries_of_many_people_as_of_few(world: World) -> None:
    client = signed_in(world.manager)
    url = people(world, "?q=r&sort=-proposed&work=some")
    few = count_queries(client, url)
    for _ in range(8):
        factories.claim_and_submit(world.task, factories.make_worker(world.project))
    propose(world, "zqren-1", "zqren-2")
    assert count_queries(client, url) == few
