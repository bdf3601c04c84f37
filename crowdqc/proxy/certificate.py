"""A self-signed certificate for trials: browsers warn about it until a real one is given."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALID, RENEW = dt.timedelta(days=397), dt.timedelta(days=30)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return x509.DNSName(f"*{name}" if name.startswith(".") else name)


def still_good(certificate: Path, names: Sequence[str]) -> bool:
    """Return whether a certificate is for exactly these host names and does not expire soon."""
    if not certificate.exists():
        return False
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    held = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    ends = found.not_valid_after_utc
    wanted = [_alternative(name) for name in names]
    return list(held) == wanted and ends - dt.datetime.now(dt.UTC) > RENEW


def write(certificate: Path, key: Path, names: Sequence[str]) -> None:
    """Make a key and a certificate for these names; the key is readable by its owner only."""
    secret = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crowdqc, self-signed")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([_alternative(n) for n in names]), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        .sign(secret, hashes.SHA256())
    )
    pem = secret.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key.unlink(missing_ok=True)
    with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
