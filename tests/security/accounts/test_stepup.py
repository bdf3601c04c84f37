"""Who approves or sends money proves who they are: again after a while, and by a second factor."""

from __future__ import annotations

import json
import re
import uuid
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from annotation.accounts import demo
from annotation.models import (
    ApiToken,
    AuditEntry,
    LedgerEntry,
    Notice,
    PayoutBatch,
    Role,
    User,
)
from annotation.payouts.actions import proposals as payouts
from tests.security.accounts.factors import (
    OLD,
    code_of,
    grow_old,
    person,
    proposal,
    recovery_code_of,
    set_up_app,
    show_factor,
    signed_in,
    staffed_world,
)
from tests.support import factories as make

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _fresh_limits() -> None:
    for name in ("default", "shared"):
        caches[name].clear()


@pytest.fixture
def world() -> make.World:
    return staffed_world()


@pytest.fixture
def batch(world: make.World) -> PayoutBatch:
    return proposal(world)


def approve(client: Client, batch: PayoutBatch) -> Any:
    url = reverse("payout_approve", args=[batch.project_id, batch.number])
    sent = {"expected_total": "1.80", "pay": [batch.lines.get().pk]}
    return client.post(url, sent)


def approve_by_api(batch: PayoutBatch, token: str = "", client: Client | None = None) -> Any:
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    if token:
        headers["Authorization"] = f"Token {token}"
    url = reverse("api_payout_approve", args=[batch.project_id, batch.number])
    body = json.dumps({"total": "1.80"})
    return (client or Client()).post(url, body, "application/json", headers=headers)


def get_token(user: User, **more: Any) -> Any:
    body = {"username": user.username, "password": make.PASSWORD, **more}
    return Client().post(reverse("api_token"), json.dumps(body), "application/json")


def finish(client: Client, response: Any) -> Any:
    """Send the form again that waited, as the page's script does."""
    page = client.get(response["Location"])
    text = page.content.decode()
    path = re.search(r'action="([^"]+)" data-resume', text)
    assert page.status_code == 200 and path, text
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', text):
        fields.setdefault(name, []).append(unescape(value))
    return client.post(path[1], fields)


def booked() -> int:
    return LedgerEntry.objects.count()


# -- a second factor -----------------------------------------------------------------------------


