"""Published tables measured again; a new one is one new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evaluation.reproduce import aqer_cs
from evaluation.reproduce.rows import Row


@dataclass(frozen=True)
class Reproduction:
    """A command name's title, how to run it, and what it leaves out."""

    title: str
    run: Callable[..., list[Row]]
    left_out: str


REPRODUCTIONS = {
    "aqer-cs": Reproduction(aqer_cs.TITLE, aqer_cs.reproduce, aqer_cs.LEFT_OUT),
}
