"""A PostgreSQL server that archives its log by pgBackRest, to be destroyed and restored."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from crowdqc.devstack.places import server_account
from tests.support.processes import ROOT

BASE_BACKUP = ROOT / "docs" / "admin" / "recovery" / "base-backup.sh"
SERVERS = Path("/usr/lib/postgresql")  # of Debian; pgBackRest of the same release knows them
USER = DATABASE = "crowdqc"


def server_programs() -> Path | None:
    """The folder of an installed server's programs, or None where pgBackRest or it is missing."""
    found = sorted(SERVERS.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found and shutil.which("pgbackrest") else None


class ArchivingServer:
    """The server and its repository, in a folder that its own user owns."""

    def __init__(self, folder: Path, programs: Path, secrets: Mapping[str, str]) -> None:
        self.folder, self.programs = folder, programs
        self.data, self.repository = folder / "data", folder / "repository"
        self._account = server_account()
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(folder),
            "LC_ALL": "C",
            "TZ": "UTC",
            "PGHOST": str(folder),
            "PGUSER": USER,
            "PGDATABASE": DATABASE,
            "PGBACKREST_CONFIG": str(folder / "pgbackrest.conf"),
            "PGBACKREST_LOCK_PATH": str(folder / "locks"),
            "PGBACKREST_SPOOL_PATH": str(folder / "spool"),
            **secrets,
        }

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self.folder))}"

    def run(self, *command: str) -> str:
        """What a program prints that runs as the server's user."""
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=self.folder,
            env=self._environment, user=self._account.uid, group=self._account.gid,
            extra_groups=[],
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def create(self) -> None:
        """Make an empty cluster and its repository's folder."""
        how = ("--encoding=UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync")
        self.run("initdb", "-D", str(self.data), "-U", USER, *how)
        self.run("mkdir", str(self.repository))

    def start(self, settings: str = "") -> None:
        """Start it, with more settings than it has, and wait until it takes writes."""
        own = f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n"
        with (self.data / "postgresql.conf").open("a") as out:
            out.write(own + settings)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self.programs / "postgres"), "-D", str(self.data)],
                stdout=log, stderr=log, cwd=self.folder, env=self._environment,
                user=self._account.uid, group=self._account.gid, extra_groups=[],
            )  # fmt: skip
        until = time.monotonic() + 60
        while not self._takes_writes():
            assert time.monotonic() < until and self._process.poll() is None, self.log()
            time.sleep(0.05)

    def _takes_writes(self) -> bool:
        address = self.url.replace(f"/{DATABASE}?", "/postgres?")
        try:
            with psycopg.connect(address) as connection:
                return connection.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)
        except psycopg.OperationalError:
            return False

    def log(self) -> str:
        return (self.folder / "log").read_text()[-4000:]

    def stop(self) -> None:
        """Stop it in order, if it runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """End it at once, if it runs: no checkpoint, and nothing more is archived."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(60)
            self._process = None

    def destroy(self) -> None:
        """End it at once, and lose its disk."""
        self.kill()
        shutil.rmtree(self.data)

    def back_up(self) -> None:
        """Make a base backup as the timers do."""
        self.run("sh", str(self.folder / BASE_BACKUP.name))

    def restore(self, *options: str) -> None:
        """Restore the data folder; the server recovers when it starts."""
        self.run("pgbackrest", "--stanza=crowdqc", "--delta", *options, "restore")


@contextmanager
def archiving_server(programs: Path, secrets: Mapping[str, str]) -> Iterator[ArchivingServer]:
    """A new server; gone with all it holds afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="crowdqc-recovery-"))
    account = server_account()
    os.chown(folder, account.uid, account.gid)
    shutil.copy(BASE_BACKUP, folder)  # the checkout may be closed to the server's user
    server = ArchivingServer(folder, programs, secrets)
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
