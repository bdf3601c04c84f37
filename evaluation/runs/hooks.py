"""What packages above this one register for it (``evaluation/extensions.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from crowdqc.hooks import Hook


class Registry(Protocol):
    """Types of runs and adapters, which import half of the evaluation app (``registry.py``)."""

    RUN_TYPES: Mapping[str, Any]
    IMPORTED: Mapping[str, Any]
    ADAPTERS: Sequence[Any]
    AFTER: Sequence[Callable[[Any], None]]
    SHARED: Mapping[str, Any]

    def outside_run_types(self) -> Mapping[str, Any]:
        """Return the types of runs of plug-ins that are loaded."""


load_registry: Hook[[], Registry] = Hook("load_registry")
