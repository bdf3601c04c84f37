"""How the stack starts: nothing is served before its tables are there, and views load late."""

from __future__ import annotations

import builtins
import gc
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern

from crowdqc.devstack import program
from crowdqc.devstack.supervisor import FAILED_LOAD, FAILED_MIGRATION
from crowdqc.web import addresses

URLS = """
from crowdqc.web.addresses import lazy_views, path
with lazy_views():
    from late_site import views
urlpatterns = [path("page/", views.page, name="page"), path("gone/", views.gone, name="gone")]
"""


@pytest.mark.parametrize(("ended", "status"), [(FAILED_MIGRATION, FAILED_MIGRATION), (1, 1)])
def test_no_page_is_served_before_its_tables_are_migrated(
    monkeypatch: pytest.MonkeyPatch, ended: int, status: int
) -> None:
    monkeypatch.setattr(program.workers, "set_environment", lambda: None)
    monkeypatch.setattr(program, "load_addresses", lambda: None)
    monkeypatch.setattr(program, "_migrate", lambda output: ended)
    monkeypatch.setattr(program, "Family", None)  # what would serve
    try:
        assert program.main(["0", "migrate=1"]) == status
    finally:
        gc.enable()


def test_an_address_has_a_name_before_its_view_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "late_site"
    site.mkdir()
    (site / "urls.py").write_text(URLS)
    (site / "views.py").write_text("def page(request): return request")
    monkeypatch.syspath_prepend(tmp_path)
    ordinary = builtins.__import__

    resolver = URLResolver(RegexPattern(r"^/"), "late_site.urls")
    assert resolver.reverse("page") == "page/"
    assert builtins.__import__ is ordinary
    assert "late_site.views" not in sys.modules

    assert resolver.resolve("/page/").func is sys.modules["late_site.views"].page
    with pytest.raises(AttributeError):  # a view that is not there is missed before a server serves
        resolver.check()


def test_an_address_that_two_threads_ask_for_first_answers_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = addresses.path("a/", addresses.LazyView("crowdqc.web.health", "healthz"), name="a")
    matched, loaded = threading.Event(), threading.Event()
    found = []

    def match(path: str, match: Any = address.pattern.match) -> Any:
        if threading.current_thread() is slow:
            matched.set()
            loaded.wait(10)
        return match(path)

    monkeypatch.setattr(address.pattern, "match", match)
    slow = threading.Thread(target=lambda: found.append(address.resolve("a/")))
    slow.start()
    matched.wait(10)
    first = address.resolve("a/")
    loaded.set()
    slow.join(10)
    assert first is not None and [one.func for one in found] == [first.func]


def test_a_view_that_cannot_be_loaded_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(program.workers, "set_environment", lambda: None)
    monkeypatch.setattr(program.workers, "worker_members", lambda *_, **__: [])
    monkeypatch.setattr(program, "load_addresses", lambda: None)
    monkeypatch.setattr(program, "_migrate", lambda output: 0)
    monkeypatch.setattr(program, "load_app", lambda: __import__("crowdqc.no_such_module"))
    monkeypatch.setattr(program.Family, "start", lambda family, member: setattr(member, "pid", 7))
    monkeypatch.setattr(program.os, "kill", lambda pid, signal: ended.append(pid))
    try:
        assert program.main(["0", "migrate=1"]) == FAILED_LOAD
    finally:
        gc.enable()
    assert ended == [7]
