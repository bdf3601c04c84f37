"""Who is told what, once; reading, mail, its tries, and how one is rid of it."""

from __future__ import annotations

import ast
import datetime as dt
import re
from decimal import Decimal
from functools import partial
from pathlib import Path
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from django.core import mail as outbox
from django.core.mail import EmailMessage
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.accounts.actions import invitation_mail as invite_mail
from annotation.accounts.actions import mail
from annotation.accounts.projects import actions as people
from annotation.authoring.actions import tasks
from annotation.models import AuditEntry, Invitation, Item, Notice, Project, Role, User
from annotation.notifications.actions import notices
from annotation.notifications.actions import task_states as states
from annotation.notifications.kinds import KINDS
from annotation.payouts.actions import proposals as payouts
from crowdqc.errors import Invalid, LimitExceeded
from crowdqc.numbers import money, plural
from tests.support import factories
from tests.support.factories import World
from tests.support.pages import html_of
from tests.support.source import parse_source

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
ADA = "ada@example.org"


@pytest.fixture
def world() -> World:
    return factories.make_world(2)


@pytest.fixture
def ada() -> User:
    return factories.make_user(email=ADA)


def tell(*people_told: User, key: str = "run.ended:1", **values: Any) -> int:
    told = {"kind": "run.finished", "text": "Run 1 is done.", "url": "/work/", **values}
    return notices.notify(to=people_told, key=key, **told)


def test_a_notice_is_read_in_the_language_of_its_reader_not_of_when_it_was_sent(
    world: World,
) -> None:
    ada = factories.make_worker(world.project).user
    assert ada is not None
    told = {"key": "work.approved:1", "kind": "work.approved", "text": partial(say_pay, 2)}
    tell(ada, **told)
    client = Client()
    client.force_login(ada)
    page, notice = reverse("notice_list"), Notice.objects.get(user=ada)
    assert notice.text == "2 answers: €2.80" and "2 answers: €2.80" in html_of(client.get(page))
    for language, words in (("de", "2 Antworten: 2,80 €"), ("es", "2 respuestas: 2,80 €")):
        User.objects.filter(pk=ada.pk).update(language=language)
        assert words in html_of(client.get(page))
        assert words in html_of(client.get(reverse("work_home")))
    Notice.objects.update(texts={})  # of the version before
    assert "2 answers: €2.80" in html_of(client.get(page))


def say_pay(number: int) -> str:
    return f"{plural(number, 'answer')}: {money(Decimal('2.80'), 'EUR')}"


def later(minutes: int = 300) -> None:
    """As if so many minutes had passed since everything that was sent or tried."""
    by = dt.timedelta(minutes=minutes)
    for row in Notice.objects.exclude(mail_at=None, mailed_at=None):
        row.mail_at, row.mailed_at = (
            row.mail_at and row.mail_at - by,
            row.mailed_at and (row.mailed_at - by),
        )
        row.save()
    for one in Invitation.objects.exclude(mail_at=None):
        one.mail_at = one.mail_at and one.mail_at - by
        one.save()


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


# -- telling ---------------------------------------------------------------------------------------


def test_the_same_thing_is_told_once_to_each(ada: User) -> None:
    other = factories.make_user()
    assert tell(ada, ada, other) == 2
    assert tell(ada, other) == 0
    assert tell(ada, key="run.ended:2") == 1
    assert Notice.objects.filter(user=other, mail_at=None).count() == 1  # no address, no mail


def test_what_was_rolled_back_is_told_to_nobody(ada: User) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        tell(ada)
        raise RuntimeError
    assert mail.send_due() == 0 and not Notice.objects.exists()


