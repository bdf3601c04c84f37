"""Logs of writing made by hand, in the words of the interaction log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

RUN = 40
PASSAGES = (
    "The harbour froze in the winter of 1740, and ships lay idle until late in March.",
    "Merchants burned furniture to keep warm “while grain prices doubled” within a few weeks.",
)
FOREIGN = (
    "Coastal trade elsewhere suffered comparable disruption, as contemporary newspapers from "
    "neighbouring provinces describe shortages of candles, coal and imported spices."
)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class Writer:
    """Somebody at one text, ``item-1``: writes events, with the text as it should then be."""

    def __init__(self, text: str = "", *, stream: int = 1, time: int = 0, seed: int = 0) -> None:
        self.events: list[dict[str, Any]] = []
        self.stream, self.time, self.text = stream, time, ""
        self.rng = np.random.default_rng(seed)
        self.add("open", target="window", name="visible")
        self.add("show", delta=[time, 0, 0, text])
        self.text = text

    def add(self, method: str, **more: Any) -> None:
        target = more.pop("target", "item-1")
        event = {"method": method, "time": self.time, "target": target, **more}
        self.events.append({**event, "stream": self.stream, "seq": len(self.events)})

    def wait(self, ms: int) -> None:
        self.time += ms

    def change(self, position: int, deleted: int, inserted: str, **more: Any) -> None:
        """Positions in characters here; the log has them in UTF-16 units."""
        start, gone = units(self.text[:position]), units(self.text[position : position + deleted])
        self.add("input", delta=[self.time, start, gone, inserted], **more)
        self.text = self.text[:position] + inserted + self.text[position + deleted :]

    def gaps(self, number: int, even: int | None = None) -> list[int]:
        if even is not None:
            return [even] * number
        return np.clip(self.rng.lognormal(5.0, 0.5, number), 20, 1400).astype(int).tolist()

    def type(self, text: str, *, at: int | None = None, even: int | None = None) -> None:
        place = len(self.text) if at is None else at
        for k in range(0, len(text), RUN):
            piece = text[k : k + RUN]
            ms = [0, *self.gaps(len(piece) - 1, even)]
            self.change(place, 0, piece, name="run", ms=ms, keys=len(piece))
            self.wait(sum(ms) + self.gaps(1, even)[0])
            place += len(piece)

    def back(self, number: int) -> None:
        ms = [0, *self.gaps(number - 1)]
        self.change(len(self.text) - number, number, "", name="run", ms=ms, keys=number)
        self.wait(sum(ms) + 200)

    def paste(self, text: str, claim: str, *, at: int | None = None, number: str = "") -> None:
        named = {"name": number} if number else {}
        self.add("paste", comment=claim, length=units(text), **named)
        place = len(self.text) if at is None else at
        self.change(place, 0, text, name="insertFromPaste", comment=claim)
        self.wait(400)

    def cut(self, start: int, end: int) -> str:
        taken = self.text[start:end]
        self.add("cut", length=units(taken))
        self.change(start, end - start, "", name="deleteByCut")
        self.wait(500)
        return taken


def sentence(words: int, *, seed: int = 0) -> str:
    """Words that stand in no passage."""
    rng = np.random.default_rng(seed)
    syllables = ("ta", "ri", "mo", "lun", "ke", "sha", "bro", "vi", "nel", "du")
    made = ["".join(rng.choice(syllables, 3)) for _ in range(words)]
    return " ".join(made) + ". "


def snapshots(times: Sequence[int], texts: Sequence[str]) -> list[dict[str, Any]]:
    """A log as an import of snapshots makes it."""
    from annotation.task_types.writing import deltas

    rows = deltas.of_snapshots(times, texts)
    return [
        {"method": "input" if k else "show", "time": row[0], "target": "item-1", "delta": row}
        | ({"name": "snapshot"} if k else {})
        for k, row in enumerate(rows)
    ]
