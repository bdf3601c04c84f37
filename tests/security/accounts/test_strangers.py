"""Whoever is not signed in learns nothing, takes nothing and writes nothing without an end."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.projects import actions as people
from annotation.accounts.signing import actions, selectors
from annotation.accounts.tokens import actions as tokens
from annotation.models import AccountMail, AuditEntry, User
from annotation.records.actions.audit import record
from annotation.recruitment.platforms.entry_params import entry_token
from crowdqc import limits
from crowdqc.errors import LimitExceeded, NotAllowed
from tests.security.accounts.mailbox import code_for, delivered, letters, link_for
from tests.support import factories
from tests.support.servers import prolific

pytestmark = pytest.mark.django_db
ADA = "ada@example.org"
NEW = {"email": ADA, "display_name": "Ada", "password1": "tin-otter-912"}
VERIFY = "account_email_verification_sent"


def signs_up(client: Client, **more: str) -> Any:
    return client.post(reverse("signup"), {**NEW, **more})


def proves(client: Client, address: str = ADA) -> Any:
    return client.post(reverse(VERIFY), {"code": code_for(address)})


def known(address: str = ADA) -> User:
    return accounts.sign_up(username=address, display_name="Ada", password=factories.PASSWORD)


# -- whose an address is ---------------------------------------------------------------------------


def test_an_address_is_nobodys_before_it_is_proven(client: Client) -> None:
    """(A1) Signing up with somebody's address first gave an account of that address."""
    signs_up(client)
    user = User.objects.get()
    assert client.get(reverse("project_list"))["Location"].startswith(reverse("login"))
    assert not selectors.verified_addresses(user) and user.email == ""
    with pytest.raises(NotAllowed):
        tokens.sign_in_for_token(username=ADA, password=NEW["password1"])
    assert not Client().post(reverse(VERIFY), {"code": "x"})["Location"].startswith("/projects")
    proves(client)
    user.refresh_from_db()
    assert selectors.has_verified(user, ADA.upper()) and user.email == ADA


def test_the_mailboxs_owner_signs_up_whoever_wrote_its_address_before(client: Client) -> None:
    """(A1) The first claim neither keeps the owner out nor gets anything by their proof."""
    squatter = Client()
    signs_up(squatter, display_name="Squatter")
    signs_up(client)
    assert proves(client).status_code == 302
    owner = User.objects.get(emailaddress__verified=True)
    assert owner.display_name == "Ada" and owner.username == ADA
    assert not User.objects.filter(display_name="Squatter").exists()
    first = letters(ADA)[0][0].split()[-1]  # even with the code of its own mail
    assert squatter.post(reverse(VERIFY), {"code": first}).status_code == 422
    assert squatter.get(reverse("account"))["Location"].startswith(reverse("login"))


def test_an_old_account_with_an_unproven_address_has_to_prove_it(client: Client) -> None:
    """(A1) From before addresses were proven: its password opens the code page only."""
    old = factories.make_user("old", password=factories.PASSWORD, email=ADA)
    answer = client.post(reverse("login"), {"login": ADA, "password": factories.PASSWORD})
    assert answer["Location"] == reverse(VERIFY)
    with pytest.raises(NotAllowed):
        tokens.sign_in_for_token(username="old", password=factories.PASSWORD)
    assert proves(client)["Location"] == reverse("home")
    assert selectors.has_verified(old, ADA)


def test_a_code_is_tried_three_times(client: Client) -> None:
    signs_up(client)
    codes = [client.post(reverse(VERIFY), {"code": "BBBB-BBBB"}).status_code for _ in range(4)]
    assert codes == [422, 422, 302, 302]
    assert not EmailAddress.objects.filter(verified=True).exists()


def test_another_address_needs_its_code_and_is_told_to_the_old_one(client: Client) -> None:
    """A1: a changed address counts once it is proven, never one that another account proved."""
    user, other = known(), known("bo@example.org")
    client.force_login(user)
    change = {"action_add": "1", "email": "new@example.org"}
    asked = client.post(reverse("account_email"), change)
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    answer = client.post(asked["Location"], {"password": factories.PASSWORD})
    assert answer["Location"] == reverse(VERIFY)
    user.refresh_from_db()
    assert user.email == ADA and not selectors.has_verified(user, "new@example.org")
    assert "new@example.org" in client.get(reverse("account")).content.decode()
    proves(client, "new@example.org")
    user.refresh_from_db()
    assert user.email == user.username == "new@example.org"
    assert selectors.verified_addresses(user) == {"new@example.org"}
    assert [subject for subject, _ in letters(ADA)] == ["Your e-mail address was changed"]
    client.post(reverse("account_email"), {"action_add": "1", "email": other.email})
    assert client.post(reverse(VERIFY), {"code": code_for(other.email)}).status_code == 422
    assert selectors.has_verified(other, other.email)


def test_changes_of_name_and_password_are_told_to_the_address(client: Client) -> None:
    user = known()
    client.force_login(user)
    client.post(reverse("account_name"), {"display_name": "Ada L."})
    form = {"oldpassword": factories.PASSWORD, "password1": "brass-heron-417"}
    client.post(reverse("password_change"), form)
    told = [message.subject for message in delivered()]
    assert told == ["Your name was changed", "Your password was changed"]
    assert client.get(reverse("account")).status_code == 200  # still signed in here


