"""Ways of asking models that runs may be made of; the counterpart of a method for calls.

A run of such a kind computes no statistics of its own: it asks, and what comes back becomes
answers, stages or scores. Its options are checked like those of a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluation.methods.core.params import Params

if TYPE_CHECKING:
    from annotation.models import Task
    from evaluation.llm.ask import ModelQuestion
    from evaluation.models import LanguageModel, Run


@dataclass(frozen=True)
class Plan:
    """What a run would ask, put together before it starts: shown as a preview with its cost."""

    model: LanguageModel
    asks: Sequence[ModelQuestion]
    sentence: str  # what is asked of what, for the page


@dataclass(frozen=True)
class LLMRunSpec:
    """A kind of asking: slug, version, title, what a run would ask, and its options.

    Parameters
    ----------
    plan
        What a run with these options would ask of a task. Raises a DomainError that says what is
        missing.
    options
        Those of every kind hold ``model``, the id of a LanguageModel.
    on_task
        What a form says of options on a task in place of what they say themselves: fields of Param
        by option (``choices``: pairs of a value and its words), or None for one that is not
        offered there.
    noun, next_step
        What its answers are called where they are counted, and from a finished run and how many
        were new: what follows, where that is done, and what the link there is called.
    whole
        As ``plan``, with what was asked already; None where ``plan`` leaves nothing out.
    lacking
        What must be there before anything can be chosen: sentence, why, url, label; or {}.
    fits
        Whether a task of a shape that it is for is asked so at all.
    answers_items
        Whether its answers to a task are of the kind that people give, so that models can be
        compared with them.
    use
        The use of the models that can be asked (``LanguageModel.Use``).
    """

    slug: str
    version: str
    title: str
    plan: Callable[[Task, Mapping[str, Any]], Plan]
    options: Params
    on_task: Callable[[Task], Mapping[str, Mapping[str, Any] | None]] = lambda task: {}
    noun: str = ""
    next_step: Callable[[Run, int], tuple[str, str, str]] = lambda run, new: ("", "", "")
    lacking: Callable[[Task], Mapping[str, str]] = lambda task: {}
    whole: Callable[[Task, Mapping[str, Any]], Plan] | None = None
    fits: Callable[[Task], bool] = lambda task: True
    answers_items: Callable[[Task], bool] = lambda task: False
    use: str = "chat"

    def check(self, **params: Any) -> None:
        """Raise BadParameter on a bad value, so that it is refused before a run starts."""
        self.options.settings(params)
