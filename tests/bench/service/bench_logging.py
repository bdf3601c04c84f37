"""What recording a writer costs: traffic of the log, and processor time of the page.

A real Chromium types a minute at 100 words a minute by key events, on the page of writing with 100
passages beside it, with slips mended and a pause after each sentence. The same page with the log
switched off is the peer of the processor time.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Page, Route, sync_playwright

from crowdqc.web.bundles import bundle_scripts
from tests.bench import harness
from tests.bench.harness import figure
from tests.conftest import NO_CHROMIUM, chromium_launch
from tests.support.processes import ROOT

SECONDS = 60.0
WORDS_A_MINUTE = 100  # of five characters and a space
ROUNDS = 2  # minutes with the log and without it, in turns
SLIPS = 0.03
WORDS = (
    "nests storks summer meadow chimney return every spring because their young need frogs and "
    "mice which they find near wet fields where farmers leave some grass for a while"
).split()
LOG_SCRIPTS = ("js/eventlog.js", "js/textchange.js")
TRAFFIC = {"events": "log", "stream": "log", "draft": "drafts"}


@dataclass
class Traffic:
    """Bytes over the wire by what they are for, headers included."""

    sent: dict[str, str] = field(default_factory=dict)  # request id: kind
    size: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    number: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def listen(self, client: CDPSession) -> None:
        """Count from now on."""
        client.on("Network.requestWillBeSent", self._begun)
        client.on("Network.requestWillBeSentExtraInfo", self._headers)
        client.on("Network.loadingFinished", self._finished)
        client.send("Network.enable")

    def _begun(self, event: dict[str, Any]) -> None:
        request = event["request"]
        path = urlsplit(request["url"]).path
        kind = TRAFFIC.get(path.rstrip("/").rpartition("/")[2], "page")
        self.sent[event["requestId"]] = kind
        self.number[kind] += 1
        self.size[kind] += len(f"{request['method']} {path} HTTP/1.1\r\n\r\n")

    def _headers(self, event: dict[str, Any]) -> None:
        kind = self.sent.get(event["requestId"], "page")
        headers = event["headers"]
        self.size[kind] += sum(len(k) + len(v) + 4 for k, v in headers.items())
        self.size[kind] += int(headers.get("Content-Length", 0))

    def _finished(self, event: dict[str, Any]) -> None:
        # With the headers of the response.
        self.size[self.sent.get(event["requestId"], "page")] += int(event["encodedDataLength"])


def type_for(page: Page, seconds: float, rng: random.Random) -> int:
    """Type by real key events for so long; gives the number of keys pressed."""
    began = at = time.perf_counter()
    end = began + seconds
    keys = 0
    beat = 60 / (WORDS_A_MINUTE * 6)
    while at < end:
        sentence = " ".join(rng.choices(WORDS, k=rng.randint(8, 14))).capitalize() + ". "
        spent = 1.2 / len(sentence)  # the pause is made up for within the sentence
        for character in sentence:
            slip = rng.random() < SLIPS
            for key in ("x", "Backspace", character) if slip else (character,):
                at += max(0.02, (beat - spent) * rng.lognormvariate(-0.06, 0.35))
                time.sleep(max(0.0, at - time.perf_counter()))
                page.keyboard.press(key)
                keys += 1
        at += 1.2
        page.wait_for_timeout(max(0.0, 1000 * (at - time.perf_counter())))
    return keys


@dataclass(frozen=True)
class Session:
    """A minute's typing: traffic, keys, and seconds of processor time of page and process."""

    traffic: Traffic
    keys: int
    seconds: float
    thread: float
    process: float
    scripts: float = 0.0  # within the log's own scripts, by sampling


def session(
    browser: Browser, root: str, cookie: str, lease: int, *, recorded: bool, sampled: bool = False
) -> Session:
    """Open the page of an assignment in a fresh browser and type into it."""
    context = browser.new_context()
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": root}])
    page = context.new_page()
    address = f"{root}/work/assignments/{lease}/items/1/"

    def unrecorded(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace(" data-recorded", ""))

    if not recorded:
        page.route(address, unrecorded)
    page.goto(address)
    for ask in page.locator("fieldset.ask").all():
        ask.locator("label").first.click()
    page.locator("form[data-answering] button[value=next]").click()
    page.locator("textarea[data-target]").focus()
    page.wait_for_timeout(2000)
    client = context.new_cdp_session(page)
    traffic = Traffic()
    traffic.listen(client)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    if sampled:
        client.send("Profiler.enable")
        client.send("Profiler.setSamplingInterval", {"interval": 250})
        client.send("Profiler.start")
    before, began = _spent(client), time.perf_counter()
    keys = type_for(page, SECONDS, random.Random(lease))
    page.wait_for_timeout(5500)  # the last batch belongs to the minute
    after, took = _spent(client), time.perf_counter() - began - 5.5
    scripts = _sampled(client.send("Profiler.stop")["profile"]) if sampled else 0.0
    context.close()
    return Session(traffic, keys, took, after[0] - before[0], after[1] - before[1], scripts)


