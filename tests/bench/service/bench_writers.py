"""Two hundred people who write at once: every five seconds a batch of their log, and drafts.

What was acknowledged is then read from the database itself: each event there once, in order, and
the text that the events make is the text that was written.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import psycopg

from annotation.task_types.writing import deltas
from tests.bench import harness
from tests.bench.harness import Client, figure, percentile

WRITERS = 200
SECONDS = 60.0
EVERY = 5.0  # what static/js/eventlog.js waits between two batches
DRAFTS = 0.8  # drafts a batch: one a pause, which comes after a sentence
RESENT = 0.02  # batches whose answer is taken for lost, so that they are sent again
BEAT = 100  # ms between keys: 100 words a minute
PEER = "trivial Django view, one read and one insert"


@dataclass
class Writer:
    """One person's tab: the text so far and the events that tell it, as the page sends them."""

    lease: int
    item: int
    rng: random.Random
    stream: str = field(default_factory=lambda: str(uuid.uuid4()))
    text: str = ""
    ms: int = 0
    sent: list[dict[str, Any]] = field(default_factory=list)

    def begin(self) -> list[dict[str, Any]]:
        """The page opens with half a response in its field."""
        self.text = self._words(900)
        shown = [0, 0, 0, self.text]
        return [
            {"method": "open", "time": 0, "target": "window", "name": "visible"},
            {"method": "show", "time": 0, "target": f"item-{self.item}", "delta": shown},
        ]

    def batch(self) -> list[dict[str, Any]]:
        """Five seconds of fast typing, mended slips and a look at a passage."""
        events, end = [], self.ms + int(1000 * EVERY)
        while self.ms < end - 1500:
            events.append(self._run(self._words(self.rng.randint(6, 28))))
            if self.rng.random() < 0.4:
                events.append(self._erase(self.rng.randint(1, 4)))
        if self.rng.random() < 0.3:
            number = str(self.rng.randint(1, 100))
            told = {"target": f"item-{self.item}", "time": self.ms}
            events.append({"method": "passage", "name": "open", "comment": number, **told})
            events.append({"method": "cite", "name": number, **told})
            events.append(self._change("cite", f" [{number}]"))
        self.ms = end
        return events

    def _words(self, length: int) -> str:
        return "".join(self.rng.choices("etaoin shrdlu é", k=length))

    def _change(self, name: str, text: str, **more: Any) -> dict[str, Any]:
        delta = [self.ms, len(self.text), 0, text]
        self.text += text
        told = {"target": f"item-{self.item}", "time": self.ms, "name": name, "delta": delta}
        return {"method": "input", **told, **more}

    def _times(self, number: int) -> list[int]:
        return [0, *(self.rng.randint(60, 140) for _ in range(number - 1))]

    def _run(self, text: str) -> dict[str, Any]:
        times = self._times(len(text))
        event = self._change("run", text, ms=times, keys=len(text))
        self.ms += sum(times) + BEAT
        return event

    def _erase(self, number: int) -> dict[str, Any]:
        times, place = self._times(number), len(self.text) - number
        delta = [self.ms, place, number, ""]
        event = {
            "method": "input",
            "target": f"item-{self.item}",
            "time": self.ms,
            "name": "run",
            "delta": delta,
            "ms": times,
            "keys": number,
        }
        self.text = self.text[:place]
        self.ms += sum(times) + BEAT
        return event


def turns(writers: dict[int, Writer]) -> Any:
    """One turn of a writer: a batch of the log, mostly a draft, now and then the batch again."""

    def turn(client: Client) -> None:
        writer = writers[id(client)]
        base = f"/work/assignments/{writer.lease}"
        fresh = writer.batch() if writer.sent else writer.begin()
        body = {"stream": writer.stream, "first_seq": len(writer.sent), "events": fresh}
        for _ in range(2 if writer.rng.random() < RESENT else 1):
            status, answer = client.ask("events", "POST", f"{base}/events/", body)
            if status != 200 or answer["next"] != len(writer.sent) + len(fresh):
                raise RuntimeError(f"events answered {status}: {answer!r}")
        writer.sent += fresh
        if writer.rng.random() < DRAFTS:
            draft = {
                "item": writer.item,
                "draft": {"text": writer.text},
                "seq": time.time_ns() // 10**6,
            }
            status, answer = client.ask("draft", "POST", f"{base}/draft/", draft)
            if status != 200:
                raise RuntimeError(f"draft answered {status}: {answer!r}")

    return turn


