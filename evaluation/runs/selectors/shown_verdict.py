"""What a run says first, where a whole page is too long: its verdict as a code, values, words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.utils.translation import get_language

from evaluation.models import Run, RunState
from evaluation.runs.run_types import shared_page_of

KEPT = 600  # seconds; a run does not change, but what was decided beside it may


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict: its code and values, the sentence, and what it rests on."""

    code: str
    text: str
    basis: str  # "600 labels of 120 items by 6 workers."
    values: dict[str, Any] = field(default_factory=dict)


def verdict_of(run: Run) -> ShownVerdict | None:
    """Return the verdict of a finished run as its public page says it; None if there is none."""
    page = shared_page_of(run.method)
    if run.state != RunState.DONE or page is None:
        return None
    key = f"verdict:{run.pk}:{bool(run.spoiled)}:{get_language()}"
    kept: list[ShownVerdict] | None = cache.get(key)
    if kept is None:
        told = page.context(run, 1)
        finding = told["screen"].verdict
        kept = []
        if finding is not None:
            values = {name: _plain(value) for name, value in finding.values.items()}
            kept = [ShownVerdict(finding.code, finding.text, str(told["basis"]), values)]
        cache.set(key, kept, KEPT)
    return kept[0] if kept else None


def _plain(value: Any) -> Any:
    """A value as JSON holds it."""
    return value if isinstance(value, int | float | str | bool | None) else str(value)
