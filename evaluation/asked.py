"""Ways of asking models that runs may be made of; the counterpart of a method for calls.

A run of such a kind computes no statistics of its own: it asks, and what comes back becomes
answers, stages or scores. Its options are checked like those of a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asking:
    """A kind of asking: slug, version, title, options with their defaults, and their check.

    ``check`` raises BadParameter on a bad value of an option, as a method's does.
    """

    slug: str
    version: str
    title: str
    params: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[..., None] = lambda **params: None
