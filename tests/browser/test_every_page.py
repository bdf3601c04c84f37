"""Pages of what the demo lacks, at every width, light and dark.

The demo's own are looked at in ``tests/evaluation/demo/test_load_demo.py``, which has it loaded.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page

from annotation.models import Project, User
from tests.browser.sign_in import sign_in
from tests.support import crawl
from tests.support.crawl import watch
from tests.support.everything import address, everything

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


ELSEWHERE = (
    "account_email",
    "audit",
    "checklist",
    "checklist_ask",
    "checklist_stage",
    "checklist_version",
    "hook",
    "mfa_index",
    "models_model",
    "recruitment",
    "recruitment_edit",
    "set_comparison_new",
    "task_feedback",
    "task_quiz",
    "task_rounds",
    "usersessions_list",
)


STAFF = (
    *("project", "task_list", "task", "task_build", "people", "results", "run_list", "audit"),
    *("payout_list", "payout", "review_answers", "files_list", "task_items", "account"),
)
WORKERS = (
    *("work_home", "work_earnings", "work_messages", "work_record", "work_card"),
    *("work_assignment", "work_item", "work_ask", "work_consent", "payment_details", "account"),
    *("notice_list", "own_data_erase", "account_email", "mfa_index"),
)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def test_pages_of_what_the_demo_lacks_fit_every_window_and_are_clean_for_axe(
    page: Page, context: BrowserContext, live_server: Any
) -> None:
    values, _ = everything()
    owner = Project.objects.get(pk=values["project_id"]).owner
    sign_in(context, owner, live_server.url)
    inspector, errors = crawl.Inspector(), []
    watch(page, errors)
    for name in ELSEWHERE:
        response = page.goto(live_server.url + address(name, values))
        assert response is not None and response.status == 200, name
        inspector.look(page, "requester", name)
    assert inspector.faults == [] and errors == []


def enter(context: BrowserContext, client: Client, url: str) -> Page:
    """A page of the browser for who is signed in with the client."""
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])
    return context.new_page()


def test_every_role_reads_its_pages_in_forced_colours_whatever_its_theme(
    browser: Browser, live_server: Any
) -> None:
    values, clients = everything()
    found = []
    for role, names in (("requester", STAFF), ("manager", STAFF[:1]), ("worker", WORKERS)):
        context = browser.new_context(forced_colors="active", color_scheme="dark")
        page = enter(context, clients[role], live_server.url)
        for name in names:
            page.goto(live_server.url + address(name, values))
            page.evaluate("document.documentElement.dataset.theme = 'light'")
            found += [f"{role} {name}: {one}" for one in crawl.violations(page)]
        tabs = page.locator("nav.tabs a").evaluate_all(
            "(all) => all.map((one) => [one.ariaCurrent, getComputedStyle(one).borderBottomStyle])"
        )
        assert tabs and {style for now, style in tabs if not now} == {"none"}
        page.emulate_media(color_scheme="dark")
        drawn = page.locator(".brand svg").evaluate("(one) => getComputedStyle(one).color")
        assert drawn == "rgb(111, 202, 212)"  # of the dark theme, on black
        context.close()
    assert found == []


def test_what_workers_touch_on_a_phone_is_large_enough(browser: Browser, live_server: Any) -> None:
    values, clients = everything()
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = enter(context, clients["worker"], live_server.url)
    found = []
    for name in WORKERS:
        page.goto(live_server.url + address(name, values))
        found += [f"{name}: {one}" for one in crawl.small_targets(page)]
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, (name, wide)
    assert found == []
    User.objects.update(language="de")  # whose words are longer
    for name in (*WORKERS, "account_log"):
        page.goto(live_server.url + address(name, values))
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, (name, wide)
    context.close()
