"""The security log: what is in it, who sees it, and that nobody can fill or change it."""

from __future__ import annotations

import datetime as dt
import json
import zipfile
from io import BytesIO
from threading import Thread
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.signals import authenticator_removed
from django.conf import settings as django_settings
from django.core.cache import caches
from django.db import Error, connection, connections, transaction
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.actions.invitation_mail import invite_by_mail
from annotation.accounts.projects import actions as people
from annotation.accounts.roles import actions as roles
from annotation.accounts.security import log as security_log
from annotation.accounts.security.log import Kind, log_event
from annotation.accounts.tokens import actions as tokens
from annotation.models import Role, RoleGrant, SecurityEvent
from annotation.privacy.actions import erasure
from tests.security.accounts.factors import person, set_up_app, show_factor, signed_in
from tests.support import factories as make

pytestmark = [pytest.mark.django_db]
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


@pytest.fixture(autouse=True)
def _fresh_limits() -> None:
    for name in ("default", "shared"):
        caches[name].clear()


def kinds(**which: Any) -> list[str]:
    return list(SecurityEvent.objects.filter(**which).order_by("pk").values_list("kind", flat=True))


def test_a_person_sees_their_own_sign_ins_and_nobody_elses() -> None:
    user, other = person(make.make_user()), make.make_user()
    client = Client(headers={"User-Agent": FIREFOX})
    sent = {"login": user.username, "password": make.PASSWORD}
    client.post(reverse("login"), {**sent, "password": "not it"})
    assert client.post(reverse("login"), sent).status_code == 302
    secret = set_up_app(user)
    show_factor(client, secret)
    _, text = tokens.create_token(by=user, name="x", scopes=["read"], days=1)
    assert text
    tokens.revoke_token(by=user, token_id=user.api_tokens.get().pk)
    for one in user.authenticator_set.all():
        authenticator_removed.send(sender=None, request=None, user=user, authenticator=one)
    log_event(Kind.SIGN_IN, user=other)
    page = client.get(reverse("account_log")).content.decode()
    for said in (
        "Signed in",
        "Failed sign-in",
        "Second factor used",
        "Identity confirmed",
        "API token created",
        "API token ended",
        "Second factor removed",
        "Firefox on Linux",
        "127.0.0.1",
    ):
        assert said in page, said
    client.post(reverse("logout"))
    assert kinds(user=user)[-1] == "sign-out"
    assert kinds(user=other) == ["sign-in"]
    assert not SecurityEvent.objects.filter(detail__icontains=make.PASSWORD).exists()


def test_roles_and_rules_are_shown_to_managers_without_addresses() -> None:
    world = make.make_world(1)
    joining = make.make_user()
    EmailAddress.objects.create(user=joining, email="kim@example.org", verified=True)
    [invitation] = invite_by_mail(
        by=world.requester, project=world.project, role=Role.MANAGER, emails="kim@example.org"
    )
    member = people.accept_invitation(by=joining, token=people.invitation_token(invitation))
    if member is None:  # a second manager confirms
        roles.confirm_role(by=world.manager, grant=RoleGrant.objects.get())
        member = world.project.memberships.get(user=joining)
    member.project = world.project
    people.remove_member(by=world.requester, member=member)
    client = signed_in(world.requester)
    sent = {"name": "Birds", "budget": "70", "decide_days": 7, "reply_days": 30, "answer_days": 7}
    client.post(reverse("project_settings", args=[world.project.pk]), sent)
    assert kinds(project=world.project)[-3:] == ["role.given", "role.removed", "rules.changed"]
    url = reverse("project_settings_security", args=[world.project.pk])
    page = signed_in(world.manager).get(url).content.decode()
    assert "Role given" in page and "<small>budget</small>" in page and "127.0.0.1" not in page
    other = make.make_member(world.project, Role.REQUESTER).user
    assert other is not None
    for user, status in ((other, 403), (world.worker.user, 403), (world.outsider, 404)):
        assert user is not None
        assert signed_in(user).get(url).status_code == status


def test_who_was_removed_does_not_learn_where_the_remover_sits() -> None:
    remover, removed = make.make_user(), make.make_user()
    request = RequestFactory().get("/", headers={"User-Agent": FIREFOX})
    request.user = remover
    log_event(Kind.ROLE_REMOVED, user=removed, request=request)
    assert SecurityEvent.objects.get().address == SecurityEvent.objects.get().agent == ""


