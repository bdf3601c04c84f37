"""Workers' pages in German and Spanish: complete catalogues, and words left behind."""

from __future__ import annotations

import ast
import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.html import strip_tags
from django.utils.translation import gettext, ngettext, pgettext

from crowdqc import numbers
from tests.support import bare_text, messages
from tests.support.source import parse_source

CLOCK = "annotation/work/frame/_clock.html"
DAY = dt.date(2026, 11, 18)
NOW = dt.datetime(2026, 11, 18, 12, tzinfo=dt.UTC)
# What German and Spanish pages do not say: formal Spanish, and words of two kinds for one thing.
NOT_SAID = {
    "de": r"[Gg]enehmigt|\bMitarbeiter(n|in)?\b|<kbd>(Ctrl|Shift|Space)</kbd>|\bMerkmal",
    "es": (
        r"\b(usted|[Ii]ntroduzca|[Cc]ompruebe|indique|acote|Abra|Cree su|su trabajo)\b"
        r"|[Pp]asskey|<kbd>(Shift|Space)</kbd>|\bse requiere\b"
    ),
}
PLACEHOLDER = re.compile(r"%\((\w+)\)s|(</?[a-z]+)\b")
# The left column of the table of words: what no page, error or script says any more. Left out is
# what is also plain English elsewhere ("Leave it" of a field, "Least words" of a setting).
LEFT_BEHIND = (
    "Recorded of me",
    "Kept of the log",
    "Bring something in",
    "Take something out",
    "Say what it is about",
    "Asked again, turned",
    "Judges a pair",
    "So many a topic",
    "Balanced, incomplete",
    "By lot",
    "What an assignment is a mixture of",
    "Questions an assignment",
    "Middle time",
    "Only added to",
    "Who did what",
    "What stands here",
    "Nothing stands here",
    "Propose the ticked",
    "There are judgments enough",
    "Systems by log-merit",
    "Days that workers are promised",
    "To decide about work",
    "To answer a reply",
    "What is kept until when",
    "until somebody erases them",
    "Who is told of what",
    "nothing noted",
    "Begin the task",
    "Check as a worker",
    "What this cannot say",
    "With the others",
    "Systems told apart",
    "Make the token",
    "I don't know my password",
    "Make an account",
    "Un-iterated",
)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return dict(messages.collected())


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_everything_that_workers_read_is_translated(language: str, said: dict[str, Any]) -> None:
    for domain, template in said.items():
        assert messages.missing(language, domain, template) == [], "say: make messages"


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_a_translation_keeps_what_is_filled_in_and_its_marks(language: str) -> None:
    """A placeholder may be left out, where the language needs none, and none is invented."""
    for domain in messages.DOMAINS:
        for message in messages.read(language, domain):
            if not message.id:
                continue
            known = set(PLACEHOLDER.findall(" ".join(messages.texts_of(message.id))))
            for text in messages.texts_of(message.string):
                assert set(PLACEHOLDER.findall(text)) <= known, text


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_a_language_has_one_address_and_one_word_for_a_thing(language: str) -> None:
    for domain in messages.DOMAINS:
        for message in messages.read(language, domain):
            for text in messages.texts_of(message.string) if message.id else ():
                assert not re.search(NOT_SAID[language], text), text


def test_a_word_with_two_meanings_has_two_translations() -> None:
    for language, left, event, key, link in (
        ("de", "noch 29:19", "verlassen", "Eingabetaste", "Angeben"),
        ("es", "quedan 29:19", "saliste de", "Intro", "Introducir"),
    ):
        with translation.override(language):
            assert pgettext("event", "left") == event
            clock = render_to_string(CLOCK, {"seconds_left": 1759})
            assert " ".join(strip_tags(clock).split()).startswith(left)
            assert pgettext("key", "Enter") == key
            assert pgettext("payment details", "Enter") == link


@pytest.mark.parametrize("language", messages.LANGUAGES)
def test_compiled_catalogues_are_those_of_the_texts(language: str) -> None:
    for domain in messages.DOMAINS:
        kept = messages.LOCALE / language / "LC_MESSAGES" / f"{domain}.mo"
        assert kept.read_bytes() == messages.compiled(messages.read(language, domain)), (
            f"{kept.relative_to(messages.ROOT)} is old: say make messages"
        )