def _log_lines() -> set[int]:
    """Lines of the workers' script, counted from 0, that belong to the log's modules."""
    lines, module = set(), ""
    for number, line in enumerate(bundle_scripts(ROOT / "static", "worker.js").splitlines()):
        if begins := re.fullmatch(r"// (js/\S+\.js)", line):
            module = begins[1]
        if module in LOG_SCRIPTS:
            lines.add(number)
    return lines


def _sampled(profile: dict[str, Any]) -> float:
    """Seconds in functions of the log's scripts and in all that these called."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in nodes.values() for child in node.get("children", ())}

    lines = _log_lines()

    def logs(number: int | None) -> bool:
        while number is not None:
            frame = nodes[number]["callFrame"]
            if frame["url"].endswith("/worker.js") and frame["lineNumber"] in lines:
                return True
            number = parents.get(number)
        return False

    own = {number for number in nodes if logs(number)}
    times = zip(profile["samples"], profile["timeDeltas"], strict=True)
    return sum(micros for number, micros in times if number in own) / 1e6


def _spent(client: CDPSession) -> tuple[float, float]:
    found = {row["name"]: row["value"] for row in client.send("Performance.getMetrics")["metrics"]}
    return found["TaskDuration"], found["ProcessTime"]


def run() -> list[dict[str, Any]]:
    """Measure; see ``tests.bench.__main__`` for the fields."""
    with sync_playwright() as playwright:
        launch = chromium_launch(playwright)
        if launch is None:
            raise harness.NotHere(NO_CHROMIUM)
        return _measured(playwright.chromium.launch, launch)


def _measured(start: Callable[..., Browser], launch: dict[str, Any]) -> list[dict[str, Any]]:
    with harness.scratch_database() as environment:
        people = 2 * ROUNDS + 1
        made = harness.fill(
            environment, items=people, passages=100, people=people, answered=0, leases=people
        )
        with harness.served(environment, "crowdqc.wsgi", workers=1) as port:
            browser = start(**launch)
            sessions = [
                session(
                    browser,
                    f"http://127.0.0.1:{port}",
                    cookie,
                    lease,
                    recorded=number % 2 == 0,
                    sampled=number == 2 * ROUNDS,
                )
                for number, (cookie, lease) in enumerate(
                    zip(made["sessions"], made["leases"], strict=True)
                )
            ]
            browser.close()
    return _figures(sessions[:-1:2], sessions[1::2], sessions[-1])


def _figures(logged: list[Session], plain: list[Session], sampled: Session) -> list[dict[str, Any]]:
    def a_minute(rows: list[Session], kind: str) -> float:
        return mean(row.traffic.size[kind] / row.seconds * 60 / 1000 for row in rows)

    def share(rows: list[Session], part: str) -> float:
        return mean(100 * getattr(row, part) / row.seconds for row in rows)

    if any(row.traffic.number["log"] for row in plain) or not all(
        row.traffic.number["log"] for row in logged
    ):
        raise RuntimeError("The log was on or off where it should not have been.")
    speed = mean(row.keys / row.seconds * 10 for row in logged)
    drafts = ("drafts of the same minute", a_minute(logged, "drafts"))
    note = (
        f"Chromium, {speed:.0f} words a minute with slips and pauses, mean of {len(logged)} "
        "minutes, headers both ways included; aim under 30 kB"
    )
    requests = mean(row.traffic.number["log"] / row.seconds * 60 for row in logged)
    found = [
        figure("traffic of the writer's log", a_minute(logged, "log"), "kB/min", drafts, note),
        figure(
            "requests of the writer's log",
            requests,
            "1/min",
            ("drafts", mean(row.traffic.number["drafts"] / row.seconds * 60 for row in logged)),
            note,
        ),
    ]
    for part, words in (("thread", "the page's thread"), ("process", "the page's process")):
        more = share(logged, part) - share(plain, part)
        found.append(
            figure(
                f"processor share of the log in {words}",
                more,
                "% of a core",
                ("the same page without the log", share(plain, part)),
                f"with the log less without it, {len(logged)} minutes each in turns; aim under 2 %",
            )
        )
    found.append(
        figure(
            "processor share of the log's scripts",
            100 * sampled.scripts / sampled.seconds,
            "% of a core",
            ("the same page without the log", share(plain, "thread")),
            "by samples each 0.25 ms of a minute of its own; aim under 2 %",
        )
    )
    return found
