"""The configuration of the proxy before the app, made of one template and the app's own limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crowdqc.web.bodies import LIMITS, SMALL

TEMPLATE = Path(__file__).with_name("nginx.conf.template")
KNOWN = """
            auth_request /signed-in;"""
LOCATION = """
        location ~ "^{pattern}" {{
            client_max_body_size {limit};{known}
            limit_req zone=pages burst={burst} nodelay;
            proxy_pass http://{target};
        }}"""

# One address, or one name that is looked up when nginx starts.
UPSTREAM = """\
    upstream app {{
        server {app};
        keepalive 16;
    }}"""
# A name that is looked up again and again: containers come and go. nginx keeps no connections then.
RESOLVER = """\
    resolver {resolver} valid=2s ipv6=off;"""


@dataclass(frozen=True)
class Proxy:
    """What differs between installations.

    Parameters
    ----------
    state
        A folder of the proxy's own: buffers, and the certificate where none is given.
    names
        Host names that are answered, as ``ALLOWED_HOSTS`` has them.
    certificate, key
        PEM files.
    app
        Host and port of gunicorn.
    resolver
        DNS server that knows the host of ``app``, where its addresses change; "": they do not.
    http, https
        What to listen on.
    public_port
        The port of HTTPS as browsers see it, for the redirect from HTTP.
    requests_per_second, connections
        Limits of one client; static files and probes are not counted as requests.
    """

    state: Path
    names: Sequence[str]
    certificate: Path
    key: Path
    app: str = "web:8000"
    resolver: str = ""
    http: str = "8080"
    https: str = "8443"
    public_port: int = 443
    requests_per_second: int = 50
    connections: int = 100
    access_log: str = "/dev/stdout"

    def config(self) -> str:
        """nginx.conf."""
        burst = 6 * self.requests_per_second
        target = "$app" if self.resolver else "app"
        values = {
            "STATE": self.state,
            "NAMES": " ".join(self.names),
            "CERTIFICATE": self.certificate,
            "CERTIFICATE_KEY": self.key,
            "UPSTREAM": (RESOLVER if self.resolver else UPSTREAM).format(
                app=self.app, resolver=self.resolver
            ),
            "TARGET": target,
            "SET_TARGET": f"set $app {self.app};" if self.resolver else "",
            "CONNECTION": "close" if self.resolver else "",
            "HTTP_LISTEN": self.http,
            "HTTPS_LISTEN": self.https,
            "PUBLIC_PORT": "" if self.public_port == 443 else f":{self.public_port}",
            "REQUESTS_PER_SECOND": self.requests_per_second,
            "BURST": burst,
            "CONNECTIONS": self.connections,
            "ACCESS_LOG": self.access_log,
            "SMALL": SMALL,
            "LOCATIONS": "".join(
                LOCATION.format(
                    pattern=pattern,
                    limit=limit,
                    burst=burst,
                    target=target,
                    known=KNOWN if limit > SMALL else "",
                )
                for pattern, limit in LIMITS
            ),
        }
        return re.sub(r"\$\{([A-Z_]+)\}", lambda m: str(values[m[1]]), TEMPLATE.read_text())
