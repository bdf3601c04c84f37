"""Pictures of every page for each role: light, dark, and as wide as a phone; axe reads each.

``python -m tests.screens [--out DIR] [--url URL] [--only TEXT]``

Without ``--url`` it serves a scratch database with the demo. An instance named by ``--url`` must
hold the demo; a project, an import file and two assignments are added to it. Pages are found by
following links, so a new page is in the pictures once something links to it. Ends with status 1
where axe finds something serious or a page scrolls sideways.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import django
from axe_playwright_python.sync_playwright import Axe
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from tests.bench import harness
from tests.conftest import CHROMIUM_ARGS, find_chromium

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "crowdqc-demo"
EMPTY = "An empty project"
SERIOUS = {"serious", "critical"}
# Name of the picture's ending -> width, height, colour scheme.
LOOKS = {"light": (1360, 900, "light"), "dark": (1360, 900, "dark"), "phone": (390, 844, "light")}
NO_PAGE = {
    "task_results_export", "payout_export", "ledger_export", "task_import_bad_rows", "api_schema",
    "task_import_file", "home", "pair_export", "task_export", "payment_by_hand_export",
}  # fmt: skip
# Pages of the same address that look different by what they hold.
MORE = {"task": 3, "payout": 3, "review_answers": 2, "worker_card": 2}
# What looks another way to a second person; everything else has been seen by then.
SEEN_BY = {
    "manager": {
        "project",
        "review_answers",
        "payout_list",
        "payout",
        "rejection_list",
        "task_list",
        "ledger",
        "statement",
        "worker_data_erase",
    },
    "worker2": {"work_home", "work_assignment", "work_done", "work_record_assignment"},
    "empty": {"project", "task_list", "results", "run_list", "payout_list", "ledger", "people"},
}
BAD_ROWS = (
    "item_id,question,topic\n"
    "new-01,What does the writer ask for?,letters\n"
    "new-02,,letters\n"
    "new-01,Who answers?,letters\n"
)


@dataclass
class Pictures:
    """Where pictures go, and what was found on the pages."""

    folder: Path
    only: str
    taken: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def take(self, page: Page, name: str) -> None:
        """The page as it stands, in every look."""
        if self.only not in name:
            return
        for look, (width, height, scheme) in LOOKS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.wait_for_timeout(150)
            self._check(page, f"{name}-{look}")
            # As tall as the page: what sticks to the window's edge would cover its middle.
            tall = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": max(height, tall)})
            page.wait_for_timeout(100)
            page.screenshot(path=self.folder / f"{name}-{look}.png")
        self.taken.append(name)
        print(f"  {name}", flush=True)

    def _check(self, page: Page, name: str) -> None:
        for violation in Axe().run(page).response["violations"]:
            if violation["impact"] in SERIOUS:
                html = violation["nodes"][0]["html"][:160]
                self.faults.append(f"{name}: {violation['id']} ({violation['impact']}): {html}")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            self.faults.append(f"{name}: {wide} px wider than the window")


def page_name(address: str) -> str | None:
    """The name of the page at an address, with what tells its kinds apart; None for no page."""
    parts = urlsplit(address)
    try:
        match = resolve(parts.path)
    except Resolver404:
        return None
    name = match.url_name
    if name is None or name in NO_PAGE:
        return None
    part = match.kwargs.get("kind") or "".join(parse_qs(parts.query).get("part", []))
    return f"{name}-{part}" if part else name


@dataclass
class Visitor:
    """One person in a browser of their own, who opens whatever is linked."""

    role: str
    context: BrowserContext
    root: str
    pictures: Pictures
    seen: dict[str, int] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)
    avoids: str = ""  # an address below which nothing is opened

    def page(self) -> Page:
        return self.context.pages[0] if self.context.pages else self.context.new_page()

    def go(self, address: str) -> Page:
        """Open an address of the instance."""
        page = self.page()
        page.goto(address if address.startswith("http") else self.root + address)
        return page

    def sign_in(self, username: str) -> None:
        page = self.go("/login/")
        page.get_by_label("Username").fill(username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.wait_for_url(re.compile(r"/(work|projects)/"))

    def picture(self, name: str) -> None:
        self.pictures.take(self.page(), f"{self.role}-{name}")

    def follow(self, start: str, within: str = "") -> None:
        """Open every page that links lead to, each name as often as it has something to show."""
        waiting = [self.root + start]
        wanted = SEEN_BY.get(self.role)
        while waiting:
            address = waiting.pop(0)
            name = page_name(address)
            if name is None or address in self.visited or within not in address:
                continue
            if self.avoids and address.startswith(self.avoids):
                continue
            self.visited.add(address)
            if self.seen.get(name, 0) >= MORE.get(name, 1):
                continue
            try:
                page = self.go(address)
            except PlaywrightError as error:
                if "Download is starting" not in str(error):
                    raise
                continue  # a file, and no page
            name = page_name(page.url) or name  # where it led to
            count = self.seen.get(name, 0)
            if count >= MORE.get(name, 1):
                continue
            self.seen[name] = count + 1
            hrefs = page.eval_on_selector_all("a[href]", "links => links.map(a => a.href)")
            waiting += [href.partition("#")[0] for href in hrefs if href.startswith(self.root)]
            if wanted is None or name in wanted:
                self.picture(f"{name}-{count + 1}" if count else name)


# -- scenes ------------------------------------------------------------------------------------


def nobody(visitor: Visitor) -> None:
    """Without an account."""
    visitor.follow("/login/")
    visitor.go("/projects/1/tasks/2/import/nothing/9/")
    visitor.picture("not-found")


def requester(visitor: Visitor) -> str:
    """Everything of the demo project, an import with bad rows; gives a worker's invitation."""
    visitor.sign_in("requester")
    empty = visitor.go("/projects/").get_by_role("link", name=EMPTY)
    if empty.count():  # from an earlier time
        visitor.avoids = visitor.root + str(empty.first.get_attribute("href"))
    visitor.follow("/projects/")
    invitation = ""
    for address in sorted(visitor.visited):
        name = page_name(address)
        if name == "people":
            links = visitor.go(address).locator("input.code")
            invitation = links.first.input_value() if links.count() else ""
        if name == "task_import-items" and "task_import_file" not in visitor.seen:
            visitor.seen["task_import_file"] = 1
            page = visitor.go(address)
            page.locator("input[type=file]").set_input_files(
                {"name": "questions.csv", "mimeType": "text/csv", "buffer": BAD_ROWS.encode()}
            )
            page.wait_for_url(re.compile(r"/import/\d+/"))
            visitor.picture("task_import_file")
    return invitation


