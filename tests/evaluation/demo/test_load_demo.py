"""The demo: loaded through the real actions, scored, left alone by a second call, and every page.

It takes most of a minute to load, so what looks at it stands here and shares one.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Count, F, Q, Sum
from django.test import override_settings
from django.utils import timezone, translation
from playwright.sync_api import Browser, expect
from pypdf import PdfReader
from pytest_django.live_server_helper import LiveServer

from annotation.demo import judging
from annotation.models import (
    Answer,
    Assignment,
    AuditEntry,
    ChoiceValue,
    EventBatch,
    Item,
    LedgerEntry,
    PayoutBatch,
    PayoutLine,
    Project,
    Rejection,
    Task,
    User,
)
from annotation.templatetags import crowdqc as tags
from annotation.work.selectors import log, speed
from crowdqc import numbers
from crowdqc.numbers import score
from evaluation.bundles import report
from evaluation.bundles import writing as bundle
from evaluation.bundles.makers import report_of, written_as
from evaluation.demo import loader as demo_loader
from evaluation.management.commands.load_demo import BOARD
from evaluation.models import LiveEvaluation, Run, RunFigure, RunState, SystemScore, WorkerScore
from evaluation.runs import engine as runs
from tests.security import erasure_rounds
from tests.support import crawl, messages
from tests.support.fits import small_fits
from tests.support.pages import findings_in

pytestmark = [pytest.mark.slow]
MOST_OF_A_KIND = 4  # pages of one address that differ in numbers alone
LEFT_OUT = re.compile(r"^/static/|logout|/docs/|/api/|export|/table|\.(csv|jsonl?|svg)|format=")


def load(**options: Any) -> str:
    out = StringIO()
    call_command("load_demo", encoder="char-svd", stdout=out, stderr=out, **options)
    return out.getvalue()


@pytest.fixture(scope="module")
def told(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """Loaded once for all of this module, and committed: a browser's requests see it as well."""
    with django_db_blocker.unblock(), small_fits():
        # As production has it; the demo's money moves all the same.
        with override_settings(CROWDQC_REQUIRE_SECOND_FACTOR=True):
            said = load()
        for run in Run.objects.filter(task__type="labels").order_by("pk"):
            assert runs.execute(run.pk) == "done"  # they are left to the worker
        with connection.cursor() as cursor:  # the server does it within a minute, tests are faster
            cursor.execute("ANALYZE")
    yield said
    with django_db_blocker.unblock():
        call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=True)


@pytest.mark.django_db
def test_the_four_accounts_sign_in_and_find_what_is_theirs(told: str, client: Any) -> None:
    project = Project.objects.get(name=demo_loader.TITLE)
    for name in demo_loader.ACCOUNTS:
        assert name in told and demo_loader.PASSWORD in told
        assert client.login(username=name, password=demo_loader.PASSWORD)
        path = "/work/" if name.startswith("worker") else f"/projects/{project.pk}/"
        page = client.get(path)
        assert page.status_code == 200, (name, path)
    for name in ("worker1", "worker2"):
        own = Assignment.objects.filter(worker__user__username=name, state="submitted")
        assert own.filter(settled_at__isnull=True).exists()
        client.login(username=name, password=demo_loader.PASSWORD)
        assert b"Tides, read once" in client.get("/work/").content
    assert LedgerEntry.objects.filter(worker__user__username="worker1").exists()
    rejection = Rejection.objects.get(assignment__worker__user__username="worker2")
    assert rejection.reply and not rejection.outcome


@pytest.mark.django_db
def test_slots_leases_and_money_add_up(told: str) -> None:
    held = Item.objects.annotate(n=Count("entries", filter=Q(entries__holds=True)))
    assert not held.exclude(held=F("n")).exists()
    assert not Item.objects.filter(held__gt=F("redundancy")).exists()
    assert not Assignment.objects.filter(submitted_at__gt=F("expires_at")).exists()
    first, compared, second = PayoutBatch.objects.order_by("number")
    assert [one.state for one in (first, compared, second)] == ["approved", "approved", "proposed"]
    for batch in (first, compared):
        assert batch.proposed_by.username == second.proposed_by.username == "requester"
        assert batch.decided_by is not None and batch.decided_by.username == "manager"
    going = PayoutLine.objects.filter(batch__state="approved", decision="approve", live=True)
    amounts = going.aggregate(base=Sum("base"), bonus=Sum("bonus"))
    owed = LedgerEntry.objects.owed().aggregate(s=Sum("amount"))["s"]
    assert owed == amounts["base"] + amounts["bonus"] > Decimal(30)
    paid = LedgerEntry.objects.filter(kind="payment").aggregate(s=Sum("amount"))["s"]
    assert 0 < paid < owed  # one line of the first batch and the whole second are still to be paid
    settled = Assignment.objects.filter(settled_at__isnull=False).exclude(source="import")
    assert settled.count() == going.count() + Rejection.objects.count()


