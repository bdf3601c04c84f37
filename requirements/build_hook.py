"""What goes into the wheel besides the packages: the documentation, where it has been built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Documentation(BuildHookInterface):
    """Called by the build; ``make docs`` comes first."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Include build/docs."""
        docs = Path(self.root) / "build" / "docs"
        if (docs / "index.html").is_file():
            build_data["force_include"][str(docs)] = "crowdqc/assets/docs"
