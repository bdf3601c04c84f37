"""Signing up, being invited, joining, and what each role may do with a project's people."""

from __future__ import annotations

import datetime as dt
import re
import threading
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.projects import actions as people
from annotation.accounts.tokens import actions as tokens
from annotation.models import AuditEntry, Invitation, Membership, Project, Role, User
from crowdqc.errors import Conflict, Invalid, NotAllowed
from tests.security.accounts.mailbox import code_for
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of

pytestmark = pytest.mark.django_db
JSON = "application/json"
ADA = "ada@example.org"
SIGN_UP = {"email": "Ada@Example.org", "display_name": "Ada Lowe", "password1": "tin-otter-912"}
MADE = {"username": ADA, "display_name": "Ada Lowe", "password": SIGN_UP["password1"]}


@pytest.fixture
def world() -> World:
    return factories.make_world(2)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def invite(project: Project, **kwargs: object) -> tuple[Invitation, str]:
    values = {"role": Role.WORKER, **kwargs}
    invitation = people.invite(by=project.owner, project=project, **values)  # type: ignore[arg-type]
    return invitation, reverse("join", args=[people.invitation_token(invitation)])


def signs_up(client: Client, **more: str) -> str:
    """Through the form and the code from the mailbox; where that leads."""
    answer = client.post(reverse("signup"), {**SIGN_UP, **more})
    assert answer["Location"] == reverse("account_email_verification_sent"), answer.content
    answer = client.post(answer["Location"], {"code": code_for(ADA)})
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def test_signing_up_keeps_where_the_person_was_going(world: World, client: Client) -> None:
    _, join = invite(world.project)
    assert signs_up(client, next=join) == join
    user = User.objects.get(email=ADA)
    assert user.username == ADA and str(user) == "Ada Lowe"
    assert AuditEntry.objects.filter(action="account.create", actor=user).count() == 1


def test_signing_up_never_leads_to_another_site(client: Client) -> None:
    assert signs_up(client, next="https://elsewhere.example/") == reverse("home")


@pytest.mark.parametrize("name", ["ADA@example.org", " ａda@example.org"])
def test_an_address_signs_in_whatever_its_spelling(client: Client, name: str) -> None:
    accounts.sign_up(**MADE)
    data = {"login": name, "password": MADE["password"]}
    assert client.post(reverse("login"), data).status_code == 302


def test_a_username_without_an_address_signs_in(client: Client) -> None:
    factories.make_user("Bo", password=factories.PASSWORD)
    data = {"login": "bo", "password": factories.PASSWORD}
    assert client.post(reverse("login"), data)["Location"] == reverse("home")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"email": "ada@"}, "email"),
        ({"email": "a b"}, "email"),
        ({"display_name": " "}, "display_name"),
        ({"password1": "12345678"}, "password1"),
    ],
)
def test_what_is_wrong_with_a_sign_up_stands_beside_its_field(
    changes: dict[str, str], field: str, client: Client
) -> None:
    answer = client.post(reverse("signup"), {**SIGN_UP, **changes})
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not User.objects.exists()


def test_a_name_is_given_once_whatever_its_case() -> None:
    accounts.sign_up(username="Ada", display_name="Ada", password=MADE["password"])
    with pytest.raises(Invalid) as refused:
        accounts.sign_up(username="aDA", display_name="Ada", password=MADE["password"])
    assert "username" in refused.value.fields


def test_home_leads_each_role_to_its_work(world: World, client: Client) -> None:
    def lands(user: User) -> str:
        answer = signed_in(user).get(reverse("home"))
        return answer.get("Location", str(answer.status_code))

    assert lands(world.requester) == reverse("project", args=[world.project.pk])
    assert lands(world.worker.user) == reverse("work_home")
    assert lands(world.outsider) == "200"
    factories.make_project(owner=world.requester, name="Second")
    assert lands(world.requester) == reverse("project_list")


def test_project_list_counts_the_tasks_that_a_worker_may_take(world: World) -> None:
    """A task that the worker has finished is open to others only."""
    factories.make_task(world.project, 1)
    finished = factories.make_task(world.project, 1, redundancy=5)
    factories.submit(factories.claim(finished, world.worker))
    page = signed_in(world.worker.user).get(reverse("project_list"))
    [(row, offered)] = page.context["rows"]
    assert (row.open_tasks, offered) == (3, 2)


