"""Mail that waits or is given up is seen: by its age since it was due, and by kind."""

from __future__ import annotations

import datetime as dt
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.utils import timezone

from annotation.accounts.actions import mail
from annotation.accounts.projects import actions as people
from annotation.accounts.signing import outbox
from annotation.models import AccountMail, Invitation, Notice
from annotation.notifications.actions.notices import notify
from annotation.notifications.messages import MAX_TRIES
from evaluation.operations.selectors import figures
from tests.annotation.notifications.test_notices import Faulty
from tests.support import factories as make

pytestmark = pytest.mark.django_db
SMTP = "django.core.mail.backends.smtp.EmailBackend"
ADA = "ada@example.org"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "_pause_until", 0.0)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A mail server that is there and takes no mail."""
    settings.EMAIL_BACKEND = "tests.annotation.notifications.test_notices.Faulty"
    monkeypatch.setattr(Faulty, "errors", [SMTPServerDisconnected("no") for _ in range(50)])


def later(**by: float) -> None:
    """As if this time had passed since everything that was written, due or tried."""
    back = dt.timedelta(**by)
    for table in (AccountMail, Invitation, Notice):
        for row in table.objects.all():
            for name in ("created_at", "mail_at", "mail_tried_at", "given_up_at"):
                if getattr(row, name, None):
                    table.objects.filter(pk=row.pk).update(**{name: getattr(row, name) - back})


def test_mail_is_late_since_it_was_first_tried_whenever_the_next_try_is(faulty: None) -> None:
    notify(to=[make.make_user(email=ADA)], key="a", kind="run.finished", text="x", url="/")
    assert mail.send_due() == 0
    later(minutes=30)
    assert mail.send_due() == 0  # the next try is ten minutes ahead
    assert Notice.objects.get().mail_at > timezone.now()
    oldest = figures.mail()["oldest"]
    assert oldest is not None and oldest > 29 * 60


def test_mail_that_was_given_up_is_counted_by_kind(faulty: None) -> None:
    world = make.make_world(1)
    notify(to=[make.make_user(email=ADA)], key="a", kind="run.finished", text="x", url="/")
    outbox.queue_mail(email=ADA, subject="Your code 1", body="x")
    row = people.invite(by=world.requester, project=world.project, role="worker")
    Invitation.objects.filter(pk=row.pk).update(email=ADA, mail_at=timezone.now())
    for _ in range(MAX_TRIES):
        mail.send_due()
        later(hours=4.4)
    mail.send_due()
    found = figures.mail()
    assert found["given_up"] == {"notice": 1, "invitation": 1, "account": 1}
    assert (found["failed"], found["waiting"], found["oldest"]) == (3, 0, None)
    assert not AccountMail.objects.exclude(email="", sealed=b"").exists()  # nothing of it is kept
    later(days=8)
    mail.send_due()
    assert not AccountMail.objects.exists() and figures.mail()["failed"] == 0


@contextmanager
def silent_server() -> Iterator[int]:
    """Something that takes connections and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield listener.getsockname()[1]


def test_a_mail_server_that_hangs_holds_one_turn_and_costs_no_try(settings: Any) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_TIMEOUT = SMTP, "127.0.0.1", 0.5
    for n in range(5):
        person = make.make_user(email=f"{n}@example.org")
        notify(to=[person], key="a", kind="run.finished", text="x", url="/")
    later(minutes=20)
    with silent_server() as settings.EMAIL_PORT:
        began = timezone.now()
        assert mail.send_due() == 0 == mail.send_due()
        assert timezone.now() - began < dt.timedelta(seconds=2)  # ten turns of 0.5 s would be 5
    assert set(Notice.objects.values_list("mail_attempts", flat=True)) == {0}
    assert figures.mail()["oldest"] > 19 * 60