@pytest.mark.django_db
def test_there_is_a_history_with_logs_and_scores_that_recover_the_planted_order(
    told: str,
) -> None:
    from scipy.stats import spearmanr

    now = timezone.now()
    days = {
        a.submitted_at.date()
        for a in Assignment.objects.filter(state="submitted")
        if a.submitted_at
    }
    assert len(days) >= 8
    for model, name in ((Assignment, "leased_at"), (Answer, "answered_at"), (AuditEntry, "at")):
        assert not model.objects.filter(**{f"{name}__gt": now}).exists()  # type: ignore[attr-defined]
    events = EventBatch.objects.aggregate(n=Sum(F("last_seq") - F("first_seq") + 1))["n"]
    assert 15_000 < events < 60_000
    assert Answer.objects.filter(counts=False).exists()
    states = list(Task.objects.order_by("pk").values_list("state", flat=True))
    assert states[:7] == ["open", "open", "open", "open", "closed", "open", "draft"]

    task = demo_loader.loaded()
    scored = list(Run.objects.filter(method="aqer", task=task).order_by("number"))
    assert [run.params["leave_one_out"] for run in scored] == [False, True]
    assert {run.state for run in scored} == {"done"}
    for run in scored:
        assert SystemScore.objects.filter(run=run).count() == 6
        scores = dict(
            WorkerScore.objects.filter(run=run).values_list("worker__pseudonym", "estimate")
        )
        planted = {w.id: w.planted for w in demo_loader.demo.load().workers}
        order = sorted(set(scores) & set(planted))
        assert len(order) == 24
        rank = spearmanr([scores[w] for w in order], [planted[w] for w in order])
        assert rank.statistic > 0.6


@pytest.mark.django_db
def test_the_study_is_live_and_was_handed_out_by_the_rules(told: str) -> None:
    panel, study = demo_loader.compared_tasks()
    assert study.current is not None and "a pairwise study: 10 topics, 42 texts" in told
    asked = study.items.filter(expected__isnull=True)
    assert (asked.count(), asked.filter(repeat=True).count()) == (80, 20)
    assert study.items.filter(expected__isnull=False).count() == 2
    slots = asked.aggregate(held=Sum("held"), wanted=Sum("redundancy"))
    assert slots["wanted"] == 400 and 370 <= slots["held"] < 400
    assert study.assignments.filter(state="leased").count() == 2
    judgments = Answer.objects.filter(item__task=study, counts=True, worker__isnull=False)
    assert 350 <= judgments.count() < slots["held"]
    for pair in asked.filter(held=F("redundancy"), repeat=False):
        turned = judgments.filter(item__first=pair.first_id, item__second=pair.second_id)
        shares = [turned.filter(flipped=one).count() for one in (False, True)]
        assert abs(shares[0] - shares[1]) <= 4, pair.key
    own = Q(item__first__author=F("worker")) | Q(item__second__author=F("worker"))
    assert not Answer.objects.filter(own, item__task=study).exists()
    times = speed.pair_times(study)
    assert len(times) >= judgments.count()
    assert {one.seconds_total > 2 for one in times.values()} == {True}
    calls = Answer.objects.filter(item__task=study, system__isnull=False)
    assert [calls.filter(flipped=one).count() for one in (False, True)] == [30, 30]
    assert panel.source_id == study.pk
    assert Answer.objects.filter(item__task=panel).count() == 12 * 3
    lines = [row["name"] for row in study.current.settings["dimensions"]]
    # By a join, which no plan makes slow on tables that were never analysed.
    values = ChoiceValue.objects.filter(
        answer__item__task=study, answer__worker__isnull=False, answer__counts=True
    )
    assert len(lines) == 7 and values.count() == 7 * judgments.count()


