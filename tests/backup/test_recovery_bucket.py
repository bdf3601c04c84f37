"""pgBackRest takes our configuration of a bucket: log, base backup and restore, encrypted there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from crowdqc.deployment.backup import recovery
from crowdqc.proxy import certificate
from tests.support.servers import s3
from tests.support.servers.archiving import USER, archiving_server, server_programs

pytestmark = [pytest.mark.slow]
BUCKET = "recovery"
TABLES = """
CREATE TABLE crowdqc_recovery (
    single boolean PRIMARY KEY DEFAULT true, base_at timestamptz);
CREATE TABLE note (text text);
"""


@pytest.mark.skipif(not server_programs(), reason="PostgreSQL or pgBackRest is not installed")
def test_a_bucket_holds_log_and_base_backups_and_gives_them_back(
    tmp_path: Path, settings: Any
) -> None:
    programs = server_programs()
    assert programs is not None
    chain, key, pem = (tmp_path / name for name in ("chain.pem", "key.pem", "both.pem"))
    certificate.write(chain, key, ["localhost"])
    pem.write_bytes(chain.read_bytes() + key.read_bytes())
    access, secret = s3.KEYS.values()
    secrets = {
        "PGBACKREST_REPO1_CIPHER_PASS": "correct horse battery staple",
        "PGBACKREST_REPO1_S3_KEY": access,
        "PGBACKREST_REPO1_S3_KEY_SECRET": secret,
    }
    with (
        s3.s3_server() as plain,
        s3.with_tls(plain, pem) as address,
        archiving_server(programs, secrets) as server,
    ):
        s3.client(plain).create_bucket(Bucket=BUCKET)
        settings.CROWDQC_RECOVERY_FOLDER = f"s3://{BUCKET}/site"
        settings.CROWDQC_S3_OPTIONS = {
            "endpoint_url": address,
            "region_name": "us-east-1",
            "access_key": access,
            "secret_key": secret,
        }
        place = recovery.ServerPlace(str(server.data), str(server.folder), USER)
        (server.folder / "ca.pem").write_bytes(chain.read_bytes())
        config = recovery.pgbackrest_config(place).replace(
            "[crowdqc]", f"repo1-storage-ca-file={server.folder}/ca.pem\n[crowdqc]"
        )
        (server.folder / "pgbackrest.conf").write_text(config)
        server.create()
        server.start(recovery.server_config())
        server.run("createdb")
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(TABLES)
            server.back_up()
            assert connection.execute("SELECT base_at FROM crowdqc_recovery").fetchone()
            connection.execute("INSERT INTO note VALUES ('kept in the log')")
            connection.execute("SELECT pg_switch_wal()")
        server.run("pgbackrest", "--stanza=crowdqc", "check")
        server.destroy()
        server.restore("--type=default")
        server.start()
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT text FROM note").fetchone() == ("kept in the log",)
        names = s3.stored_names(plain, BUCKET)
        assert any(name.startswith("site/archive/crowdqc/") for name in names)
        assert any(name.startswith("site/backup/crowdqc/") for name in names)
        for name in names:
            body = s3.client(plain).get_object(Bucket=BUCKET, Key=name)["Body"].read()
            assert body.startswith(b"Salted__"), name