def test_the_whole_log_is_for_who_runs_the_installation() -> None:
    user = make.make_user()
    log_event(Kind.SIGN_IN, user=make.make_user("somebody-else"))
    url = reverse("installation_security")
    user.is_staff = True
    user.save()
    assert signed_in(user).get(url).status_code == 404
    user.is_superuser = True
    user.save()
    assert "somebody-else" in signed_in(user).get(url + "?kind=sign-in").content.decode()


def test_a_name_that_is_tried_too_often_is_logged_as_locked() -> None:
    user = person(make.make_user())
    body = json.dumps({"username": user.username, "password": "not it"})
    codes = [
        Client().post(reverse("api_token"), body, "application/json").status_code for _ in range(11)
    ]
    assert codes[-1] == 429
    rows = {one.kind: one.count for one in SecurityEvent.objects.filter(user=user)}
    assert rows == {"sign-in.failed": 10, "sign-in.locked": 1}


# -- bounds --------------------------------------------------------------------------------------


def from_address(address: str, **more: str) -> Any:
    return RequestFactory().get("/", REMOTE_ADDR=address, **more)


def test_strangers_cannot_fill_the_log() -> None:
    """(B15) Failures are counted up, by account and address; beyond a bound, by account alone."""
    user = make.make_user()
    for number in range(security_log.MAX_ROWS + 150):
        request = from_address(f"10.0.{number // 250}.{number % 250}")
        log_event(Kind.FAILED, user=user if number % 2 else None, request=request)
    rows = SecurityEvent.objects.filter(kind=Kind.FAILED)
    assert rows.count() <= security_log.MAX_ROWS + 2
    assert sum(one.count for one in rows) == security_log.MAX_ROWS + 150
    assert sum(one.count for one in rows.filter(user=user)) == (security_log.MAX_ROWS + 150) // 2


def test_one_house_is_one_row_whatever_address_it_takes() -> None:
    for number in range(1, 30):
        log_event(Kind.FAILED, request=from_address(f"2001:db8:1:2::{number:x}"))
    log_event(Kind.FAILED, request=from_address("::ffff:10.1.2.3"))
    log_event(Kind.FAILED, request=from_address("no address"))
    rows = {one.address: one.count for one in SecurityEvent.objects.all()}
    assert rows == {"2001:db8:1:2::/64": 29, "10.1.2.3": 1, "": 1}


@pytest.mark.django_db(transaction=True)
def test_failures_at_once_are_all_counted() -> None:
    def fail() -> None:
        for _ in range(10):
            log_event(Kind.FAILED, request=from_address("10.9.9.9"))
        connections.close_all()

    threads = [Thread(target=fail) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert SecurityEvent.objects.get().count == 80


def test_rows_are_neither_changed_nor_deleted_before_their_day() -> None:
    log_event(Kind.SIGN_IN, user=make.make_user(), request=from_address("10.1.1.1"))
    log_event(Kind.FAILED, request=from_address("10.1.1.1"))
    for sql in (
        "DELETE FROM annotation_securityevent",
        "UPDATE annotation_securityevent SET kind = 'sign-out'",
        "UPDATE annotation_securityevent SET count = 0",
        "UPDATE annotation_securityevent SET address = ''",
        "UPDATE annotation_securityevent SET count = count + 1 WHERE bucket IS NULL",
        "TRUNCATE annotation_securityevent",
    ):
        with pytest.raises(Error), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL crowdqc.may_truncate = off")
            cursor.execute(sql)
    assert SecurityEvent.objects.count() == 2
    assert erasure.sweep() == 0
    later = timezone.now() + dt.timedelta(days=django_settings.CROWDQC_SECURITY_LOG_DAYS + 1)
    assert erasure.sweep(later) == 2
    assert SecurityEvent.objects.count() == 0


# -- a person's rights ---------------------------------------------------------------------------


def test_it_is_in_a_persons_own_data_and_goes_with_the_account() -> None:
    user, project = make.make_user(), make.make_project()
    client = signed_in(user)
    log_event(Kind.ROLE_GIVEN, user=user, project=project, request=from_address("10.1.1.1"))
    answer = client.get(reverse("own_data"))
    with zipfile.ZipFile(BytesIO(b"".join(answer))) as packed:  # type: ignore[arg-type]
        rows = [json.loads(line) for line in packed.read("security.jsonl").splitlines()]
    assert [row["event"] for row in rows] == ["Signed in", "Role given"]
    set_up_app(user)
    user.emailaddress_set.create(email="a@example.org", verified=True)
    erasure.forget_account(by=user)
    [left] = SecurityEvent.objects.filter(user=user)
    assert left.kind == Kind.ROLE_GIVEN and left.address == left.agent == ""
    assert not user.authenticator_set.exists() and not user.emailaddress_set.exists()
