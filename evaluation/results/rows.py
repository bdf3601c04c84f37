"""Typed rows of tables from stored ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _names(kind: Any) -> frozenset[str]:
    return frozenset(one.name for one in fields(kind))


def typed(kind: type[T], stored: Mapping[str, Any], **more: Any) -> T:
    """Make a row of this dataclass from ``stored`` values of its fields, and ``more``."""
    known = _names(kind)  # type: ignore[arg-type]
    return kind(**{name: value for name, value in stored.items() if name in known} | more)
