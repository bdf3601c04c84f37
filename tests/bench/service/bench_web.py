"""Claim, answer and submit by ten people at once in a task of 10,000 questions; list pages."""

from __future__ import annotations

import re
import uuid
from typing import Any

from tests.bench import harness
from tests.bench.harness import Client, figure, percentile

PEOPLE = 10
SECONDS = 10.0
EVERY = 0.5  # seconds between the turns of one person where latency is measured
PEER = "trivial Django view, one read and one insert"


def work(paths: dict[str, Any]) -> Any:
    """One turn of a worker: claim, look at the first question, submit all answers."""

    def turn(client: Client) -> None:
        status, url = client.ask("claim", "POST", paths["claim"])
        pk = re.search(r"/assignments/(\d+)/", str(url))
        if status != 302 or pk is None:
            raise RuntimeError(f"claim answered {status}: {url!r}")
        base = f"/work/assignments/{pk[1]}"
        client.ask("item", "GET", f"{base}/items/1/")
        _, page = client.ask("review", "GET", f"{base}/")
        drafts = {
            item: {"draft": {"text": "It means what I think it means."}, "seq": 1}
            for item in re.findall(r'<li data-item="(\d+)"', page)
        }
        body = {"key": str(uuid.uuid4()), "drafts": drafts}
        status, answer = client.ask("submit", "POST", f"{base}/submit/", body)
        if status != 200:
            raise RuntimeError(f"submit answered {status}: {answer!r}")

    return turn


def lists(paths: dict[str, str]) -> Any:
    """One turn of somebody who looks at lists."""

    def turn(client: Client) -> None:
        for name, path in paths.items():
            status, _ = client.ask(name, "GET", path)
            if status != 200:
                raise RuntimeError(f"{name} answered {status}")

    return turn


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    found: list[dict[str, Any]] = []
    with harness.scratch_database() as environment:
        paths = harness.fill(environment, items=10_000, people=PEOPLE)
        peer = {
            **environment,
            "DJANGO_SETTINGS_MODULE": "tests.bench.trivial_settings",
            "BENCH_ITEM": str(paths["item"]),
        }
        with harness.served(peer, "crowdqc.wsgi", workers=2) as port:
            rate, made = harness.trivial(port, PEOPLE, SECONDS / 2)
            trivial = percentile(made, "trivial")
        with harness.served(environment, "crowdqc.wsgi", workers=2) as port:
            clients = [Client(port, session) for session in paths["sessions"]]
            harness.warm(clients, 2.0, work(paths))
            harness.together(clients, SECONDS, work(paths), every=EVERY)
            latency = {name: percentile(clients, name) for name in ("submit", "claim", "item")}
            for client in clients:
                client.times.clear()
            took = harness.together(clients, SECONDS, work(paths))
        turns = harness.count(clients, "submit")
        note = (
            f"{PEOPLE} people at once, 10,000 questions, bundles of 5; a turn is claim, question, "
            "list of questions, submit; "
        )
        paced = note + f"each begins one in {EVERY:g} s, {PEOPLE / EVERY:g} turns/s; aim "
        for name, aim in (("submit", "60 ms"), ("claim", "50 ms"), ("item", "50 ms")):
            peer_p95 = (f"{PEER}, p95 of {PEOPLE} without pause", trivial)
            found.append(figure(f"{name} p95", latency[name], "ms", peer_p95, paced + aim))
        flat_out = note + "without pause; aim 60 submits/s"
        found.append(figure("whole turns", turns / took, "1/s", (PEER, rate), flat_out))
        answers = paths["bundle"] * turns / took
        found.append(figure("answers taken in", answers, "1/s", (PEER, rate), flat_out))
        submit_p95 = percentile(clients, "submit")
        found.append(
            figure("submit p95 without pause", submit_p95, "ms", (PEER, trivial), flat_out)
        )
        with harness.served(environment, "crowdqc.wsgi", workers=2) as port:
            found += _lists(port, paths, trivial)
    return found


def _lists(port: int, paths: dict[str, Any], trivial: float) -> list[dict[str, Any]]:
    """p95 of list pages, one person at a time as people look at them."""
    found = []
    note = "one person, 10,000 questions, 10,000 answers; aim 80 ms"
    for session, pages in (
        (paths["sessions"][0], {"work_home": paths["home"]}),
        (paths["requester"], paths["lists"]),
    ):
        clients = [Client(port, session)]
        harness.warm(clients, 1.0, lists(pages))
        harness.together(clients, 3.0, lists(pages))
        for name in pages:
            value = percentile(clients, name)
            found.append(
                figure(f"list page {name} p95", value, "ms", (f"{PEER}, p95", trivial), note)
            )
    return found
