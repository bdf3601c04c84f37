"""Pages of recruitment and payments: what a requester sets up, and what nobody ever sees again."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Payment, Recruitment
from annotation.payouts.actions import proposals as payouts
from tests.support import factories
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> factories.World:
    return factories.make_world(n=1, redundancy=30)


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_requester_adds_a_study_and_its_secrets_are_never_shown(world: factories.World) -> None:
    client = signed_in(world.requester)
    at = f"/projects/{world.project.pk}/tasks/{world.task.pk}/recruitment/"
    assert "Bring in people from Prolific" in client.get(at).content.decode()
    form = {"name": "Study 1", "entry": "bound", "active": "on", "code_completed": "DONE1"}
    wrong = client.post(f"{at}new/prolific/", form)
    assert wrong.status_code == 422 and "This field is required" in wrong.content.decode()
    secrets = {"token": "token-123", "webhook": "hook-456"}
    answer = client.post(f"{at}new/prolific/", {**form, "study_id": "s9", **secrets}, follow=True)
    page = answer.content.decode()
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in page and "DONE1" in page
    made = Recruitment.objects.get()
    assert made.api_url == "https://api.prolific.com" and b"token-123" not in bytes(
        made.token_sealed
    )
    edit = f"{at}{made.pk}/edit/"
    changed = client.post(edit, {**form, "study_id": "s9", "entry": "jwt", "audience": "a.example"})
    assert changed.status_code == 302
    made.refresh_from_db()
    assert made.token_sealed and made.jwks_url.endswith("/.well-known/study/jwks.json")
    for url in (at, f"{at}{made.pk}/", edit):
        shown = client.get(url).content.decode()
        assert "token-123" not in shown and "hook-456" not in shown


def test_a_panel_names_its_parameters(world: factories.World) -> None:
    client = signed_in(world.requester)
    at = f"/projects/{world.project.pk}/tasks/{world.task.pk}/recruitment/new/panel/"
    form = {"name": "Ours", "entry": "bound", "active": "on", "parameter_participant": "who"}
    bad = client.post(at, {**form, "return_url": "http://plain.example"})
    assert bad.status_code == 422 and "https://" in bad.content.decode()
    page = client.post(at, form, follow=True).content.decode()
    assert "?who=" in page


def make_payments(world: factories.World, n: int) -> None:
    study = Recruitment.objects.first() or prolific.make_recruitment(world.task)
    visits = prolific.make_visited(study, n=n)
    lines = [payouts.ProposedLine(one.assignment_id, bonus=Decimal("0.20")) for one in visits]  # type: ignore[arg-type]
    batch = payouts.propose_payout(by=world.requester, task=world.task, key=uuid4(), lines=lines)
    payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))


def test_payments_are_listed_with_as_many_queries_for_many_as_for_few(
    world: factories.World,
) -> None:
    client = signed_in(world.manager)
    counts = []
    for n in (2, 5):
        make_payments(world, n)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page = client.get(f"/projects/{world.project.pk}/payments/?view=by_hand")
        counts.append(len(queries))
        assert (
            page.content.decode().count("Base pay") == Payment.objects.filter(what="base").count()
        )
    assert counts[0] == counts[1]
    bonus = client.get(f"/projects/{world.project.pk}/payments/bonus.csv").content.decode()
    assert len(bonus.splitlines()) == 7 and all(line.endswith(",0.20") for line in bonus.split())
    approve = client.get(f"/projects/{world.project.pk}/payments/approve.csv").content.decode()
    assert set(approve.split()) == {v.session for v in Recruitment.objects.get().visits.all()}
    other = signed_in(world.requester).get(f"/projects/{world.project.pk}/payments/bonus.csv")
    assert other.status_code == 403


def test_a_manager_decides_about_what_was_refused(world: factories.World) -> None:
    make_payments(world, 1)
    row = Payment.objects.get(what="bonus")
    Payment.objects.filter(pk=row.pk).update(state="unclear", error="It does not add up.")
    client = signed_in(world.manager)
    page = client.get(f"/projects/{world.project.pk}/payments/").content.decode()
    assert "It does not add up." in page and "send it" in page
    at = f"/projects/{world.project.pk}/payments/{row.pk}/resolve/"
    assert signed_in(world.requester).post(at, {"outcome": "paid"}).status_code == 403
    told = client.post(at, {"outcome": "paid", "note": ""}, follow=True).content.decode()
    assert "Say where you looked." in told
    client.post(at, {"outcome": "paid", "note": "Seen there."})
    row.refresh_from_db()
    assert row.state == "done"
