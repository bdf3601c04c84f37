"""Accounts in a real browser: sign-up, second factors, passkeys, sessions, single sign-on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from annotation.accounts.actions import vouched_accounts as accounts
from annotation.models import User
from tests.browser.sign_in import PASSWORD, misfits
from tests.security.accounts.factors import current_code
from tests.security.accounts.mailbox import code_for
from tests.security.accounts.test_sso import connect_to
from tests.support.servers import oidc_provider

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]
ADA = "ada@example.org"
PAPER = "rgb(251, 250, 247)"  # of the light theme, which these browsers ask for


@pytest.fixture
def root(live_server: Any) -> str:
    """Under a name: browsers keep passkeys for names only."""
    return str(live_server.url).replace("127.0.0.1", "localhost")


@pytest.fixture
def person(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.set_default_timeout(60_000)
    yield context
    context.close()


@pytest.fixture
def page(person: BrowserContext) -> Iterator[Page]:
    page, errors = person.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if "Security" in said.text else None)
    yield page
    page.goto("about:blank")
    assert errors == []


def made() -> User:
    return accounts.sign_up(username=ADA, display_name="Ada Lowe", password=PASSWORD)


def enters(page: Page, root: str) -> None:
    page.goto(f"{root}/login/?next=/account/")
    page.get_by_label("E-mail or username").fill(ADA)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def leaves(page: Page) -> None:
    page.locator("details.person summary").click()
    page.get_by_role("button", name="Sign out", exact=True).last.click()
    expect(page.locator("h1")).to_have_text("Sign in")


def heading(page: Page, words: str, *, new: bool = False) -> None:
    """This page has come; ``new``: no crawl comes to it, so it is looked at here."""
    expect(page.locator("h1")).to_contain_text(words)
    if new:
        assert misfits(page, words) == []


def test_somebody_signs_up_and_proves_their_address(page: Page, root: str) -> None:
    page.goto(f"{root}/password/reset/sent/")
    heading(page, "Check your mail", new=True)
    page.goto(f"{root}/signup/?next=/account/")
    heading(page, "Create an account")
    page.get_by_label("E-mail").fill(ADA)
    page.get_by_label("Your name").fill("Ada Lowe")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    heading(page, "Check your mail", new=True)
    page.get_by_label("Code").fill("BBBB-BBBB")
    page.get_by_role("button", name="Verify address").click()
    expect(page.locator("#field-code")).to_contain_text("That code is not right.")
    page.get_by_label("Code").fill(code_for(ADA))
    page.get_by_role("button", name="Verify address").click()
    heading(page, "Account")
    expect(page.locator("#profile")).to_contain_text("ada@example.org verified")


def test_an_app_and_a_recovery_code_protect_an_account(page: Page, root: str) -> None:
    made()
    enters(page, root)
    page.get_by_role("link", name="Add app").click()
    heading(page, "Enter your password")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    heading(page, "Add an authenticator app", new=True)
    secret = page.locator("#secret").input_value()
    page.get_by_label("Code", exact=True).fill(current_code(secret))
    page.get_by_role("button", name="Add app").click()
    heading(page, "Recovery codes", new=True)
    codes = page.locator("#codes").inner_text().split()
    assert len(codes) == 10
    page.get_by_role("link", name="I have kept them").click()
    expect(page.locator(".page-head")).to_contain_text("Protected by a second factor")
    expect(page.locator("#sign-in")).to_contain_text("10 of 10 left")
    leaves(page)
    enters(page, root)
    heading(page, "Enter your code", new=True)
    page.get_by_label("Code for").fill(codes[0])
    page.get_by_label("Don’t ask again").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#sign-in")).to_contain_text("9 of 10 left")
    leaves(page)
    enters(page, root)
    heading(page, "Account")


def test_a_passkey_signs_in_without_a_password(
    person: BrowserContext, page: Page, root: str
) -> None:
    made()
    device = person.new_cdp_session(page)
    device.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    enters(page, root)
    page.get_by_role("link", name="Add passkey").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    heading(page, "Add a passkey", new=True)
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Add passkey").click()
    heading(page, "Recovery codes")
    page.get_by_role("link", name="I have kept them").click()
    expect(page.locator("#sign-in")).to_contain_text("My laptop")
    leaves(page)
    page.goto(f"{root}/login/?next=/account/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    heading(page, "Account")
    leaves(page)
    # With the password it is the second factor.
    enters(page, root)
    heading(page, "Use your passkey", new=True)
    page.get_by_role("button", name="Use a passkey instead").click()
    heading(page, "Account")


def test_name_and_address_are_changed_and_a_theme_holds_until_others_are_signed_out(
    page: Page, browser: Browser, root: str
) -> None:
    made()
    elsewhere = browser.new_context(user_agent="Mozilla/5.0 (iPhone) Safari/600")
    other = elsewhere.new_page()
    enters(other, root)
    expect(other.locator("h1")).to_have_text("Account")
    enters(page, root)
    profile = page.locator("#profile")
    profile.get_by_text("Change").first.click()
    profile.get_by_label("Name").fill("Ada L.")
    profile.get_by_role("button", name="Save name").click()
    expect(profile).to_contain_text("Ada L.")
    profile.get_by_text("Change").nth(1).click()
    profile.get_by_label("New e-mail").fill("new@example.org")
    profile.get_by_role("button", name="Send code").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    heading(page, "Check your mail")
    page.get_by_label("Code").fill(code_for("new@example.org"))
    page.get_by_role("button", name="Verify address").click()
    expect(profile).to_contain_text("new@example.org verified")

    theme = page.get_by_role("button", name="Dark", exact=True)
    theme.press("Enter")  # by keyboard alone
    expect(theme).to_have_attribute("aria-pressed", "true")
    for device in (page, other):
        loaded = device.reload()
        assert loaded is not None and 'data-theme="dark"' in loaded.text()  # before any script
        assert device.evaluate("getComputedStyle(document.body).backgroundColor") != PAPER
    page.get_by_role("button", name="System", exact=True).click()
    expect(page.locator("html:not([data-theme])")).to_be_attached()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER
    sessions = page.locator("#sessions")
    expect(sessions).to_contain_text("Safari on iPhone")
    page.get_by_role("button", name="Sign out everywhere else").click()
    expect(page.locator("#notices")).to_contain_text("Signed out on 1 other device.")
    expect(sessions).not_to_contain_text("Safari on iPhone")
    other.reload()
    expect(other.locator("h1")).to_have_text("Sign in")
    elsewhere.close()


@pytest.mark.long
def test_somebody_comes_in_by_single_sign_on(
    page: Page, root: str, tmp_path: Path, settings: Any
) -> None:
    with oidc_provider.provider(tmp_path, f"{root}/sso/sso/callback/") as address:
        connect_to(settings, address)
        page.goto(f"{root}/login/?next=/account/")
        page.get_by_role("button", name="Sign in with Example University").click()
        expect(page.locator("h1")).to_have_text("The provider")
        page.get_by_label("Name").fill("vouched")
        page.get_by_label("Password").fill(oidc_provider.PASSWORD)
        page.get_by_role("button", name="Go on").click()
        heading(page, "Account")
        expect(page.locator("#sign-in")).to_contain_text("Connected")
