"""A project that moves to another installation and back is the same project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.migrated import migrated
from tests.support.processes import ROOT
from tests.support.sites import MakeSite, Site, scratch_sites

pytestmark = [pytest.mark.slow, pytest.mark.db]
ACTS = "tests.evaluation.moving.site"


@pytest.fixture(scope="module")
def sites(django_db_setup: None, django_db_blocker: Any) -> Iterator[MakeSite]:
    with scratch_sites(django_db_blocker.unblock) as make:
        yield make


@pytest.fixture(scope="module")
def source(sites: MakeSite) -> Site:
    return replace(sites(like=migrated()), acts=ACTS)


@pytest.fixture(scope="module")
def target(sites: MakeSite) -> Site:
    made = replace(sites(like=migrated()), acts=ACTS)
    made.act("prepare")
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("moves")


@pytest.fixture(scope="module")
def left(source: Site, folder: Path) -> dict[str, Any]:
    """The project as it was before it left, and after."""
    why = ("--leave", "--why", "It moves to the new server.")
    found: dict[str, Any] = source.act("export", "0", str(folder / "there.zip"), *why)
    return found


@pytest.fixture(scope="module")
def arrived(left: dict[str, Any], target: Site, folder: Path) -> dict[str, Any]:
    """The project on the target, after an import that was killed half-way."""
    kill_import(target, folder / "there.zip", "annotation_answer")
    found: dict[str, Any] = target.act("take_in", str(folder / "there.zip"), "new-owner")
    return found


def kill_import(site: Site, archive: Path, table: str) -> None:
    """Begin an import and kill it where it waits for a table that somebody holds."""
    with psycopg.connect(site.url) as holder:
        holder.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        process = subprocess.Popen(
            [sys.executable, "manage.py", "crowdqc_project", "import", str(archive)],
            cwd=ROOT,
            env=os.environ
            | {
                "DATABASE_URL": site.url,
                "SECRET_KEY": site.secret,
                "DJANGO_SETTINGS_MODULE": "crowdqc.settings",
                "LOG_LEVEL": "ERROR",
            },
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        with psycopg.connect(site.url, autocommit=True) as watcher:
            waits = "SELECT count(*) FROM pg_locks WHERE relation = %s::regclass AND NOT granted"
            while watcher.execute(waits, [table]).fetchone() == (0,):
                assert process.poll() is None
        process.kill()
        process.wait()


def test_a_killed_import_goes_on_and_everything_is_there(
    left: dict[str, Any], arrived: dict[str, Any]
) -> None:
    before, after = left["before"], arrived["after"]
    # One entry says here that it left, one there that it came, and its owner there is new.
    assert {name for name in before["rows"] if before["rows"][name] != after["rows"][name]} == {
        "annotation.AuditEntry",
        "annotation.Membership",
    }
    assert before["books"] == after["books"] and before["books"]
    assert before["bundles"] == after["bundles"]
    assert any(len(one) == 3 and one[1] for one in before["bundles"])
    assert (arrived["owner"], arrived["archived"]) == ("new-owner", False)


def test_no_id_stays_what_it_was_in_json_or_texts(arrived: dict[str, Any]) -> None:
    assert arrived["shift"] > 0
    assert arrived["old ids"] == {}


def test_a_waiting_payment_is_sent_by_one_installation_only(
    left: dict[str, Any], arrived: dict[str, Any]
) -> None:
    assert ["bonus", "planned"] in left["before"]["payments"]
    assert {state for _, state in left["after"]["payments"]} <= {"unclear", "done"}
    assert "planned" not in {state for _, state in arrived["after"]["payments"]}
    assert ["bonus", "failed"] in arrived["after"]["payments"]


def test_an_archive_is_imported_once(arrived: dict[str, Any], target: Site, folder: Path) -> None:
    said = target.manage("crowdqc_project", "import", str(folder / "there.zip"), fails=True)
    assert f"imported as project {arrived['project']}" in said


@pytest.mark.long
def test_a_project_comes_back(
    left: dict[str, Any], arrived: dict[str, Any], source: Site, target: Site, folder: Path
) -> None:
    back = folder / "back.zip"
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute("UPDATE annotation_payment SET state = 'done' WHERE state = 'unclear'")
    why = ("--leave", "--why", "It moves back to the old server.")
    there = target.act("export", str(arrived["project"]), str(back), *why)
    again = source.act("take_in", str(back))
    # The ids that it had there are free here, so it keeps them.
    assert (again["project"], again["shift"]) == (arrived["project"], 0)
    assert again["after"]["books"] == left["before"]["books"]
    assert again["after"]["bundles"] == left["before"]["bundles"]
    assert there["project"] == arrived["project"]
