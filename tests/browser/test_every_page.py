"""Pages of what the demo lacks, at every width, light and dark.

The demo's own are looked at in ``tests/evaluation/demo/test_load_demo.py``, which has it loaded.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from annotation.models import Project
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
