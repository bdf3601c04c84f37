"""Prepare the proxy's folder: ``python -m crowdqc.proxy FOLDER [FOLDER_OF_THE_CERTIFICATE]``.

Writes ``nginx.conf``. The second folder may hold ``fullchain.pem`` and ``privkey.pem``; without
them a self-signed certificate is made once. Values come from the environment: ALLOWED_HOSTS,
HTTPS_PORT, PROXY_REQUESTS_PER_SECOND, PROXY_CONNECTIONS.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from crowdqc.proxy import Proxy

VALID, RENEW = dt.timedelta(days=397), dt.timedelta(days=30)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return x509.DNSName(f"*{name}" if name.startswith(".") else name)


def still_good(certificate: Path, names: Sequence[str]) -> bool:
    """Whether the file holds a certificate for just these names that does not end soon."""
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


def names_of(hosts: str) -> list[str]:
    """Host names as nginx and certificates take them: both know ``.example.org`` too."""
    return [name for host in hosts.split(",") if (name := host.strip())]


def prepare(state: Path, given: Path | None) -> str:
    """Write all that nginx reads; says in a sentence which certificate it is."""
    names = names_of(os.environ["ALLOWED_HOSTS"])
    pair = (given / "fullchain.pem", given / "privkey.pem") if given else None
    if pair and pair[0].exists():
        for file in pair:
            file.read_bytes()  # with the rights that nginx will have
        said = f"The certificate is {pair[0]}."
    else:
        pair = (state / "self-signed.pem", state / "self-signed.key")
        if not still_good(pair[0], names):
            write(*pair, names)
        said = "The certificate is self-signed: for trials only."
    proxy = Proxy(
        state=state,
        names=names,
        certificate=pair[0],
        key=pair[1],
        public_port=int(os.environ.get("HTTPS_PORT") or 443),
        requests_per_second=int(os.environ.get("PROXY_REQUESTS_PER_SECOND") or 50),
        connections=int(os.environ.get("PROXY_CONNECTIONS") or 100),
    )
    (state / "nginx.conf").write_text(proxy.config())
    return said


if __name__ == "__main__":
    folders = [Path(argument) for argument in sys.argv[1:3]]
    if not folders:
        sys.exit(__doc__)
    try:
        print(prepare(folders[0], folders[1] if len(folders) > 1 else None))
    except PermissionError as error:
        sys.exit(f"{error.filename} cannot be read by this user (id {os.geteuid()}).")
