"""Published tables measured again; a new one is one new file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.published.reproduce import alttest, interacteval, labels, rescaling, summeval
from evaluation.published.reproduce.aqer import crowd as aqer_cs
from evaluation.published.reproduce.aqer import simulations as aqer_simulations
from evaluation.published.reproduce.crowdrag import signals as crowdrag_signals
from evaluation.published.reproduce.crowdrag import tables as crowdrag
from evaluation.published.reproduce.crowdrag.writing import tables as crowdrag_writing
from evaluation.published.reproduce.rows import Row, set_decimals

AQER = "AQER"
CROWDRAG = "CrowdRAG"
RESCALING = "Explanation-based rescaling"
INTERACTEVAL = "InteractEval"


@dataclass(frozen=True)
class Reproduction:
    """A command name's title, how to run it, what it leaves out, and whose figures it compares.

    ``paper`` is "" for figures of others. ``decimals`` is what each table prints (see
    ``rows.set_decimals``).
    """

    title: str
    run: Callable[..., list[Row]]
    left_out: str
    paper: str = ""
    decimals: Mapping[str, int] = field(default_factory=dict)

    def measure(self, folder: Path, **options: Any) -> list[Row]:
        """Run it; every row knows how many decimals were printed."""
        return set_decimals(self.run(folder, **options), self.decimals)


def _reproduction(module: Any, paper: str = "") -> Reproduction:
    return Reproduction(
        module.TITLE, module.reproduce, module.LEFT_OUT, paper, getattr(module, "DECIMALS", {})
    )


REPRODUCTIONS = {
    "alttest": _reproduction(alttest),
    "aqer-cs": _reproduction(aqer_cs, AQER),
    "aqer-simulations": _reproduction(aqer_simulations, AQER),
    "crowdrag": _reproduction(crowdrag, CROWDRAG),
    "crowdrag-signals": _reproduction(crowdrag_signals, CROWDRAG),
    "crowdrag-writing": _reproduction(crowdrag_writing, CROWDRAG),
    "interacteval": _reproduction(interacteval, INTERACTEVAL),
    "labels": _reproduction(labels),
    "rescaling": _reproduction(rescaling, RESCALING),
    "summeval": _reproduction(summeval),
}
