"""Extension points: functions that a higher package registers for a lower one.

A lower package declares a ``Hook`` and calls it; the higher one registers its function in
``AppConfig.ready()``. Functions that are registered import what they need when they are called, so
that a command which needs none of it loads none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """One function that is registered later."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._function: Callable[P, R] | None = None

    def register(self, function: Callable[P, R]) -> Callable[P, R]:
        """Set the function and return it, so that this is a decorator too.

        Raises RuntimeError where another one is registered.
        """
        if self._function not in (None, function):
            raise RuntimeError(f"{self.name} has a function already: {self._function!r}")
        self._function = function
        return function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function. Raises RuntimeError where none is registered."""
        if self._function is None:
            raise RuntimeError(f"nothing is registered for {self.name}")
        return self._function(*args, **kwargs)


# Adjust a database that was restored to this moment (ISO 8601); return what was changed.
after_restore: Hook[[str], list[str]] = Hook("after_restore")
# Whether the owner of the installation keeps everybody else from changing anything.
is_read_only: Hook[[], bool] = Hook("is_read_only")
