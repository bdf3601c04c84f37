"""What every test stands on: a database, no network, and a Chromium where one can be had."""

from __future__ import annotations

import gc
import importlib
import ipaddress
import os
import re
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import kombu.pools
import psycopg
import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandlerMixin
from django.db import connection, transaction
from django.http import HttpRequest
from django.test import TransactionTestCase
from hypothesis.internal.conjecture import providers

from crowdqc.celery import app
from crowdqc.devstack import Cluster
from tests.support.migrated import drop, migrated
from tests.support.processes import Worker, queue_worker
from tests.support.servers.small_model import small_model  # noqa: F401  (a fixture of all tests)

CHROMIUM_NAMES = (
    "chromium-headless-shell",  # the same without windows: a fifth less time
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
CHROMIUM_ARGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("suite", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("suite")
# It would mix every text and number of our own modules into its examples: reading and sifting them
# took a third of the time in which the API's requests are made, and any change of a text anywhere
# changed the examples of all tests.
assert callable(providers._get_local_constants)
providers._get_local_constants = partial(getattr, providers, "_local_constants")
NO_CHROMIUM = "no Chromium on this machine (install one, or name it in CROWDQC_CHROMIUM)"
_cluster = pytest.StashKey[Cluster]()
_with_rows = pytest.StashKey[set[Path]]()  # files of which tests use the database


# -- one database cluster a run ----------------------------------------------------------------


def _clear_remains() -> None:
    """Remove folders of runs that were killed (their servers ended with them)."""
    for folder in Path(tempfile.gettempdir()).glob("crowdqc-test-*-*"):
        match = re.fullmatch(r"crowdqc-test-(\d+)-\w+", folder.name)
        if match is None:
            continue
        try:
            if folder.stat().st_uid != os.geteuid():
                continue
        except FileNotFoundError:  # another run was quicker
            continue
        try:
            os.kill(int(match[1]), 0)
        except ProcessLookupError:
            shutil.rmtree(folder, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--long``: also what ``make studies`` runs."""
    parser.addoption("--long", action="store_true", help="also run tests that are marked long")


# In a first run all that is loaded is compiled, which takes longer than to load it: processes that
# begin beside one another load something else first, so that each compiles a part for all.
LOADED_FIRST = {
    "gw1": ("scipy.stats", "sklearn.linear_model", "nltk.metrics.agreement"),
    "gw2": ("pyarrow.parquet", "schemathesis", "boto3", "pypdf"),
}


def _begin_elsewhere(config: pytest.Config, process: str) -> None:
    """Load other modules first than the other processes do, and collect from another folder on."""
    for name in LOADED_FIRST.get(process, ()):
        importlib.import_module(name)
    if config.args != config.getini("testpaths"):
        return
    tests = Path(config.args[0])
    inside = sorted(str(path) for path in (*tests.glob("[!_.]*/"), *tests.glob("test_*.py")))
    from_here = {
        "gw1": inside[::-1],
        "gw2": inside[len(inside) // 2 :] + inside[: len(inside) // 2],
    }
    config.args = from_here.get(process, config.args)


def pytest_configure(config: pytest.Config) -> None:
    """Start the embedded cluster in the controlling process, before xdist's workers."""
    if hasattr(config, "workerinput"):
        _begin_elsewhere(config, config.workerinput["workerid"])
    embedded = os.environ.get("CROWDQC_TEST_EMBEDDED")
    if hasattr(config, "workerinput") or config.option.collectonly or not embedded:
        return
    _clear_remains()
    cluster = Cluster(Path(os.environ["CROWDQC_TEST_HOME"]), durable=False)
    config.stash[_cluster] = cluster.start(tied=True)
    with psycopg.connect(cluster.url, autocommit=True) as admin:
        # It would count a table as empty right after a test was rolled back, and the plans of the
        # next test would follow it: some took 13 minutes, others not, from run to run.
        admin.execute("ALTER SYSTEM SET autovacuum = off")
        admin.execute("SELECT pg_reload_conf()")


# About how many seconds a test of a kind takes; what a file holds decides when it is begun.
SECONDS = {"slow": 10.0, "browser": 4.0, "data": 3.0, "queue": 3.0}


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Longest files first, so that none is left to one process at the end while the other idles.

    In a file, tests that commit come last.
    """
    items.sort(key=lambda item: item.path)  # the same for all, wherever they began
    yield
    if not config.getoption("long"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker("long")]
    length = Counter[Path]()
    for item in items:
        length[item.path] += max(
            (SECONDS.get(marker.name, 0.2) for marker in item.iter_markers()), default=0.2
        )
    items.sort(key=lambda item: (-length[item.path], item.path, _commits(item)))
    config.stash[_with_rows] = {item.path for item in items if _has_rows(item)}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are loaded, and never through what is loaded by then.

    It took 4 % of the suite's time, and a fifth of the time of loading.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _has_rows(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return bool(item.get_closest_marker("django_db")) or "django_db_setup" in names


def _commits(item: pytest.Item) -> bool:
    """Whether it leaves the tables empty, so that what its file shares is gone after it."""
    marker = item.get_closest_marker("django_db")
    return marker is not None and bool(marker.kwargs.get("transaction"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop it again and remove what it wrote."""
    if hasattr(config, "workerinput"):
        return
    cluster = config.stash.get(_cluster, None)
    if cluster is not None:
        cluster.stop()
    elif not config.option.collectonly:
        drop(os.environ["DATABASE_URL"])
    shutil.rmtree(os.environ["CROWDQC_TEST_HOME"], ignore_errors=True)


LARGE = 4_000_000  # bytes of a table, from which on deleted rows would slow down what follows
WITHOUT_MODELS = (
    "crowdqc_limit",
    "crowdqc_cache",
    "crowdqc_backup",
    "crowdqc_recovery",
    "crowdqc_file_piece",
)
# Filled by migrations, and the same in every test: to fill them again took most of the emptying.
LASTING = ("django_content_type", "auth_permission")


def _tables() -> list[str]:
    """What tests fill, also where no model stands for it."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted({*names, *WITHOUT_MODELS}.difference(LASTING))


def _empty(tables: Sequence[str], *, by_delete: bool) -> None:
    """Empty all tables after a test that commits.

    ``by_delete``: those that hold something; a new file for each of all takes far longer. Keys
    between tables and the guards of those that are only added to are not looked at meanwhile.
    """
    looks = [
        f"SELECT '{name}', pg_relation_size('{name}') WHERE EXISTS (SELECT FROM \"{name}\")"  # noqa: S608
        for name in tables
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(looks))
        filled = cursor.fetchall()
        if not filled:
            return
        if by_delete and all(size <= LARGE for _, size in filled):
            deletes = [f'DELETE FROM "{name}"' for name, _ in filled]  # noqa: S608
            cursor.execute("; ".join(["SET LOCAL session_replication_role = replica", *deletes]))
        else:
            cursor.execute("TRUNCATE " + ", ".join(f'"{name}"' for name in tables))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, django_db_blocker: Any
) -> None:
    """The tests' database begins as a copy of one that is migrated once for all processes."""
    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = migrated()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """pytest-django's databases, freed at the end of the sessions that keep them from dropping.

    Tests that commit empty all tables, for which the role needs what migrations took from it.
    """
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO CURRENT_USER")
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = CURRENT_USER")
        by_delete = cursor.fetchone() == (True,)
        tables = _tables()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            TransactionTestCase,
            "_fixture_teardown",
            lambda case: _empty(tables, by_delete=by_delete),
        )
        yield
    kombu.pools.reset()
    app.pool.force_close_all()
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


NUMBERS = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, 100000)
FROM pg_sequences WHERE schemaname = 'public'
"""


@pytest.fixture(scope="module", autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """Rows of a file's tests have the same numbers whatever ran before: lots are drawn by them."""
    if request.path not in request.config.stash[_with_rows]:
        return
    request.getfixturevalue("django_db_setup")
    with request.getfixturevalue("django_db_blocker").unblock(), connection.cursor() as cursor:
        cursor.execute(NUMBERS)


@pytest.fixture(scope="module")
def shared_rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A transaction around a module's tests.

    Rows that a fixture of the module makes in it are there for each test, whose own changes are
    undone before the next. No test of the module may commit (``transaction=True``).
    """
    with django_db_blocker.unblock():
        outer = transaction.atomic()
        outer.__enter__()
        try:
            yield
        finally:
            transaction.set_rollback(True)
            outer.__exit__(None, None, None)


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder for a cluster of a test's own.

    pytest's folders are closed to root's database account, so a cluster below them would land
    outside, where nobody removes it.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"crowdqc-test-{os.getpid()}-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


# -- no network --------------------------------------------------------------------------------


class NetworkUsed(AssertionError):
    """A test tried to leave this machine."""


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a unix socket's path
    host = str(address[0])
    if host in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Sockets of Python reach only this machine."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def checked(method: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if not _is_local(address):
                raise NetworkUsed(f"tests reach only this machine, not {address!r}")
            return method(self, address)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", checked(connect))
        patch.setattr(socket.socket, "connect_ex", checked(connect_ex))
        yield


# -- the state of the installation ---------------------------------------------------------------


@pytest.fixture(autouse=True)
def _nothing_is_switched() -> None:
    """The state of the installation is known when a test begins, and read anew once it changes.

    Else one request in five seconds would have a query more than the others.
    """
    # Benchmarks import this module before Django is set up.
    from annotation.records.installation_state import State, keep_state

    keep_state(State(), 1e9)


# -- queue -------------------------------------------------------------------------------------


@pytest.fixture
def worker(transactional_db: None, tmp_path: Path) -> Iterator[Worker]:
    """A real Celery worker on this test's database and broker."""
    with queue_worker(tmp_path / "worker.log") as running:
        yield running


# -- browser -----------------------------------------------------------------------------------


def find_chromium() -> str | None:
    """A Chromium of the system: CROWDQC_CHROMIUM, else one found on the PATH."""
    named = os.environ.get("CROWDQC_CHROMIUM")
    if named:
        return named
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def chromium_launch(playwright: Any) -> dict[str, Any] | None:
    """How to start the Chromium that is there, the system's or Playwright's; None without one."""
    path = find_chromium()
    if path is None and not Path(playwright.chromium.executable_path).exists():
        return None
    # As root it refuses to start inside its sandbox.
    arguments = [*CHROMIUM_ARGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    return {"args": arguments, **({"executable_path": path} if path else {})}


@pytest.fixture(scope="session")
def _kept_files() -> Iterator[None]:
    """A browser keeps style sheets and scripts between pages, as it does those of production."""
    usual = StaticFilesHandlerMixin.serve

    def serve(handler: Any, request: HttpRequest) -> Any:
        answer = usual(handler, request)
        answer["Cache-Control"] = "max-age=3600"
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFilesHandlerMixin, "serve", serve)
        yield


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any], playwright: Any, _kept_files: None
) -> Any:
    """pytest-playwright's launch arguments, for the Chromium that is there."""
    launch = chromium_launch(playwright)
    if launch is None:
        if os.environ.get("CI"):
            pytest.fail(NO_CHROMIUM)  # there these tests never skip
        pytest.skip(NO_CHROMIUM)
    # Playwright's event loop makes Django take the test's own thread for an async one.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    return {**browser_type_launch_args, **launch, "headless": True}
