"""The documentation: complete, without a dead link, and true where it can be run."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.http import HttpRequest
from django.template import Context, Template
from django.test import Client

from crowdqc.web.terms import TERMS
from crowdqc_client import Client as ApiClient
from evaluation.labels.selectors.tables import TERMS as COEFFICIENT_TERMS
from evaluation.management.commands import load_demo
from tests.support import factories as make
from tests.support import manual, pictures
from tests.support.import_graph import sources
from tests.support.manual import ROOT

DOCS = ROOT / "docs"
SECTIONS = [
    "Question",
    "Data",
    "Equation",
    "Assumptions",
    "Interval and measured coverage",
    "When it misleads",
    "References",
]
# Pages below methods/ that describe no method.
NO_METHOD = {"coverage.md", "index.md", "options.md", "papers.md"}
PAGES = sorted(DOCS.rglob("*.md"))
# What newcomers follow word by word.
FOLLOWED = [DOCS / "quickstart.md", *sorted((DOCS / "tutorials").glob("*.md"))]
# Given by the container files alone, which name them beside their use.
COMPOSE_ONLY = {
    "BACKUP_FOLDER",
    "CROWDQC_TAG",
    "FRONT_NETWORK",
    "HTTP_PORT",
    "POSTGRES_PASSWORD",
    "TLS_FOLDER",
}
BUILD_ONLY = {
    *("TORCH_INDEX", "PYTHON_IMAGE", "POSTGRES_IMAGE", "REDIS_IMAGE", "NGINX_IMAGE"),
}
# Of the system, and not ours to document.
OTHERS = {"XDG_DATA_HOME"}


def blocks(language: str) -> list[tuple[str, str]]:
    """Fenced blocks of a language: page and text."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [
        (page.relative_to(DOCS).as_posix(), text)
        for page in PAGES
        for text in fence.findall(page.read_text())
    ]


def test_every_setting_is_documented_with_the_default_that_the_code_has() -> None:
    told = {one.name: one for one in manual.settings()}
    code = manual.settings_in_code()
    compose = set(re.findall(r"\$\{([A-Z0-9_]+)", (ROOT / "docker-compose.yml").read_text()))
    assert (set(code) | compose) - set(told) - OTHERS == set()
    assert set(told) - set(code) == COMPOSE_ONLY | BUILD_ONLY
    assert [name for name, one in told.items() if not one.text] == []
    wrong = {
        name: (told[name].default, default)
        for name, default in code.items()
        # Some have another default in production, or none there.
        if isinstance(default, str | int | float)
        and name != "EMAIL_URL"
        and told[name].default != _written(default)
    }
    assert wrong == {}


def test_every_setting_of_env_reaches_the_containers() -> None:
    # Given by the file itself, as networks and ports of the containers are.
    fixed = {
        *("PROXY_APP", "PROXY_RESOLVER", "PROXY_HTTP_LISTEN", "PROXY_HTTPS_LISTEN"),
        "CROWDQC_TRUSTED_PROXIES",
    }
    others = {"Set by the container files", "For development"}
    missing = {one.name for one in manual.settings() if not one.passed}
    assert missing - {one.name for one in manual.settings() if one.section in others} == fixed


def _written(default: str | float | bool) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return str(int(default)) if isinstance(default, float) else str(default)


def test_every_setting_of_several_machines_is_documented() -> None:
    names = set(re.findall(r"\$\{([A-Z0-9_]+)", (ROOT / "docker-compose.scale.yml").read_text()))
    page = (DOCS / "admin" / "scale.md").read_text()
    told = {one.name for one in manual.settings()}
    assert {name for name in names - told if f"`{name}`" not in page} == set()


def test_every_setting_of_recovery_is_documented() -> None:
    text = (ROOT / "docker-compose.recovery.yml").read_text()
    names = set(re.findall(r"\$\{([A-Z0-9_]+)", text))
    page = (DOCS / "admin" / "backup.md").read_text()
    told = {one.name for one in manual.settings()}
    assert {name for name in names - told if f"`{name}`" not in page} == set()


def test_every_command_says_what_it_does() -> None:
    files = {
        path.stem
        for path in ROOT.glob("*/management/commands/*.py")
        if not path.stem.startswith("_")
    }
    found = manual.commands()
    assert files and files <= set(found)
    assert [name for name, command in found.items() if not command.help] == []
    page = manual.commands_page()
    assert [name for name in found if f"## {name}\n" not in page] == []


