"""Point-in-time recovery: configuration of pgBackRest, state of the archive, and the restart.

pgBackRest copies the write-ahead log to ``CROWDQC_RECOVERY_FOLDER`` as it is written, beside base
backups. It runs beside the database server. The app writes its configuration, reads its state from
the server, and holds payments once the server runs on another timeline than before.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from crowdqc.deployment.backup import schema
from crowdqc.deployment.backup.places import Bucket, Folder, open_location
from crowdqc.errors import Conflict, Invalid
from crowdqc.hooks import after_restore

STANZA = "crowdqc"
# Of the seconds that may be lost: a segment of the log is closed by then, the rest is for its copy.
CLOSED_BY = 0.7
SHORTEST_LOSS = 4.0
LATE = dt.timedelta(minutes=5)  # beyond the seconds that may be lost
BASE_DUE = dt.timedelta(hours=26)
# Rows of the moment of recovery that must not come back: a session that was ended since.
OF_THE_MOMENT = ("crowdqc_cache", "crowdqc_limit", "django_session", "usersessions_usersession")


@dataclass(frozen=True)
class ServerPlace:
    """Where the database server is, as seen by pgBackRest on the same machine.

    Parameters
    ----------
    data
        The data folder (``SHOW data_directory``).
    socket
        The folder of its socket.
    user
        A superuser who may connect there without a password.
    """

    data: str
    socket: str = "/var/run/postgresql"
    user: str = "postgres"
    port: int = 5432


def is_configured() -> bool:
    """Whether this installation archives its write-ahead log."""
    return bool(settings.CROWDQC_RECOVERY_FOLDER)


def pgbackrest_config(server: ServerPlace) -> str:
    """Return pgbackrest.conf without secrets, which come from the environment.

    Raises Invalid where no place is set, or pgBackRest could not reach it.
    """
    if settings.CROWDQC_RECOVERY_DAYS < 1:
        raise Invalid("CROWDQC_RECOVERY_DAYS must be at least 1.")
    options = {
        **_repository(settings.CROWDQC_RECOVERY_FOLDER),
        "repo1-cipher-type": "aes-256-cbc",
        "repo1-retention-full-type": "time",
        "repo1-retention-full": str(settings.CROWDQC_RECOVERY_DAYS),
        "repo1-bundle": "y",
        "compress-type": "zst",
        "start-fast": "y",
        "log-level-console": "warn",
        "log-level-file": "off",
    }
    stanza = {
        "pg1-path": server.data,
        "pg1-socket-path": server.socket,
        "pg1-port": str(server.port),
        "pg1-user": server.user,
    }
    return (
        "# Written by manage.py crowdqc_recovery config. Secrets come from the environment:\n"
        f"# {', '.join(secret_names())}.\n"
        f"[global]\n{_lines(options)}\n[{STANZA}]\n{_lines(stanza)}"
    )


def server_config() -> str:
    """Return the settings of PostgreSQL that make it archive its log."""
    values = {
        "archive_mode": "on",
        "archive_command": f"'pgbackrest --stanza={STANZA} archive-push %p'",
        "archive_timeout": archive_timeout(),
        "wal_level": "replica",
    }
    return "".join(f"{name} = {value}\n" for name, value in values.items())


def archive_timeout() -> int:
    """Seconds after which PostgreSQL closes a segment of the log that is not full."""
    if settings.CROWDQC_RECOVERY_SECONDS < SHORTEST_LOSS:
        raise Invalid(f"CROWDQC_RECOVERY_SECONDS must be at least {SHORTEST_LOSS:.0f}.")
    return math.floor(settings.CROWDQC_RECOVERY_SECONDS * CLOSED_BY)


def secret_names() -> list[str]:
    """Name the variables that pgBackRest needs besides its configuration."""
    names = ["PGBACKREST_REPO1_CIPHER_PASS"]
    if _is_bucket() and settings.CROWDQC_S3_OPTIONS.get("access_key"):
        names += ["PGBACKREST_REPO1_S3_KEY", "PGBACKREST_REPO1_S3_KEY_SECRET"]
    return names


def _is_bucket() -> bool:
    return isinstance(open_location(settings.CROWDQC_RECOVERY_FOLDER), Bucket)


def _lines(options: dict[str, str]) -> str:
    for name, value in options.items():
        if not value.isprintable():
            raise Invalid(f"{name} must be one line.")
    return "".join(f"{name}={value}\n" for name, value in options.items())


def _repository(where: str) -> dict[str, str]:
    if not where:
        raise Invalid("Set CROWDQC_RECOVERY_FOLDER to a folder, or to s3://bucket/folder.")
    place = open_location(where)
    if isinstance(place, Folder):
        if not PurePosixPath(where).is_absolute():
            raise Invalid("CROWDQC_RECOVERY_FOLDER must be an absolute path.")
        return {"repo1-type": "posix", "repo1-path": where}
    assert isinstance(place, Bucket)  # noqa: S101 - the two kinds that there are
    return {
        "repo1-type": "s3",
        "repo1-path": f"/{place.folder}",
        "repo1-s3-bucket": place.bucket,
        **_s3_service(settings.CROWDQC_S3_OPTIONS),
    }


def _s3_service(options: dict[str, str]) -> dict[str, str]:
    """Return where the service is and how to sign in there."""
    region = options.get("region_name") or "us-east-1"
    found = {"repo1-s3-region": region}
    endpoint = options.get("endpoint_url", "")
    if endpoint:
        parts = urlsplit(endpoint)
        if parts.scheme != "https" or not parts.hostname:
            raise Invalid("CROWDQC_S3_ENDPOINT must begin with https:// for recovery.")
        found |= {"repo1-s3-endpoint": parts.hostname, "repo1-s3-uri-style": "path"}
        if parts.port:
            found["repo1-storage-port"] = str(parts.port)
    else:
        found["repo1-s3-endpoint"] = f"s3.{region}.amazonaws.com"
    if not options.get("access_key"):
        found["repo1-s3-key-type"] = "auto"
    return found


# -- state -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecoveryState:
    """How far the archive reaches.

    Parameters
    ----------
    archived_at
        When the last segment of the log was archived since the server's statistics began.
    failed_at
        The last failure, where nothing was archived since.
    base_at
        When the last base backup ended.
    """

    archived_at: dt.datetime | None = None
    failed_at: dt.datetime | None = None
    base_at: dt.datetime | None = None


def _rows(query: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def recovery_state() -> RecoveryState:
    """Read the state of the archive from the database server."""
    ((archived_at, failed_at, base_at),) = _rows(
        "SELECT last_archived_time, CASE WHEN last_archived_time IS NULL "
        "OR last_failed_time > last_archived_time THEN last_failed_time END, "
        "(SELECT base_at FROM crowdqc_recovery) FROM pg_stat_archiver"
    )
    return RecoveryState(archived_at, failed_at, base_at)


def recovery_problems(state: RecoveryState) -> list[tuple[str, str]]:
    """List what makes the archive useless or old, each with its check's number."""
    if not is_configured():
        return []
    problems, now = [], timezone.now()
    late = dt.timedelta(seconds=settings.CROWDQC_RECOVERY_SECONDS) + LATE
    if state.archived_at is None:
        problems.append(("W016", "The log was never archived."))
    elif state.archived_at + late < now:
        problems.append(
            (
                "W016",
                f"The write-ahead log is archived up to {state.archived_at:%Y-%m-%d %H:%M} UTC.",
            )
        )
    if state.base_at is None:
        problems.append(("W017", "There is no base backup."))
    elif state.base_at + BASE_DUE < now:
        problems.append(("W017", f"The last base backup is of {state.base_at:%Y-%m-%d %H:%M} UTC."))
    return problems