def test_no_page_says_what_plain_words_replaced() -> None:
    root = Path(messages.ROOT)
    left_behind = re.compile(rf"\b(?:{'|'.join(LEFT_BEHIND)})\b")
    for files in messages.sources().values():
        for path in files:
            found = left_behind.findall((root / path).read_text())
            assert not found, f"{path}: {found}"


def test_templates_say_nothing_outside_the_translation_functions() -> None:
    """But for ``bare_text.EXCEPT``, so that nothing slips back."""
    assert bare_text.left() == []


def test_a_bare_text_is_found_wherever_it_stands() -> None:
    assert bare_text.bare_texts('<p>{% translate "Said" %} {{ name }} <code>id</code></p>') == []
    assert bare_text.bare_texts("<p>Not said, {{ name }}</p>") == ["Not said,"]
    assert bare_text.bare_texts('<input placeholder="Search" value="on">') == ["Search"]
    assert bare_text.bare_texts('{% include "a.html" with label="Go on" %}') == ["Go on"]


def test_counts_money_and_dates_follow_the_language() -> None:
    with translation.override("de"):
        assert numbers.money(1234.5, "EUR") == "1.234,50\u00a0€"
        assert numbers.plural(2, "question") == "2 Fragen"
        assert numbers.score(0.726) == "0,726"
        assert numbers.interval(0.5, 0.814) == "0,500–0,814"
        assert numbers.percent(0.79) == "79\u00a0%"
        assert numbers.duration(1.04) == "1,0\u00a0s"
        assert numbers.long_date(DAY) == "18. November 2026"
        assert numbers.short_date(DAY, today=DAY) == "18.\u00a0Nov."
        assert numbers.ago(NOW - dt.timedelta(days=3), now=NOW) == "vor 3\u00a0Tagen"
    with translation.override("es"):
        assert numbers.plural(1, "question") == "1 pregunta"
        assert numbers.score(-0.5, 2) == "−0,50"
        assert numbers.long_date(DAY) == "18 de noviembre de 2026"
        assert numbers.short_date(DAY, today=DAY) == "18\u00a0nov"
        assert numbers.ago(NOW - dt.timedelta(days=1), now=NOW) == "hace 1\u00a0día"
    with translation.override("en-gb"):
        assert numbers.score(0.726) == ".726"
        assert numbers.percent(0.79) == "79%"
        assert numbers.long_date(DAY) == "18 November 2026"
        assert numbers.money(1234.5, "EUR") == "€1,234.50"
        assert numbers.plural(1, "question") == "1 question"


@pytest.mark.django_db
def test_the_switch_turns_sign_in_and_a_chosen_language_outlives_the_browser(client: Any) -> None:
    page = client.get(reverse("login"), headers={"accept-language": "es-MX,es;q=0.9"})
    assert 'lang="es"' in page.content.decode() and "Iniciar sesión" in page.content.decode()
    client.post(reverse("language"), {"language": "de", "next": reverse("login")})
    page = client.get(reverse("login"), headers={"accept-language": "es"}).content.decode()
    assert 'lang="de"' in page and "Passwort vergessen?" in page
    script = client.get(reverse("script_words", args=["de"])).content.decode()
    assert "Keine Textstelle" in script
    assert (
        gettext("Sign in") == "Sign in" and ngettext("a", "b", 2) == "b"
    )  # the thread is as before
    away = client.post(reverse("language"), {"language": "es", "next": "https://example.org/"})
    assert away.url == reverse("home")


def test_every_part_of_a_file_that_workers_read_is_there() -> None:
    missing = {}
    for name, parts in messages.PARTS.items():
        tree = parse_source((Path(messages.ROOT) / name).read_text())
        known = {getattr(node, "name", getattr(node, "id", "")) for node in ast.walk(tree)}
        known |= {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        if gone := [part for part in parts if part not in known]:
            missing[name] = gone
    assert missing == {}