def test_every_term_of_pages_is_used_and_leads_to_a_page_of_the_documentation() -> None:
    templates = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    used = {slug for text in templates for slug in re.findall(r'{% help "([\w-]+)" %}', text)}
    used |= {slug for text in templates for slug in re.findall(r'term="([\w-]+)"', text)}
    lists = [path.read_text() for path in sources("annotation", "evaluation")]
    used |= {slug for text in lists for slug in re.findall(r'\bterm="([\w-]+)"', text)}
    used |= set(COEFFICIENT_TERMS.values())
    assert used == set(TERMS)
    for slug, term in TERMS.items():
        page, _, anchor = term.page.partition("#")
        heads = re.findall(r"^#+ (.+)$", (DOCS / page).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
        assert not anchor or anchor in anchors, slug
        assert term.usual and len(f"{term.what}") < 110, slug
    limits = {one for text in templates for one in re.findall(r'when_it_misleads "([\w-]+)"', text)}
    assert limits and all((DOCS / "methods" / f"{one}.md").exists() for one in limits)
    glossary = (DOCS / "glossary.md").read_text()
    assert all(f"<!-- generated: terms of {one} -->" in glossary for one in ("statistics", "money"))


def test_a_term_is_explained_where_a_page_first_has_it() -> None:
    page = Template('{% help "alpha" %}|{% help "kappa" %}|{% help "alpha" %}')
    first, other, again = page.render(Context({"request": HttpRequest()})).split("|")
    assert 'popovertarget="help-alpha"' in first and "usable, with care" in first
    assert 'id="help-kappa"' in other and again == ""


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    for name, most in (("README.md", 80), ("CONTRIBUTING.md", 60)):
        text = (ROOT / name).read_text()
        assert len(text.splitlines()) < most, name
        links = re.findall(r"\]\(([^)#]+)\)", text)
        assert links and [one for one in links if not (ROOT / one).exists()] == []


def test_every_method_page_has_the_same_seven_sections() -> None:
    pages = [one for one in sorted((DOCS / "methods").glob("*.md")) if one.name not in NO_METHOD]
    assert len(pages) >= 11
    for page in pages:
        assert re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) == SECTIONS, page.name


def test_the_rail_of_every_method_page_names_known_terms_methods_and_pages() -> None:
    for page in sorted((DOCS / "methods").glob("*.md")):
        if page.name not in NO_METHOD:
            head = re.match(r"---\n(.+?)\n---\n", page.read_text(), re.DOTALL)
            assert head, page.name
            meta = dict(line.split(": ", 1) for line in head[1].splitlines())
            rail = manual.rail(meta)  # fails where it names what does not exist
            assert rail and rail.related and rail.used, page.name
            assert rail.terms or rail.versions, page.name
            assert all((page.parent / f"{one}.md").exists() for one in rail.related), page.name


def session(page: str, text: str, **known: Any) -> None:
    """Run a Python session; fail with what differs from the page."""
    test = doctest.DocTestParser().get_doctest(text, known, page, page, 0)
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    for value in test.globs.values():
        if isinstance(value, ApiClient):
            value.close()
    assert not failed, "".join(said)


SESSIONS = blocks("pycon")
SERVED = sorted({page for page, _ in SESSIONS if page.startswith("api/")})


@pytest.mark.parametrize(("page", "text"), [one for one in SESSIONS if one[0] not in SERVED])
def test_a_python_session_gives_what_the_page_says(page: str, text: str) -> None:
    session(page, text)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", SERVED)
