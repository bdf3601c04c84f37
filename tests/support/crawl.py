"""Every page of the demo as each role finds it by following links, and what is wrong with it.

A loaded page is resized to every width, so that looking for what scrolls sideways costs no second
load; axe reads it once in each colour scheme. ``tests/evaluation/demo/test_load_demo.py`` asserts
that nothing is wrong, ``tests/support/screens.py`` takes pictures on the way.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from axe_playwright_python.sync_playwright import Axe
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from playwright.sync_api import Error as PlaywrightError

from tests.support.page_scripts import ABOUT, BEYOND, LINKS, SERIOUS, TARGETS

PASSWORD = "crowdqc-demo"
EMPTY = "An empty project"
WIDTHS = (360, 680, 1360)  # 680 is 1360 at a zoom of 200 %
HEIGHT = 900
# What depends on the colours; everything else is the same in both schemes.
COLOURS = ["color-contrast", "link-in-text-block"]
# Loads axe, and says whether the page is dark.
AXE = f"{Axe().axe_script}; matchMedia('(prefers-color-scheme: dark)').matches"
FORCED = "matchMedia('(forced-colors: active)').matches"
# The kinds of elements whose contrast was read in a colour scheme, by this process.
_known: dict[str, set[int]] = defaultdict(set)
# How Chromium's console begins what it says of an answer with an error, or of none.
FAILED_REQUEST = "Failed to load resource"
# What htmx says of a request that the next page cut off; one that fails has other names.
CUT_OFF = ("htmx:afterRequest", "htmx:sendAbort")
NO_PAGE = {
    "task_results_export",
    "payout_export",
    "ledger_export",
    "task_import_bad_rows",
    "api_schema",
    "task_import_file",
    "home",
    "pair_export",
    "label_export",
    "replacement_export",
    "task_export",
    "payment_by_hand_export",
}
# Pages of the same address that look different by what they hold.
MORE = {"task": 9, "task_results": 4, "payout": 3, "review_answers": 2, "worker_card": 2}
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
# Addresses that lead to others, of which some are linked from nowhere else.
TRIES = {"notice": 60}
# One page with other columns, by what is imported: so many are looked at.
KINDS = {"task_import": 4}
# Long, and the same to everybody who opens it.
ALIKE = {"api_docs"}
BAD_ROWS = (
    "item_id,question,topic\n"
    "new-01,What does the writer ask for?,letters\n"
    "new-02,,letters\n"
    "new-01,Who answers?,letters\n"
)

# -- what can be wrong -------------------------------------------------------------------------


def overflows(page: Page) -> list[str]:
    """The widths at which the page scrolls sideways, and what reaches too far."""
    page.wait_for_load_state()  # a page that has just been committed has no document yet
    found, now = [], page.viewport_size
    begun = now["width"] if now else 0
    for width in sorted(WIDTHS, key=lambda width: abs(width - begun)):
        if width != begun:  # each change draws the page anew
            page.set_viewport_size({"width": width, "height": HEIGHT})
        beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if beyond > 0:  # or the window is still on its way to its new width
            page.wait_for_timeout(200)
            beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if beyond > 0:
            found.append(f"{beyond} px too wide at {width}: {', '.join(page.evaluate(BEYOND))}")
    return found


def crowded(buttons: int, primary: int, *, has_findings: bool) -> list[str]:
    """What a header says that leaves open what to do next; findings say whether anything is."""
    if primary > 1:
        return [f"{primary} primary buttons in its header"]
    many = buttons > 3 and not primary and not has_findings
    return [f"{buttons} buttons in its header, none of them primary"] if many else []


def misled(path: str, crumbs: list[str]) -> list[str]:
    """A page inside a project whose first crumb leads elsewhere than to the project."""
    inside = re.match(r"/projects/\d+/", path)
    if not inside or not crumbs or crumbs[0] in ("/projects/", "/work/", inside[0]):
        return []
    return [f"its first crumb is {crumbs[0]}"]


def violations(page: Page, schemes: tuple[str, ...] = ("light", "dark")) -> list[str]:
    """What axe finds serious on the page as it stands, in each colour scheme."""
    page.wait_for_load_state()
    found = []
    now = "dark" if page.evaluate(AXE) else "light"
    forced = "forced " if page.evaluate(FORCED) else ""
    # First as it stands, since each change draws it anew.
    for scheme in sorted(schemes, key=lambda scheme: scheme != now):
        if scheme != now:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            now = scheme
        only = COLOURS if scheme == "dark" else None
        colours = f"{forced}{scheme}"
        wrong, kinds = page.evaluate(SERIOUS, [only, list(_known[colours])])
        found += [f"{colours}: {one}" for one in wrong]
        if not wrong:  # else each page that shows it is named
            _known[colours].update(kinds)
    return found


def small_targets(page: Page) -> list[str]:
    """What on the page, as it stands, is too small for a finger."""
    page.wait_for_load_state()
    found: list[str] = page.evaluate(TARGETS)
    return found


def watch(page: Page, errors: list[str]) -> None:
    """Gather what the page's scripts throw and what its policy refuses.

    A request that fails is no error here: some are refused or cut on purpose.
    """

    def logged(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith((FAILED_REQUEST, *CUT_OFF)):
            errors.append(message.text[:200])

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", logged)


@dataclass
class Inspector:
    """Looks at pages and remembers what was wrong; axe reads a page once, whoever opens it.

    Unless ``thorough``, it looks at one of the pages of a name only, and again as a role to whom it
    looks another way.
    """

    thorough: bool = True
    faults: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # to the whole answer, by page
    seen: set[str] = field(default_factory=set)  # role and name
    read: set[str] = field(default_factory=set)  # names that axe has read

    def knows(self, name: str, *, wanted: bool) -> bool:
        """Whether the page was looked at and looks the same to this role."""
        if self.thorough or (wanted and name not in ALIKE):
            return False
        return re.sub(r"-\d$", "", name) in self.read

    def suffices(self, name: str) -> bool:
        """Whether enough pages were read that differ from it by what is imported alone."""
        most = KINDS.get(name.partition("-")[0])
        if self.thorough or most is None:
            return False
        return (
            len([one for one in self.read if one.startswith(name.partition("-")[0] + "-")]) >= most
        )

    def look(self, page: Page, role: str, name: str, *, wanted: bool = True) -> None:
        """Everything about the page as it stands; ``wanted``: it looks its own way to this role."""
        self.seen.add(f"{role}-{name}")
        about = page.evaluate(ABOUT)
        self.seconds[f"{role}-{name}"] = about["seconds"]
        if self.knows(name, wanted=wanted):
            return
        if not self.thorough:
            name = re.sub(r"-\d$", "", name)
        found = crowded(about["buttons"], about["primary"], has_findings=about["hasFindings"])
        found += misled(urlsplit(page.url).path, about["crumbs"])
        if about["dead"]:
            found.append(f"{about['dead']} elements need htmx, which the page does not load")
        key = f"{role}-{name}" if self.thorough and wanted and role in SEEN_BY else name
        # A page that looks another way to a second person has the same colours.
        schemes = ("light",) if name in self.read else ("light", "dark")
        # Axe reads it in the widest window, in which every other page is left.
        narrow = page.viewport_size != {"width": WIDTHS[-1], "height": HEIGHT}
        if narrow:
            found += overflows(page)
        if key not in self.read:
            found += violations(page, schemes)
            self.read |= {key, name}
        if not narrow:
            found += overflows(page)
        self.faults += [f"{role}-{name} {page.url}: {one}" for one in found]

    def slowest(self, number: int = 12) -> list[str]:
        """The pages that took longest to answer, in words."""
        order = sorted(self.seconds, key=lambda name: -self.seconds[name])[:number]
        return [f"{1000 * self.seconds[name]:5.0f} ms  {name}" for name in order]


# -- who looks ---------------------------------------------------------------------------------


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
    inspector: Inspector
    seen: dict[str, int] = field(default_factory=dict)
    tried: Counter[str] = field(default_factory=Counter)  # what was opened, wherever it led
    visited: set[str] = field(default_factory=set)
    avoids: str = ""  # an address below which nothing is opened
    errors: list[str] = field(default_factory=list)

    def page(self) -> Page:
        if not self.context.pages:
            watch(self.context.new_page(), self.errors)
        return self.context.pages[0]

    def go(self, address: str) -> Page:
        """Open an address of the instance."""
        page = self.page()
        page.goto(address if address.startswith("http") else self.root + address)
        return page

    def sign_in(self, username: str) -> None:
        """By the form, without a page: journeys of each role fill it in."""
        login = f"{self.root}/login/"
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self._asked(login))
        assert found is not None
        form = {"csrfmiddlewaretoken": found[1], "login": username, "password": PASSWORD}
        self._asked(login, data=form)

    def _asked(self, address: str, data: dict[str, str] | None = None) -> str:
        """What the browser's session is answered; no redirect is followed."""
        ask = self.context.request
        method = "POST" if data else "GET"
        headers = {"Referer": address}
        answer = ask.fetch(address, method=method, form=data, headers=headers, max_redirects=0)  # type: ignore[arg-type]
        assert answer.status == (302 if data else 200), answer.text()
        return answer.text()

    def look(self, name: str, *, wanted: bool = True) -> None:
        """Inspect the page as it stands, with what it wrote into the console so far."""
        self.inspector.look(self.page(), self.role, name, wanted=wanted)
        self.inspector.faults += [f"{self.role}-{name}: {error}" for error in self.errors]
        self.errors.clear()

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
            if self.inspector.knows(name, wanted=wanted is None or name in wanted):
                continue  # where it leads, others have followed
            if self.inspector.suffices(name) or self.tried[name] >= TRIES.get(
                name, 2 * MORE.get(name, 1)
            ):
                continue  # a file, or an address that leads to others, as a notice does
            self.tried[name] += 1
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
            hrefs = page.evaluate(LINKS)
            waiting += [href.partition("#")[0] for href in hrefs if href.startswith(self.root)]
            self.look(
                f"{name}-{count + 1}" if count else name, wanted=wanted is None or name in wanted
            )


