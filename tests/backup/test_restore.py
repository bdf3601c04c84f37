"""A site that is restored elsewhere is the same site; one that cannot be restored stays as it was.

The source is on the database of the tests (embedded, where no server is named), the target also on
the server of CI_DATABASE_URL where it answers: an older PostgreSQL, as in a move to production.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from crowdqc.deployment.backup.archive import (
    CLOSING,
    KEYS,
    MANIFEST,
    ArchiveReader,
    ArchiveWriter,
    Digest,
    manifest_json,
)
from crowdqc.deployment.backup.restore import restore_backup
from crowdqc.errors import Conflict
from tests.support import factories
from tests.support.migrated import migrated
from tests.support.servers.s3 import bucket_settings, s3_server, stored_names
from tests.support.sites import MakeSite, Site, scratch_sites

pytestmark = [pytest.mark.slow, pytest.mark.db]
SERVER = os.environ.get("CI_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
WORD = "correct horse battery staple"
# Rows that a restore changes: secrets are sealed anew, and open bonuses are held.
CHANGED = {
    "annotation_accountmail",
    "annotation_auditentry",
    "annotation_hook",
    "annotation_keptreply",
    "annotation_payment",
    "annotation_recruitment",
    "evaluation_endpoint",
    "mfa_authenticator",
}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture(scope="module")
def sites(django_db_setup: None, django_db_blocker: Any) -> Iterator[MakeSite]:
    with scratch_sites(django_db_blocker.unblock) as make:
        yield make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("backups")
    (made / "word").write_text(f"{WORD}\n")
    return made


@pytest.fixture(scope="module")
def source(sites: MakeSite) -> Site:
    return sites(like=migrated())


@pytest.fixture(scope="module")
def source_look(source: Site, folder: Path) -> dict[str, Any]:
    """What the source is when its backup has been made."""
    found: dict[str, Any] = source.act("back_up", str(folder), str(folder / "word"))
    return found


@pytest.fixture(scope="module")
def backup(source_look: dict[str, Any], folder: Path) -> Path:
    [path] = folder.glob("*.backup")
    return path


def servers() -> list[str]:
    try:
        psycopg.connect(SERVER, connect_timeout=2).close()
    except psycopg.OperationalError:
        return [""]
    return ["", SERVER]


@pytest.fixture(scope="module")
def restored_and_look(sites: MakeSite, backup: Path, folder: Path) -> tuple[Site, dict[str, Any]]:
    """On the last server there is: an older one, where there is one."""
    site = sites(servers()[-1])
    said, found = site.act("restore", str(backup), str(folder / "word"))
    assert "1 bonuses that waited to be sent are held" in said
    return site, found


@pytest.fixture(scope="module")
def restored(restored_and_look: tuple[Site, dict[str, Any]]) -> Site:
    return restored_and_look[0]


def test_every_row_is_there_and_no_other(source: Site, restored: Site) -> None:
    before, after = source.digests(), restored.digests()
    assert sum(bool(one["rows"]) for one in before.values()) > 60
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} <= CHANGED
    for name in CHANGED - {"annotation_auditentry"}:
        assert before[name]["rows"] == after[name]["rows"]


def test_books_scores_bundles_and_sealed_keys_are_the_same(
    source_look: dict[str, Any], restored_and_look: tuple[Site, dict[str, Any]]
) -> None:
    """The key of the endpoint opens under another SECRET_KEY; a bonus is not sent a second time."""
    before, after = dict(source_look), dict(restored_and_look[1])
    assert before["bundle"] and all(good for good, _ in before["bundle"])
    assert set(before["endpoint keys"]) == {"sk-the-key-of-an-endpoint"}
    assert before.pop("bonuses") == ["planned"] and after.pop("bonuses") == ["unclear"]
    assert before == after


def test_tables_guards_and_rights_are_those_of_a_migrated_database(
    sites: MakeSite, source: Site, restored: Site
) -> None:
    migrated = source  # unless another server words its rules in another way
    if server := servers()[-1]:
        migrated = sites(server)
        migrated.manage("migrate", "--verbosity", "0")
    assert restored.structure() == migrated.structure()


def test_new_rows_go_on_counting_and_books_stay_append_only(restored: Site) -> None:
    with psycopg.connect(restored.url) as connection:
        for table in ("annotation_answer", "annotation_ledgerentry", "evaluation_run"):
            ahead = connection.execute(
                f"SELECT nextval(pg_get_serial_sequence('{table}', 'id')) > max(id) FROM {table}"  # noqa: S608
            ).fetchone()
            assert ahead == (True,), table
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
            connection.execute("DELETE FROM annotation_ledgerentry")


def test_a_site_is_not_restored_over_while_others_are_connected(
    restored: Site, backup: Path, folder: Path
) -> None:
    word = ("--passphrase-file", str(folder / "word"))
    with psycopg.connect(restored.url):  # as a web process would
        said = restored.manage("restore", str(backup), *word, "--replace", "--noinput", fails=True)
    assert "1 other connections to the database are open" in said


@pytest.mark.long
def test_a_public_demo_begins_anew_while_people_use_it(sites: MakeSite, tmp_path: Path) -> None:
    more = (("CROWDQC_DEMO", "public"), ("CROWDQC_BACKUP_FOLDER", str(tmp_path)))
    site = replace(sites(like=migrated()), more=more)
    count = "SELECT count(*) FROM annotation_project"
    with psycopg.connect(site.url, autocommit=True) as web:
        (before,) = web.execute(count).fetchone() or ()
        site.manage("crowdqc_demo", "keep")
        web.execute("INSERT INTO crowdqc_cache VALUES ('of a visitor', '', now())")
        web.execute("UPDATE annotation_project SET name = 'of a visitor'")
        site.manage("crowdqc_demo", "reset")
        changed = "SELECT count(*) FROM annotation_project WHERE name = 'of a visitor'"
        assert web.execute(count).fetchone() == (before,)
        assert web.execute(changed).fetchone() == (0,)


def rewrite(backup: Path, to: Path, change: Callable[[str, bytes], bytes], **manifest: Any) -> Path:
    """A whole backup with other rows or another manifest."""
    with backup.open("rb") as source, to.open("wb") as out:
        reader, writer = ArchiveReader(source, WORD), ArchiveWriter(out, WORD)
        writer.add_json(MANIFEST, manifest_json(reader.manifest) | manifest)
        writer.add_json(KEYS, reader.keys)
        digests = {name: Digest() for name in reader.manifest.tables}
        for table, text in reader.rows():
            digests[table].add(changed := change(table, text))
            writer.add_rows(table, changed)
        for _ in reader.files():
            pass
        told = {name: digest.as_dict() for name, digest in digests.items()}
        writer.add_json(CLOSING, reader.closing | {"tables": told})
        writer.close()
    return to


def test_a_backup_that_fails_on_the_way_changes_nothing(
    restored: Site, backup: Path, folder: Path
) -> None:
    """Its answers are of people who are not in it, which shows when all tables are filled."""
    before = restored.digests()
    word = ("--passphrase-file", str(folder / "word"), "--replace", "--noinput")
    bad = rewrite(
        backup,
        folder / "bad",
        lambda table, text: b"" if table == "annotation_membership" else text,
    )
    said = restored.manage("restore", str(bad), *word, fails=True)
    assert "nothing was changed" in said and "foreign key" in said
    assert restored.digests() == before
    with psycopg.connect(restored.url) as connection:
        left = connection.execute("SELECT to_regnamespace('crowdqc_restore')").fetchone()
    assert left == (None,)


def test_a_scheduled_backup_is_tested_counted_and_noted(
    sites: MakeSite, source: Site, folder: Path, s3: str
) -> None:
    """By the job that the scheduler starts, into a bucket; nothing is due a second time."""
    scheduled = {
        "CROWDQC_BACKUP_FOLDER": "s3://backups/one-site",
        **bucket_settings(s3, "backups"),
        "CROWDQC_BACKUP_PASSPHRASE_FILE": str(folder / "word"),
        "CROWDQC_BACKUP_HOURS": "1000",
    }
    with psycopg.connect(source.url, autocommit=True) as connection:
        connection.execute("DELETE FROM crowdqc_backup")
    before, site = source.digests(), Site(source.url, source.secret, tuple(scheduled.items()))
    name, again = json.loads(site.run("-m", "tests.backup.site", "due"))
    assert stored_names(s3, "backups") == [f"one-site/{name}"] and again == ""
    with psycopg.connect(source.url) as connection:
        noted = connection.execute("SELECT name, tested, error FROM crowdqc_backup ORDER BY id")
        assert noted.fetchall() == [(name, False, ""), (name, True, "")]
    assert source.digests() == before


@pytest.mark.django_db
def test_a_site_in_use_is_not_restored_over(backup: Path) -> None:
    factories.make_user()
    with pytest.raises(Conflict, match="holds data"):
        restore_backup(backup, passphrase=WORD)
