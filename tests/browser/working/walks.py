"""Random walks over a worker's page: what a person does there, and what must be stored at the end.

A walk is a list of actions on two tabs of one person, in one browser or on two devices. Time is the
browser's own clock, which the walk moves, and the network is a wrapper of ``fetch``: "slow" answers
after 900 ms, "offline" not at all, "busy" with 503, and "lost" reaches the server while its answer
does not come back.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from django.urls import reverse
from playwright.sync_api import Page

from annotation.models import Assignment, AssignmentItem
from annotation.work.actions.drafts import other_versions

FETCH = """
(() => {
  const ask = window.fetch.bind(window);
  const mode = () => document.cookie.match(/net=(\\w+)/)?.[1] ?? "ok";
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
  window.asking = 0; // requests that have not been answered in fact
  window.fetch = async (url, options = {}) => {
    const net = /\\/(events|stream)\\/$/.test(String(url)) ? "ok" : mode();
    if (net === "offline") throw new TypeError("offline");
    if (net === "busy") return new Response("busy", { status: 503 });
    window.asking++;
    const answer = await ask(url, { ...options, signal: undefined }).finally(() => window.asking--);
    if (net === "lost") throw new TypeError("lost");
    if (net === "slow") await sleep(900);
    return answer;
  };
})();
"""
# What stands in the form, by name, as the server would keep it.
SHOWN = """() => {
  const work = document.getElementById("work");
  const form = work?.querySelector("form[data-answering]");
  if (!form || !work.dataset.item) return null;
  const rows = [...new FormData(form)].filter(([name, value]) => (
    !["csrfmiddlewaretoken", "go", "version", "key", "part", "seen"].includes(name)
    && value.trim()
  ));
  const choice = [...document.querySelectorAll("#notices [data-versions] button")];
  const [item, draft, busy] = [work.dataset.item, Object.fromEntries(rows), Boolean(work.inert)];
  return { item, draft, busy, choice: choice.length };
}"""
MODES = ("ok", "slow", "offline", "busy", "lost")


LINE = re.compile(r"attribute-(\d+)")


def clean(draft: dict[str, Any]) -> dict[str, str]:
    """What a draft says, without what is empty or seen by nobody: equal for form and server.

    Lines of a list are numbered anew, as empty ones between them are not stored.
    """
    filled = {
        name: str(value).strip()
        for name, value in draft.items()
        if name not in ("seen", "skipped", "declined") and value and str(value).strip()
    }
    lines = sorted((int(found[1]), name) for name in filled if (found := LINE.fullmatch(name)))
    for place, (_, name) in enumerate(lines):
        filled[f"line {place}"] = filled.pop(name)
    return filled


def words_of(draft: dict[str, Any]) -> set[str]:
    """Of what was typed: words of the walk have a number that no other one has."""
    return set(re.findall(r"typed\d+", json.dumps(draft)))


@dataclass
class Walk:
    """One person with two tabs; ``write`` fills in something of its number in the tab."""

    tabs: list[Page]
    held: Assignment
    root: str
    write: Callable[[Page, int], None]
    number: int = 0
    last: dict[str, dict[str, str]] = field(default_factory=dict)  # item -> what one saw last
    typed: dict[str, set[str]] = field(default_factory=dict)  # item -> words that stood there
    dropped: dict[str, set[str]] = field(default_factory=dict)  # and those chosen against
    skipped: set[str] = field(default_factory=set)
    mode: str = "ok"
    steps: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Nothing is written yet, and the first tab shows the first item."""
        self.net("offline")  # what pages send as they go is of the walk before
        for tab in self.open_tabs:
            tab.evaluate("localStorage.clear()")
            tab.goto("about:blank")
        self.net("ok")
        for tab in self.tabs:  # what a tab sent as it went may have come after that
            tab.goto(self.root + "/static/js/resume.js")
            tab.evaluate("localStorage.clear()")
        self.tabs[1].goto("about:blank")
        fresh = {"draft": {}, "draft_seq": 0, "draft_versions": None, "draft_saved_at": None}
        self.held.entries.update(**fresh)
        self.open(0, 1)

    def open(self, tab: int, number: int) -> None:
        self.tabs[tab].goto(self.root + reverse("work_item", args=[self.held.pk, number]))

    def net(self, mode: str) -> None:
        for tab in self.tabs:
            tab.context.add_cookies([{"name": "net", "value": mode, "url": self.root}])
        self.mode = mode

    # Actions -----------------------------------------------------------------------------------

    def act(self, name: str, tab: int) -> None:
        self.steps.append(f"{name} {tab}")
        page = self.tabs[tab]
        if name in MODES:
            self.net(name)
        elif page.url == "about:blank":
            if self.is_online:
                self.open(tab, 1)
        else:
            getattr(self, name)(page)
        self.rest()

    @property
    def is_online(self) -> bool:
        return self.mode in ("ok", "slow")

    @property
    def open_tabs(self) -> list[Page]:
        return [tab for tab in self.tabs if tab.url != "about:blank"]

    def rest(self) -> None:
        """Wait until what was asked of the server has been answered by it."""
        for _ in range(400):
            if not any(tab.evaluate("window.asking") for tab in self.open_tabs):
                return
            time.sleep(0.01)
        raise AssertionError("the server does not answer")

    def type(self, page: Page) -> None:
        before = self.look(page)
        self.number += 1
        self.write(page, self.number)
        now = self.look(page)
        if not before or not now:
            return
        if before["busy"] and now["busy"]:  # the next item is on its way: no key is for this one
            assert clean(now["draft"]) == clean(before["draft"]), self.story()
        elif now["item"] == before["item"] and clean(now["draft"]) != clean(before["draft"]):
            self.saw(now)
            self.skipped.discard(now["item"])

    def next(self, page: Page) -> None:
        page.keyboard.press("Control+Enter")

    def back(self, page: Page) -> None:
        page.keyboard.press("Alt+ArrowLeft")

    def skip(self, page: Page) -> None:
        if shown := self.look(page):
            self.skipped.add(shown["item"])
        page.keyboard.press("Alt+s")

    def early(self, page: Page) -> None:
        """Next, and a key before its answer is there."""
        self.next(page)
        self.type(page)

    def reload(self, page: Page) -> None:
        if self.is_online:
            page.reload()

    def leave(self, page: Page) -> None:
        """To the first item by its address, as a bookmark or a segment of the bar leads there."""
        if self.is_online:
            page.goto(self.root + reverse("work_item", args=[self.held.pk, 1]))

    def wait(self, page: Page) -> None:
        for tab in self.open_tabs:
            tab.clock.run_for(1_200)

    def moment(self, page: Page) -> None:
        page.clock.run_for(300)

    def keep(self, page: Page) -> None:
        self.choose(page, "Keep my version")

    def use(self, page: Page) -> None:
        self.choose(page, "Use the other version")

    def choose(self, page: Page, button: str) -> bool:
        shown = self.look(page)
        if not shown or not shown["choice"]:
            return False
        before = self.words_kept(shown["item"]) | words_of(shown["draft"])
        page.get_by_role("button", name=button).click()
        chosen = self.look(page)
        assert chosen
        self.saw(chosen)
        self.dropped.setdefault(shown["item"], set()).update(before - words_of(chosen["draft"]))
        return True

    # What is held ------------------------------------------------------------------------------

    def look(self, page: Page) -> dict[str, Any] | None:
        """The item that the tab shows, what is filled in, and whether a choice is asked for."""
        return cast(dict[str, Any] | None, page.evaluate(SHOWN))

    def saw(self, shown: dict[str, Any]) -> None:
        self.last[shown["item"]] = clean(shown["draft"])
        self.typed.setdefault(shown["item"], set()).update(words_of(shown["draft"]))

    def entry(self, item: str) -> AssignmentItem:
        """The item that the page calls by this number."""
        return self.held.entries.get(position=int(item) - 1)

    def words_kept(self, item: str) -> set[str]:
        entry = self.entry(item)
        drafts = [entry.draft, *(one["draft"] for one in other_versions(entry))]
        return set().union(*map(words_of, drafts))

    def settle(self) -> None:
        """The network is back and the person answers what they are asked, until all is calm."""
        self.net("ok")
        for number in range(12):
            for tab in self.open_tabs:
                tab.clock.run_for(1_000)  # what is slow has come
                self.rest()
                tab.evaluate("() => void window.crowdqc?.drafts.sync()")
                self.rest()
            button = ("Keep my version", "Use the other version")[number % 2]
            if not any([self.choose(tab, button) for tab in self.open_tabs]) and number:
                return
        raise AssertionError(f"it never comes to rest: {self.story()}")

    def check(self) -> None:
        """What is stored is what the person last saw, and no word is out of reach."""
        self.settle()
        for item in list(self.last):
            entry = self.entry(item)
            if other_versions(entry):  # it is offered on its page
                self.open(0, entry.position + 1)
                self.settle()
                entry.refresh_from_db()
            assert not other_versions(entry), f"a choice is left: {self.story()}"
            assert clean(entry.draft) == self.last[item], f"not what was seen last: {self.story()}"
            assert item in self.skipped or not entry.draft.get("skipped"), self.story()
            lost = self.typed[item] - self.words_kept(item) - self.dropped.get(item, set())
            assert not lost, f"{lost}: {self.story()}"
        for tab in self.open_tabs:
            if self.tabs[0].context != self.tabs[1].context:
                tab.reload()  # what another device saved is seen as the page is loaded
            if shown := self.look(tab):
                entry = self.entry(shown["item"])
                assert clean(shown["draft"]) == clean(entry.draft), f"shown: {self.story()}"

    def story(self) -> str:
        drafts = {
            entry.position + 1: [entry.draft, entry.draft_versions]
            for entry in self.held.entries.order_by("position")
        }
        return json.dumps({"steps": self.steps, "last": self.last, "stored": drafts}, indent=1)
