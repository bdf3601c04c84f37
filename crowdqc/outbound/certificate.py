"""Read when the certificate of an address ends, as a browser meets it, whoever holds it."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from urllib.parse import urlsplit

from cryptography import x509

from crowdqc.outbound.web_request import forbid_in_web_request

SECONDS = 10.0


def read_certificate_end(url: str) -> dt.datetime | None:
    """Return when the certificate of an https:// address ends; None for other addresses.

    One that is not trusted or over already is read as well. Raises OSError where nobody answers.
    """
    forbid_in_web_request("A certificate")
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        return None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (parts.hostname, parts.port or 443)
    with (
        socket.create_connection(address, timeout=SECONDS) as connection,
        context.wrap_socket(connection, server_hostname=parts.hostname) as secure,
    ):
        shown = secure.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(shown).not_valid_after_utc if shown else None
