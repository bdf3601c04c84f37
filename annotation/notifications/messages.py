"""One mail: how it is written, sent, and tried again."""

from __future__ import annotations

import datetime as dt
import logging
from smtplib import SMTPException, SMTPRecipientsRefused
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)
# How long after each try the next may follow; after the last there is none.
WAITS = tuple(dt.timedelta(minutes=m) for m in (2, 10, 50, 250))
MAX_TRIES = len(WAITS) + 1


def render_message(name: str, context: dict[str, Any], to: str, about: str) -> EmailMessage:
    """A mail from the templates of this name; ``about`` makes its Message-ID."""
    subject = render_to_string(f"mail/{name}_subject.txt", context)
    return compose(subject, render_to_string(f"mail/{name}.txt", context), to, about)


def compose(subject: str, body: str, to: str, about: str) -> EmailMessage:
    """A mail of plain text; ``about`` makes its Message-ID."""
    host = urlsplit(settings.CROWDQC_BASE_URL).hostname
    return EmailMessage(
        subject=" ".join(subject.split())[:150],
        body=body,
        to=[to],
        headers={"Message-ID": f"<{about}@{host}>", "Auto-Submitted": "auto-generated"},
    )


def send_one(connection: Any, *, to: str, subject: str, body: str, about: str) -> bool | None:
    """Send a mail that is written already; None where its address is refused for good."""
    return deliver(compose(subject, body, to, about), connection)


def deliver(message: EmailMessage, connection: Any) -> bool | None:
    """Send a mail; True if it was sent, False if a retry may help, None if refused for good."""
    message.connection = connection
    try:
        return message.send() == 1
    except (SMTPException, OSError, ValueError) as error:
        connection.close()  # what it is in the middle of is not known
        about = message.extra_headers["Message-ID"]
        logger.warning("mail %s did not leave: %s", about, type(error).__name__)
        return None if _refused_for_good(error) else False


def _refused_for_good(error: Exception) -> bool:
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return isinstance(error, ValueError)  # no address or header at all
