"""Prepare the proxy's folder: ``python -m crowdqc.proxy FOLDER [FOLDER_OF_THE_CERTIFICATE]``.

Writes ``nginx.conf``. The second folder may hold ``fullchain.pem`` and ``privkey.pem``; without
them a self-signed certificate is made once. Values come from the environment: ALLOWED_HOSTS,
HTTPS_PORT, PROXY_REQUESTS_PER_SECOND, PROXY_CONNECTIONS, PROXY_RESOLVER (a DNS server, where the
app's addresses change), and where there are no containers PROXY_APP, PROXY_HTTP_LISTEN and
PROXY_HTTPS_LISTEN.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from crowdqc.proxy import Proxy, certificate


def names_of(hosts: str) -> list[str]:
    """Split ALLOWED_HOSTS into host names."""
    return [name for host in hosts.split(",") if (name := host.strip())]


def prepare(state: Path, given: Path | None) -> str:
    """Write nginx's configuration and certificate; return a sentence that names the certificate."""
    names = names_of(os.environ["ALLOWED_HOSTS"])
    pair = (given / "fullchain.pem", given / "privkey.pem") if given else None
    if pair and pair[0].exists():
        for file in pair:
            file.read_bytes()  # with the rights that nginx will have
        said = f"The certificate is {pair[0]}."
    else:
        pair = (state / "self-signed.pem", state / "self-signed.key")
        if not certificate.still_good(pair[0], names):
            certificate.write(*pair, names)
        said = "The certificate is self-signed: for trials only."
    proxy = Proxy(
        state=state,
        names=names,
        certificate=pair[0],
        key=pair[1],
        app=os.environ.get("PROXY_APP") or "web:8000",
        resolver=os.environ.get("PROXY_RESOLVER") or "",
        http=os.environ.get("PROXY_HTTP_LISTEN") or "8080",
        https=os.environ.get("PROXY_HTTPS_LISTEN") or "8443",
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
