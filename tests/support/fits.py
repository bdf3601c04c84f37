"""What a run fits is fitted once in a process: another run of the same data takes it from there.

Pages are tested on runs whose fits take most of a test's time, and are the same from test to test.
Only runs of the engine are served; what calls a method itself, as the check of a bundle does, and
tests marked ``fits_anew`` fit each time.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from evaluation.checklists.making import diversity
from evaluation.methods.core.base import Hooks, Result
from evaluation.methods.core.params import Method
from evaluation.methods.registry import METHODS
from evaluation.runs import engine

Told = tuple[str, tuple[Any, ...]]
# Options of methods that are smaller in ``small_fits``.
FEW = {
    "draws": 200,
    "resamples": 100,
    "folds": 2,
    "shuffles": 1,
    "permutations": 99,
    "worst": 0,
    "gold_resamples": 0,
    "agreeing": 2,
    "repetitions": 2,
}
UNKEPT = (pickle.PicklingError, TypeError, AttributeError)  # of what cannot be written down


@dataclass
class Kept:
    """Fits by a digest of all that went in: what the hooks were told, and the result."""

    on: bool = True
    known: dict[str, tuple[list[Told], bytes]] = field(default_factory=dict)


kept = Kept()


@contextmanager
def keep_fits() -> Iterator[None]:
    """Let the registered methods take what runs fit from an earlier run of this process."""
    usual = {slug: method.fit for slug, method in METHODS.items()}
    for slug, method in METHODS.items():
        object.__setattr__(method, "fit", _once(slug, usual[slug]))
    yield
    for slug, method in METHODS.items():
        object.__setattr__(method, "fit", usual[slug])


def _once(slug: str, fit: Callable[..., Result]) -> Callable[..., Result]:
    def fitted(
        data: Any, *, rng: np.random.Generator, hooks: Hooks | None = None, **params: Any
    ) -> Result:
        hooks = hooks or Hooks()
        if not kept.on or not _in_a_run():
            return fit(data, rng=rng, hooks=hooks, **params)
        try:
            what = pickle.dumps((slug, data, rng.bit_generator.state, sorted(params.items())))
        except UNKEPT:
            return fit(data, rng=rng, hooks=hooks, **params)
        key = hashlib.sha256(what).hexdigest()
        if key in kept.known:
            told, stored = kept.known[key]
            for name, words in told:
                _tell(hooks, name, words)
            result: Result = pickle.loads(stored)  # noqa: S301  (written below)
            return result
        heard: list[Told] = []
        result = fit(data, rng=rng, hooks=_heard(hooks, heard), **params)
        try:
            kept.known[key] = (heard, pickle.dumps(result))
        except UNKEPT:
            return result
        return result

    return fitted


def _in_a_run() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is engine.execute.__code__:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _tell(hooks: Hooks, name: str, words: tuple[Any, ...]) -> None:
    if name == "step":
        hooks.step(*words)
    elif hooks.change is not None:
        hooks.change(*words)


def _heard(hooks: Hooks, told: list[Told]) -> Hooks:
    """The same hooks, which write down what they are told."""

    def progress(*words: Any) -> None:
        told.append(("step", words))
        if hooks.progress is not None:
            hooks.progress(*words)

    def change(value: float) -> None:
        told.append(("change", (value,)))
        if hooks.change is not None:
            hooks.change(value)

    return replace(hooks, progress=progress, change=change)


@contextmanager
def small_fits() -> Iterator[None]:
    """Let methods draw, resample and check a few times, and no text be read by a network.

    Estimates and pages are the same; intervals, which get wider, are tested with the methods.
    """
    usual = {slug: method.fit for slug, method in METHODS.items()}

    def smaller(method: Method) -> Callable[..., Result]:
        less = {name: number for name, number in FEW.items() if name in method.params}
        return lambda data, **given: usual[method.slug](data, **given | less)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diversity, "ENCODER", "char-svd")
        for method in METHODS.values():
            object.__setattr__(method, "fit", smaller(method))
        yield
        for slug, method in METHODS.items():
            object.__setattr__(method, "fit", usual[slug])
