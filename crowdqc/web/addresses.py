"""Addresses whose views are loaded when the first is asked for, so that a server starts sooner.

::

    with lazy_views():
        from annotation.records import views
    project_patterns = [path("audit/", views.audit, name="audit")]

Names of addresses work before any view is loaded. ``get_resolver().check()`` loads them all.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage
from django.urls import ResolverMatch, URLPattern

if TYPE_CHECKING:
    from django.urls import path

__all__ = ["lazy_views", "path"]


class LazyView:
    """A view by its name; whoever looks at it sees the view."""

    def __init__(self, module: str, name: str, options: dict[str, Any] | None = None) -> None:
        self._module, self._name, self._options = module, name, options

    def as_view(self, **options: Any) -> LazyView:
        """Name the view that a class makes."""
        return LazyView(self._module, self._name, options)

    def load(self) -> Any:
        """Import the view; AttributeError or ImportError if there is none."""
        view = getattr(import_module(self._module), self._name)
        return view if self._options is None else view.as_view(**self._options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.load()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.load(), name)

    def __str__(self) -> str:
        return f"{self._module}.{self._name}"


class LazyModule:
    """A module whose names are views."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> LazyView:
        return LazyView(self._name, name)


class lazy_views:
    """Import only the names of the modules that ``from package import module`` names within.

    ``import`` statements of other modules and threads work as ever meanwhile.
    """

    _lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()
        importer, self._import = sys._getframe(1).f_globals, builtins.__import__

        def import_lazily(
            name: str,
            globals: Mapping[str, Any] | None = None,
            locals: Mapping[str, Any] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            if globals is importer and fromlist:
                return SimpleNamespace(**{one: LazyModule(f"{name}.{one}") for one in fromlist})
            return self._import(name, globals, locals, fromlist or (), level)

        builtins.__import__ = import_lazily

    def __exit__(self, *exception: object) -> None:
        builtins.__import__ = self._import
        self._lock.release()


class LazyPattern(URLPattern):
    """An address that loads its view, and becomes ordinary, when it is resolved or checked."""

    @property
    def lookup_str(self) -> str:
        """The view's full name."""
        return str(self.callback)

    def _load(self) -> None:
        view = self.callback
        if isinstance(view, LazyView):  # another thread may have been first
            self.callback = view.load()
        self.__class__ = URLPattern  # type: ignore[assignment]

    def resolve(self, path: str) -> ResolverMatch | None:
        """Load the view if this is its address."""
        if self.pattern.match(path) is None:
            return None
        LazyPattern._load(self)  # by class: another thread may have made this ordinary by now
        return URLPattern.resolve(self, path)

    def check(self) -> list[CheckMessage]:
        """Load the view, and check as Django does."""
        LazyPattern._load(self)
        return URLPattern.check(self)


if not TYPE_CHECKING:
    from django.urls import path as ordinary_path

    def path(route, view, kwargs=None, name=None):
        """Return an address; ``django.urls.path`` for a view that may not be loaded yet."""
        pattern = ordinary_path(route, view, kwargs, name)
        if isinstance(view, LazyView):
            pattern.__class__ = LazyPattern
        return pattern
