"""Make a backup of one moment of the database in one transaction."""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection as django_connection
from django.db.migrations.recorder import MigrationRecorder

from crowdqc.deployment.backup import archive, tables
from crowdqc.deployment.backup.archive import ArchiveWriter, Digest, Manifest
from crowdqc.deployment.backup.files import read_pieces, stored_files
from crowdqc.deployment.backup.places import open_location
from crowdqc.deployment.installation import read_version
from crowdqc.errors import Conflict

SEALED, PLAIN = ".backup", ".tar.gz"


@dataclass(frozen=True)
class WrittenBackup:
    """A backup that was written and read back."""

    address: str
    name: str
    made_at: dt.datetime
    size: int
    rows: int
    seconds: float
    encrypted: bool
    keys: bool
    missing: list[str]


def write_backup(to: Path | str, *, passphrase: str = "", keys: bool = True) -> WrittenBackup:
    """Write a backup into a folder or bucket, and read it back.

    A file with a backup's name is whole.

    Parameters
    ----------
    passphrase
        Encrypts it; without one the file is readable by whoever has it, and holds no keys.
    keys
        Whether SECRET_KEY and its fallbacks are in it (with a passphrase only).

    Raises
    ------
    OSError
        It cannot be written there; nothing of it is left.
    """
    began, keys = time.monotonic(), keys and bool(passphrase)
    made_at = dt.datetime.now(dt.UTC)
    name = f"crowdqc-{made_at:%Y%m%dT%H%M%SZ}{SEALED if passphrase else PLAIN}"
    place = open_location(to)
    checked = place.write(
        name,
        lambda out: _write(ArchiveWriter(out, passphrase), made_at, keys=keys),
        lambda source: archive.check_backup(source, passphrase),
    )
    return WrittenBackup(
        address=place.address(name),
        name=name,
        made_at=made_at,
        size=place.size(name),
        rows=checked.rows,
        seconds=time.monotonic() - began,
        encrypted=bool(passphrase),
        keys=keys,
        missing=checked.missing,
    )


def own_connection(**more: Any) -> psycopg.Connection[Any]:
    """Open a connection beside Django's to the same database."""
    params: dict[str, Any] = django_connection.get_connection_params()
    params.pop("cursor_factory", None)
    return psycopg.connect(**params | more)


def _write(out: ArchiveWriter, made_at: dt.datetime, *, keys: bool) -> None:
    with own_connection(autocommit=False) as source:
        # One moment for all tables, whatever is written meanwhile; nobody waits for it.
        source.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        source.read_only = True
        tables.set_text_form(source)
        (schema,) = source.execute("SELECT current_schema()").fetchone() or ("public",)
        held = tables.kept_columns(source, schema)
        if MigrationRecorder.Migration._meta.db_table not in held:
            raise Conflict("The database has no tables yet. Run manage.py migrate first.")
        applied = source.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
        manifest = Manifest(
            version=read_version(),
            made_at=made_at.isoformat(timespec="seconds"),
            database=f"PostgreSQL {source.info.parameter_status('server_version')}",
            migrations=[list(row) for row in applied.fetchall()],
            tables=held,
            keys=keys,
        )
        out.add_json(archive.MANIFEST, archive.manifest_json(manifest))
        if keys:
            out.add_json(archive.KEYS, site_secrets())
        closing: dict[str, Any] = {"tables": {}}
        for table, names in held.items():
            digest = Digest()
            for text in tables.copy_out(source, schema, table, names):
                digest.add(text)
                out.add_rows(table, text)
            closing["tables"][table] = digest.as_dict()
        closing |= {"files": {}, "missing": []}
        for one in stored_files(source, schema):
            content = hashlib.sha256()
            try:
                for piece in read_pieces(one):
                    content.update(piece)
                    out.add_piece(one.name, piece)
            except FileNotFoundError:
                closing["missing"].append(one.name)
                continue
            closing["files"][one.name] = content.hexdigest()
        # After the rows: these count outside of transactions, so they are at or behind them.
        closing["sequences"] = tables.read_sequences(source, schema)
        out.add_json(archive.CLOSING, closing)
        out.close()


def site_secrets() -> dict[str, Any]:
    """Return the keys of sealed values and signed links."""
    return {
        "SECRET_KEY": settings.SECRET_KEY,
        "SECRET_KEY_FALLBACKS": list(settings.SECRET_KEY_FALLBACKS),
    }