def test_a_visitor_reads_what_this_is_and_three_ways_in(client: Client, settings: Any) -> None:
    settings.CROWDQC_DEMO_SIGN_IN = True
    settings.CROWDQC_LANDING_BOARD = "nothing-here"
    text = html_of(client.get(reverse("home")))
    assert f'href="{reverse("signup")}"' in text and f"next={reverse('score_table')}" in text
    assert "demo" not in text.lower()  # nobody has loaded it
    factories.make_user("manager")
    assert "Choose a role" in html_of(client.get(reverse("home")))
    page = html_of(client.get(reverse("login")))
    assert 'name="login" value="manager"' in page and 'value="requester"' not in page
    settings.CROWDQC_DEMO_SIGN_IN = False
    settings.CROWDQC_SIGNUP = "closed"
    text = html_of(client.get(reverse("home")))
    assert reverse("signup") not in text and "Choose a role" not in text
    assert 'value="manager"' not in html_of(client.get(reverse("login")))


def test_who_is_sent_to_sign_in_reads_what_for(client: Client) -> None:
    for name in ("login", "signup"):
        said = {
            page: client.get(f"{reverse(name)}?next={reverse(page)}").context["wanted"]
            for page in ("score_table", "work_home", "account")
        }
        assert said["score_table"] and said["work_home"] and not said["account"]
        assert str(said["score_table"]) in html_of(
            client.get(f"{reverse(name)}?next={reverse('score_table')}")
        )


@pytest.mark.parametrize("backend", ["console", "smtp"])
def test_where_no_mail_is_sent_nobody_is_told_to_look_for_spam(
    client: Client, settings: Any, backend: str
) -> None:
    assert client.post(reverse("signup"), SIGN_UP).status_code == 302
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    for name in ("account_email_verification_sent", "account_reset_password_done"):
        answer = client.get(reverse(name))
        assert answer.context["mail_is_printed"] is (backend == "console"), name
        assert ("spam" in html_of(answer)) is (backend == "smtp"), name


def test_a_visitor_reads_an_invitation_and_joins_after_signing_up(
    world: World, client: Client
) -> None:
    invitation, join = invite(world.project)
    page = client.get(join)
    assert page.status_code == 200
    assert world.project.name in page.content.decode()
    assert signs_up(client, next=join) == join
    answer = client.post(join)
    assert answer["Location"] == reverse("work_consent", args=[world.project.pk])
    invitation.refresh_from_db()
    assert invitation.uses == 1
    member = Membership.objects.get(project=world.project, user__email="ada@example.org")
    assert member.role == Role.WORKER and member.pseudonym


def test_a_visitor_who_posts_an_invitation_is_sent_to_sign_in(world: World, client: Client) -> None:
    _, join = invite(world.project)
    assert client.post(join)["Location"].startswith(reverse("login"))


def test_joining_twice_uses_an_invitation_once(world: World) -> None:
    invitation, join = invite(world.project, max_uses=2)
    client = signed_in(world.outsider)
    client.post(join)
    client.post(join)
    invitation.refresh_from_db()
    assert invitation.uses == 1


def test_a_link_that_is_used_up_expired_taken_back_or_forged_says_so(world: World) -> None:
    client = signed_in(world.outsider)
    used, used_link = invite(world.project)
    people.accept_invitation(by=factories.make_user(), token=people.invitation_token(used))
    old, old_link = invite(world.project)
    Invitation.objects.filter(pk=old.pk).update(expires_at=timezone.now() - dt.timedelta(days=1))
    revoked, revoked_link = invite(world.project)
    people.revoke_invitation(by=world.requester, invitation=revoked)
    for link, status, words in (
        (used_link, 409, "used up"),
        (old_link, 403, "expired"),
        (revoked_link, 403, "revoked"),
        (old_link[:-3] + "x/", 404, "not one of ours"),
    ):
        for answer in (client.get(link), client.post(link)):
            assert answer.status_code == status
            assert words in answer.content.decode()
    assert not world.outsider.memberships.exists()


