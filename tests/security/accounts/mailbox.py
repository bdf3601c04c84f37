"""Mail about accounts as its reader finds it: what waits to leave, or has left."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from django.core import mail as django_mail

from annotation.accounts.actions import mail
from annotation.accounts.signing import outbox
from annotation.models import AccountMail
from crowdqc.sealing import sealed


def letters(address: str = "") -> list[tuple[str, str]]:
    """Subject and text of mails that wait for an address (for all of them), the oldest first."""
    rows = AccountMail.objects.filter(given_up_at=None).order_by("pk")
    if address:
        rows = rows.filter(email=address)
    found = [json.loads(sealed.unseal(row.sealed, outbox.PURPOSE, "The mail")) for row in rows]
    return [(subject, body) for subject, body in found]


def code_for(address: str) -> str:
    """The code in the last mail to an address, also if a worker beside the test sent it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        waiting = [subject for subject, _ in letters(address)]
        for subjects in (waiting, _sent(address)):
            # An invitation may have reached the same address in the same second.
            if found := [subject for subject in subjects if " code " in subject]:
                return found[-1].split()[-1]
        time.sleep(0.1)
    raise AssertionError(f"no mail to {address}")


def _sent(address: str) -> list[str]:
    """Subjects of what a worker sent, the oldest first (tests/settings.py says where to)."""
    folder = Path(os.environ["CROWDQC_TEST_HOME"], "mail")
    files = sorted(
        folder.glob("*.log"), key=lambda file: file.stat().st_mtime_ns
    )  # names are by the second
    texts = [part for file in files for part in file.read_text().split("-" * 79)]
    mine = [text for text in texts if f"To: {address}\n" in text]
    return [subject[1] for text in mine if (subject := re.search(r"Subject: (.*)", text))]


def link_for(address: str) -> str:
    """The first link in the last mail to an address."""
    found = re.search(r"https?://\S+", letters(address)[-1][1])
    assert found
    return found[0]


def delivered() -> list[django_mail.EmailMessage]:
    """What lies in mailboxes once the mail job has run."""
    mail.send_due()
    return list(django_mail.outbox)
