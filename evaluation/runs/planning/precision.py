"""How exact the results of a drafted task will be: the engine's planning studies, in words.

Small simulations that take a second or so; the command ``crowdqc_plan`` runs larger ones. The
package of each shape of answers holds its simulation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.core.cache import caches
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from annotation.models import Task
from crowdqc import numbers
from crowdqc.web.terms import Words
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Param
from evaluation.methods.simulation.planning.planner import VERSION, plan, reach, study
from evaluation.models import Run

SEED = 20417
WEEK = 7 * 24 * 3600


@dataclass(frozen=True)
class Precision:
    """Half the expected width of an interval and its Monte Carlo error, or why there is none."""

    what: str = ""  # whose interval: a score, a net preference
    half: float | None = None
    error: float = 0.0
    sentences: tuple[str, ...] = ()
    why_not: str = ""
    recipe: str = ""
    plain: str = ""  # what it comes to, without a number of the simulation

    @property
    def digits(self) -> int:
        """Return the decimals to show: 3 where the interval is under .02 to a side, else 2."""
        return 2 if self.half is None or self.half >= 0.02 else 3

    @property
    def line(self) -> str:
        """Short text of the precision, for the line of costs."""
        if self.half is None:
            return gettext("precision: %(reason)s") % {"reason": self.why_not}
        return gettext("%(what)s is known to ± %(half)s") % {
            "what": self.what,
            "half": numbers.score(self.half, self.digits),
        }


@dataclass(frozen=True)
class PlanPage:
    """What the Plan page of a task says: what a study reaches, by votes per item.

    ``columns`` begin with the votes; a cell is its text and its class ("": plain).
    """

    verdict: str
    note: str
    heading: str
    crowd: str
    chart: SafeString
    legend: Sequence[tuple[str, str]]  # a key of charts, and its words
    columns: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    recipe: str


@dataclass(frozen=True)
class PlanStart:
    """What a plan starts from, in sentences; other values to start from, as links."""

    sentence: str
    choices: Sequence[tuple[str, str]]  # words, query


class Planner:
    """What the Plan page needs from the package that judges a task's answers."""

    lead: Words = ""
    limits: Words = ""
    units: Mapping[str, str] = {}  # of an option

    def can_plan(self, task: Task) -> bool:
        """Whether such a task can be simulated."""
        return True

    def options(self, task: Task, run: Run | None) -> tuple[Param, ...]:
        """Return the options of the plan; ``run`` is the one shown, if any."""
        raise NotImplementedError

    def start(self, task: Task, run: Run | None, usual: Mapping[str, Any]) -> PlanStart | None:
        """Return what the plan starts from, measured by a run; None if nothing was."""
        return None

    def page(self, task: Task, run: Run | None, values: Mapping[str, Any]) -> PlanPage:
        """The plan for these options. Raises BadParameter, in words that follow "cannot"."""
        raise NotImplementedError


def plan_reach(
    model: str, replicates: int, designs: Sequence[Mapping[str, Any]], *, inside: float = 0.95
) -> list[dict[str, tuple[float, float, float]]]:
    """Simulate designs; return for each quantity -> (estimate, low, high). Cached for a week.

    Raises BadParameter.
    """
    asked = ";".join(",".join(f"{k}={v}" for k, v in sorted(one.items())) for one in designs)

    def found() -> list[dict[str, tuple[float, float, float]]]:
        tables = [
            reach(
                study(model, **one),
                rng=np.random.default_rng(SEED),
                replicates=replicates,
                inside=inside,
            )
            for one in designs
        ]
        return [
            {row["quantity"]: (row["estimate"], row["low"], row["high"]) for row in table.rows()}
            for table in tables
        ]

    key = hashlib.sha256(asked.encode()).hexdigest()
    told: list[dict[str, tuple[float, float, float]]] = keep_for_a_week(
        f"reach:{VERSION}:{model}:{replicates}:{inside}:{key}", found
    )
    return told


def plan_precision(model: str, replicates: int, **values: Any) -> dict[str, Any]:
    """The answers of a planning study: quantity -> (estimate, Monte Carlo error); kept a week."""
    key = f"plan:{VERSION}:{model}:{replicates}:" + ":".join(
        f"{name}={value}" for name, value in sorted(values.items())
    )

    def answers() -> dict[str, Any]:
        rng = np.random.default_rng(SEED)
        result = plan(study(model, **values), rng=rng, replicates=replicates)
        table = result.estimates["answer"]
        return {
            name: (float(estimate), float(error))
            for name, estimate, error in zip(
                table["quantity"].tolist(), table["estimate"], table["mc_error"], strict=True
            )
        }

    told: dict[str, Any] = keep_for_a_week(key, answers)
    return told


class NotSimulated(Exception):
    """Nothing is kept of a simulation that ``only_kept`` asked for."""


@dataclass(frozen=True)
class Refused:
    """Why a simulation cannot be made; kept in its place, so that nobody waits for it."""

    why: str


_only_kept: ContextVar[bool] = ContextVar("only_kept", default=False)


@contextmanager
def cached_simulations_only() -> Iterator[None]:
    """Simulations inside are looked up and not made: a request does not wait for seconds."""
    before = _only_kept.set(True)
    try:
        yield
    finally:
        _only_kept.reset(before)


def keep_for_a_week(key: str, make: Callable[[], Any]) -> Any:
    """Return the cached simulation of a key, or make it. Raises BadParameter; NotSimulated."""
    found = caches["shared"].get(key)
    if found is None:
        if _only_kept.get():
            raise NotSimulated(key)
        try:
            found = make()
        except BadParameter as problem:
            found = Refused(str(problem))
        caches["shared"].set(key, found, WEEK)
    if isinstance(found, Refused):
        raise BadParameter(found.why)
    return found


def recipe_words(model: str, replicates: int, **values: Any) -> str:
    """Describe the simulation: version, model, parameters and seed."""
    said = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return f"planning {VERSION}, {model}: {said}; {replicates} replicates, seed {SEED}"
