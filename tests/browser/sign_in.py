"""Who acts in the whole loop: people at a browser, and scripted workers at the API."""

from __future__ import annotations

import csv
import io
import json
import re
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from playwright.sync_api import Error as PlaywrightError

from annotation.models import User
from tests.security.accounts.mailbox import code_for
from tests.support.crawl import overflows, violations, watch
from tests.support.factories import session_of

PASSWORD = "a-long-test-password-7"


@dataclass
class Person:
    """Somebody in a browser of their own."""

    name: str
    root: str
    browser: Browser
    page: Page = field(init=False)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context = self.browser.new_context(accept_downloads=True)
        self.context.set_default_timeout(20_000)
        self.open_tab()

    def open_tab(self) -> None:
        self.page = self.context.new_page()
        watch(self.page, self.errors)

    def go(self, address: str) -> None:
        self.page.goto(address if address.startswith("http") else self.root + address)

    def press(self, button: str, *, exact: bool = False) -> None:
        self.page.get_by_role("button", name=button, exact=exact).click()

    def follow(self, link: str) -> None:
        self.page.get_by_role("link", name=link).first.click()

    def sees(self, heading: str | re.Pattern[str]) -> None:
        """This page has come, and no script of it has failed; axe reads it in the crawl."""
        expect(self.page.locator("h1").first).to_have_text(heading)
        self.page.wait_for_load_state()  # its scripts have come as well
        assert self.errors == []

    def signs_up(self) -> None:
        """With an address, whose code is read from the mail that waits to leave."""
        self.sees("Create an account")
        address = f"{self.name.lower().replace(' ', '-')}@example.org"
        self.page.get_by_label("E-mail").fill(address)
        self.page.get_by_label("Your name").fill(self.name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.press("Create account")
        self.sees("Check your mail")
        self.page.get_by_label("Code").fill(code_for(address))
        self.press("Verify address")

    def joins(self, link: str) -> None:
        """Through an invitation, without an account so far."""
        self.go(link)
        self.sees("Short answers")
        self.follow("Create an account and join")
        self.signs_up()
        self.press("Join as")

    def uploads(self, name: str, content: bytes) -> None:
        """A file chosen on an import page, up to the page that shows how it is read."""
        file = {"name": name, "mimeType": "text/csv", "buffer": content}
        self.page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]

    def downloads(self, link: str) -> list[dict[str, str]]:
        """The rows of a CSV file."""
        with self.page.expect_download() as download:
            self.follow(link)
        text = Path(download.value.path()).read_text(encoding="utf-8")
        return list(csv.DictReader(io.StringIO(text)))


def sign_in(context: BrowserContext, user: User, url: str) -> None:
    """Sign the user in without the form, for all pages of this browser."""
    name, value = settings.SESSION_COOKIE_NAME, session_of(user)
    context.add_cookies([{"name": name, "value": value, "url": url}])


def cut_off(page: Page, pattern: str) -> None:
    """Let no such request of the page reach the server, also while its tab is being ended."""

    def end(route: Route) -> None:
        with suppress(PlaywrightError):  # the tab that asked may be gone
            route.abort()

    page.route(pattern, end)


def kill(page: Page) -> None:
    """End the tab's process at once: no event of leaving reaches its scripts.

    Chromium writes localStorage in another process; a tab that ends within milliseconds of a key
    takes that key with it, whatever the page did.
    """
    page.wait_for_timeout(500)
    with page.expect_event("crash", timeout=20_000), suppress(PlaywrightError):
        page.goto("chrome://crash", wait_until="commit", timeout=5_000)
    with suppress(PlaywrightError):
        page.close()  # the tab's place, which nothing answers from any more


def log_is_sent(page: Page) -> None:
    """All that the page has recorded so far is with the server.

    The list of questions loads itself anew once late drafts are saved; the page after it sends
    what the one before had recorded.
    """
    on_the_way = ("Execution context was destroyed", "crowdqc is not defined")
    for more in reversed(range(5)):  # a page may still be on its way to the next
        page.wait_for_function(
            "() => window.crowdqc?.log"
        )  # its text is shown before its scripts run
        try:
            page.evaluate("() => crowdqc.log.flush()")
            return
        except PlaywrightError as error:
            if not more or not any(words in str(error) for words in on_the_way):
                raise


class Api:
    """A scripted worker: the HTTP API with a token, nothing else."""

    def __init__(self, root: str, username: str) -> None:
        self.root, self.token = root, ""
        body = {"username": username, "password": PASSWORD}
        self.token = self.ask("POST", "token/", body)["token"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Token {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.root}/api/{path}", data=data, headers=headers, method=method
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)

    def joins_and_answers(self, invitation: str, task: int, answers: dict[str, str]) -> str:
        """Join, agree, claim, submit, and submit once more as after a lost reply."""
        me = self.ask("POST", "work/join/", {"token": invitation})
        consent = f"work/projects/{me['project']}/consent/"
        number = self.ask("GET", consent)["number"]
        self.ask("POST", consent, {"number": number, "agreed": True})
        held = self.ask("POST", f"work/tasks/{task}/claim/")
        assert len(held["entries"]) == len(answers)
        drafts = {str(e["item"]): {"text": answers[e["question"]]} for e in held["entries"]}
        body = {"key": str(uuid.uuid4()), "answers": drafts}
        for _ in range(2):
            done = self.ask("POST", f"work/assignments/{held['id']}/submit/", body)
            assert done["state"] == "submitted"
        return str(me["pseudonym"])


def is_well(page: Page) -> None:
    """Axe finds nothing serious on the page as it stands."""
    assert violations(page) == []


def misfits(page: Page, where: str) -> list[tuple[str, str]]:
    """What is wrong with the page as it stands, at every width and in both colour schemes."""
    size = page.viewport_size
    found = [(where, one) for one in (*overflows(page), *violations(page))]
    if size is not None:
        page.set_viewport_size(size)
    page.emulate_media(color_scheme="light")
    return found


def fits(page: Page, where: str) -> None:
    assert misfits(page, where) == []


def goes_to(page: Page, part: str) -> None:
    """The builder shows this part."""
    page.get_by_role("link", name=re.compile(f"^{part}")).click()
    expect(page.locator("nav[aria-label='Parts of the task'] [aria-current]")).to_contain_text(part)


def saves(page: Page, field: str, value: str) -> None:
    """Fill in a field of the builder, which saves itself."""
    with page.expect_response("**/build/**"):
        box = page.get_by_label(field, exact=True)
        box.fill(value)
        box.blur()


def reporting(context: BrowserContext) -> Iterator[Page]:
    """A page of the browser, which reports every error of its scripts at its end."""
    context.set_default_timeout(15_000)
    page, errors = context.new_page(), []
    watch(page, errors)
    yield page
    page.goto("about:blank")
    assert errors == []
