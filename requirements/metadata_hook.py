"""What an installed crowdqc needs: requirements/base.in, and the torch that the Makefile names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class BaseRequirements(MetadataHookInterface):
    """Called by the build; each list stays written in one place."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies."""
        root = Path(self.root)
        lines = (root / "requirements" / "base.in").read_text().splitlines()
        named = re.search(r"^TORCH := (\S+)$", (root / "Makefile").read_text(), re.MULTILINE)
        if named is None:
            raise ValueError("The Makefile names no version of torch.")
        wanted = [line.partition("#")[0].strip() for line in lines]
        metadata["dependencies"] = [*filter(None, wanted), f"torch=={named[1]}"]
