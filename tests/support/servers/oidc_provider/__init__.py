"""A provider of OpenID Connect for tests: django-oauth-toolkit in a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PASSWORD = "a-password-at-the-provider"
CLIENT, SECRET = "crowdqc-test", "a secret of the test"


@contextlib.contextmanager
def provider(folder: Path, callback: str) -> Iterator[str]:
    """The provider's address; its one client is sent back to ``callback``.

    Its people: ``vouched`` (vouched@uni.example, verified), ``claimed`` (claimed@uni.example, not).
    """
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}}
    log = (folder / "provider.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.servers.oidc_provider", str(folder), callback],
        cwd=Path(__file__).resolve().parents[4],
        env=kept,
        stdout=subprocess.PIPE,
        text=True,
        stderr=log,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, (folder / "provider.log").read_text()[-3000:]
        yield address
    finally:
        process.kill()
        process.wait()
        log.close()
        if process.stdout is not None:
            process.stdout.close()
