"""Ways of asking models that runs may be made of; the counterpart of a method for calls.

A run of such a kind computes no statistics of its own: it asks, and what comes back becomes
answers, stages or scores. Its options are checked like those of a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from annotation.models import Task
    from evaluation.llm.ask import Ask
    from evaluation.models import LanguageModel


@dataclass(frozen=True)
class Plan:
    """What a run would ask, put together before it starts: shown as a preview with its cost."""

    model: LanguageModel
    asks: Sequence[Ask]
    sentence: str  # what is asked of what, for the page


@dataclass(frozen=True)
class Asking:
    """A kind of asking: slug, version, title, options with their defaults, and their check.

    ``plan(task, params)`` says what a run with these options would ask, and raises a DomainError
    that says what is missing. ``check`` raises BadParameter on a bad value of an option, as a
    method's does. ``params`` of every kind hold ``model``, the id of a LanguageModel.
    """

    slug: str
    version: str
    title: str
    plan: Callable[[Task, Mapping[str, Any]], Plan]
    params: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[..., None] = lambda **params: None