def test_every_kind_that_is_told_stands_in_the_table() -> None:
    used = set()
    for path in [*ROOT.glob("annotation/**/*.py"), *ROOT.glob("evaluation/**/*.py")]:
        text = path.read_text()
        for node in ast.walk(parse_source(text)) if "notify(" in text else ():
            name = isinstance(node, ast.Call) and getattr(node.func, "id", "")
            if name == "notify" and isinstance(node, ast.Call):
                given = [kw.value for kw in node.keywords if kw.arg == "kind"]
                used |= {
                    part.value
                    for value in given
                    for part in ast.walk(value)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    assert used <= set(KINDS) and len(used) > 5


def test_a_changed_consent_text_is_told_to_who_had_agreed(world: World) -> None:
    factories.make_worker(world.project, consent=False)
    people.change_consent_text(
        by=world.requester, project=world.project, text="New.", retention_days=30
    )
    assert [one.user for one in Notice.objects.all()] == [world.worker.user]


def test_staff_learn_that_a_task_is_full_and_again_when_it_asked_for_more(world: World) -> None:
    factories.claim_and_submit(world.task, world.worker)
    assert states.tell_complete() == 0
    lease = factories.claim(world.task, factories.make_worker(world.project))
    assert states.tell_complete() == 0  # nothing is free, but somebody is still at it
    factories.submit(lease)
    assert states.tell_complete() == 1 and states.tell_complete() == 0
    told = Notice.objects.filter(kind="task.complete")
    assert {one.user for one in told} == {world.requester, world.manager}
    assert "4 answers" in told[0].text
    wanted = {pk: 3 for pk in Item.objects.values_list("pk", flat=True)}
    tasks.set_wanted(by=world.requester, task=world.task, wanted=wanted)
    factories.claim_and_submit(world.task)
    assert states.tell_complete() == 1 and told.all().count() == 4


def test_staff_learn_that_somebody_else_closed_a_task(world: World) -> None:
    tasks.move(by=world.requester, task=world.task, to="close")
    assert [one.user for one in Notice.objects.all()] == [world.manager]


def test_a_budget_is_told_of_near_its_end_and_at_it(world: World) -> None:
    def approve(budget: str) -> list[str]:
        """Pay 1.80 more; what the manager has been told by then."""
        Project.objects.update(budget=Decimal(budget))
        done = factories.claim_and_submit(world.task)
        batch = payouts.propose_payout(
            by=world.requester, task=world.task, key=uuid4(), lines=[payouts.ProposedLine(done.pk)]
        )
        payouts.approve_payout(by=world.manager, batch=batch, expected_total=payouts.total(batch))
        told = Notice.objects.filter(user=world.manager, kind__startswith="budget.")
        return sorted(told.values_list("kind", flat=True))

    assert approve("2.10") == []
    assert approve("4.00") == ["budget.nearly"]
    tasks.set_wanted(
        by=world.requester,
        task=world.task,
        wanted={pk: 9 for pk in Item.objects.values_list("pk", flat=True)},
    )
    assert approve("5.40") == ["budget.nearly", "budget.used"]


# -- reading ---------------------------------------------------------------------------------------


def test_opening_a_notice_marks_it_read_and_leads_there(ada: User) -> None:
    tell(ada)
    tell(ada, key="run.ended:2", url="//elsewhere.example/")
    first, second = Notice.objects.order_by("pk")
    client = signed_in(ada)
    assert "2<span" in client.get(reverse("notice_list")).content.decode()
    client.head(reverse("notice", args=[first.pk]))
    assert Notice.objects.filter(read_at=None).count() == 2
    assert client.get(reverse("notice", args=[first.pk]))["Location"] == "/work/"
    assert client.get(reverse("notice", args=[second.pk]))["Location"] == reverse("notice_list")
    assert not Notice.objects.filter(read_at=None).exists()
    assert mail.send_due() == 0  # what was read here is not mailed
    stranger = signed_in(factories.make_user())
    assert stranger.get(reverse("notice", args=[first.pk])).status_code == 404
    assert "Nothing so far" in stranger.get(reverse("notice_list")).content.decode()


def test_marking_all_leaves_what_came_meanwhile(ada: User) -> None:
    tell(ada)
    client = signed_in(ada)
    upto = client.get(reverse("notice_list")).context["upto"]
    tell(ada, key="run.ended:2")
    client.post(reverse("notice_read_all"), {"upto": upto})
    assert Notice.objects.get(read_at=None).key == "run.ended:2"
    assert client.post(reverse("notice_read_all"), {"upto": "x"}).status_code == 422


def test_the_count_costs_staff_no_query_and_workers_one(
    world: World, django_assert_num_queries: Any
) -> None:
    staff, works = signed_in(world.manager), signed_in(world.worker.user)  # type: ignore[arg-type]
    for number in (1, 30):
        for n in range(number):
            tell(world.manager, world.worker.user, key=f"run.ended:{number}-{n}")  # type: ignore[arg-type]
        with django_assert_num_queries(5):  # session, user; notices: number, rows, unread
            pass_through = works.get(reverse("notice_list"))
        assert pass_through.status_code == 200
        page = staff.get(reverse("people", args=[world.project.pk])).content.decode()
        assert f"<b>{number if number == 1 else 31}<span" in page


# -- mail ------------------------------------------------------------------------------------------


class Faulty(EmailBackend):
    """A mail server that does what ``errors`` say before it takes anything."""

    errors: list[Exception] = []  # shared on purpose: a turn makes a connection of its own

    def send_messages(self, messages: Any) -> int:
        if Faulty.errors:
            raise Faulty.errors.pop(0)
        return super().send_messages(messages)


@pytest.fixture
def faulty(settings: Any) -> type[Faulty]:
    settings.EMAIL_BACKEND = f"{__name__}.Faulty"
    Faulty.errors = []
    return Faulty


def test_the_first_notice_is_mailed_at_once_and_the_next_ones_together(
    ada: User, settings: Any
) -> None:
    settings.CROWDQC_BASE_URL = "https://crowd.example.org"
    project = factories.make_project(name="Nests & storms")
    tell(ada, project=project)
    assert mail.send_due() == 1
    for n in range(2, 5):
        tell(ada, key=f"run.ended:{n}", text=f"Run {n} is done.")
    assert mail.send_due() == 0
    later(11)
    assert mail.send_due() == 1 and mail.send_due() == 0
    first, second = outbox.outbox
    assert (first.subject, first.to) == ("Run 1 is done.", [ADA])
    link = reverse("notice", args=[Notice.objects.earliest("pk").pk])
    assert f"https://crowd.example.org{link}" in first.body and "Nests & storms" in first.body
    assert second.subject == "3 notices from crowdqc"
    assert all(f"Run {n} is done." in second.body for n in range(2, 5))
    assert first.extra_headers["Message-ID"] != second.extra_headers["Message-ID"]
    assert not Notice.objects.filter(mailed_at=None).exists()


def test_a_mail_that_does_not_leave_is_tried_five_times_in_all(
    ada: User, faulty: type[Faulty]
) -> None:
    faulty.errors = [SMTPServerDisconnected(), TimeoutError(), ConnectionRefusedError()]
    tell(ada)
    for _ in range(3):
        assert mail.send_due() == 0 == mail.send_due()  # the second finds nothing due
        later()
    assert mail.send_due() == 1 and len(outbox.outbox) == 1
    faulty.errors = [ConnectionRefusedError() for _ in range(9)]
    tell(ada, key="run.ended:2")
    for _ in range(8):
        mail.send_due()
        later()
    assert len(faulty.errors) == 4
    page = signed_in(ada).get(reverse("notice_list")).content.decode()
    assert "could not be delivered" in page


def test_an_address_that_is_refused_for_good_is_not_tried_again(
    ada: User, faulty: type[Faulty], caplog: pytest.LogCaptureFixture
) -> None:
    faulty.errors = [SMTPRecipientsRefused({ADA: (550, b"nobody here")})]
    tell(ada)
    mail.send_due()
    later()
    assert mail.send_due() == 0 and not outbox.outbox
    assert ADA not in caplog.text and "did not leave" in caplog.text


def test_a_crash_between_sending_and_noting_sends_again_under_the_same_id(
    ada: User, faulty: type[Faulty], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least once: a lost mail would be worse than a double one."""
    tell(ada)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "deliver", lambda *args: [EmailMessage.send(args[0]), 1 / 0])
        with pytest.raises(ZeroDivisionError):
            mail.send_due()
    assert mail.send_due() == 0  # held for its next try
    later()
    assert mail.send_due() == 1
    assert len({one.extra_headers["Message-ID"] for one in outbox.outbox}) == 1


def test_one_mail_a_day_holds_the_day_once_whenever_a_worker_dies(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_in(ada).post(reverse("notice_mail"), {"mail": "daily"})
    ada.refresh_from_db()
    for n in range(3):
        tell(ada, key=f"run.ended:{n}", text=f"Run {n} is done.")
    due = Notice.objects.values_list("mail_at", flat=True).distinct().get()
    assert timezone.localtime(due).hour == notices.DAILY_HOUR and due > timezone.now()
    assert mail.send_due() == 0
    tell(ada, kind="rejection", key="rejection:1", text="Rejected.")  # never waits for the day
    assert mail.send_due() == 1 and outbox.outbox.pop().subject == "Rejected."
    later(24 * 60)
    with monkeypatch.context() as patch:
        patch.setattr(mail, "deliver", lambda *args: [EmailMessage.send(args[0]), 1 / 0])
        with pytest.raises(ZeroDivisionError):
            mail.send_due()
    later()
    tell(ada, key="run.ended:3", text="Run 3 is done.")  # of the next day
    assert mail.send_due() == 1 and mail.send_due() == 0
    first, again = outbox.outbox
    assert first.subject == "3 notices from crowdqc" == again.subject
    # The link that ends the mails is signed anew, with the second of its making.
    assert first.body.rsplit(":", 2)[0] == again.body.rsplit(":", 2)[0]
    assert first.extra_headers["Message-ID"] == again.extra_headers["Message-ID"]
    assert Notice.objects.exclude(mail_at=None).get().text == "Run 3 is done."
    signed_in(ada).post(reverse("notice_mail"), {"mail": "on"})  # what is owed leaves now
    later(11)
    assert mail.send_due() == 1 and outbox.outbox[-1].subject == "Run 3 is done."


def test_a_mailbox_ends_all_mail_by_one_post_without_signing_in(ada: User) -> None:
    tell(ada)
    mail.send_due()
    headers = outbox.outbox[0].extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    stop = re.sub(r"^<http://[^/]+|>$", "", headers["List-Unsubscribe"])
    nobody = Client(enforce_csrf_checks=True)
    assert "No more mail?" in nobody.get(stop).content.decode()
    tell(ada, key="run.ended:2")
    assert nobody.post(stop, {"List-Unsubscribe": "One-Click"}).status_code == 200
    ada.refresh_from_db()
    later()
    assert not ada.wants_mail and mail.send_due() == 0
    assert Client().get(stop[:-3] + "x/").status_code == 404
    client = signed_in(ada)
    client.post(reverse("notice_mail"), {"mail": "on"})
    ada.refresh_from_db()
    tell(ada, key="run.ended:3")
    later()
    assert mail.send_due() == 1 and "Run 1" in outbox.outbox[-1].body
    assert AuditEntry.objects.filter(action__in=["mail.off", "mail.on"]).count() == 2


# -- invitations -----------------------------------------------------------------------------------


def test_pasted_addresses_each_get_a_link_of_their_own(world: World, ada: User) -> None:
    EmailAddress.objects.create(user=ada, email=ADA, verified=True)
    client = signed_in(world.requester)
    pasted = f"Bo <bo@example.org>, {ADA.upper()};\ncy@example.org cy@example.org"
    pasted = pasted.replace("Bo ", "")
    form = {"role": Role.WORKER, "max_uses": 1, "days": 14, "note": "", "emails": pasted}
    client.post(reverse("invitation_new", args=[world.project.pk]), form)
    made = Invitation.objects.order_by("pk")
    assert [one.sent_to for one in made] == [
        "b…@example.org",
        "a…@example.org",
        "c…@example.org",
    ]
    assert [one.max_uses for one in made] == [1, 1, 1]
    assert Notice.objects.get().user == ada  # who has proven it is told like of any notice
    assert mail.send_due() == 3
    assert sorted(one.to[0] for one in outbox.outbox) == [ADA, "bo@example.org", "cy@example.org"]
    to_bo = next(one for one in outbox.outbox if one.to == ["bo@example.org"])
    link = re.search(r"http://[^/]+(/join/\S+)", to_bo.body)
    assert link and str(world.requester) not in to_bo.body
    assert set(made.values_list("email", flat=True)) == {""}  # kept no longer than that
    joined = signed_in(factories.make_user()).post(link[1])
    assert joined.status_code == 302
    assert "b…@" not in client.get(reverse("people", args=[world.project.pk])).content.decode()


def test_invitations_that_cannot_be_mailed_say_so(world: World, faulty: type[Faulty]) -> None:
    faulty.errors = [SMTPRecipientsRefused({"bo@example.org": (550, b"")})]
    invite = {"by": world.requester, "project": world.project, "role": Role.WORKER}
    invite_mail.invite_by_mail(**invite, emails="bo@example.org")
    assert mail.send_due() == 0
    page = signed_in(world.requester).get(reverse("people", args=[world.project.pk]))
    assert "b…@example.org, could not be delivered" in html_of(page)
    gone = invite_mail.invite_by_mail(**invite, emails="cy@example.org")[0]
    people.revoke_invitation(by=world.requester, invitation=gone)
    assert mail.send_due() == 0 and not Invitation.objects.exclude(email="").exists()
    Invitation.objects.update(expires_at=timezone.now())
    assert mail.forget_addresses() == 1 and not Invitation.objects.exclude(sent_to="").exists()


def test_bad_addresses_and_too_many_are_named_and_nothing_is_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    invite = {"by": world.requester, "project": world.project, "role": Role.WORKER}
    for pasted in ("bo@example.org\nnobody", "", ",".join(f"a{n}@b.example" for n in range(201))):
        with pytest.raises(Invalid) as refused:
            invite_mail.invite_by_mail(**invite, emails=pasted)
        assert set(refused.value.fields) == {"emails"}
    monkeypatch.setattr(invite_mail, "MOST_A_DAY", 3)
    invite_mail.invite_by_mail(**invite, emails="a@b.example b@b.example")
    with pytest.raises(LimitExceeded):
        invite_mail.invite_by_mail(**invite, emails="c@b.example d@b.example")
    assert Invitation.objects.count() == 2