# -- who may sign up -------------------------------------------------------------------------------


def test_a_closed_installation_takes_only_whom_somebody_invited(
    client: Client, settings: Any
) -> None:
    settings.CROWDQC_SIGNUP = "closed"
    assert "Sign-up is closed" in client.get(reverse("signup")).content.decode()
    signs_up(client)
    assert not User.objects.exists()
    project = factories.make_project()
    invitation = people.invite(by=project.owner, project=project, role="worker")
    join = reverse("join", args=[people.invitation_token(invitation)])
    signs_up(client, next=join)
    assert proves(client)["Location"] == join
    people.revoke_invitation(by=project.owner, invitation=invitation)
    signs_up(Client(), next=join, email="late@example.org")
    assert not EmailAddress.objects.filter(email="late@example.org").exists()


def test_an_installation_may_take_addresses_of_some_domains_only(
    client: Client, settings: Any
) -> None:
    settings.CROWDQC_SIGNUP_DOMAINS = ["uni.example"]
    refused = signs_up(client)
    assert refused.status_code == 422 and "uni.example" in refused.content.decode()
    assert signs_up(client, email="ada@uni.example").status_code == 302


# -- nothing is told about accounts ----------------------------------------------------------------


def seen(client: Client, answer: Any) -> tuple[Any, ...]:
    """What a stranger sees of an answer and of the page it leads to, without tokens."""
    from django.middleware.csrf import CSRF_TOKEN_LENGTH

    page = client.get(answer["Location"]) if answer.status_code == 302 else answer
    words = [word for word in page.content.decode().split() if len(word) < CSRF_TOKEN_LENGTH]
    return answer.status_code, answer.get("Location"), page.status_code, words


def test_sign_up_tells_nobody_whether_an_address_has_an_account() -> None:
    """Same answers, same pages, one mail each, and one password hashed."""
    known()
    found, mails = [], []
    for address in (ADA, "new@example.org"):
        client = Client()
        answer = signs_up(client, email=address)
        first = seen(client, answer)
        wrong = client.post(reverse(VERIFY), {"code": "BBBB-BBBB"})
        again = client.post(reverse(VERIFY), {"action": "resend"})
        text = str((first, seen(client, wrong), seen(client, again)))
        found.append(text.replace(address, "ADDRESS"))
        mails.append(len(letters(address)))
    assert found[0] == found[1]
    assert mails == [1, 2]  # a new code is sent where there is somebody to send it to


def test_a_reset_tells_nobody_whether_an_address_has_an_account() -> None:
    known()
    found = []
    for address in (ADA, "new@example.org"):
        client = Client()
        answer = client.post(reverse("password_reset"), {"email": address})
        found.append((seen(client, answer), len(letters(address))))
    assert found[0] == found[1]


def test_sign_up_hashes_a_password_whether_the_address_is_known_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from django.contrib.auth import hashers

    known()
    count, hasher = [0], type(hashers.get_hasher())
    encode = hasher.encode

    def counted(self: Any, *args: Any, **kwargs: Any) -> str:
        count[0] += 1
        return str(encode(self, *args, **kwargs))

    monkeypatch.setattr(hasher, "encode", counted)
    costs = []
    for address in (ADA, "new@example.org"):
        count[0] = 0
        signs_up(Client(), email=address)
        costs.append(count[0])
    assert costs == [1, 1]


# -- mail ------------------------------------------------------------------------------------------


def test_links_in_mail_lead_to_the_configured_site(client: Client, settings: Any) -> None:
    """(B14) The link of a reset used the Host header of whoever asked for it."""
    settings.ALLOWED_HOSTS, settings.CROWDQC_BASE_URL = ["*"], "https://crowd.example"
    known()
    forged = {"headers": {"Host": "evil.example"}}
    for address in (ADA, "x@y.example"):
        client.post(reverse("password_reset"), {"email": address}, **forged)
    client.post(reverse("signup"), {**NEW, "email": "z@y.example"}, **forged)
    texts = "".join(subject + body for subject, body in letters())
    assert "evil.example" not in texts and texts.count("https://crowd.example/") == 2


def test_a_reset_link_sets_a_password_once(client: Client, settings: Any) -> None:
    settings.CROWDQC_BASE_URL = "http://testserver"
    user = known()
    client.post(reverse("password_reset"), {"email": ADA})
    link = link_for(ADA).removeprefix("http://testserver")
    form = client.get(link)["Location"]
    assert client.get(form).status_code == 200
    assert client.post(form, {"password1": "brass-heron-417"}).status_code == 302
    user.refresh_from_db()
    assert user.check_password("brass-heron-417")
    assert "no longer valid" in Client().get(link).content.decode()
    assert letters(ADA)[-1][0] == "Your password was reset"


