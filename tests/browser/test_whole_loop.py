"""The whole loop in a real browser: from a requester's first page to a paid worker.

Ten workers of planted quality answer through the API with the graded answers of Mohler et al.
(2011), dealt as in the semi-synthetic protocol "rand20": AQER has to find their order again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect
from scipy.stats import spearmanr

from annotation.accounts.actions import vouched_accounts as accounts
from annotation.accounts.projects.actions import invitation_token
from annotation.models import Answer, Assignment, Invitation, LedgerEntry, Membership
from annotation.work.selectors import log
from crowdqc.errors import Invalid
from evaluation.published.reproduce.data import data_folder
from tests.bench import harness
from tests.browser.corpus import QUESTIONS, Corpus, load
from tests.browser.sign_in import PASSWORD, Api, Person
from tests.support.processes import Worker, empty_queue, test_database_url, until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
TITLE = "Computer science, in a few words"
PAY = Decimal("26.00")
BY_HAND = 2  # questions that the one in the browser answers
RUN_MS = 120_000  # a run, on however busy a machine


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    try:
        return load(data_folder())
    except Invalid as missing:
        pytest.skip(missing.message)


@pytest.fixture
def root(transactional_db: None, corpus: Corpus, tmp_path: Path) -> Iterator[str]:
    """The application under gunicorn and a queue's worker, which start beside one another."""
    environment = os.environ | {"DATABASE_URL": test_database_url(), "LOG_LEVEL": "ERROR"}
    empty_queue()
    worker = Worker(tmp_path / "worker.log").launch()
    try:
        with harness.served(environment, "crowdqc.wsgi:application", workers=1) as port:
            worker.wait()
            yield f"http://127.0.0.1:{port}"
    finally:
        worker.kill()


# -- authoring -----------------------------------------------------------------------------------


def makes_a_project(requester: Person) -> None:
    requester.go("/signup/")
    requester.signs_up()
    requester.go("/projects/new/")
    requester.sees("New project")
    requester.page.get_by_label("Name").fill("Short answers")
    requester.press("Create project")
    requester.sees("Short answers")


def saves(requester: Person, field: str, value: str) -> None:
    """Fill in a field of the builder, which saves itself."""
    with requester.page.expect_response("**/build/*"):
        box = requester.page.get_by_label(field)
        box.fill(value)
        box.blur()


def authors_the_task(requester: Person) -> str:
    """From the first title to the cost line; gives the task's address."""
    requester.follow("Create a task")
    requester.sees("New task")
    requester.page.get_by_label("Title").fill("A first title")
    requester.press("Create task")
    page = requester.page
    page.wait_for_url("**/build/*")
    saves(requester, "Title", TITLE)
    saves(requester, "Instructions", "Answer in **a few words**; do not look anything up.")
    requester.sees(TITLE)

    page.get_by_role("link", name="People per question").click()
    with page.expect_response("**/build/*"):
        page.get_by_role("radio", name="As written here").check(force=True)
    saves(requester, "Answers per question", "11")
    saves(requester, "Questions per assignment", str(QUESTIONS))
    saves(requester, "Most words", "200")
    with page.expect_response("**/build/*"):
        page.get_by_label("May be skipped").check()
    requester.sees(TITLE)

    page.get_by_role("link", name="Time and pay").click()
    saves(requester, "Pay per assignment", str(PAY))
    saves(requester, "Time for an assignment", "240")
    requester.sees(TITLE)
    return urlsplit(page.url).path.removesuffix("build/")


def imports_the_questions(requester: Person, task: str, corpus: Corpus) -> None:
    """Mohler's file as it is: its own columns, and one that the task does not want."""
    requester.go(task + "import/items/")
    requester.sees("Import questions")
    requester.uploads("mohler_questions.csv", corpus.file)
    page = requester.page
    expect(page.get_by_label("column question_id read as")).to_have_value("item_id")
    expect(page.get_by_label("column reference_answer read as")).to_have_value("")
    requester.press(f"Import {QUESTIONS} rows")
    page.wait_for_url("**/build/")
    expect(page.locator("#count-questions")).to_have_text(str(QUESTIONS))


def looks_and_publishes(requester: Person, corpus: Corpus) -> None:
    page, first = requester.page, corpus.questions[0]["question"]
    expect(page.locator(".preview")).to_contain_text(first)
    requester.follow("Publish…")
    page.locator("dialog").get_by_role("button", name="Publish").click()
    requester.sees(TITLE)
    expect(page.locator(".state").first).to_contain_text("Open")