@pytest.mark.django_db
def test_a_writing_task_is_open_with_responses_whose_logs_replay(told: str) -> None:
    task = Task.objects.get(type="writing")
    assert (
        "a writing task: 2 topics, 8 responses of 6 people with their logs, 4 of a system" in told
    )
    assert task.state == "open"
    assert set(task.items.values_list("held", "redundancy", "priority")) == {(2, 3, 0)}
    given = Answer.objects.filter(item__task=task, worker__isnull=False, counts=True)
    assert given.count() == 8
    for answer in given:
        assert answer.assignment_id is not None
        events = log.item_events(log.assignment_events(answer.assignment_id), answer.item_id)
        assert log.replay_text(events) == answer.texts.get(field="answer").text
        assert answer.choices.count() == 8 and answer.spans.count() >= 3


@pytest.mark.django_db
def test_the_study_s_core_is_there_and_tells_careful_judges_and_good_texts_apart(
    told: str,
) -> None:
    panel, study = demo_loader.compared_tasks()
    for task in (panel, study):
        core = Run.objects.get(task=task, method="pairwise")
        assert core.state == "done"
        assert core.followers.get().method == "pairwise_checks"
    manners = {judge.worker: judge.manner for judge in judging.load().judges}
    scores = WorkerScore.objects.filter(run=core, dimension="").order_by("estimate")
    ranked = [(manners[one.worker.pseudonym], float(one.estimate or 0)) for one in scores]
    assert len(ranked) == 24
    # Sides are drawn anew each time, and by chance some of a judge's lefts are right.
    assert "always_left" in [manner for manner, _ in ranked[:8]]
    means = {
        manner: mean(score for own, score in ranked if own == manner)
        for manner in ("careful", "ordinary", "hasty")
    }
    assert means["careful"] > means["ordinary"] > means["hasty"]
    systems = SystemScore.objects.filter(run=core, dimension="quality_overall")
    order = [str(one.system) for one in systems.order_by("-estimate")]
    assert order[0] == "Orrery-M, sources first" and order[-1] == "Pellet-3B, one pass"