@pytest.mark.django_db(transaction=True)
def test_an_open_link_never_lets_in_more_than_its_cap() -> None:
    project = factories.make_project()
    invitation, _ = invite(project, max_uses=3)
    token = people.invitation_token(invitation)
    users = [factories.make_user() for _ in range(8)]
    start, outcomes = threading.Barrier(len(users)), []

    def join(user: User) -> None:
        try:
            start.wait()
            people.accept_invitation(by=user, token=token)
            outcomes.append("in")
        except Conflict:
            outcomes.append("full")
        finally:
            connection.close()

    threads = [threading.Thread(target=join, args=[user]) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["full"] * 5 + ["in"] * 3
    invitation.refresh_from_db()
    assert invitation.uses == 3
    assert project.memberships.filter(role=Role.WORKER).count() == 3


def test_people_are_shown_workers_by_pseudonym_alone(world: World) -> None:
    User.objects.filter(pk=world.worker.user_id).update(display_name="Secret Name")
    page = signed_in(world.manager).get(reverse("people", args=[world.project.pk]))
    text = page.content.decode()
    assert world.worker.pseudonym in text
    assert "Secret Name" not in text and world.worker.user.username not in text


def test_people_with_two_roles_are_counted_once(world: World) -> None:
    Membership.objects.create(project=world.project, user=world.requester, role=Role.MANAGER)
    staff = world.project.memberships.exclude(role=Role.WORKER)
    people = staff.values("user").distinct().count()
    text = signed_in(world.manager).get(reverse("people", args=[world.project.pk]))
    assert staff.count() == people + 1
    assert f"and {people} other people." in text.content.decode()


def test_a_requester_opens_and_takes_back_a_link(world: World) -> None:
    client = signed_in(world.requester)
    new = reverse("invitation_new", args=[world.project.pk])
    assert client.post(new, {"role": "worker", "max_uses": 5, "days": 7, "note": "x"}).status_code
    invitation = world.project.invitations.get()
    page = client.get(reverse("people", args=[world.project.pk])).content.decode()
    link = re.search(r'value="https?://testserver(/join/[^"]+)"', page)
    assert link and people.open_invitation(link[1].split("/")[2]) == invitation
    client.post(reverse("invitation_revoke", args=[world.project.pk, invitation.pk]))
    invitation.refresh_from_db()
    assert invitation.revoked_at


def test_inviting_leads_to_the_form_above_all_invitations_and_nowhere_else(world: World) -> None:
    client = signed_in(world.requester)
    new = reverse("invitation_new", args=[world.project.pk])
    client.post(new, {"role": "worker", "max_uses": 5, "days": 7, "note": "x"})
    task = client.get(reverse("task", args=[world.project.pk, world.task.pk])).content.decode()
    assert f'href="{new}"' in task
    lands = client.get(new, follow=True)
    assert lands.redirect_chain == [(reverse("people", args=[world.project.pk]) + "#invite", 302)]
    page = lands.content.decode()
    assert 0 < page.index('id="invite"') < page.index(f'action="{new}#invite"')
    assert page.index(f'action="{new}#invite"') < page.index('id="invitation-')
    world.project.memberships.filter(role=Role.WORKER).delete()
    alone = client.get(reverse("people", args=[world.project.pk])).content.decode()
    assert 'href="#invite"' not in alone  # the form is all that the page begins with


def test_an_open_link_for_managers_is_refused_beside_its_field(world: World) -> None:
    answer = signed_in(world.requester).post(
        reverse("invitation_new", args=[world.project.pk]),
        {"role": "manager", "max_uses": 5, "days": 7},
    )
    assert answer.status_code == 422
    assert "max_uses" in answer.context["form"].errors
    assert not world.project.invitations.exists()


def test_removing_somebody_ends_their_role_and_keeps_their_work(world: World) -> None:
    factories.claim_and_submit(world.task, world.worker)
    client = signed_in(world.requester)
    client.post(reverse("people_remove", args=[world.project.pk, world.worker.pk]))
    world.worker.refresh_from_db()
    assert world.worker.removed_at and world.worker.answers.count() == 2


def test_the_owner_stays_requester_of_their_own_project(world: World) -> None:
    own = world.project.memberships.get(user=world.requester)
    answer = signed_in(world.requester).post(
        reverse("people_remove", args=[world.project.pk, own.pk])
    )
    assert answer.status_code == 409


def test_only_the_owner_lets_one_person_propose_and_approve(world: World) -> None:
    other = factories.make_member(world.project, Role.REQUESTER).user
    url = reverse("project_settings", args=[world.project.pk])
    data = {
        "name": "Birds",
        "budget": "100",
        "hourly_floor": "",
        "single_approval": "on",
        "reply_days": "14",
        "answer_days": "5",
        "decide_days": "7",
    }
    assert other is not None
    signed_in(other).post(url, data)
    world.project.refresh_from_db()
    assert world.project.budget == 100 and not world.project.single_approval
    with pytest.raises(NotAllowed):
        people.change_project(
            by=other,
            project=world.project,
            name="Birds",
            budget=None,
            hourly_floor=None,
            single_approval=True,
        )
    signed_in(world.requester).post(url, data)
    world.project.refresh_from_db()
    assert world.project.single_approval
    assert AuditEntry.objects.filter(action="project.change", actor=world.requester).exists()


def test_a_changed_consent_text_is_a_new_version_and_asks_again(world: World) -> None:
    assert people.current_consent(world.worker)
    url = reverse("project_settings_consent", args=[world.project.pk])
    client = signed_in(world.requester)
    preview = client.post(url, {"preview": "1", "text": "**Bold** <script>x</script>"})
    assert b"<strong>Bold</strong>" in preview.content and b"<script>" not in preview.content
    client.post(url, {"text": "Another text.", "retention_days": "30"})
    assert people.current_consent_text(world.project).number == 2
    assert people.current_consent(world.worker) is None
    client.post(url, {"text": "Another text.", "retention_days": "30"})
    assert people.current_consent_text(world.project).number == 2


@pytest.mark.parametrize(
    ("name", "method", "manager"),
    [
        ("people", "get", 200),
        ("invitation_new", "post", 422),
        ("project_settings", "get", 200),
        ("project_settings", "post", 403),
        ("project_settings_consent", "get", 200),
        ("project_settings_consent", "post", 403),
    ],
)
def test_outsiders_learn_nothing_and_weak_roles_are_told(
    world: World, name: str, method: str, manager: int
) -> None:
    url = reverse(name, args=[world.project.pk])
    assert getattr(signed_in(world.outsider), method)(url).status_code == 404
    assert getattr(signed_in(world.worker.user), method)(url).status_code == 403
    assert getattr(signed_in(world.manager), method)(url).status_code == manager
    wrong = "delete"
    assert getattr(signed_in(world.requester), wrong)(url).status_code == 405
    assert getattr(Client(), method)(url).status_code == 302


def test_one_name_is_tried_ten_times_a_minute_over_pages_and_api_together(client: Client) -> None:
    tried = {"login": "Nobody-Here", "password": "a wrong one"}
    over_api = {"username": "Nobody-Here", "password": "a wrong one"}
    for _ in range(9):
        assert client.post(reverse("login"), tried).status_code == 422
    assert client.post(reverse("api_token"), over_api, JSON).status_code == 403
    refused = client.post(reverse("login"), {**tried, "login": "nobody-here"})
    assert refused.status_code == 429
    assert "Wait a minute" in refused.content.decode()
    assert client.post(reverse("api_token"), over_api, JSON).status_code == 429
    assert client.post(reverse("login"), {**tried, "login": "another"}).status_code == 422


def test_a_new_password_ends_the_token_of_the_api_too(client: Client) -> None:
    user = accounts.sign_up(**MADE)
    _, old = tokens.sign_in_for_token(username=MADE["username"], password=MADE["password"])
    client.force_login(user)
    new = "brass-heron-417"
    form = {"oldpassword": MADE["password"], "password1": new}
    assert client.post(reverse("password_change"), form).status_code == 302
    refused = Client().get(reverse("api_open_tasks"), headers={"Authorization": f"Token {old}"})
    assert refused.status_code == 401
    _, fresh = tokens.sign_in_for_token(username=MADE["username"], password=new)
    welcome = Client().get(reverse("api_open_tasks"), headers={"Authorization": f"Token {fresh}"})
    assert welcome.status_code == 200


def test_people_of_imported_files_are_no_workers_of_the_project(world: World) -> None:
    client = Client()
    client.force_login(world.manager)
    url = reverse("people", args=[world.project.pk])
    workers = client.get(url).context["workers"]
    Membership.objects.create(
        project=world.project, role=Role.WORKER, external_id="w9", pseudonym="heron-99"
    )
    page = client.get(url)
    assert (page.context["workers"], page.context["imported"]) == (workers, 1)