def record_mark() -> None:
    """Record the time, so that there is always something to archive."""
    if is_configured():
        _rows(
            "INSERT INTO crowdqc_recovery (marked_at) VALUES (now()) "
            "ON CONFLICT (single) DO UPDATE SET marked_at = excluded.marked_at"
        )


# -- after a recovery ------------------------------------------------------------------------------


def hold_if_recovered() -> list[str]:
    """Hold payments if the server began another timeline since the last call.

    A server begins one when a recovery ends, so nobody has to remember this step.
    """
    if not is_configured():
        return []
    with transaction.atomic():
        if not _enter_timeline():
            return []
        record_restored()
        return after_restore(_moment())


def finish_recovery() -> list[str]:
    """Hold payments and end all sessions after a recovery; return what was done.

    Raises Conflict while other programs use the database.
    """
    if others := schema.count_other_sessions():
        raise Conflict(
            f"{others} other connections to the database are open. Stop web, workers and the "
            "scheduler first."
        )
    with transaction.atomic():
        _enter_timeline()
        record_restored()
        notes = after_restore(_moment())
        for table in OF_THE_MOMENT:
            _rows(f"DELETE FROM {table}")  # noqa: S608 - our own names
    return notes


def record_restored() -> None:
    """Record that the database was put back to an earlier moment."""
    _rows(
        "INSERT INTO crowdqc_recovery (restored_at) VALUES (now()) "
        "ON CONFLICT (single) DO UPDATE SET restored_at = excluded.restored_at"
    )


def restored_at() -> dt.datetime | None:
    """Return when the database was last put back to an earlier moment."""
    ((at,),) = _rows("SELECT (SELECT restored_at FROM crowdqc_recovery)")
    return at


def _enter_timeline() -> bool:
    """Record the server's timeline; return whether another was recorded."""
    _rows("INSERT INTO crowdqc_recovery DEFAULT VALUES ON CONFLICT DO NOTHING")
    ((before, current),) = _rows(
        "SELECT timeline, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) "
        "FROM crowdqc_recovery FOR UPDATE"
    )
    if before != current:
        _rows("UPDATE crowdqc_recovery SET timeline = %s", current)
    return before not in (None, current)


def _moment() -> str:
    """The time that the data reach to, at most a minute early."""
    ((marked_at,),) = _rows("SELECT (SELECT marked_at FROM crowdqc_recovery)")
    return (marked_at or timezone.now()).isoformat(timespec="seconds")
