"""What docs/security.md claims can be looked up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from annotation.payouts.statement_file import LIMITS as LIMITS_OF_STATEMENTS
from annotation.payouts.statement_file import MOST_BAD
from annotation.work.actions import drafts, events
from crowdqc import limits
from crowdqc.proxy import Proxy
from crowdqc.web.bodies import FORM, LIMITS, MB, SMALL, UPLOAD, in_words

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text()


def test_every_test_that_the_security_page_names_exists() -> None:
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for path in (ROOT / "tests").rglob("test_*.py"):
        there |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert set(re.findall(r"`(test_\w+(?:\.py)?)`", PAGE)) - there == set()


def test_every_file_that_the_security_page_names_holds_its_test() -> None:
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", PAGE)
    assert named
    for name, test in named:
        [path] = [ROOT / name] if "/" in name else (ROOT / "tests" / "security").rglob(name)
        assert re.search(rf"^def {test}\b", path.read_text(), re.MULTILINE), (name, test)


def test_every_chapter_stands_on_the_security_page() -> None:
    assert re.findall(r"^### V(\d+) ", PAGE, re.MULTILINE) == [str(n) for n in range(1, 18)]


def test_every_file_that_the_guarantees_name_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "tests" / "GUARANTEES.md").read_text())
    assert named and [name for name in named if not (ROOT / name).is_file()] == []


def test_every_requirement_has_a_status_and_every_met_one_a_test_or_a_file() -> None:
    rows = re.findall(r"^\| (\d+\.\d+\.\d+)[^|]* \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) > 130
    kinds = ("met", "given: ", "n/a", "open: ")
    assert not [ident for ident, status in rows if not status.startswith(kinds)]
    folders = ("crowdqc", "annotation", "evaluation", "tests")
    ours = {path.name for one in folders for path in (ROOT / one).rglob("*.*")}
    missing = []
    for ident, status in rows:
        tests = re.findall(r"`(test_\w+)", status)  # each is looked up above
        named = re.findall(r"`((?:\w[\w-]*/)*[\w.-]*\.\w+)`", status)
        files = [one for one in named if (ROOT / one).is_file() or one in ours]
        if len(files) < len(named) or (status.startswith("met") and not tests and not files):
            missing.append((ident, named))
    assert not missing


def test_the_limits_on_the_page_are_those_of_the_code(settings: Any) -> None:
    proxy = Proxy(Path(), (), Path(), Path())
    (minute, hour), (code, day) = limits.TRIES, limits.CODES
    sign_up, sign_up_day = limits.SIGN_UPS
    mail = settings.ACCOUNT_EMAIL_VERIFICATION_BY_CODE_TIMEOUT // 60
    rows = {
        "sign-in, pages and API together":
            f"{minute.most} a minute and {hour.most} an hour for one name",
        "sign-in, pages; API": f"{limits.SIGN_INS.most} a minute each from one network",
        "codes of a second factor, pages": f"{code.most} in 5 minutes, {day.most} a day",
        "sign-up": f"{sign_up.most} in 10 minutes, {sign_up_day.most} a day from one network",
        "password reset": f"{limits.RESETS.most} an hour from one network, {limits.MAILS.most} "
            "mails an hour to one address",
        "code by mail": f"3 tries, {mail} minutes",
        "messages": f"{limits.MESSAGES.most} an hour by one person, 2,000 characters each; "
            f"{limits.REPORTS.most} reports an hour",
        "rows of the audit log by changing what is one's own (agreement, recordings, language, "
            "notices, views)": f"{limits.OWN_ENTRIES.most} an hour by one person",
        "announcements": f"{limits.ANNOUNCEMENTS.most} a day about one task",
        "ways in from platforms and links": f"{limits.ENTRIES.most} a minute from one network",
        "shared results and public boards": f"{limits.SHARED.most} a minute from one network",
        "requests without a sign-in, at every address but probes":
            "600 a minute from one network, in each web process (`CROWDQC_ANONYMOUS_REQUESTS`)",
        "requests through the proxy": f"{proxy.requests_per_second} a second and "
            f"{proxy.connections} at once from one network (`PROXY_REQUESTS_PER_SECOND`, "
            "`PROXY_CONNECTIONS`)",
        "request bodies": f"{in_words(SMALL)} for anybody; signed in {in_words(FORM)}, "
            f"{in_words(dict(LIMITS)['/work/'])} for answers, {in_words(UPLOAD)} on pages that "
            "take files (`crowdqc/web/bodies.py`)",
        "drafts": f"{drafts.MAX_DRAFT_BYTES // MB} MB for one version, {drafts.MOST_OTHERS} "
            f"versions and {drafts.MAX_OTHERS_BYTES // MB} MB that wait for a choice",
        "interaction log": f"{events.MAX_ASSIGNMENT_BYTES // MB} MB of one assignment, until it is "
            f"decided or {events.GRACE.seconds // 60} minutes after its submit",
        "statements of platforms": f"{LIMITS_OF_STATEMENTS.size // MB} MB and "
            f"{LIMITS_OF_STATEMENTS.rows:,} rows; reading ends after {MOST_BAD:,} bad rows",
        "imported files": "CSV, JSONL, Parquet, Excel or OpenDocument: "
            f"{settings.CROWDQC_IMPORT_MAX_BYTES // MB} MB, "
            f"{settings.CROWDQC_IMPORT_MAX_ROWS:,} rows, {settings.CROWDQC_IMPORT_MAX_COLUMNS} "
            "columns, 256 million characters decoded (`CROWDQC_IMPORT_MAX_BYTES`, `_ROWS`, "
            "`_COLUMNS`)",
    }  # fmt: skip
    table = PAGE.partition("| what | limit |")[2].partition("\n\n")[0]
    found = dict(re.findall(r"^\| (?!-)(.*?) \| (.*) \|$", table, re.MULTILINE))
    assert {name: found.pop(name, "") for name in rows} == rows
    assert not found