def empty_project(visitor: Visitor) -> None:
    """The pages of a project in which nothing has happened."""
    visitor.sign_in("requester")
    page = visitor.go("/projects/")
    there = page.get_by_role("link", name=EMPTY)
    if there.count():
        there.first.click()
    else:
        page = visitor.go("/projects/new/")
        page.get_by_label("Name").fill(EMPTY)
        page.get_by_role("button", name="Make the project").click()
    page.wait_for_url(re.compile(r"/projects/\d+/"))
    start = re.search(r"/projects/\d+/", page.url)
    assert start is not None
    visitor.follow(start[0], within=start[0])
    visitor.go("/work/")
    visitor.picture("work_home")


def worker(visitor: Visitor, username: str, *, writes: bool) -> None:
    """One with work, who has taken an assignment and perhaps written in it."""
    visitor.sign_in(username)
    page = visitor.go("/work/")
    # Who writes takes the task of questions, not the pairs.
    task = " Tides" if writes else ""
    start = page.get_by_role("button", name=re.compile(f"^(Start|Read and start){task}"))
    take = start.or_(page.get_by_role("link", name="Go on")).first
    works = take.count() > 0
    if works:
        take.click()
        page.wait_for_url(re.compile(r"/work/assignments/"))
    if works and writes:
        go_on = page.get_by_role("link", name=re.compile("^(Start with|Go to) question"))
        if go_on.count():
            go_on.first.click()
        forward = page.get_by_role("button", name=re.compile("^Go on"))  # past a text shown once
        if forward.count():
            visitor.picture("work_item-text-shown-once")
            forward.first.click()
        page.locator("textarea.answer").fill("The text says so in its second sentence.")
        page.locator("[data-saved=server]").wait_for()
        visitor.picture("work_item-answering")
    visitor.follow("/work/")


def everything(browser: Browser, root: str, pictures: Pictures) -> None:
    """All roles, one after the other."""

    def someone(role: str) -> Visitor:
        context = browser.new_context()
        # The page that is left would ask whether to; a picture needs no answer.
        context.on("dialog", lambda dialog: dialog.accept())
        return Visitor(role, context, root, pictures)

    nobody(someone("nobody"))
    invitation = requester(someone("requester"))
    empty_project(someone("empty"))
    manager = someone("manager")
    manager.sign_in("manager")
    manager.follow("/projects/")
    worker(someone("worker1"), "worker1", writes=False)
    worker(someone("worker2"), "worker2", writes=True)
    if invitation:
        guest = someone("nobody")
        guest.go(urlsplit(invitation).path)
        guest.picture("join")


# -- running it --------------------------------------------------------------------------------


@contextlib.contextmanager
def instance(url: str | None) -> Iterator[str]:
    """The address of an instance with the demo: the one named, or one of our own."""
    if url:
        yield url.rstrip("/")
        return
    with harness.scratch_database() as environment:
        print("Loading the demo", flush=True)
        harness.python(environment | {"CROWDQC_POOL": "0"}, "manage.py", "load_demo")
        with harness.served(environment, "crowdqc.wsgi:application", workers=1) as port:
            yield f"http://127.0.0.1:{port}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.screens", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screens")
    parser.add_argument("--url", help="an instance that holds the demo")
    parser.add_argument("--only", default="", help="pictures whose name holds this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    pictures = Pictures(options.out, options.only)
    path = find_chromium()
    started: dict[str, Any] = {"executable_path": path} if path else {}
    with instance(options.url) as root, sync_playwright() as playwright:
        arguments = [*CHROMIUM_ARGS, "--no-sandbox"]
        browser = playwright.chromium.launch(args=arguments, **started)
        everything(browser, root, pictures)
        browser.close()
    print(f"{len(pictures.taken)} pages, {len(LOOKS)} pictures each, in {options.out}")
    for fault in pictures.faults:
        print(f"  {fault}")
    print(f"{len(pictures.faults)} faults" if pictures.faults else "axe found nothing serious")
    return 1 if pictures.faults else 0


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    sys.exit(main())
