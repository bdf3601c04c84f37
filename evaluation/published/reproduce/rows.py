"""One line of a comparison with a published table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A published figure beside the measured one; ``protocol`` names the variant measured."""

    table: str
    quantity: str
    protocol: str
    published: float | None
    measured: float
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Measured minus published; None where nothing was published."""
        return None if self.published is None else self.measured - self.published

    def as_json(self) -> dict[str, Any]:
        """The row under the names that outside checks read."""
        fields = asdict(self)
        note = fields.pop("note")
        return {**fields, "difference": self.difference, "note": note}
