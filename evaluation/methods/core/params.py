"""Options of methods, declared once: forms, the API, commands and the method read the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evaluation.methods.core.base import BadParameter, Intervals, Result, Table
from evaluation.methods.core.memory import Size, bytes_by_votes

WHOLE, NUMBER, FLAG, CHOICE, TEXT = "whole", "number", "flag", "choice", "text"


@dataclass(frozen=True)
class Param:
    """One option of a method.

    Parameters
    ----------
    name, default
        As ``fit`` takes it.
    kind
        ``whole`` or ``number`` within ``low`` and ``high`` (both included; ``above`` and ``below``
        are bounds that are not), ``flag``, one of ``choices``, ``text`` of up to ``high``
        characters, or "" for what ``rule`` alone decides.
    or_zero
        0 is taken too, though ``low`` is above it: it leaves something out.
    required
        Nothing stands for it: a run is refused without one.
    rule
        Raises BadParameter on a value that is no such thing.
    label, help
        What a form says of it; an option without a label is for programs only.
    words
        What a form calls each choice.
    """

    name: str
    default: Any
    kind: str = ""
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    or_zero: bool = False
    required: bool = False
    rule: Callable[[Any], None] | None = None
    label: str = ""
    help: str = ""
    words: tuple[str, ...] = ()

    def check(self, value: Any) -> None:
        """Raise BadParameter, which names the option, on a value that it does not take."""
        if value is None and self.default is None:
            return
        if self.rule is not None:
            self.rule(value)
        if self.kind and not self._fits(value):
            raise BadParameter(f"{self.name} is {value!r}; it must {self.wanted}")

    def _fits(self, value: Any) -> bool:
        if self.kind == FLAG:
            return isinstance(value, bool)
        if self.kind == CHOICE:
            return isinstance(value, str) and value in self.choices
        if self.kind == TEXT:
            return isinstance(value, str) and (self.high is None or len(value) <= self.high)
        kinds = (int,) if self.kind == WHOLE else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
            return False
        return (self.or_zero and value == 0) or (
            (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    @property
    def wanted(self) -> str:
        """Requirement on a value as a phrase after "it must", such as "be True or False"."""
        if not self.kind:
            return ""
        if self.kind == FLAG:
            return "be True or False"
        if self.kind == CHOICE:
            return f"be one of {', '.join(self.choices)}"
        if self.kind == TEXT:
            return "be a text" + (f" of at most {self.high:,.0f} characters" if self.high else "")
        low = self.low if self.above is None else self.above
        high = self.high if self.below is None else self.below
        what = "a whole number" if self.kind == WHOLE else "a number"
        if low is not None and high is not None:
            joined = ("from", "to") if self.kind == WHOLE else ("between", "and")
            bounds = f" {joined[0]} {low:,g} {joined[1]} {high:,g}"
        elif low is not None:
            bounds = f" above {low:,g}" if self.above is not None else f" from {low:,g} on"
        else:
            bounds = ""
        return f"be {'0, or ' if self.or_zero else ''}{what}{bounds}"


@dataclass(frozen=True)
class Params:
    """The options of ``method`` in the order in which a form shows them.

    ``together`` raises BadParameter on settings that contradict each other; ``version`` is that of
    the method.
    """

    method: str
    options: tuple[Param, ...]
    together: Callable[[Mapping[str, Any]], None] | None = None
    version: str = ""

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Default of each option, by name."""
        return {one.name: one.default for one in self.options}

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Complete the given options with defaults, and check them.

        Raises BadParameter, naming it, on an unknown option or a value that is not taken.
        """
        unknown = sorted(set(given) - set(self.defaults))
        if unknown:
            raise BadParameter(f"{unknown[0]} is no parameter of {self.method}")
        for one in self.options:
            if one.name in given:
                one.check(given[one.name])
        settings = {**self.defaults, **given}
        if self.together is not None:
            self.together(settings)
        return settings

    def result(
        self,
        settings: Mapping[str, Any],
        estimates: Mapping[str, Table],
        diagnostics: Mapping[str, Any],
        *,
        intervals: Mapping[str, Intervals] | None = None,
        converged: bool = True,
    ) -> Result:
        """Make a fit's result, with method, version and settings as its recipe."""
        recipe = {"method": self.method, "version": self.version, "params": settings}
        return Result(
            self.method, self.version, estimates, intervals or {}, diagnostics, converged, recipe
        )

    def as_method(self, title: str, data: type, fit: Callable[..., Result], **more: Any) -> Method:
        """The method with these options as the registry takes it; ``more`` as of Method."""
        return Method(self.method, self.version, title, data, fit, self, **more)


def whole_number(
    name: str, default: int | None, low: int, high: int | None = None, **more: Any
) -> Param:
    """A whole number from ``low`` to ``high``."""
    return Param(name, default, WHOLE, low, high, **more)


def real_number(
    name: str,
    default: float | None,
    low: float | None = None,
    high: float | None = None,
    **more: Any,
) -> Param:
    """A number from ``low`` to ``high``."""
    return Param(name, default, NUMBER, low, high, **more)


def flag(name: str, default: bool, **more: Any) -> Param:
    """Make an option that is True or False."""
    return Param(name, default, FLAG, **more)


def choice(name: str, default: str, choices: tuple[str, ...], **more: Any) -> Param:
    """Make an option with a fixed list of choices."""
    return Param(name, default, CHOICE, choices=choices, **more)


# Where a method is used that is not started by itself.
COMPARED = "one of the methods that “Compare methods” and the study of a task’s grades run"
PART_OF_STUDY = "part of a pairwise study"
PART_OF_LABELS = "part of runs on labels and of pairwise studies"
BESIDE_OTHERS = "runs on labels tasks, beside Dawid-Skene and MACE"
DRAWN = "For the intervals: how often what was collected is drawn anew."


def resamples(default: int, **more: Any) -> Param:
    """Make the option for the number of resamples: 100 or more, or 0 for no intervals."""
    usual = {"or_zero": True, "help": "For the intervals. 0 leaves them out; else 100 or more."}
    return whole_number("resamples", default, 100, 20_000, **{**usual, **more})


LEVEL = real_number("level", 0.95, 0.5, 0.9999)  # of intervals
ANY_LEVEL = real_number("level", 0.95, above=0, below=1)  # where nothing rests on its half


@dataclass(frozen=True)
class Method:
    """A registered method: its slug, version, title, the class of its data, and how to fit it.

    ``options`` say what it takes. ``memory`` estimates the bytes that a fit takes at its peak, from
    the size of its data and its settings. ``internal`` says where a method is used that nobody
    starts by itself ("" for one that can be started from a page, the API and the command line).
    """

    slug: str
    version: str
    title: str
    data: type
    fit: Callable[..., Result]
    options: Params
    internal: str = ""
    memory: Callable[[Size, Mapping[str, Any]], float] = bytes_by_votes

    @property
    def params(self) -> dict[str, Any]:
        """Default of each option, by name."""
        return self.options.defaults

    def check(self, **params: Any) -> None:
        """Raise BadParameter on a bad value, so that it is refused before a run starts."""
        self.options.settings(params)