# -- scenes ------------------------------------------------------------------------------------


def nobody(visitor: Visitor) -> None:
    """Without an account."""
    visitor.follow("/login/")
    visitor.go("/projects/1/tasks/2/import/nothing/9/")
    visitor.look("not-found")


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
            visitor.look("task_import_file")
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
        page.get_by_role("button", name="Create project").click()
    page.wait_for_url(re.compile(r"/projects/\d+/"))
    start = re.search(r"/projects/\d+/", page.url)
    assert start is not None
    visitor.follow(start[0], within=start[0])
    visitor.go("/work/")
    visitor.look("work_home")


def worker(visitor: Visitor, username: str, *, writes: bool) -> None:
    """One with work, who has taken an assignment and perhaps written in it."""
    visitor.sign_in(username)
    page = visitor.go("/work/")
    # Who writes takes the task of questions, not the pairs.
    task = " Tides" if writes else ""
    start = page.get_by_role("button", name=re.compile(f"^(Start|Read and start){task}"))
    take = start.or_(page.get_by_role("link", name="Continue")).first
    works = take.count() > 0
    if works:
        take.click()
        page.wait_for_url(re.compile(r"/work/assignments/"))
    if works and writes:
        go_on = page.get_by_role("link", name=re.compile("^(Start with|Go to) question"))
        if go_on.count():
            go_on.first.click()
        forward = page.get_by_role("button", name=re.compile("^Continue"))  # past a text shown once
        field = page.locator("textarea.answer")
        forward.or_(field).wait_for()  # the next page comes by script, after the click has returned
        if forward.count():
            visitor.look("work_item-text-shown-once")
            forward.first.click()
        field.fill("The text says so in its second sentence.")
        page.locator("[data-saved=server]").wait_for()
        visitor.look("work_item-answering")
    visitor.follow("/work/")


def everything(browser: Browser, root: str, inspector: Inspector) -> None:
    """All roles, one after the other."""

    @contextmanager
    def someone(role: str) -> Iterator[Visitor]:
        context = browser.new_context()
        # The page that is left would ask whether to; a picture needs no answer.
        context.on("dialog", lambda dialog: dialog.accept())
        yield Visitor(role, context, root, inspector)
        context.close()  # what its last page asks for every few seconds goes on meanwhile

    with someone("nobody") as visitor:
        nobody(visitor)
    with someone("requester") as visitor:
        invitation = requester(visitor)
    with someone("empty") as visitor:
        empty_project(visitor)
    with someone("manager") as visitor:
        visitor.sign_in("manager")
        visitor.follow("/projects/")
    with someone("worker1") as visitor:
        worker(visitor, "worker1", writes=False)
    with someone("worker2") as visitor:
        worker(visitor, "worker2", writes=True)
    if invitation:
        with someone("nobody") as guest:
            guest.go(urlsplit(invitation).path)
            guest.look("join")