def check(environment: dict[str, str], writers: list[Writer]) -> int:
    """Every acknowledged event is stored once and in order; gives how many. Raises otherwise."""
    with psycopg.connect(environment["DATABASE_URL"]) as database:
        rows = database.execute(
            "SELECT s.key::text, b.first_seq, b.last_seq, b.events FROM annotation_eventbatch b "
            "JOIN annotation_eventstream s ON s.id = b.stream_id ORDER BY s.id, b.first_seq"
        ).fetchall()
    stored: dict[str, list[dict[str, Any]]] = {}
    for key, first, last, events in rows:
        own = stored.setdefault(key, [])
        if (first, last) != (len(own), len(own) + len(events) - 1):
            raise RuntimeError(f"Stream {key} has a gap or an overlap at {first}.")
        own += events
    for writer in writers:
        if stored.get(writer.stream, []) != writer.sent:
            raise RuntimeError(f"The log of assignment {writer.lease} is not what was sent.")
        text = ""
        for event in stored[writer.stream]:
            text = deltas.apply(text, event["delta"]) if "delta" in event else text
        if text != writer.text:
            raise RuntimeError(f"The log of assignment {writer.lease} does not give its text.")
    if len(stored) != len(writers):
        raise RuntimeError("There are streams that nobody sent.")
    return sum(map(len, stored.values()))


def _people(port: int, made: dict[str, Any]) -> tuple[list[Client], dict[int, Writer]]:
    clients = [Client(port, session) for session in made["sessions"]]
    writers = {
        id(client): Writer(lease, item, random.Random(lease))
        for client, lease, item in zip(clients, made["leases"], made["first_items"], strict=True)
    }
    return clients, writers


def _trivial(port: int) -> list[Client]:
    """As many at the same pace who only do the trivial thing, twice a turn."""
    clients = [Client(port) for _ in range(WRITERS)]

    def turn(client: Client) -> None:
        for _ in range(2):
            status, _body = client.ask("trivial", "POST", "/", {})
            if status != 200:
                raise RuntimeError(f"The trivial view answered {status}.")

    harness.warm(clients, EVERY, turn)
    harness.together(clients, 3 * EVERY, turn, every=EVERY)
    return clients


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    threading.stack_size(512 * 1024)
    with harness.scratch_database() as environment:
        made = harness.fill(
            environment, items=70, passages=20, people=WRITERS, answered=0, leases=WRITERS
        )
        peer = {
            **environment,
            "DJANGO_SETTINGS_MODULE": "tests.bench.trivial_settings",
            "BENCH_ITEM": str(made["item"]),
        }
        with harness.served(peer, "crowdqc.wsgi", workers=2) as port:
            rate, _ = harness.trivial(port, 16, EVERY)
            trivial = percentile(_trivial(port), "trivial")
        with harness.served(environment, "crowdqc.wsgi", workers=2) as port:
            clients, writers = _people(port, made)
            turn = turns(writers)
            harness.together(clients, EVERY, turn, every=EVERY)  # all have opened their pages
            for client in clients:
                client.times.clear()
            took = harness.together(clients, SECONDS, turn, every=EVERY)
            paced = {name: percentile(clients, name) for name in ("events", "draft")}
            asked = sum(harness.count(clients, name) for name in ("events", "draft"))
            events = check(environment, list(writers.values()))
            for client in clients[:16]:
                client.times.clear()
            flat = harness.together(clients[:16], 2 * EVERY, turn)
            most = sum(harness.count(clients[:16], name) for name in ("events", "draft")) / flat
            check(environment, list(writers.values()))
    note = (
        f"{WRITERS} writers for {SECONDS:g} s, each a batch in {EVERY:g} s and a draft in "
        f"{EVERY / DRAFTS:g} s; {events} acknowledged events stored once each, none lost, no error"
    )
    slow = (f"{PEER}, p95 of {WRITERS} at the same pace", trivial)
    return [
        figure("requests of 200 writers", asked / took, "1/s", (PEER, rate), note),
        figure("log of 200 writers p95", paced["events"], "ms", slow, note),
        figure("drafts of 200 writers p95", paced["draft"], "ms", slow, note),
        figure(
            "writers' requests without pause",
            most,
            "1/s",
            (PEER, rate),
            f"16 at once; a writer sends {(1 + DRAFTS) / EVERY:g} a second",
        ),
    ]