def test_the_api_does_what_its_pages_say(page: str, live_server: Any) -> None:
    """All sessions of a page one after the other, then its shell commands."""
    caches["shared"].clear()
    url, token = live_server.url, make.api_token(make.make_user(), ["read", "write", "run"])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"URL": url, "TOKEN": token, "PYTHONPATH": str(ROOT / "client"), "PATH": path}
    worker_token = make.api_token(make.make_user(), ["work"])
    text = "\n".join(text for name, text in SESSIONS if name == page)
    known = {"url": url, "token": token, "worker_token": worker_token}
    with ThreadPoolExecutor(1) as pool:  # a browser of an earlier test may hold this thread's loop
        pool.submit(session, page, text, **known).result()
    for name, command in blocks("bash"):
        if name == page:
            done = subprocess.run(
                ["bash", "-c", command.replace("curl -s", "curl -sf")],
                env=os.environ | env,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize(("page", "text"), blocks("console"))
def test_a_command_prints_what_the_page_says(page: str, text: str, tmp_path: Path) -> None:
    """Blocks of ``$ python manage.py ...``: files are read from docs/examples."""
    env = os.environ | {"CROWDQC_HOME": str(tmp_path / "var"), "COLUMNS": "100"}
    for part in text.split("$ ")[1:]:
        line, _, wanted = part.partition("\n")
        words = shlex.split(line)
        assert words[:2] == ["python", "manage.py"], line
        done = subprocess.run(
            [sys.executable, *words[1:]], cwd=ROOT, env=env, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        check = doctest.OutputChecker().check_output
        assert check(wanted, done.stdout, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (
            done.stdout
        )


# What pages put into a label: numbers, and what a task's type calls its items.
FILLED_IN = re.compile(r"\s*(?:[\d€…,.]+|\b(?:question|answer|item|pair|assignment|worker)s?\b)\s*")


def test_every_button_that_a_tutorial_names_is_in_the_app() -> None:
    """Words in bold; of a label with numbers or nouns that are filled in, the words between."""
    source = "".join(
        path.read_text()
        for top in ("templates", "annotation", "evaluation")
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in {".html", ".py", ".json"}
    ).replace("’", "'")
    source = " ".join(source.split())
    missing = [
        (page.name, label)
        for page in FOLLOWED
        for label in re.findall(
            r"\*\*(.+?)\*\*", " ".join(page.read_text().replace("’", "'").split())
        )
        if label not in source
        for words in FILLED_IN.split(label)
        if words and words not in source
    ]
    assert missing == []


def test_the_quickstart_names_the_accounts_as_the_demo_prints_them() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+? \| (.+) \|$", FOLLOWED[0].read_text(), re.MULTILINE)
    assert dict(rows) == load_demo.SEES


def test_pictures_of_the_documentation_are_small_and_come_from_one_table() -> None:
    pages = [ROOT / "README.md", *PAGES]
    shown = {
        Path(one).name
        for page in pages
        for one in re.findall(r"!\[[^\]]+\]\(([^)]*screens/[^)]+)\)", page.read_text())
    }
    files = {path.name: path.stat().st_size for path in (DOCS / "screens").iterdir()}
    assert shown == set(files) == {one.name for one in pictures.PICTURES}
    assert {name for name, size in files.items() if size > pictures.LARGEST} == set()


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    """Every link within it leads somewhere, and every page is reached from the index."""
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-b", "html",
         "-d", str(tmp_path / "trees"), str(DOCS), str(tmp_path / "html")],
        cwd=ROOT, env=os.environ | {"CROWDQC_HOME": str(tmp_path / "var")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "methods" / "aqer.html").is_file()


@pytest.mark.django_db
def test_the_app_serves_what_was_built_and_links_to_it(
    client: Client, tmp_path: Path, settings: Any
) -> None:
    assert b'href="/docs/"' not in client.get("/login/").content
    (tmp_path / "methods").mkdir()
    (tmp_path / "index.html").write_text("<script>document.body.dataset.theme = 1</script>Start")
    (tmp_path / "methods" / "aqer.html").write_text("AQER")
    settings.CROWDQC_DOCS = tmp_path
    assert b'href="/docs/"' in client.get("/login/").content
    start = client.get("/docs/")
    assert b"Start" in b"".join(start.streaming_content)
    policy = start["Content-Security-Policy"]
    assert "'sha256-" in policy and "script-src 'self' 'unsafe-inline'" not in policy
    assert client.get("/docs/methods/aqer")["Location"] == "/docs/methods/aqer.html"
    page = client.get("/docs/methods/aqer.html")
    assert b"".join(page.streaming_content) == b"AQER"
    assert client.get("/docs/../manage.py").status_code == 404
    assert client.get("/docs/none.html").status_code == 404
    assert client.post("/docs/").status_code == 405