def invites(requester: Person, role: str, people: int) -> str:
    """An invitation's link."""
    requester.follow("People")
    requester.sees("People")
    page = requester.page
    page.get_by_label("Role").select_option(label=role)
    page.get_by_label("For how many people").fill(str(people))
    page.get_by_label("Note").fill(f"for {people}")
    requester.press("Create invitation")
    row = page.get_by_role("row").filter(has_text=f"for {people}")
    link = row.locator("input.code").input_value()
    assert link.startswith(requester.root)
    return link


def lets_a_manager_in(requester: Person, manager: Person) -> None:
    """By mail alone; the administrator says that they are two persons."""
    requester.follow("People")
    requester.sees("People")
    requester.page.get_by_label("Role").select_option(label="Manager")
    requester.page.get_by_label("Mail it to").fill("mo-manager@example.org")
    requester.press("Create invitation")
    requester.sees("People")
    token = invitation_token(Invitation.objects.get(role="manager"))
    manager.joins(f"{requester.root}/join/{token}/")
    manager.sees("Short answers")
    member = Membership.objects.filter(role="manager").latest("pk")  # the owner is one as well
    assert member.user is not None
    call_command("confirm_manager", str(member.project_id), member.user.username)


# -- working -------------------------------------------------------------------------------------


def agrees_and_starts(person: Person) -> None:
    person.sees("What is recorded, and who sees it")
    person.page.get_by_label("I have read this and agree").check()
    person.press("Agree", exact=True)
    person.sees("Work")
    person.press(f"Start {TITLE}")
    person.sees(TITLE)
    person.follow("Start with question 1")


def answers_by_keyboard(person: Person, corpus: Corpus) -> None:
    """The first questions by keyboard alone."""
    for row in corpus.questions[:BY_HAND]:
        person.sees(row["question"])
        expect(person.page.locator("textarea.answer")).to_be_focused()
        person.page.keyboard.type(row["reference_answer"])
        person.page.keyboard.press("Control+Enter")
    expect(person.page.locator("h1")).to_have_text(corpus.questions[BY_HAND]["question"])
    person.page.keyboard.press("Alt+r")


def submits(person: Person) -> None:
    person.sees("Ready to submit")
    person.press(f"Submit {BY_HAND} answers")
    person.sees("Submitted, thank you")


def is_kept_with_its_log(person: Person, written: list[str]) -> None:
    """The answers as they were typed, and events that give the same texts when replayed."""
    mine = Assignment.objects.get(worker__user__display_name=person.name)
    rows = mine.answers.order_by("order_shown").values_list("item_id", "texts__text")
    assert [text for _, text in rows] == [text.strip() for text in written]

    def replayed() -> list[str]:
        events = log.assignment_events(mine.pk)
        return [log.replay_text(log.item_events(events, item)) for item, _ in rows]

    until(lambda: replayed() == written, 15, "a log that gives the answers")


def works_in_the_browser(person: Person, link: str, corpus: Corpus) -> None:
    person.joins(link)
    agrees_and_starts(person)
    answers_by_keyboard(person, corpus)
    submits(person)
    is_kept_with_its_log(person, [row["reference_answer"] for row in corpus.questions[:BY_HAND]])
    person.context.close()


def planted_workers_answer(root: str, link: str, task: str, corpus: Corpus) -> list[str]:
    """All of them, in a few threads; gives their pseudonyms, the best group first."""
    names = [f"planted-{number:02}" for number in range(corpus.dealt.shape[1])]
    for name in names:
        accounts.sign_up(username=name, display_name=name, password=PASSWORD)
    invitation = urlsplit(link).path.removeprefix("/join/").strip("/")
    task_id = int(task.strip("/").rpartition("/")[2])

    def work(number: int) -> str:
        worker = Api(root, names[number])
        return worker.joins_and_answers(invitation, task_id, corpus.by_worker(number))

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, range(len(names))))


# -- scoring -------------------------------------------------------------------------------------


def runs_aqer(requester: Person, task: str) -> None:
    """The page of the run gives way to its results once they are there."""
    page = requester.page
    requester.go(task + "results/")
    requester.follow("Options")
    requester.sees("Run AQER")
    encoder = page.get_by_label("Encoder")
    expect(encoder).to_have_value("minilm")
    encoder.select_option("char-svd")  # nothing has to be loaded for it
    page.get_by_label("Resamples of the questions").fill("100")
    page.locator(".run-form button.primary").click()
    expect(page.locator("h1").first).to_have_text("Workers, by AQER", timeout=RUN_MS)
    requester.sees("Workers, by AQER")