def test_a_token_for_name_and_password_moves_no_money(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    """(A2, issue 15.1) A stolen password is not enough, by whatever scope is asked for."""
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    refused = get_token(world.manager, scopes=["read", "pay"])
    assert refused.status_code == 403 and refused.json()["code"] == "second-factor-needed"
    least = get_token(world.manager).json()
    assert least["scopes"] == ["read", "work"]
    more = get_token(world.manager, scopes=["read", "write", "work", "run"]).json()["token"]
    for token in (least["token"], more):
        answer = approve_by_api(batch, token)
        assert answer.status_code == 403 and answer.json()["code"] == "missing-scope"
    # One from before the rule, which has the scope.
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = False
    stolen = make.api_token(world.manager)
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    answer = approve_by_api(batch, stolen)
    assert answer.status_code == 403 and answer.json()["code"] == "second-factor-needed"
    assert booked() == 0


def test_a_token_with_the_second_factors_code_pays(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    secret = set_up_app(world.manager)
    scopes = ["read", "pay"]
    assert get_token(world.manager).json()["code"] == "second-factor-needed"  # for any token
    assert get_token(world.manager, code="000000").json()["code"] == "wrong-code"
    shown = code_of(secret)
    token = get_token(world.manager, code=shown, scopes=scopes).json()["token"]
    assert get_token(world.manager, code=shown).json()["code"] == "wrong-code"  # used before
    assert approve_by_api(batch, token).status_code == 200
    assert booked() == 1
    by_recovery = get_token(world.manager, code=recovery_code_of(world.manager), scopes=scopes)
    assert by_recovery.status_code == 200
    assert ApiToken.objects.filter(second_factor=True).count() == 2


def test_a_session_without_a_second_factor_is_led_to_set_one_up(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    client = signed_in(world.manager)
    shown = client.get(reverse("payout_list", args=[batch.project_id])).content.decode()
    assert "Approving and sending payments needs a second factor" in shown
    refused = approve(client, batch)
    assert refused.status_code == 403
    assert f'href="{reverse("mfa_index")}"' in refused.content.decode()
    assert approve_by_api(batch, client=client).json()["code"] == "second-factor-needed"
    page = client.post(
        reverse("account"),
        {
            "name": "x",
            "scopes": ["pay"],
            "days": 1,
            "per_minute": 60,
            "project": "",
        },
    )
    assert page.status_code == 403 and not ApiToken.objects.exists()
    assert booked() == 0


def test_a_second_factor_that_was_not_shown_in_this_session_is_asked_for(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    """A session that a stolen password opened does not get by with the owner's own factor."""
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    secret = set_up_app(world.manager)
    client = signed_in(world.manager)
    asked = approve(client, batch)
    assert asked.status_code == 302 and asked["Location"].startswith(reverse("mfa_reauthenticate"))
    assert booked() == 0
    wait = re.search(r"next=([^&]+)", asked["Location"])
    assert wait is not None
    back = show_factor(client, secret, next=wait[1].replace("%2F", "/"))
    assert back.status_code == 302
    done = finish(client, back)
    assert done.status_code == 302 and booked() == 1
    batch.refresh_from_db()
    assert batch.state == "approved" and batch.decided_by == world.manager


def test_a_factor_that_was_removed_counts_no_more(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    secret = set_up_app(world.manager)
    client = signed_in(world.manager)
    token = get_token(world.manager, code=code_of(secret), scopes=["pay"]).json()["token"]
    show_factor(client, secret)
    world.manager.authenticator_set.all().delete()
    assert approve(client, batch).status_code == 403
    assert approve_by_api(batch, token).status_code == 403
    assert booked() == 0


def test_an_action_without_any_proof_moves_no_money(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    """Held at the action: code that forgets to say who proved what is refused."""
    settings.CROWDQC_REQUIRE_SECOND_FACTOR = True
    set_up_app(world.manager)
    with pytest.raises(Exception, match="second factor"):
        payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
    assert booked() == 0


def test_only_the_owner_switches_the_rule_and_all_managers_are_told(
    world: make.World, settings: Any
) -> None:
    url = reverse("project_settings_factor", args=[world.project.pk])
    page = reverse("project_settings", args=[world.project.pk])
    other = person(make.make_member(world.project, Role.REQUESTER).user)
    for user in (world.manager, other):
        client = signed_in(user)
        assert client.post(url, {"required": "yes"}).status_code == 403
        assert "Second factor for payments" not in client.get(page).content.decode()
    client = signed_in(world.requester)
    assert "Second factor for payments" in client.get(page).content.decode()
    assert client.post(url, {"required": "yes"}).status_code == 302
    world.project.refresh_from_db()
    assert world.project.second_factor is True
    told = Notice.objects.get(user=world.manager, kind="project.second_factor")
    assert "now needs a second factor" in told.text
    assert AuditEntry.objects.filter(action="project.second_factor").count() == 1
    # Whoever took over the owner's session cannot switch it off again.
    assert client.post(url, {"required": "no"}).status_code == 403
    secret = set_up_app(world.requester)
    show_factor(client, secret)
    assert client.post(url, {"required": "no"}).status_code == 302
    world.project.refresh_from_db()
    assert world.project.second_factor is False


def test_an_account_whose_address_is_unproven_gets_no_token(world: make.World) -> None:
    user = person(make.make_user(email="a@example.org"))
    address = user.emailaddress_set.create(email=user.email, verified=False, primary=True)
    assert get_token(user).status_code == 403
    address.verified = True
    address.save()
    assert get_token(user).status_code == 200


# -- confirming again ----------------------------------------------------------------------------


def test_after_a_while_the_password_is_asked_again_and_what_was_typed_is_kept(
    world: make.World, batch: PayoutBatch
) -> None:
    client = signed_in(world.manager, age=OLD)
    asked = approve(client, batch)
    assert asked.status_code == 302
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert booked() == 0
    wrong = client.post(asked["Location"], {"password": "not it"})
    assert wrong.status_code == 422 and booked() == 0
    back = client.post(asked["Location"], {"password": make.PASSWORD})
    assert finish(client, back).status_code == 302
    assert booked() == 1
    # Once: the page that sends it is empty now.
    again = client.get(back["Location"])
    assert again.status_code == 302 and booked() == 1
    assert client.get(reverse("payout_list", args=[batch.project_id])).status_code == 200


def test_a_correction_that_was_typed_is_kept_over_the_confirmation(
    world: make.World, batch: PayoutBatch
) -> None:
    client = signed_in(world.manager, age=OLD)
    worker = batch.lines.get().assignment.worker_id
    form = {
        "debit": f"work:{batch.task_id}",
        "credit": f"worker:{worker}",
        "amount": "0.40",
        "memo": "Half of the bonus was lost.",
        "key": str(uuid.uuid4()),
    }
    asked = client.post(reverse("ledger_correct", args=[batch.project_id]), form)
    back = client.post(asked["Location"], {"password": make.PASSWORD})
    page = finish(client, back)
    assert page.status_code == 200 and page.context["amount"] == Decimal("0.40")
    assert page.context["sent"]["key"] == form["key"]


def test_a_confirmation_says_what_it_is_for_and_can_be_left(
    world: make.World, batch: PayoutBatch, settings: Any
) -> None:
    client = signed_in(world.manager, age=OLD)
    page = reverse("payout", args=[batch.project_id, batch.number])
    sent = {"expected_total": "1.80"}
    url = reverse("payout_approve", args=[batch.project_id, batch.number])
    asked = client.post(url, sent, headers={"Referer": f"http://testserver{page}"})
    shown = unescape(client.get(asked["Location"]).content.decode())
    assert "to approve payments" in shown and f'href="{page}"' in shown
    assert "account is protected" not in shown and demo.PASSWORD not in shown
    unasked = client.get(reverse("account_reauthenticate"))
    assert "to approve payments" not in unescape(unasked.content.decode())
    settings.CROWDQC_DEMO_SIGN_IN = True
    world.manager.username = "manager"
    world.manager.save()
    assert demo.PASSWORD in client.get(asked["Location"]).content.decode()


def test_a_program_in_an_old_session_is_refused_and_a_fragment_is_redirected(
    world: make.World, batch: PayoutBatch
) -> None:
    client = signed_in(world.manager, age=OLD)
    told = approve_by_api(batch, client=client)
    assert told.status_code == 403 and told.json()["code"] == "confirmation-needed"
    url = reverse("payout_approve", args=[batch.project_id, batch.number])
    page = reverse("payout", args=[batch.project_id, batch.number])
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{page}"}
    fragment = client.post(url, {"expected_total": "1.80"}, headers=headers)
    assert fragment["HX-Redirect"].startswith(reverse("account_reauthenticate"))
    headers["HX-Current-URL"] = "https://evil.example/"
    fragment = client.post(url, {"expected_total": "1.80"}, headers=headers)
    assert "evil" not in fragment["HX-Redirect"]
    assert booked() == 0


def test_a_form_that_waits_is_nobody_elses_and_runs_out(
    world: make.World, batch: PayoutBatch
) -> None:
    client = signed_in(world.manager, age=OLD)
    back = client.post(approve(client, batch)["Location"], {"password": make.PASSWORD})
    other = signed_in(world.requester)
    assert other.get(back["Location"]).status_code == 302
    grow_old(client)  # confirmed too long ago by the time the form is sent
    assert finish(client, back)["Location"].startswith(reverse("account_reauthenticate"))
    assert booked() == 0


def test_renaming_a_project_asks_for_nothing(world: make.World) -> None:
    client = signed_in(world.requester, age=OLD)
    sent = {"name": "Waders", "decide_days": 7, "reply_days": 30, "answer_days": 7}
    url = reverse("project_settings", args=[world.project.pk])
    assert client.post(url, sent)["Location"] == url
    worker = {"role": "worker", "days": 1, "max_uses": 1, "note": "", "emails": ""}
    there = client.post(reverse("invitation_new", args=[world.project.pk]), worker)
    assert "#invitation-" in there["Location"]
