"""Published tables measured again; a new one is one new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evaluation.published.reproduce import alttest, labels, rescaling, summeval
from evaluation.published.reproduce.aqer import crowd as aqer_cs
from evaluation.published.reproduce.aqer import simulations as aqer_simulations
from evaluation.published.reproduce.crowdrag import signals as crowdrag_signals
from evaluation.published.reproduce.crowdrag import tables as crowdrag
from evaluation.published.reproduce.crowdrag.writing import tables as crowdrag_writing
from evaluation.published.reproduce.rows import Row


@dataclass(frozen=True)
class Reproduction:
    """A command name's title, how to run it, and what it leaves out."""

    title: str
    run: Callable[..., list[Row]]
    left_out: str


REPRODUCTIONS = {
    "alttest": Reproduction(alttest.TITLE, alttest.reproduce, alttest.LEFT_OUT),
    "aqer-cs": Reproduction(aqer_cs.TITLE, aqer_cs.reproduce, aqer_cs.LEFT_OUT),
    "aqer-simulations": Reproduction(
        aqer_simulations.TITLE, aqer_simulations.reproduce, aqer_simulations.LEFT_OUT
    ),
    "crowdrag": Reproduction(crowdrag.TITLE, crowdrag.reproduce, crowdrag.LEFT_OUT),
    "crowdrag-signals": Reproduction(
        crowdrag_signals.TITLE, crowdrag_signals.reproduce, crowdrag_signals.LEFT_OUT
    ),
    "crowdrag-writing": Reproduction(
        crowdrag_writing.TITLE, crowdrag_writing.reproduce, crowdrag_writing.LEFT_OUT
    ),
    "labels": Reproduction(labels.TITLE, labels.reproduce, labels.LEFT_OUT),
    "rescaling": Reproduction(rescaling.TITLE, rescaling.reproduce, rescaling.LEFT_OUT),
    "summeval": Reproduction(summeval.TITLE, summeval.reproduce, summeval.LEFT_OUT),
}
