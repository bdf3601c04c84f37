"""What a run says first, where a whole page is too long: its verdict and warnings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.utils.translation import get_language

from evaluation.models import Run, RunState
from evaluation.results.findings import Finding
from evaluation.runs.run_types import shared_page_of

KEPT = 600  # seconds; a run does not change, but what was decided beside it may


@dataclass(frozen=True)
class ShownFinding:
    """A finding; ``severity`` is "verdict", "warning" or "note"."""

    code: str
    severity: str
    text: str
    detail: str = ""
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """What a run says first; ``basis`` is what it rests on: "600 labels of 120 items"."""

    basis: str
    findings: tuple[ShownFinding, ...] = ()

    @property
    def verdict(self) -> ShownFinding | None:
        """Its verdict, if it has one."""
        return next((one for one in self.findings if one.severity == "verdict"), None)


def shown_findings(run: Run) -> Shown | None:
    """The findings of a finished run as its public page shows them; None where it has no page."""
    page = shared_page_of(run.method)
    if run.state != RunState.DONE or page is None:
        return None
    key = f"findings:{run.pk}:{bool(run.spoiled)}:{get_language()}"
    shown: Shown | None = cache.get(key)
    if shown is None:
        context = page.context(run, 1)
        shown = Shown(
            str(context["basis"]), tuple(_shown(one) for one in context["screen"].findings)
        )
        cache.set(key, shown, KEPT)
    return shown


def _shown(finding: Finding) -> ShownFinding:
    values = {name: _plain(value) for name, value in finding.values.items()}
    severity = finding.severity.name.lower()
    return ShownFinding(finding.code, severity, finding.text, finding.detail, values)


def _plain(value: Any) -> Any:
    """A value as JSON holds it."""
    return value if isinstance(value, int | float | str | bool | None) else str(value)