def board(page: Page) -> dict[str, float]:
    """Name -> score, as they stand on the page."""
    rows = page.locator("table.board tbody tr:has(td.l1r b)")
    pairs = rows.evaluate_all(
        "rows => rows.map(row => [row.querySelector('td.l1 a, td.l1 b').textContent,"
        " row.querySelector('td.l1r b').textContent])"
    )
    return {name.strip(): float(score) for name, score in pairs}


def recovers_the_order(requester: Person, pseudonyms: list[str], corpus: Corpus) -> None:
    scores = board(requester.page)
    assert set(pseudonyms) <= set(scores)
    found = spearmanr([scores[name] for name in pseudonyms], corpus.truth()).statistic
    assert found >= 0.8, f"Spearman {found:.3f}"


# -- paying --------------------------------------------------------------------------------------


def proposes_what_is_paid(requester: Person, task: str, people: int) -> str:
    """The requester's proposal; gives its address. They may not approve it themself."""
    requester.go(task + "review/")
    requester.sees("Review")
    requester.follow("Propose all")
    requester.sees("New proposal")
    page = requester.page
    for select in page.locator("select[name^=decision_]").all():
        select.select_option("approve")
    total = f"€{PAY * people:.2f}"
    expect(page.get_by_role("button", name=f"Propose {total} for {people} people")).to_be_enabled()
    requester.press("Propose €")
    requester.sees(re.compile("^Proposal 1"))
    expect(page.get_by_role("button", name="You proposed it; somebody else")).to_be_disabled()
    return urlsplit(page.url).path


def approves(manager: Person, proposal: str, people: int) -> None:
    """A second person, by a double click."""
    manager.go(proposal)
    manager.sees(re.compile("^Proposal 1"))
    manager.page.get_by_role("button", name=f"Approve {people} people").dblclick()
    expect(manager.page.locator(".page-head .state").first).to_have_text("Approved")
    manager.sees(re.compile("^Proposal 1"))
    rows = manager.downloads("Export CSV")
    assert len({row["worker"] for row in rows}) == len(rows) == people
    assert {(row["decision"], row["pay"], row["currency"]) for row in rows} == {
        ("approve", str(PAY), "EUR")
    }


def shows_it_once(manager: Person, pseudonyms: list[str], people: int) -> None:
    manager.follow("Ledger")
    manager.sees("Ledger")
    journal = manager.page.get_by_role("table", name="Entries of the ledger")
    owed = journal.locator("tbody td.l1").all_inner_texts()
    assert len(set(owed)) == len(owed) == people
    assert {f"Owed to {name}" for name in pseudonyms} < set(owed)
    expect(journal.locator("tfoot")).to_contain_text(f"€{PAY * people:.2f}")
    balance = manager.page.get_by_role("table", name="Accounts in EUR")
    expect(balance.locator("tfoot")).to_contain_text("equal")
    expect(balance.locator("tfoot")).not_to_contain_text("not equal")
    assert LedgerEntry.objects.count() == people


# -- the loop ------------------------------------------------------------------------------------


def test_from_a_requesters_first_page_to_a_paid_worker(
    browser: Browser, root: str, corpus: Corpus
) -> None:
    requester = Person("Rosa Requester", root, browser)
    makes_a_project(requester)
    task = authors_the_task(requester)
    imports_the_questions(requester, task, corpus)
    looks_and_publishes(requester, corpus)
    link = invites(requester, "Worker", 15)
    works_in_the_browser(Person("Wim Worker", root, browser), link, corpus)

    pseudonyms = planted_workers_answer(root, link, task, corpus)
    people = len(pseudonyms) + 1
    assert Answer.objects.count() == len(pseudonyms) * QUESTIONS + BY_HAND

    runs_aqer(requester, task)
    recovers_the_order(requester, pseudonyms, corpus)

    proposal = proposes_what_is_paid(requester, task, people)
    manager = Person("Mo Manager", root, browser)
    lets_a_manager_in(requester, manager)
    approves(manager, proposal, people)
    shows_it_once(manager, pseudonyms, people)
    for person in (requester, manager):
        person.context.close()
