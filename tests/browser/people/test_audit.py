"""An audit of explanations judged by keyboard alone, and the shares that come of it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from annotation.models import Role
from evaluation.models import AuditVerdict
from evaluation.rescaling import audits
from tests.browser.sign_in import misfits, sign_in
from tests.browser.working.keys import press
from tests.evaluation.corpora import rescaling as corpus
from tests.support import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]


def test_a_judge_agrees_by_a_and_disagrees_by_d_and_a_letter_in_the_note_is_a_letter(
    context: BrowserContext, live_server: Any
) -> None:
    task = corpus.make_rated(items=2, raters=2)
    judge = factories.make_member(task.project, Role.MANAGER).user
    assert judge is not None
    audit = audits.open_audit(by=task.project.owner, task=task, judge=judge, each=1)
    total = len(audit.answer_ids)
    sign_in(context, judge, live_server.url)
    page = context.new_page()
    page.goto(f"{live_server.url}/projects/{task.project_id}/tasks/{task.pk}/audits/")
    page.get_by_role("link", name="Continue judging").click()
    for number in range(1, total + 1):
        expect(page.get_by_text(f"Explanation {number} of {total}", exact=True)).to_be_visible()
        if number == 1:
            assert misfits(page, "judging") == []
            page.get_by_label("Note").type("a sad day")
            page.get_by_role("heading", name="Question").click()
            press(page, "d")
        else:
            press(page, "a")
        expect(page.get_by_text(f"Explanation {number} of {total}", exact=True)).to_be_hidden()
    verdicts = list(AuditVerdict.objects.order_by("pk").values_list("agrees", "note"))
    assert verdicts == [(False, "a sad day"), *[(True, "")] * (total - 1)]
    page.get_by_role("button", name="Close and show the shares").click()
    expect(page.get_by_role("row", name="Everybody")).to_contain_text(f"{total - 1}")
    expect(page.get_by_text("a sad day")).to_be_visible()
