"""People and money as attacks need them: proven addresses, links from mailboxes, proposals."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

from allauth.account.models import EmailAddress
from django.core import mail as outgoing
from django.test import Client

from annotation.accounts.actions import mail
from annotation.accounts.actions.invitation_mail import invite_by_mail
from annotation.models import Correction, LedgerEntry, PayoutBatch, Project, Role, Task, User
from annotation.payouts.actions import ledger as books
from annotation.payouts.actions import proposals as payouts
from tests.support import factories
from tests.support.factories import World

JSON = "application/json"


def person(address: str, *, verified: bool = True) -> User:
    """Somebody with an account who says that the address is theirs, and may have proven it."""
    user = factories.make_user(address, email=address)
    EmailAddress.objects.create(user=user, email=address, verified=verified, primary=True)
    return user


def browser(user: User) -> Client:
    """A browser in which the person is signed in."""
    client = Client()
    client.force_login(user)
    return client


def program(user: User, *scopes: str) -> Client:
    """A program with a token of these scopes."""
    return Client(headers={"Authorization": f"Token {factories.api_token(user, scopes)}"})


def mailed_link(address: str) -> str:
    """The newest link in the mailbox, once what is due has left; "" where there is none."""
    mail.send_due()
    for message in reversed(outgoing.outbox):
        if address in message.to and (found := re.search(r"/join/\S+", str(message.body))):
            return found[0]
    return ""


def let_in(by: User, project: Project, address: str, role: str = Role.MANAGER) -> User:
    """Somebody who was invited to the role by mail and joined by the link."""
    invite_by_mail(by=by, project=project, role=role, emails=address)
    known = User.objects.filter(email=address).first()
    user = known or person(address)
    assert browser(user).post(mailed_link(address)).status_code == 302
    return user


def propose(by: User, task: Task) -> PayoutBatch:
    """A proposal about one worker's submitted work."""
    done = factories.claim_and_submit(task)
    lines = [payouts.ProposedLine(done.pk, bonus=Decimal("98.70"))]
    return payouts.propose_payout(by=by, task=task, key=uuid4(), lines=lines)


def approve(client: Client, batch: PayoutBatch) -> Any:
    """Approve over the API, at the amount that stands there."""
    return client.post(
        f"/api/projects/{batch.project_id}/payouts/{batch.number}/approve/",
        {"total": str(payouts.total(batch))},
        content_type=JSON,
        headers={"Idempotency-Key": str(uuid4())},
    )


def owed(project: Project) -> Decimal:
    """What the books say that workers are to get."""
    rows = LedgerEntry.objects.owed().filter(project=project)
    return sum((row.amount for row in rows), Decimal(0))


MEMO = "Agreed with the worker on the telephone."


def correct(world: World, amount: str, *, by: User | None = None, **more: Any) -> Any:
    """Book a correction of a worker's account."""
    worker = factories.make_worker(world.project)
    wanted = {
        "task": world.task,
        "debit": books.payable_account(worker.pk),
        "credit": books.work(world.task.pk),
        "amount": Decimal(amount),
        "memo": MEMO,
        "key": uuid4(),
        **more,
    }
    return books.book_correction(by=by or world.manager, **wanted)


def large(world: World, *, by: User) -> Correction:
    """One that needs a second person."""
    made = correct(world, "900.00", by=by)
    assert isinstance(made, Correction)
    return made