def test_a_reset_lets_the_owner_in_while_others_guess(client: Client, settings: Any) -> None:
    """(B13) On a device that is not known, the mailbox is the way in."""
    settings.CROWDQC_BASE_URL = "http://testserver"
    known()
    for _ in range(11):
        last = Client().post(reverse("login"), {"login": ADA, "password": "x"})
    assert last.status_code == 429
    client.post(reverse("password_reset"), {"email": ADA})
    form = client.get(link_for(ADA).removeprefix("http://testserver"))["Location"]
    client.post(form, {"password1": "brass-heron-417"})
    signs_in = {"login": ADA, "password": "brass-heron-417"}
    assert Client().post(reverse("login"), signs_in).status_code == 429
    assert client.post(reverse("login"), signs_in).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_an_address_gets_a_few_resets_an_hour_and_nobody_is_told() -> None:
    """(B14) Sixty of sixty left, asked for at once."""
    known()

    def ask(number: int) -> int:
        answer = Client(REMOTE_ADDR=f"192.0.2.{number}").post(
            reverse("password_reset"), {"email": ADA}
        )
        connection.close()
        return answer.status_code

    with ThreadPoolExecutor(20) as pool:
        assert Counter(pool.map(ask, range(60))) == {302: 60}
    assert AccountMail.objects.filter(email=ADA).count() == limits.MAILS.most == 5


def test_one_network_asks_for_few_resets_and_accounts() -> None:
    """(B14)"""
    client = Client()
    codes = [
        client.post(reverse("password_reset"), {"email": f"a{n}@example.org"}).status_code
        for n in range(21)
    ]
    assert codes == [302] * 20 + [429]
    codes = [signs_up(Client(), email=f"b{n}@example.org").status_code for n in range(31)]
    assert codes == [302] * 30 + [429]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("of_two", [1, 2])
def test_what_one_test_tried_is_not_counted_for_the_next(of_two: int) -> None:
    """It was, after each test with a running server: which one failed hung on their order."""
    limits.count_try(limits.RESETS, "127.0.0.1")
    assert limits.remaining_tries(limits.RESETS, "127.0.0.1") == limits.RESETS.most - 1


# -- rows ------------------------------------------------------------------------------------------


def test_strangers_write_nothing_into_the_audit_log_by_signing_up(client: Client) -> None:
    """(B15) One append-only row for each attempt."""
    before = AuditEntry.objects.count()
    for number in range(10):
        signs_up(Client(), email=f"a{number}@example.org")
        client.post(reverse("login"), {"login": f"a{number}", "password": "x"})
        client.post(reverse("password_reset"), {"email": f"a{number}@example.org"})
    assert AuditEntry.objects.count() == before


def test_who_is_turned_away_at_a_way_in_fills_no_log(client: Client) -> None:
    """(B15) A hundred refusals were a hundred rows that nobody can delete."""
    entry = reverse("entry", args=[entry_token(prolific.make_recruitment(factories.make_task()))])
    assert {client.get(entry).status_code for _ in range(25)} == {403}
    assert AuditEntry.objects.filter(action="entry.refused").count() == limits.REFUSALS.most == 20


def test_accounts_that_nobody_proved_go_after_some_days() -> None:
    """(B15) And nobody else's do."""
    signs_up(Client())
    kept = [known("bo@example.org"), factories.make_user()]
    kept.append(factories.make_user(email="c@d.example"))
    later = timezone.now() + dt.timedelta(days=4)
    assert actions.delete_stale_accounts(timezone.now()) == 0
    actions.delete_stale_accounts(later)
    assert set(User.objects.values_list("pk", flat=True)) == {one.pk for one in kept}


def test_what_a_visitor_without_an_account_leaves_in_the_log_has_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """(B15) Somebody from a platform could toggle a consent for ever."""
    monkeypatch.setattr(limits, "VISITOR_ENTRIES", limits.Limit("audit-visitor", 5, 3600))
    visitor = factories.make_user("visitor-abc")
    with pytest.raises(LimitExceeded):
        for _ in range(6):
            record(by=visitor, project=None, action="mail.on", on=visitor)
    assert AuditEntry.objects.filter(actor=visitor).count() == 5
    person = factories.make_user()
    for _ in range(7):
        record(by=person, project=None, action="mail.on", on=person)


def test_what_people_change_of_their_own_leaves_rows_that_have_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "OWN_ENTRIES", limits.Limit("audit-own", 5, 3600))
    worker = factories.make_worker(factories.make_project())
    assert worker.user is not None
    consents = reverse("api_consent", args=[worker.project_id])
    program = APIClient(HTTP_AUTHORIZATION=f"Token {factories.api_token(worker.user)}")
    number = program.get(consents).json()["number"]
    told = []
    for _ in range(7):
        answer = program.post(consents, {"number": number, "agreed": True}, format="json")
        told.append(answer.status_code)
        for _ in range(2):  # is never refused
            assert program.delete(consents).status_code == 200
    assert told == [200] * 5 + [429] * 2
    rows = AuditEntry.objects.filter(actor=worker.user, action__startswith="consent.")
    assert rows.count() <= 11  # with the agreement that the worker came with
    record(by=worker.user, project=worker.project, action="assignment.submit", on=worker)
