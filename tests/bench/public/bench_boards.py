"""A public board that a crowd opens at once: page, image, and what has not changed.

Every request comes from a network of its own, as of a crowd. The peer is the trivial view with its
one read and one insert, on the same server and database.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from tests.bench import harness
from tests.bench.harness import figure, percentile

PEOPLE, SECONDS = 10, 5.0
SLUG = "bench"
PEER = "trivial Django view, one read and one insert"
PROXY = "127.0.0.1"


def fill() -> dict[str, Any]:
    """A judged study with a finished run and its public board."""
    import django

    django.setup()

    from evaluation.runs.sharing.actions import publish
    from tests.evaluation.corpora import pairs
    from tests.evaluation.corpora.pair_study import scored

    task = pairs.make_judged(workers=12, task=pairs.make_task(topics=12, sources=6))
    publish(by=task.project.owner, run=scored(task), slug=SLUG, files=True)
    return {"item": task.items.order_by("pk").values_list("pk", flat=True)[0]}


@dataclass
class Stranger:
    """Somebody without an account on one kept-alive connection, from another network each time."""

    port: int
    number: int
    times: dict[str, list[float]] = field(default_factory=dict)
    etag: str = ""

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self.random = random.Random(self.number)

    def ask(self, name: str, path: str, wanted: int, **headers: str) -> None:
        """Time one request under ``name``; RuntimeError where the status is another one."""
        address = ".".join(str(self.random.randint(1, 250)) for _ in range(4))
        began = time.perf_counter()
        self.connection.request("GET", path, headers={"X-Forwarded-For": address, **headers})
        response = self.connection.getresponse()
        response.read()
        self.times.setdefault(name, []).append(time.perf_counter() - began)
        self.etag = response.headers.get("ETag", self.etag)
        if response.status != wanted:
            raise RuntimeError(f"{path} answered {response.status}, not {wanted}.")


KINDS = {
    "page": (f"/boards/{SLUG}/", 200),
    "image": (f"/boards/{SLUG}.svg", 200),
    "unchanged": (f"/boards/{SLUG}/", 304),
}


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    found: list[dict[str, Any]] = []
    with harness.scratch_database() as environment:
        plain = environment
        told = json.loads(harness.python(plain, "-m", __name__, "fill").splitlines()[-1])
        peer = {
            **environment,
            "DJANGO_SETTINGS_MODULE": "tests.bench.trivial_settings",
            "BENCH_ITEM": str(told["item"]),
        }
        with harness.served(peer, "crowdqc.wsgi", workers=2) as port:
            rate, made = harness.trivial(port, PEOPLE, SECONDS)
            trivial = percentile(made, "trivial")
        behind = {**environment, "CROWDQC_TRUSTED_PROXIES": PROXY}
        with harness.served(behind, "crowdqc.wsgi", workers=2) as port:
            strangers = [Stranger(port, number) for number in range(PEOPLE)]
            for name, (path, status) in KINDS.items():
                found += _measured(strangers, name, path, status, rate=rate, trivial=trivial)
    return found


def _measured(
    strangers: list[Stranger], name: str, path: str, status: int, *, rate: float, trivial: float
) -> list[dict[str, Any]]:
    def turn(one: Stranger) -> None:
        known = {"If-None-Match": one.etag} if status == 304 else {}
        one.ask(name, path, status, **known)

    for one in strangers:  # a page in every process' memory, and the ETag of the page
        for _ in range(4):
            one.ask("warm", KINDS["page"][0], 200)
            if name == "image":
                one.ask("warm", path, 200)
    took = harness.together(strangers, SECONDS, turn)
    note = f"{PEOPLE} at once without pause, each request from another network"
    number = sum(len(one.times[name]) for one in strangers)
    p95 = percentile(strangers, name)  # type: ignore[arg-type]
    return [
        figure(f"public board, {name}", number / took, "1/s", (PEER, rate), note),
        figure(f"public board, {name} p95", p95, "ms", (f"{PEER}, p95", trivial), note),
    ]


if __name__ == "__main__" and sys.argv[1:] == ["fill"]:
    print(json.dumps(fill()))
