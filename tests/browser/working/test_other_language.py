"""A worker's pages in a made-up language: what scripts write in English on them is found.

Every page of every task type is read without a browser in tests/test_other_language.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as site
from django.urls import reverse
from django.utils.translation import trans_real
from django.views import i18n
from playwright.sync_api import BrowserContext

from annotation.models import Assignment, Project, User
from tests.browser.sign_in import sign_in
from tests.support import factories
from tests.support.everything import address, everything
from tests.support.made_up import LOG, MADE_UP, made_up
from tests.support.words import CASES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.long]
PAGES = ("own_data_erase", "entry", "join")
OUTSIDE = ("login", "signup", "password_reset", "join", "entry", "notice_stop")
# Text that is seen and is neither translated (it would be in brackets), nor a name or what people
# wrote (dir="auto"), nor a key. A message may hold elements, so brackets are counted over all text.
LEFT = """() => {
  const own = '[dir="auto"], [lang]:not(html), code, kbd, pre, .foot, .chart, ' +
    'script, style, noscript, template';
  const clean = (text) => {
    for (let old = ""; old !== text;) [old, text] = [text, text.replace(/⟦[^⟦⟧]*⟧/g, "")];
    return text.replace(/⟦.*$/s, "").replace(/\\b[a-z]+[-_]\\d+\\b/g, "");
  };
  const said = (text) => /[A-Za-z]{3,}/.test(text.replace(/crowdqc|min\\b|Prolific|CSV/g, ""));
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let depth = 0;
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    let text = "";
    for (const one of walker.currentNode.data) {
      if (one === "⟦") depth += 1;
      else if (one === "⟧") depth = Math.max(0, depth - 1);
      else if (!depth) text += one;
    }
    if (said(clean(text)) && !parent.closest(own)) found.add(text.trim().replace(/\\s+/g, " "));
  }
  for (const name of ["placeholder", "aria-label", "title", "alt", "data-confirm"])
    for (const one of document.querySelectorAll(`[${name}]`))
      if (said(clean(one.getAttribute(name))) && !one.closest(own))
        found.add(`${name}=${one.getAttribute(name)}`);
  return said(clean(document.title)) ? [document.title, ...found] : [...found];
}"""


def test_no_page_of_a_worker_keeps_english(
    context: BrowserContext, live_server: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LANGUAGES = [*site.LANGUAGES, (MADE_UP, "Esperanto")]
    monkeypatch.setitem(trans_real._translations, MADE_UP, made_up(MADE_UP))
    monkeypatch.setattr(i18n, "DjangoTranslation", made_up)
    values, _ = everything()
    Project.objects.update(name="Πτηνά")
    User.objects.update(display_name="Πελαργός")
    rejected = Assignment.objects.get(pk=values["assignment_id"])
    worker, project = rejected.worker, rejected.task.project
    assert worker.user is not None
    worker.user.language = MADE_UP
    worker.user.save(update_fields=["language"])
    factories.make_log(rejected, LOG)
    task = factories.make_task(project, 2, instructions="Γράψε.")
    held = factories.claim(task, worker)
    done = Assignment.objects.filter(worker=worker, state="submitted").first()
    assert done is not None
    inside = [address(name, values) for name in PAGES]
    inside += [reverse("work_item", args=[one.pk, 1]) for one in (rejected, held)]
    inside += [reverse("work_assignment", args=[held.pk])]
    inside += [reverse("work_record_assignment", args=[one.pk]) for one in (done, rejected)]
    inside += [reverse("work_done", args=[done.pk]), reverse("work_home") + "nowhere/"]
    context.add_cookies(
        [{"name": site.LANGUAGE_COOKIE_NAME, "value": MADE_UP, "url": live_server.url}]
    )
    page, left = context.new_page(), {}
    context.on("dialog", lambda dialog: dialog.accept())
    for url in [*(address(name, values) for name in OUTSIDE), "", *inside]:
        if not url:
            sign_in(context, worker.user, live_server.url)
            continue
        page.goto(live_server.url + url)
        left[url] = page.evaluate(LEFT)
    module = "import('/static/js/words.js')"
    count = f"async texts => texts.map((await {module}).countWords)"
    counted = page.evaluate(count, list(CASES))
    assert dict(zip(CASES, counted, strict=True)) == CASES, "as in Python"
    assert {url: found for url, found in left.items() if found} == {}