@pytest.mark.django_db
@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_what_pages_count_and_name_is_translated(
    told: str, client: Any, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nouns come from settings, types and tables, so no page shows that a catalogue lacks one."""
    owner = User.objects.get(username="requester")
    User.objects.filter(pk=owner.pk).update(language=language)
    client.force_login(owner)
    kept, lacking = messages.read(language, "django"), dict[tuple[str | None, str], str]()
    page = ""

    def note(text: str, context: str | None = None) -> None:
        if text and translation.get_language() == language and kept.get(text, context) is None:
            lacking.setdefault((context, text), page)

    def ngettext(one: str, many: str, number: int) -> str:
        note(one)
        return translation.ngettext(one, many, number)

    def pgettext(context: str, text: str) -> str:
        note(text, context)
        return translation.pgettext(context, text)

    monkeypatch.setattr(numbers, "ngettext", ngettext)
    monkeypatch.setattr(numbers, "pgettext", pgettext)
    monkeypatch.setattr(tags, "pgettext", pgettext)
    waiting, shapes, seen = ["/projects/"], Counter[str](), set[str]()
    while waiting:
        page = waiting.pop(0)
        shapes[shape := re.sub(r"\d+", "N", page.split("?")[0])] += 1
        if page in seen or shapes[shape] > MOST_OF_A_KIND or LEFT_OUT.search(page):
            continue
        seen.add(page)
        shown = client.get(page)
        if shown.get("Content-Type", "").startswith("text/html"):
            waiting += map(unescape, re.findall(r'href="(/[^"#]+)', shown.content.decode()))
    assert len(seen) > 60
    assert lacking == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page", ["", "wins/", "pairs/", "workers/", "agreement/", "order/", "grades/", "judges/"]
)
def test_the_study_s_pages_open(told: str, client: Any, page: str) -> None:
    study = demo_loader.compared_tasks()[1]
    assert client.login(username="manager", password=demo_loader.PASSWORD)
    shown = client.get(f"/projects/{study.project_id}/tasks/{study.pk}/study/{page}")
    assert shown.status_code == 200 and b"Which answer is better?" in shown.content


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("type_", "page"),
    [
        ("free_text", "results/"),
        ("free_text", "results/systems/"),
        ("free_text", "results/questions/"),
        ("checklist", "checks/"),
        ("rating", "ratings/"),
        ("pairwise", "study/"),
        ("pairwise", "study/pairs/"),
        ("pairwise", "study/workers/"),
        ("pairwise", "study/agreement/"),
        ("", ""),  # a worker's card
    ],
)
def test_a_result_page_begins_with_one_verdict_and_at_most_one_action(
    told: str, client: Any, type_: str, page: str
) -> None:
    project = demo_loader.compared_tasks()[1].project
    if type_:
        runs = Run.objects.filter(task__project=project, task__type=type_, state=RunState.DONE)
        url = f"/projects/{project.pk}/tasks/{runs.first().task_id}/{page}"
    else:
        scored = WorkerScore.objects.filter(run__project=project).first()
        url = f"/projects/{project.pk}/workers/{scored.worker_id}/"
    assert client.login(username="manager", password=demo_loader.PASSWORD)
    shown = client.get(url)
    assert shown.status_code == 200 and shown.content.count(b'<p class="verdict"') == 1
    assert findings_in(shown.content.decode())


@pytest.mark.django_db
def test_a_second_call_changes_nothing_and_makes_nothing_again(told: str) -> None:
    project = Project.objects.get(name=demo_loader.TITLE)
    project.name = "Called something else by now"
    project.save(update_fields=["name"])
    before = (AuditEntry.objects.count(), Run.objects.count(), User.objects.count())
    again = load()
    assert (AuditEntry.objects.count(), Run.objects.count(), User.objects.count()) == before
    assert "Called something else by now" in again


@pytest.mark.django_db
def test_hundreds_of_names_are_erased_and_nothing_of_others_changes(told: str) -> None:
    task = demo_loader.loaded()
    assert task is not None
    erasure_rounds.check_names(task)


@pytest.mark.django_db
def test_the_demo_keeps_what_workers_wrote_in_the_declared_tables_alone(told: str) -> None:
    erasure_rounds.check_places()


@pytest.fixture
def served(told: str) -> Iterator[str]:
    """The address of a server of the demo, after which its rows are still there."""
    server = LiveServer("localhost")
    server._live_server_modified_settings.enable()
    yield server.url
    server.stop()
    server._live_server_modified_settings.disable()


def signed_in(browser: Browser, root: str) -> crawl.Visitor:
    """The demo's requester."""
    requester = crawl.Visitor("requester", browser.new_context(), root, crawl.Inspector())
    requester.sign_in("requester")
    return requester


@pytest.mark.django_db
def test_one_live_evaluation_ended_by_its_precision_and_one_is_open(told: str) -> None:
    ended, going = LiveEvaluation.objects.order_by("pk")
    assert (ended.state, ended.reason, going.state) == ("ended", "precise", "open")
    assert ended.result is not None and ended.result["half_width"] <= ended.half_width
    better, worse = ended.result["systems"]
    assert better["low"] > 0.5 > worse["high"]
    low, high = (going.seen["systems"][0][name] for name in ("low", "high"))
    assert going.seen["votes"] and low < 0.5 < high


@pytest.mark.browser
@pytest.mark.django_db
def test_a_live_evaluation_is_read_while_it_is_open_and_when_it_has_ended(
    browser: Browser, served: str
) -> None:
    ended, going = (one.task for one in LiveEvaluation.objects.order_by("pk"))
    requester = signed_in(browser, served)
    page, errors = requester.page(), requester.errors
    page.goto(f"{served}/projects/{going.project_id}/tasks/{going.pk}/live/")
    expect(page.get_by_text("It ends by itself when the intervals are narrow")).to_be_visible()
    page.goto(f"{served}/projects/{ended.project_id}/tasks/{ended.pk}/live/")
    expect(page.get_by_text("The intervals are as narrow as was asked for.")).to_be_visible()
    assert page.get_by_role("row").nth(1).inner_text().startswith("Halcyon-7B")
    assert errors == []
    requester.context.close()


@pytest.mark.browser
@pytest.mark.django_db
def test_a_shared_board_is_read_by_a_stranger_until_it_is_withdrawn(
    browser: Browser, served: str
) -> None:
    study = demo_loader.compared_tasks()[1]
    requester = signed_in(browser, served)
    page, errors = requester.page(), requester.errors
    page.goto(f"{served}/projects/{study.project_id}/tasks/{study.pk}/study/")
    page.locator("summary", has_text="Share").first.click()
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("New link").input_value()
    visitor = browser.new_context()
    stranger = visitor.new_page()
    crawl.watch(stranger, errors)
    for address in (f"{served}/boards/{BOARD}/", link):
        stranger.goto(address)
        expect(stranger.get_by_text("sources first").first).to_be_visible()
    page.get_by_role("button", name=f"Withdraw /boards/{BOARD}/").click()
    expect(page.get_by_text("Not public.")).to_be_visible()
    page.get_by_role("button", name="Stop sharing").click()
    expect(page.get_by_text("Not shared.")).to_be_visible()
    for address in (f"{served}/boards/{BOARD}/", link):
        gone = visitor.request.get(address)  # past the copy that a browser may show for a minute
        assert gone.status == 404
    assert errors == []
    visitor.close()
    requester.context.close()


@pytest.mark.django_db
def test_the_report_of_a_study_has_the_numbers_of_its_bundle(told: str) -> None:
    run = Run.objects.get(task__type="labels", method="labels")
    html, _ = report_of(run)
    with zipfile.ZipFile(io.BytesIO(b"".join(bundle.parts(run)))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files["manifest.json"])
    found, wrong = report.differences(html, files, manifest)
    assert found > 50 and wrong == []
    scores = WorkerScore.objects.filter(run=run).select_related("worker")
    for one in scores:
        assert one.worker.pseudonym in html and f">{score(one.estimate, 3)}</data>" in html
    for user in User.objects.exclude(email=""):
        assert user.email not in html
    pages = PdfReader(io.BytesIO(written_as("pdf", html))).pages
    printed = " ".join("\n".join(page.extract_text() for page in pages).split())
    for one in scores:
        assert re.search(
            rf"{one.worker.pseudonym}\b.* {re.escape(score(one.estimate, 3))} ", printed
        )
    changed = html.replace(f">{score(scores[0].estimate, 3)}</data>", ">.123</data>")
    assert report.differences(changed, files, manifest)[1]
    other = {**manifest, "result_hash": "0" * 64}
    assert "it is of another result" in report.differences(html, files, other)[1]


def explain_and_take(browser: Browser, url: str, client: Any) -> None:
    """A result page explains its terms, gives its chart away, and can be printed."""
    run = Run.objects.get(task__type="labels", method="labels")
    address = f"{url}/projects/{run.project_id}/tasks/{run.task_id}/labels/agreement/"
    context = browser.new_context(viewport={"width": 360, "height": 640}, color_scheme="dark")
    client.login(username="requester", password=demo_loader.PASSWORD)
    cookie = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
    page = context.new_page()
    page.goto(address)
    before = page.evaluate("document.documentElement.scrollHeight")
    for mark in page.locator(".help-mark:visible").all():
        mark.focus()
        page.keyboard.press("Enter")
        box = page.locator(".popover:popover-open").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360
        assert box["y"] >= 0 and box["y"] + box["height"] <= 640
        page.keyboard.press("Escape")
        expect(page.locator(".popover:popover-open")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollHeight") == before
    page.set_viewport_size({"width": 1360, "height": 900})
    files = {}
    for form in ("CSV", "SVG", "PNG"):
        page.locator(".chart-tools summary").first.click()
        with page.expect_download() as download:
            page.locator(".chart-tools[open] .menu-list > *", has_text=form).click()
        files[form] = Path(download.value.path()).read_bytes()
    alpha = next(
        row
        for row in RunFigure.objects.get(run=run, name="agreement").data
        if row["coefficient"] == "krippendorff_nominal" and row["scope"] == "all"
    )
    assert f",{alpha['value']}," in files["CSV"].decode()
    drawn = files["SVG"].decode()
    assert ">Gwet’s AC1</text>" in drawn and f">{score(alpha['value'], 2)}</text>" in drawn
    assert b" style=" not in files["SVG"] and files["PNG"].startswith(b"\x89PNG")
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator(".bar, .actions, .chart-tools").locator("visible=true")).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 690, "height": 1000})  # A4 between its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 690
    context.close()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)  # the last here, as it leaves no row
def test_results_are_taken_and_every_page_fits_is_clean_for_axe_and_logs_no_error(
    browser: Browser, told: str, live_server: Any, client: Any
) -> None:
    explain_and_take(browser, live_server.url, client)
    inspector = crawl.Inspector(thorough=False)
    crawl.everything(browser, live_server.url, inspector)
    print("\n".join(["The slowest answers:", *inspector.slowest()]))
    assert inspector.faults == []
    assert "requester-conversation" in inspector.seen  # to which a notice alone leads
    assert len(inspector.seen) > 180  # the links were followed
