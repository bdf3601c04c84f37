"""Embedded PostgreSQL server from a wheel: created, started, shared, stopped.

The cluster listens on a socket in a folder that only its owner can enter and on no TCP port, so
it needs no password and can clash with no other server.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from crowdqc.deployment.installation import default_home
from crowdqc.devstack.places import (
    SOCKET_NAME,
    Account,
    DevstackError,
    cluster_folder,
    make_cluster_folder,
    make_private,
    postgres_programs,
    server_account,
    socket_folder,
)
from crowdqc.devstack.processes import end_with_parent

USER = "crowdqc"
DATABASE = "crowdqc"
START_SECONDS = 120.0
RETRY_SECONDS = 20.0
STOP_SECONDS = 20.0
LOG_BYTES = 5_000_000
# Seen when a predecessor was killed and its remains are still ending: worth another try.
TRANSIENT = ("pre-existing shared memory block", "lock file", "could not bind Unix address")
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "48MB",
    # The kernel's cache serves one machine as well as processes that read ahead.
    "io_method": "sync",
    "autovacuum_max_workers": "1",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "log_min_messages": "warning",
    "log_timezone": "UTC",
}
# For tests: a crash of the machine may lose everything, a crash of the server nothing.
FAST = {"fsync": "off", "full_page_writes": "off"}


def database_url(home: Path | None = None, name: str = DATABASE) -> str:
    """Return the address of the embedded database, before it is started."""
    folder = socket_folder(cluster_folder(home or default_home()))
    return f"postgresql://{USER}@/{name}?host={quote(str(folder))}"


class Cluster:
    """One embedded PostgreSQL cluster and this process's share in it.

    Every process that has called ``start`` holds a shared lock until ``release`` or its end; the
    last one to release stops the server. ``tied`` binds the server's life to this process.

    Parameters
    ----------
    home
        Where state lives; the data goes to ``home/postgres`` (see ``places.cluster_folder``).
    durable
        False trades safety against a machine's crash for speed (tests).
    """

    def __init__(self, home: Path | None = None, *, durable: bool = True) -> None:
        self.home = (home or default_home()).resolve()
        self.durable = durable
        self.folder = cluster_folder(self.home)
        self.data = self.folder / "data"
        self.sockets = socket_folder(self.folder)
        self.log = self.folder / "postgres.log"
        self._account: Account = server_account()
        self._process: subprocess.Popen[bytes] | None = None
        self._share: int | None = None

    @property
    def url(self) -> str:
        """The address of the application's database."""
        return database_url(self.home)

    @property
    def is_owned(self) -> bool:
        """Whether this object started the running server."""
        return self._process is not None

    # -- state ---------------------------------------------------------------------------------

    def _pid_file(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except (FileNotFoundError, PermissionError):
            return []

    def pid(self) -> int | None:
        """Return the process id that the server wrote; it may be dead."""
        lines = self._pid_file()
        return int(lines[0]) if lines and lines[0].strip().isdigit() else None

    def is_running(self) -> bool:
        """Whether the server answers; takes well under a millisecond."""
        lines = self._pid_file()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self.sockets / SOCKET_NAME))
            except OSError:  # gone, refused or shut out: not running for us
                return False
        return True

    # -- start ---------------------------------------------------------------------------------

    def start(self, *, tied: bool = False) -> Cluster:
        """Create the cluster if needed, start it unless it runs, and take a share.

        Raises
        ------
        DevstackError
            It cannot be made or started; the message ends with the server's log.
        """
        if self._share is None:
            make_cluster_folder(self.folder, self._account)
            self._share = self._lock_file("users.lock")
            fcntl.flock(self._share, fcntl.LOCK_SH)  # waits while a last user stops it
        if self.is_running():
            return self
        with self._starting():
            if not self.is_running():
                self._make()
                self._launch_until_ready(tied)
                self._create_database()
        return self

    def _lock_file(self, name: str) -> int:
        try:
            return os.open(
                self.folder / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise DevstackError(
                f"{self.folder / name} cannot be opened ({error.strerror}): run crowdqc as the "
                "user who made it, or set CROWDQC_HOME to another folder."
            ) from error

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        handle = self._lock_file("start.lock")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _command(self, program: str) -> list[str]:
        return [str(postgres_programs(self.folder, self._account) / program)]

    def _identity(self) -> dict[str, object]:
        """Return subprocess arguments to run as the server's account."""
        if not self._account.differs:
            return {}
        return {"user": self._account.uid, "group": self._account.gid, "extra_groups": []}

    @staticmethod
    def _environment() -> dict[str, str]:
        # Nothing of PG*, LD_* or the locale of the caller may leak into the server.
        return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

    def _make(self) -> None:
        """Run ``initdb`` in a scratch folder and rename it, so that no half remains."""
        make_private(self.sockets, self._account)
        if self.data.is_dir():
            owner = self.data.stat().st_uid
            if owner != self._account.uid:
                raise DevstackError(
                    f"{self.data} belongs to the user with id {owner}, not {self._account.uid}: "
                    "run crowdqc as before, or set CROWDQC_HOME to another folder."
                )
            return
        for stale in self.folder.glob("data.new-*"):
            shutil.rmtree(stale)
        fresh = self.folder / f"data.new-{os.getpid()}"
        make_private(fresh, self._account)
        command = [
            *self._command("initdb"),
            *("-D", str(fresh), "-U", USER, "--encoding=UTF8", "--locale=C"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--auth-local=trust", "--auth-host=reject"),
            *([] if self.durable else ["--no-sync"]),
        ]
        done = subprocess.run(  # noqa: S603 - our own argument list
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env=self._environment(),
            **self._identity(),  # type: ignore[call-overload]
        )
        if done.returncode != 0:
            raise DevstackError(f"initdb failed in {self.folder}:\n{done.stdout}{done.stderr}")
        fresh.rename(self.data)

    def _launch_until_ready(self, tied: bool) -> None:
        if self._process is not None:  # our own, killed or being stopped by somebody
            try:
                self._process.wait(RETRY_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise DevstackError(
                    f"PostgreSQL (process {self._process.pid}) runs but does not answer."
                ) from error
        began = time.monotonic()
        deadline = began + START_SECONDS
        while True:
            self._defuse_stale_locks()
            offset = self._launch(tied)
            while time.monotonic() < deadline:
                if self.is_running():
                    return
                if self._process is None or self._process.poll() is not None:
                    break
                time.sleep(0.02)
            said = self._log_from(offset)
            passing = any(text in said for text in TRANSIENT)
            if not passing or time.monotonic() > began + RETRY_SECONDS:
                self.stop()
                raise DevstackError(f"PostgreSQL did not start in {self.folder}:\n{said[-2000:]}")
            time.sleep(0.3)

    def _launch(self, tied: bool) -> int:
        options = SETTINGS | ({} if self.durable else FAST)
        options["unix_socket_directories"] = str(self.sockets)
        command = [*self._command("postgres"), "-D", str(self.data)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.unlink()
        with open(self.log, "ab") as out:
            offset = out.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own argument list
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
                env=self._environment(),
                start_new_session=True,
                # SIGINT is PostgreSQL's fast and clean shutdown.
                preexec_fn=end_with_parent(signal.SIGINT) if tied else None,  # noqa: PLW1509
                **self._identity(),  # type: ignore[call-overload]
            )
        return offset

    def _log_from(self, offset: int) -> str:
        with open(self.log, "rb") as handle:
            handle.seek(offset)
            return handle.read().decode(errors="replace")

    def _is_server(self, pid: int) -> bool:
        """Whether that process is a live server on our data."""
        import psutil

        try:
            process = psutil.Process(pid)
            return process.name() == "postgres" and Path(process.cwd()) == self.data
        except (psutil.NoSuchProcess, psutil.AccessDenied):  # dead, or of another user
            return False

    def _defuse_stale_locks(self) -> None:
        """Remove locks of a killed server whose process id was reused.

        PostgreSQL takes any live process of its user for its predecessor, and process ids repeat
        soon after a restart of a container. The data lock is not removed, as it also names the
        shared memory that surviving backends may hold: it is made to name this process, since
        PostgreSQL knows that its own parent is no server.
        """
        pid = self.pid()
        if pid is not None and self._is_server(pid):
            return
        if pid is not None:
            lock = self.data / "postmaster.pid"
            lines = lock.read_text().splitlines()
            lock.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
        (self.sockets / f"{SOCKET_NAME}.lock").unlink(missing_ok=True)

    def _create_database(self) -> None:
        """Create the application's database if it is missing."""
        made = self.folder / "database-made"
        if made.exists():  # known without a driver, which takes half a second to load
            return
        import psycopg

        with psycopg.connect(database_url(self.home, "postgres"), autocommit=True) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, [DATABASE]).fetchone() is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')
        made.touch()

    # -- stop ----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the server now, even if it is used, and wait for its end."""
        pid = self._process.pid if self._process else self.pid() if self.is_running() else None
        for signum, seconds in (
            (signal.SIGINT, STOP_SECONDS),  # fast: ends sessions, writes a checkpoint
            (signal.SIGQUIT, 5.0),  # immediate: the next start recovers
            (signal.SIGKILL, 5.0),
        ):
            if pid is None or self._ended(pid):
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and not self._ended(pid):
                time.sleep(0.02)
        self._process = None
        if self.sockets.parent != self.folder:
            with contextlib.suppress(OSError):  # not empty: it did not end cleanly
                self.sockets.rmdir()
        self._release_share()

    def _ended(self, pid: int) -> bool:
        if self._process is not None and self._process.pid == pid:
            return self._process.poll() is not None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    def _release_share(self) -> None:
        if self._share is not None:
            os.close(self._share)
            self._share = None

    def release(self) -> None:
        """Release this process's share; the last one stops the server."""
        if self._share is None:
            return
        try:
            fcntl.flock(self._share, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._release_share()
            return
        self.stop()


def ensure_database() -> None:
    """Run the embedded database while this process lives, for commands.

    Exits with one clear message where it cannot run.
    """
    cluster = Cluster()
    try:
        cluster.start()
    except DevstackError as error:
        sys.exit(f"crowdqc: {error}")
    owner = os.getpid()
    atexit.register(lambda: cluster.release() if os.getpid() == owner else None)
