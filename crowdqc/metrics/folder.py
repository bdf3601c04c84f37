"""Where the processes of one program count, and where Prometheus reads it.

prometheus-client reads the folder's variable when it is imported, so this comes before.
"""

from __future__ import annotations

import os
import shutil
import tempfile

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # as prometheus-client calls it
LISTEN, TOKEN = "CROWDQC_METRICS_LISTEN", "CROWDQC_METRICS_TOKEN"


def parse_listen(text: str) -> tuple[str, int] | None:
    """Parse a port, or an address and port; None where there is none. Raises ValueError."""
    if not text:
        return None
    address, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f"{LISTEN} is {text!r}; it must be a port, or an address and port.")
    return address.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - it is asked for


def listen_address() -> tuple[str, int] | None:
    """Return where the metrics of this program's processes are served; None: nowhere."""
    return parse_listen(os.environ.get(LISTEN, ""))


def make_folder() -> str:
    """Make the folder in which all processes of this program count; empty where none asks."""
    if not (os.environ.get(TOKEN) or os.environ.get(LISTEN)):
        return ""
    if not os.environ.get(FOLDER):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="crowdqc-metrics-")
    os.makedirs(os.environ[FOLDER], exist_ok=True)
    return os.environ[FOLDER]


def delete_folder() -> None:
    """Delete the folder when the program ends."""
    if folder := os.environ.get(FOLDER):
        shutil.rmtree(folder, ignore_errors=True)
